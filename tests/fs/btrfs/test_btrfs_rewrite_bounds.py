# SPDX-License-Identifier: GPL-2.0-or-later
"""What copying the rest of extents of a btrfs may cost, and what is said of it when it goes wrong."""

import pathlib
import shutil
import subprocess

import pytest

import content
import damage
import harness
from content import BLOCK, KIB, MIB, noise, write_extent
from forger import forge
from hindrances import being_sent, leased
from subvolumes import btrfs, make_subvolume, snapshot

SIZE = 2 * MIB


@pytest.fixture(params=["btrfs"])
def kind(request):
    return request.param


def check(dedupd, **options):
    return harness.check_pass(dedupd, find="checksums", **options)


def edited(data, first, count, step=1, seed=100):
    """@data with other blocks: @count of them from @first on, one in @step."""
    copy = bytearray(data)
    for number in range(count):
        at = (first + number * step) * BLOCK
        copy[at:at + BLOCK] = noise(seed + number, BLOCK)
    return bytes(copy)


def write_pair(tree, first=256, count=2, seed=1, names=("one", "two")):
    """A file in one extent, and a copy of which some blocks are others."""
    data = noise(seed, SIZE)
    write_extent(tree / names[0], data)
    write_extent(tree / names[1], edited(data, first, count, seed=1000 * seed))


def test_the_ledger_agrees_with_the_filesystem(tree, dedupd):
    write_pair(tree)

    ledger = check(dedupd).first.ledger

    assert ledger["rewritten_bytes"] == 2 * BLOCK
    assert ledger["checked"], ledger
    assert ledger["drift_bytes"] == 0


def test_a_copy_where_nothing_was_before_is_known_by_its_checksums(tree, dedupd):
    """That there were none at its addresses was read when those of its neighbours were."""
    data = noise(1, SIZE + 5 * BLOCK)
    other = edited(data, 256, 40)
    write_extent(tree / "one", data)
    write_extent(tree / "two", other[:-BLOCK] + noise(2, BLOCK))
    write_extent(tree / "three", other[:-BLOCK] + noise(3, BLOCK))

    done = check(dedupd)

    assert done.first.rewritten["extents"] >= 2
    assert done.freed_bytes >= 2 * len(data) - 43 * BLOCK


def test_what_is_left_alone_is_said_once(tree, filesystem, dedupd):
    write_pair(tree)
    write_pair(tree, seed=2, names=("three", "four"))
    harness.settle(filesystem)
    with leased(tree / "four"):
        run = dedupd.run(find="checksums")

    assert run.rewritten["extents"] == 1
    assert run.skip_of("leased")["count"] == 1
    assert check(dedupd).freed_bytes == SIZE - 2 * BLOCK


def test_what_is_outside_is_said_once(tree, filesystem, dedupd):
    for name in ("in", "out"):
        (tree / name).mkdir()
    write_pair(tree / "in")
    write_pair(tree / "out", seed=2)
    content.write_twins(tree / "out", MIB, seed=3, names=("three", "four"))
    harness.settle(filesystem)
    alone = dedupd.run(tree / "in", find="checksums", rewrite="never", dry_run=True)

    run = dedupd.run(tree / "in", find="checksums")

    assert run.rewritten["extents"] == 1
    assert run.skip_of("outside") == alone.skip_of("outside")


@pytest.mark.parametrize("sent", ["first", "second"])
def test_nothing_is_copied_for_a_place_that_is_busy(tree, filesystem, dedupd, sent):
    """What is equal to others is shared first, so that it is known by then."""
    make_subvolume(tree / "live")
    write_pair(tree / "live", count=20)
    for name in ("first", "second"):
        snapshot(tree / "live", tree / name)
    harness.settle(filesystem)
    used = harness.used_data_bytes(filesystem)
    with being_sent(tree / sent):
        run = dedupd.run(find="checksums")

    assert run.skipped == {"busy": 1}
    assert run.rewritten == {"bytes": 0, "extents": 0}
    assert harness.used_data_bytes(filesystem) == used
    check(dedupd)
    assert used - harness.used_data_bytes(filesystem) == SIZE - 20 * BLOCK


@pytest.mark.parametrize("sent", ["first", "second"])
def test_a_copy_that_is_used_in_part_is_said_to_be_written(tree, filesystem, dedupd, sent):
    """All that is shown of the extent is its rest, and one place has it before another is busy."""
    make_subvolume(tree / "live")
    write_pair(tree / "live", count=20)
    content.overwrite(tree / "live" / "two", 0, noise(7, 256 * BLOCK))
    content.overwrite(tree / "live" / "two", 276 * BLOCK, noise(8, SIZE - 276 * BLOCK))
    for name in ("first", "second"):
        snapshot(tree / "live", tree / name)
    harness.settle(filesystem)
    used = harness.used_data_bytes(filesystem)
    with being_sent(tree / sent):
        run = dedupd.run(find="checksums")

    assert run.skipped == {"busy": 1}
    assert run.rewritten["bytes"] in (0, 20 * BLOCK)
    # The copy is equal to what stays, so it may be found, and shared away again.
    assert run.freed_bytes == 0
    assert run.ledger["checked"] == (run.shared["runs"] > 0)
    assert run.ledger["drift_bytes"] == 0
    check(dedupd)
    assert used - harness.used_data_bytes(filesystem) == SIZE - 20 * BLOCK


def test_a_copy_takes_a_16th_of_the_free_space(make_filesystem, make_dedupd):
    filesystem = make_filesystem("btrfs", "2G")
    tree = pathlib.Path(filesystem.mount_point)
    data = noise(1, 96 * MIB)
    write_extent(tree / "one", data)
    write_extent(tree / "two", edited(data, 0, 6144))
    dedupd = make_dedupd(filesystem)
    harness.settle(filesystem)
    fillers = []
    while (free := shutil.disk_usage(tree).free) > 340 * MIB:
        fillers.append(tree / f"filler-{len(fillers)}")
        subprocess.run(["fallocate", "--length", str(32 * MIB), fillers[-1]], check=True)
        harness.settle(filesystem)

    run = dedupd.run(find="checksums")

    assert 24 * MIB < free < 16 * 24 * MIB
    assert run.skip_of("no-space")["count"] == 1
    assert run.rewritten == {"bytes": 0, "extents": 0}
    assert shutil.disk_usage(tree).free == free
    for filler in fillers:
        filler.unlink()
    assert check(dedupd).freed_bytes == 72 * MIB


def test_a_source_that_differs_leaves_no_copy_behind(tree, dedupd):
    """Blocks that have the sums of others are found behind the rest."""
    data = noise(1, SIZE)
    write_extent(tree / "one", data)
    write_extent(tree / "two", forge(edited(data, 10, 40), 7, range(300, 310)))

    done = check(dedupd)

    assert done.first.shared["differed"] == 1
    assert done.first.rewritten == {"bytes": 0, "extents": 0}
    assert done.freed_bytes == 0


def test_copies_of_copies_end(tree, dedupd):
    """The rest of each file is but for its own rest that of the next one."""
    size = 16 * MIB
    data = noise(1, size)
    first, count = 0, size // BLOCK
    written = 0
    for number in range(5):
        write_extent(tree / str(number), data)
        first, count = first + count // 4, count // 5
        data = edited(data, first, count, seed=10000 * (number + 1))
        written += count * BLOCK if number < 4 else 0

    done = check(dedupd)

    assert done.freed_bytes >= 4 * size - written * 11 // 10


@pytest.mark.parametrize("places", [1, 8, 31])
def test_metadata_grows_by_half_of_what_is_freed_at_most(make_filesystem, make_dedupd, places):
    """One block in five is another: each makes two items in each file that shows the extent."""
    filesystem = make_filesystem("btrfs", "1G", mkfs_options=["--metadata", "dup"])
    tree = pathlib.Path(filesystem.mount_point)
    data = noise(1, 4 * MIB)
    blocks = len(data) // BLOCK // 5
    write_extent(tree / "one", data)
    write_extent(tree / "two", edited(data, 0, blocks, step=5))
    for number in range(places - 1):
        content.clone(tree / "two", tree / f"two-{number}")

    done = check(make_dedupd(filesystem), min_run=BLOCK)

    # Whichever of the two extents has fewer places may go.
    assert done.first.rewritten["extents"] == 1
    assert 2 * done.first.ledger["metadata_delta_bytes"] <= max(done.freed_bytes // 2, 64 * KIB)


def test_where_the_top_level_is_read_only_the_copy_is_made_elsewhere(tree, dedupd):
    make_subvolume(tree / "inner")
    write_pair(tree / "inner")
    btrfs("property", "set", tree, "ro", "true")

    done = check(dedupd)

    assert done.freed_bytes == SIZE - 2 * BLOCK
    assert done.first.rewritten == {"bytes": 2 * BLOCK, "extents": 1}
    btrfs("property", "set", tree, "ro", "false")


def write_around(tree, first=0):
    """What equals `source` but for a quarter, `copied`; and `around`, of which half is in that only.

    Nothing covers `around` but `copied`, if that stays; its rest is too large.
    """
    own = noise(2, MIB)
    data = noise(1, 4 * MIB)
    write_extent(tree / "source", data)
    write_extent(tree / "copied", own + data[MIB:])
    write_extent(tree / "around", own[first:first + MIB // 2] + data[2 * MIB:][:MIB // 2])


def test_what_cannot_be_copied_for_want_of_a_place_is_a_source(tree, filesystem, dedupd):
    make_subvolume(tree / "inner")
    write_around(tree / "inner")
    for path in (tree / "inner", tree):
        btrfs("property", "set", path, "ro", "true")

    done = check(dedupd)

    assert done.first.skipped == {"no-temporary-file": 1}
    assert done.second.skipped == {"no-temporary-file": 1}
    assert done.freed_bytes == MIB

    btrfs("property", "set", tree, "ro", "false")
    assert check(dedupd).freed_bytes == 3 * MIB
    btrfs("property", "set", tree / "inner", "ro", "false")


def test_what_cannot_be_copied_as_it_is_unreadable_is_a_source(tree, filesystem, dedupd):
    write_around(tree, first=256 * KIB)
    harness.settle(filesystem)
    filesystem.expect_bad_data()
    damage.make_unreadable(filesystem, tree / "copied")
    used = harness.used_data_bytes(filesystem)

    run = dedupd.run(find="checksums")

    assert run.skipped == {"unreadable": 1}
    assert run.skip_of("unreadable")["examples"] == [str(tree / "copied")]
    assert run.freed_bytes == used - harness.used_data_bytes(filesystem) == MIB
    assert run.rewritten == {"bytes": 0, "extents": 0}
    again = dedupd.run(find="checksums")
    assert again.shared["calls"] == again.read["compare_bytes"] == 0


def test_a_trial_counts_the_blocks_that_a_rest_takes(tree, dedupd):
    """One byte at the end of a file takes a block."""
    data = noise(1, harness.CERTAIN_BLOCKS * BLOCK)
    write_extent(tree / "one", data + b"1")
    write_extent(tree / "two", data + b"2")
    harness.settle(dedupd.filesystem)
    tried = dedupd.run(find="checksums", dry_run=True)

    done = check(dedupd).first

    assert (done.rewritten, done.freed_bytes) == ({"bytes": BLOCK, "extents": 1}, len(data))
    assert (tried.rewritten, tried.freed_bytes) == (done.rewritten, done.freed_bytes)
