# SPDX-License-Identifier: GPL-2.0-or-later
"""What a pass over a btrfs does not do to files and to metadata, whatever it would free."""

import contextlib
import os
import pathlib
import shutil
import subprocess

import pytest

import content
import harness
import ioctls
import oracle
from content import BLOCK, KIB, MIB, noise, write
from harness import check_btrfs_pass as check
from subvolumes import make_subvolume, snapshot

# btrfs makes 64 of a GiB at best, as it shares 16 MiB at a time.
ITEMS_PER_GIB = 72
STOPPED = 6
# Finds stretches of five equal blocks for certain.
FINE = {"anchor_blocks": 2, "window": 4}


@pytest.fixture(params=["btrfs"])
def kind(request):
    return request.param


def count_items(path):
    """File-extent items of a file of the top level: what lies side by side is one for FIEMAP."""
    fd = os.open(path, os.O_RDONLY)
    try:
        inode = os.fstat(fd).st_ino
        return sum(item.type == ioctls.BTRFS_EXTENT_DATA
                   for item in ioctls.btrfs_tree_items(fd, 5, inode, inode))
    finally:
        os.close(fd)


def scatter(tree, data, piece_bytes):
    """Put each piece of @data into a file of its own, amid much that nothing equals.

    These extents stay, as most of each is without equal, and the rest is too large to be copied.
    """
    for at in range(0, len(data), piece_bytes):
        unique = noise(1000 + at, 128 * KIB)
        write(tree / f"part-{at}", unique + data[at:at + piece_bytes] + unique[::-1])


def test_a_file_is_not_cut_into_small_pieces(tree, filesystem, dedupd):
    data = noise(1, 64 * 20 * KIB)
    write(tree / "whole", data)
    scatter(tree, data, 20 * KIB)

    run = check(dedupd, **FINE)

    assert run.freed_bytes == 0
    assert run.first.skipped["pieces"] == 1
    assert run.first.skip_of("pieces")["examples"] == [str(tree / "whole")]
    assert run.first.skip_of("pieces")["bytes"] == len(data)
    assert count_items(tree / "whole") == 1


def test_it_is_where_that_was_asked_for(tree, filesystem, dedupd):
    data = noise(1, 64 * 20 * KIB)
    write(tree / "whole", data)
    scatter(tree, data, 20 * KIB)
    check(dedupd, **FINE)

    # What was settled under another policy is looked at again.
    run = check(dedupd, min_run="16K", **FINE)

    assert run.freed_bytes == len(data)
    assert count_items(tree / "whole") == 64


def test_few_pieces_are_no_harm(tree, filesystem, dedupd):
    data = noise(1, 16 * 20 * KIB)
    write(tree / "whole", data)
    scatter(tree, data, 20 * KIB)

    run = check(dedupd, **FINE)

    assert run.freed_bytes == len(data)
    assert count_items(tree / "whole") == 16


def test_pieces_that_are_long_enough_are_shared(tree, filesystem, dedupd):
    data = noise(1, 40 * 80 * KIB)
    write(tree / "whole", data)
    scatter(tree, data, 80 * KIB)

    run = check(dedupd)

    assert run.freed_bytes == len(data)
    assert count_items(tree / "whole") == 40


def test_a_minimum_above_what_there_is_forbids_it(tree, filesystem, dedupd):
    data = noise(1, 40 * 80 * KIB)
    write(tree / "whole", data)
    scatter(tree, data, 80 * KIB)

    run = check(dedupd, min_run="1M")

    assert run.freed_bytes == 0
    assert run.first.skipped["pieces"] == 1


def test_what_fills_a_file_with_items_is_no_shorter_than_the_minimum_on_average(
        tree, filesystem, dedupd):
    """Extents of one file that are cut into pieces, one after another."""
    data = noise(1, 12 * 8 * 20 * KIB)
    write(tree / "file", data, piece=8 * 20 * KIB)
    scatter(tree, data, 20 * KIB)
    before = count_items(tree / "file")

    run = check(dedupd, **FINE)

    assert 0 < run.freed_bytes < len(data)
    added = count_items(tree / "file") - before
    assert added <= 16 + run.freed_bytes // (64 * KIB)
    assert run.first.skipped["pieces"] > 0


def test_a_block_that_many_snapshots_show_is_not_worth_its_metadata(tree, filesystem, dedupd):
    make_subvolume(tree / "sub")
    write(tree / "sub/small", noise(1, BLOCK))
    for n in range(12):
        snapshot(tree / "sub", tree / f"snapshot-{n}")
    make_subvolume(tree / "other")
    write(tree / "other/small", noise(1, BLOCK))
    for n in range(12):
        snapshot(tree / "other", tree / f"other-{n}")

    run = check(dedupd, has_clones=True, read_only_snapshots="share")

    assert run.freed_bytes == 0
    assert run.first.skipped["metadata"] > 0
    assert run.first.ledger["shared_bytes"] == 0


@pytest.mark.parametrize("size", [BLOCK, 16 * KIB])
def test_metadata_grows_by_less_than_is_freed(tree, filesystem, dedupd, size):
    """Small files side by side in snapshots: each leaf is copied for all of them."""
    for name, count in ("one", 3), ("two", 3):
        make_subvolume(tree / name)
        for n in range(500):
            write(tree / name / str(n), noise(n, size))
        for n in range(count):
            snapshot(tree / name, tree / f"{name}-{n}")
    harness.settle(filesystem)
    before = harness.used_metadata_bytes(filesystem)

    run = check(dedupd, has_clones=True)

    grown = harness.used_metadata_bytes(filesystem) - before
    assert run.freed_bytes == 500 * size
    # It is kept twice.
    assert 0 < 2 * grown < run.freed_bytes
    assert run.first.ledger["metadata_delta_bytes"] > 0


def metadata_room_bytes(filesystem):
    """What it may grow by, kept once as it is here."""
    groups = harness.block_groups(filesystem)
    total, used = groups["Metadata"]
    usage = subprocess.run(["btrfs", "filesystem", "usage", "-b", filesystem.mount_point],
                           check=True, capture_output=True, text=True).stdout
    unallocated = int(usage.split("Device unallocated:")[1].split()[0])
    return total - used - groups["GlobalReserve"][0] + unallocated


def fill_metadata(filesystem, room_bytes):
    """Leave so much for it to grow by: data takes all space that it could, small files the rest."""
    tree = pathlib.Path(filesystem.mount_point)
    with open(tree / "filler", "wb") as filler:
        with contextlib.suppress(OSError):
            for at in range(0, filesystem.size_bytes, 4 * MIB):
                os.posix_fallocate(filler.fileno(), at, 4 * MIB)
        # What is written needs room for data, even if it ends up in its inode.
        filler.truncate(os.fstat(filler.fileno()).st_size - 8 * MIB)
    (tree / "small").mkdir()
    n = failures = 0
    while (more := metadata_room_bytes(filesystem) - room_bytes) > 0:
        # A leaf of 16 KiB has seven of them.
        for _ in range(more // (4 * KIB) + 1):
            try:
                (tree / "small" / str(n)).write_bytes(noise(n, 1900))
                n += 1
            except OSError:
                # What data was asked for in vain is had again after a transaction or two.
                failures += 1
                assert failures < 10
                break


def test_sharing_stops_before_metadata_is_full(make_filesystem, make_dedupd):
    filesystem = make_filesystem("btrfs", "256M", mkfs_options=["--metadata", "single"])
    tree = pathlib.Path(filesystem.mount_point)
    dedupd = make_dedupd(filesystem)
    for n in range(300):
        content.write_twins(tree, 16 * KIB, seed=n, names=(f"one-{n}", f"two-{n}"))
    fill_metadata(filesystem, 6 * MIB)
    harness.settle(filesystem)
    before = oracle.snapshot(tree)

    estimate = dedupd.run(find="checksums", dry_run=True)
    short = dedupd.run(find="checksums")

    assert estimate.status == 0 and estimate.freed_bytes == 300 * 16 * KIB
    assert short.status == STOPPED, short.stderr
    assert short.report["outcome"] == "interrupted"
    assert short.filesystem["stopped_reason"] == "little room is left for metadata"
    assert "dedupd keeps 8 MiB free" in short.stderr
    assert short.shared["calls"] == 0 and short.freed_bytes == 0
    assert short.skip_of("no-metadata-space")["bytes"] == 300 * 16 * KIB
    harness.assert_unchanged(before, tree)
    assert "stopped" in dedupd.run(find="checksums", json=False).stdout

    shutil.rmtree(tree / "small")
    harness.settle(filesystem)
    run = check(dedupd)

    # Nothing was settled, so nothing has to be found again.
    assert run.first.files["changed"] == 0
    assert run.first.filesystem["stopped_reason"] is None
    assert run.freed_bytes == 300 * 16 * KIB


@pytest.mark.alone
@pytest.mark.parametrize("size, piece", [(512 * MIB, None), (128 * MIB, 64 * KIB)])
def test_a_long_shared_range_is_in_few_items(make_filesystem, make_dedupd, size, piece):
    """However the target was cut, what goes on in both files is shared by one call."""
    filesystem = make_filesystem("btrfs", "4G")
    tree = pathlib.Path(filesystem.mount_point)
    with open(tree / "one", "wb") as one, open(tree / "two", "wb") as two:
        for at in range(0, size, 32 * MIB):
            data = os.urandom(32 * MIB)
            one.write(data)
            for part in range(0, len(data), piece or len(data)):
                two.write(data[part:part + (piece or len(data))])
                if piece:
                    two.flush()
                    os.fdatasync(two.fileno())
    harness.settle(filesystem)
    used = harness.used_data_bytes(filesystem)

    run = make_dedupd(filesystem).run(find="checksums")

    assert run.status == 0, run.stderr
    assert run.freed_bytes == size == used - harness.used_data_bytes(filesystem)
    assert run.ledger["drift_bytes"] == 0
    items = max(count_items(tree / name) for name in ("one", "two"))
    assert items <= ITEMS_PER_GIB * size // (1024 * MIB)
