# SPDX-License-Identifier: GPL-2.0-or-later
"""Blocks of a btrfs that differ and have equal checksums: anyone can make them."""

import contextlib
import pathlib
import sqlite3
import time

import pytest

import harness
import oracle
from content import BLOCK, MIB, forget_pages, noise, write, write_extent
from forger import forge

ROUND = 16 * MIB
PROBE = 128 << 10
WASTE_FLOOR = 2 * ROUND
WASTE_SHARE = 20


@pytest.fixture(params=["btrfs"])
def kind(request):
    return request.param


def check(dedupd, **options):
    done = harness.check_btrfs_pass(dedupd, **options)
    assert_waste_is_bounded(done.first)
    return done


def assert_waste_is_bounded(run):
    """What is compared and not shared is what is said to be wasted, and it is little."""
    wasted = run.read["wasted_bytes"]
    assert wasted == run.read["compare_bytes"] - 2 * run.shared["bytes"]
    assert wasted <= max(WASTE_FLOOR, run.read["compare_bytes"] / WASTE_SHARE)


def write_all(tree, name, *contents):
    for number, data in enumerate(contents):
        write_extent(tree / f"{name}-{number}", data)


def write_forged_wholes(tree, count):
    """Files with the sums of others throughout, some among files equal to either.

    Returns how many bytes those have.
    """
    equal = 0
    for number in range(count):
        data = noise(number, (1 + number % 24) * BLOCK)
        # All blocks differ, or a single one does.
        blocks = [number % (len(data) // BLOCK)] if number % 10 == 0 else None
        other = forge(data, number, blocks)
        assert other != data
        genuine = [[data], [other], [data, other], []][number // 4 % 4] if number % 4 == 0 else []
        for copy, extent in enumerate([data, other, *genuine]):
            write(tree / f"whole-{number}-{copy}", extent)
        equal += len(data) * len(genuine)
    return equal


def write_forged_parts(tree, count):
    """Files with the sums of a part of others."""
    for number in range(count):
        data = noise(1000000 + number, 48 * BLOCK)
        first = number % 20
        write(tree / f"part-{number}-0", data)
        write(tree / f"part-{number}-1",
              forge(data[first * BLOCK:(first + 28) * BLOCK], number, range(number % 14, 28)))


def write_genuine_parts(tree, count):
    for number in range(count):
        data = noise(2000000 + number, 48 * BLOCK)
        write(tree / f"genuine-{number}-0", data)
        write(tree / f"genuine-{number}-1", data[BLOCK:29 * BLOCK])
    return count * 28 * BLOCK


def test_a_thousand_forged_files_among_genuine_ones(tree, filesystem, dedupd):
    equal = write_forged_wholes(tree, 800)
    write_forged_parts(tree, 200)
    equal += write_genuine_parts(tree, 100)
    harness.settle(filesystem)
    before, used = oracle.snapshot(tree), harness.used_data_bytes(filesystem)

    run = dedupd.run(find="checksums", rewrite="never")

    assert run.status == 0, run.stderr
    harness.assert_unchanged(before, tree)
    assert_waste_is_bounded(run)
    assert run.freed_bytes == equal == used - harness.used_data_bytes(filesystem)
    assert 1000 <= run.shared["differed"] <= 1200
    assert run.skipped == {"differs": 1000}
    # So many extents were new that the next pass notes how far it has come, and no more.
    second = dedupd.run(find="checksums", rewrite="never")
    assert second.read["compare_bytes"] == second.shared["calls"] == 0
    harness.assert_converged(dedupd, tree, find="checksums", rewrite="never")


def test_forged_files_stay_as_they_are_whatever_is_found_by_reading(tree, dedupd):
    for number in range(8):
        data = noise(number, (20 + number) * BLOCK)
        write_all(tree, f"file-{number}", data, forge(data, number))

    assert check(dedupd).freed_bytes == 0
    assert harness.check_pass(dedupd, find="read").freed_bytes == 0


def test_what_differs_in_its_first_piece_costs_no_more_than_that(tree, dedupd):
    data = noise(1, 40 * MIB)
    write_all(tree, "file", data, forge(data, 1, [3]))

    done = check(dedupd)

    assert done.first.read["compare_bytes"] == 2 * PROBE
    assert done.first.shared["differed"] == 1
    assert done.freed_bytes == 0


def test_what_differs_later_costs_a_round(tree, dedupd):
    data = noise(1, 40 * MIB)
    write_all(tree, "file", data, forge(data, 1, [7000]))

    done = check(dedupd)

    # The kernel is asked in pieces if the data is evicted meanwhile.
    assert 2 * MIB <= done.first.read["wasted_bytes"] <= 2 * ROUND
    assert done.first.shared["differed"] == 1
    assert done.freed_bytes == 0
    assert done.first.skipped == {"differs": 1}


def test_of_what_differs_in_a_file_in_use_equal_pieces_are_not_wasted(tree, dedupd):
    data = noise(1, 40 * MIB)
    write_all(tree, "file", data, forge(data, 1, [7000]))

    # It is shared in pieces of 1 MiB.
    with open(tree / "file-1", "r+b"):
        done = check(dedupd)

    assert done.first.shared["short_rounds"] > 0
    equal = (7000 * BLOCK - PROBE) % ROUND // MIB * MIB
    assert done.first.read["wasted_bytes"] == 2 * (ROUND - equal)
    assert done.first.skipped == {"differs": 1}


def test_forged_extents_do_not_keep_each_other_from_what_is_equal(tree, dedupd):
    data = noise(1, 8 * BLOCK)
    for forged in range(8):
        write_extent(tree / f"forged-{forged}", forge(data, forged))
    for genuine in range(12):
        write_extent(tree / f"genuine-{genuine}", data)

    done = check(dedupd)

    assert done.freed_bytes == 11 * 8 * BLOCK
    assert done.first.skipped == {"differs": 8}


def test_of_more_that_are_forged_few_more_are_kept(tree, dedupd):
    data = noise(1, 8 * BLOCK)
    for forged in range(20):
        write_extent(tree / f"forged-{forged}", forge(data, forged))
    for genuine in range(30):
        write_extent(tree / f"genuine-{genuine}", data)

    done = check(dedupd)

    # Those from the 33rd on have the 33rd in common.
    assert done.freed_bytes >= 17 * 8 * BLOCK


def test_what_differs_from_one_source_is_shared_with_another(tree, dedupd):
    data = noise(1, MIB)
    write_all(tree, "source", forge(data, 1), forge(data, 2, [0]), data)
    write_extent(tree / "target", data)

    done = check(dedupd)

    assert done.freed_bytes == MIB
    assert oracle.is_shared(tree / "source-2", tree / "target")
    assert not oracle.is_shared(tree / "source-1", tree / "target")


def test_what_differed_is_not_tried_again_when_all_is_matched_anew(tree, dedupd):
    data = noise(1, MIB)
    write_all(tree, "file", data, forge(data, 1), forge(data, 2))
    first = check(dedupd).first

    again = check(dedupd, zeros="keep").first

    assert first.shared["differed"] == 3
    assert again.shared["differed"] == 0
    assert again.read["compare_bytes"] == 0


def test_a_rewritten_extent_is_tried_again(tree, dedupd):
    data = noise(1, MIB)
    write_all(tree, "file", data, forge(data, 1))
    assert check(dedupd).first.shared["differed"] == 1
    write_extent(tree / "file-1", forge(data, 2))
    assert check(dedupd).first.shared["differed"] == 1
    write_extent(tree / "file-1", data)

    done = check(dedupd)

    assert done.first.shared["differed"] == 0
    assert done.freed_bytes == MIB


def test_an_extent_that_differed_from_three_is_believed_as_a_whole_only(tree, dedupd):
    data = noise(1, MIB)
    # Or half of a part would be tried with half of what is late, and the rest be copied.
    write_extent(tree / "file", data)
    for number in range(2):
        write_extent(tree / f"part-{number}", forge(data[:MIB // 2], number))
    check(dedupd, rewrite="never")
    write_extent(tree / "genuine", data[:MIB // 2])
    # Two differences prove nothing yet; the third one does.
    assert check(dedupd, rewrite="never").freed_bytes == MIB // 2
    write_extent(tree / "part-2", forge(data[MIB // 4:3 * MIB // 4], 3))
    assert check(dedupd, rewrite="never").first.shared["differed"] == 1

    write_extent(tree / "late", data[MIB // 2:])
    write_extent(tree / "twin", data)
    done = check(dedupd, rewrite="never")

    assert done.freed_bytes == MIB
    # The file is tried with none of its parts.  Each of these may be tried once with what is new.
    assert done.first.shared["differed"] <= 3
    assert oracle.is_shared(tree / "file", tree / "twin")


@pytest.fixture
def roomy(make_filesystem, kind):
    return make_filesystem(kind, "1G")


def test_parts_are_left_to_later_passes_once_too_much_was_wasted(roomy, make_dedupd):
    tree = pathlib.Path(roomy.mount_point)
    dedupd = make_dedupd(roomy)
    for number in range(4):
        data = noise(number, 20 * MIB)
        write_extent(tree / f"whole-{number}", data)
        # The difference lies where a round is compared at once.
        write_extent(tree / f"part-{number}", forge(data[:19 * MIB], number, [2000]))
    genuine = noise(10, 8 * MIB)
    write_all(tree, "genuine", genuine, genuine[:4 * MIB])
    write_all(tree, "twin", noise(11, 2 * MIB), noise(11, 2 * MIB))
    harness.settle(roomy)
    before = oracle.snapshot(tree)

    runs = [dedupd.run(find="checksums") for _ in range(4)]

    harness.assert_unchanged(before, tree)
    for run in runs:
        assert run.status == 0, run.stderr
        assert run.read["wasted_bytes"] <= WASTE_FLOOR + 2 * ROUND
    assert [run.shared["differed"] for run in runs] == [2, 2, 0, 0]
    # What is left then, a genuine part among it, comes next; whole extents do not wait.
    assert runs[0].skipped["doubtful"] == 3
    assert runs[0].freed_bytes == 2 * MIB
    assert sum(run.freed_bytes for run in runs) == 6 * MIB
    assert runs[3].read["compare_bytes"] == 0
    assert check(dedupd).freed_bytes == 0


def n_differed(dedupd):
    """Rows of pairs that the store has, of which each pair makes two."""
    with contextlib.closing(sqlite3.connect(dedupd.store_path)) as database:
        return database.execute("SELECT count(*) FROM differed").fetchone()[0]


def wait_for_differed(dedupd, process, seconds):
    """Wait until what differed is in the store, while the pass goes on.  It commits twice a minute of its clock."""
    deadline = time.monotonic() + seconds
    while n_differed(dedupd) == 0:
        assert process.poll() is None, "the pass ended"
        assert time.monotonic() < deadline, "what differed was not kept"
        harness.clock.wait(1)
        time.sleep(0.1)


def test_what_differed_is_kept_while_the_pass_goes_on(tree, filesystem, dedupd):
    data = noise(1, 4 * MIB)
    write_all(tree, "forged", data, forge(data, 1, [3]))
    for number in range(40):
        write_all(tree, f"equal-{number}", *[noise(100 + number, MIB)] * 2)
    harness.settle(filesystem)
    forget_pages(tree)
    process = dedupd.start(find="checksums", limit_rate="1M")
    try:
        time.sleep(2)
        wait_for_differed(dedupd, process, 60)
    finally:
        process.kill()
        process.communicate()

    done = check(dedupd)

    assert done.first.shared["differed"] == 0
    assert 0 < done.freed_bytes < 40 * MIB
    assert n_differed(dedupd) == 2
