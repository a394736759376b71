# SPDX-License-Identifier: GPL-2.0-or-later
"""Extents of a btrfs that repeat themselves: one copy of each range is written, and the extent is freed."""

import pytest

from content import BLOCK, MIB, noise, write_extent
from forger import forge
from harness import check_btrfs_pass as check
from harness import settle
from subvolumes import snapshot

PART = 64 * BLOCK
TIMES = 8


@pytest.fixture(params=["btrfs"])
def kind(request):
    return request.param


def repeated(seed=1, times=TIMES):
    return noise(seed, PART) * times


def test_an_extent_that_nothing_else_equals_is_freed(tree, dedupd):
    write_extent(tree / "image", repeated())

    done = check(dedupd)

    assert done.first.rewritten == {"bytes": PART, "extents": 1}
    assert done.freed_bytes == (TIMES - 1) * PART
    assert done.first.skipped == {}


def test_a_pattern_is_copied_as_long_as_a_piece_has_to_be(tree, dedupd):
    write_extent(tree / "flash", noise(1, PART) + b"\xff" * (TIMES * PART))

    done = check(dedupd)

    # Pieces of 64 KiB, which is what an item of a file has to free.
    assert done.first.rewritten["bytes"] == PART + 16 * BLOCK
    assert done.freed_bytes == TIMES * PART - 16 * BLOCK


def test_what_is_unique_beside_it_is_copied_too(tree, dedupd):
    write_extent(tree / "image", repeated() + noise(2, 32 * BLOCK) + repeated())

    done = check(dedupd)

    assert done.first.rewritten["bytes"] == PART + 32 * BLOCK
    assert done.freed_bytes == (2 * TIMES - 1) * PART


def test_the_end_of_a_file_is_copied_with_it(tree, dedupd):
    write_extent(tree / "image", repeated() + noise(2, 100))

    done = check(dedupd)

    assert done.first.rewritten["bytes"] == PART + BLOCK
    assert done.freed_bytes == (TIMES - 1) * PART


@pytest.mark.parametrize("times", [2, 3])
def test_what_repeats_too_seldom_is_no_duplicate(tree, dedupd, times):
    write_extent(tree / "image", repeated(times=times) + noise(2, PART))

    done = check(dedupd)

    assert done.freed_bytes == 0
    assert done.first.rewritten["bytes"] == 0
    assert done.first.skipped == {} and done.first.pinned == {}


def test_copies_of_two_files_are_shared_in_the_same_pass(tree, dedupd):
    write_extent(tree / "one", noise(2, 16 * BLOCK) + repeated())
    write_extent(tree / "two", repeated() + noise(3, 16 * BLOCK))

    done = check(dedupd)

    # One copy of the part stays, beside what each file has alone.
    assert done.freed_bytes >= (2 * TIMES - 2) * PART
    assert done.first.pinned == {}


def test_references_in_snapshots_get_the_copy(tree, dedupd):
    write_extent(tree / "image", repeated())
    snapshot(tree, tree / "snapshot")

    done = check(dedupd)

    assert done.freed_bytes == (TIMES - 1) * PART


def test_never_means_that_nothing_is_written(tree, dedupd):
    write_extent(tree / "image", repeated())

    done = check(dedupd, rewrite="never")

    assert done.freed_bytes == 0
    assert done.first.rewritten["bytes"] == 0


def test_zeros_that_have_to_stay_do_not_repeat(tree, dedupd):
    write_extent(tree / "disk", noise(1, PART) + bytes(TIMES * PART))

    done = check(dedupd, zeros="keep")

    assert done.freed_bytes == 0


def test_a_dry_run_says_what_a_pass_frees(tree, filesystem, dedupd):
    write_extent(tree / "image", repeated())
    settle(filesystem)

    dry = dedupd.run(dry_run=True, find="checksums")

    assert dry.status == 0
    assert dry.rewritten == {"bytes": PART, "extents": 1}
    assert dry.freed_bytes == (TIMES - 1) * PART


@pytest.mark.parametrize("differing", [range(1), range(32, 33), None], ids=["first", "middle", "all"])
def test_forged_sums_cost_little_and_harm_nothing(tree, dedupd, differing):
    data = noise(1, PART)
    other = forge(data, 7, differing)
    assert other != data
    write_extent(tree / "image", data * (TIMES // 2) + other + data * (TIMES // 2))

    done = check(dedupd)

    assert 0 < done.first.read["wasted_bytes"] <= 4 * MIB
    # The copy is dropped before anything is shared with it.
    assert done.first.rewritten["bytes"] == 0
