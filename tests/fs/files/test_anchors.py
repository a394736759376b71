# SPDX-License-Identifier: GPL-2.0-or-later
"""How finely anchors are chosen, by default and as a store was made."""


import pytest

import content
import harness
from content import BLOCK, MIB, noise, write

BY_CHECKSUMS = {"anchor_blocks": 4, "window": 16}
BY_READING = {"anchor_blocks": 2, "window": 8}
FINE = {"anchor_blocks": 1, "window": 4}


def shape_of(run):
    return {name: run.store[name] for name in BY_READING}


def write_common_runs(tree, blocks, count=20, seed=1):
    """Two files with @count equal runs of so many blocks, in another order and between other data."""
    runs = [noise(1000 * seed + number, blocks * BLOCK) for number in range(count)]
    for name, order in (("one", runs), ("two", runs[::-1])):
        write(tree / f"{name}-{seed}", b"".join(
            run + noise((1000 * seed + number) << 8 | ord(name[0]), (1 + number % 5) * BLOCK)
            for number, run in enumerate(order)))
    return count * blocks * BLOCK


@pytest.mark.parametrize("kind, find, shape", [
    ("xfs", "auto", BY_READING), ("btrfs", "checksums", BY_CHECKSUMS), ("btrfs", "read", BY_READING)])
def test_a_new_store_has_the_numbers_of_its_way_of_finding(tree, dedupd, find, shape):
    content.write_twins(tree, MIB)

    done = harness.check_pass(dedupd, find=find)

    assert shape_of(done.first) == shape_of(done.second) == shape
    assert done.freed_bytes == MIB


@pytest.mark.parametrize("kind", ["xfs"])
def test_a_store_keeps_the_numbers_that_it_was_made_with(tree, dedupd):
    """As one does that was made when the default was another."""
    content.write_twins(tree, MIB)
    made = harness.check_pass(dedupd, **BY_CHECKSUMS)

    expected = write_common_runs(tree, harness.CERTAIN_BLOCKS)
    done = harness.check_pass(dedupd)

    assert shape_of(made.first) == shape_of(done.first) == BY_CHECKSUMS
    assert done.first.files["read"] == 2
    assert done.freed_bytes == expected


@pytest.mark.parametrize("kind", ["xfs"])
def test_only_the_number_that_is_asked_for_has_to_be_the_store_s(tree, dedupd):
    content.write_twins(tree, MIB)
    first = harness.check_pass(dedupd, window=4)

    same = dedupd.run(window=4)
    other = dedupd.run(window=8)
    anew = dedupd.run(anchor_blocks=1, window=4, rebuild=True)

    assert shape_of(first.first) == {"anchor_blocks": 2, "window": 4}
    assert same.status == 0 and same.files["read"] == 0
    assert other.status != 0
    assert "(w) 4, not 8: use 4, or --rebuild" in other.stderr
    assert shape_of(anew) == FINE


@pytest.mark.parametrize("kind", ["xfs"])
@pytest.mark.parametrize("shape", [BY_READING, BY_CHECKSUMS, FINE])
def test_a_run_as_long_as_both_numbers_less_one_is_found_for_certain(tree, dedupd, shape):
    expected = write_common_runs(tree, sum(shape.values()) - 1)

    done = harness.check_pass(dedupd, **shape)

    assert done.freed_bytes == expected


@pytest.mark.parametrize("kind", ["btrfs"])
def test_another_way_of_finding_goes_on_with_the_store_as_it_is(tree, dedupd):
    content.write_twins(tree, MIB)
    first = harness.check_pass(dedupd, find="checksums")

    content.write_twins(tree, MIB, seed=2, names=["three", "four"])
    done = harness.check_pass(dedupd, find="read")

    assert shape_of(first.first) == shape_of(done.first) == BY_CHECKSUMS
    assert done.freed_bytes == MIB


@pytest.mark.parametrize("kind", ["xfs"])
def test_the_report_for_people_and_the_status_say_which_numbers_are_in_force(tree, dedupd):
    content.write_twins(tree, MIB)

    run = dedupd.run(json=False, verbose=True)
    (row,) = harness.dedupctl_rows("status", dedupd=dedupd)

    assert "anchors: of 2 blocks, at one position in 8" in run.stdout + run.stderr
    assert {name: row[name] for name in BY_READING} == BY_READING
