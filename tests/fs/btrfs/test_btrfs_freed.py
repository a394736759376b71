# SPDX-License-Identifier: GPL-2.0-or-later
"""What sharing frees on btrfs: the cases in which sharing alone was measured to free nothing or more.

Each case says what the pass frees of it.
"""

import os
import pathlib

import pytest

import harness
import oracle
from content import BLOCK, KIB, MIB, noise, overwrite, text, write, write_extent
from subvolumes import make_subvolume, snapshot

SIZE = 16 * MIB


@pytest.fixture(params=["btrfs"])
def kind(request):
    return request.param


def check(dedupd, **options):
    return harness.check_pass(dedupd, find="checksums", **options)


def test_a_full_copy(tree, dedupd):
    for name in ("one", "two"):
        write_extent(tree / name, noise(1, SIZE))

    assert check(dedupd).freed_bytes == SIZE


@pytest.mark.parametrize("unique", [MIB, BLOCK, 3 * BLOCK])
def test_a_copy_with_something_before_it(tree, dedupd, unique):
    """Sharing the copy alone frees 0."""
    write_extent(tree / "one", noise(1, SIZE))
    write_extent(tree / "two", noise(2, unique) + noise(1, SIZE))

    assert check(dedupd).freed_bytes == SIZE


def test_all_but_the_end_of_a_copy(tree, dedupd):
    """Sharing 63 of 64 parts frees 0."""
    write_extent(tree / "one", noise(1, SIZE))
    write_extent(tree / "two", noise(1, SIZE)[:-SIZE // 64] + noise(2, SIZE // 64))

    assert check(dedupd).freed_bytes == SIZE - SIZE // 64


def test_a_copy_with_scattered_overwrites(tree, dedupd):
    """What lies hidden below them is freed, too."""
    data = noise(1, SIZE)
    write_extent(tree / "one", data)
    write_extent(tree / "two", data)
    for offset in range(MIB, SIZE, 2 * MIB):
        overwrite(tree / "two", offset, noise(offset, BLOCK))

    assert check(dedupd).freed_bytes == SIZE


@pytest.mark.parametrize("read_only", [True, False])
def test_a_copy_that_a_snapshot_shows_too(tree, dedupd, read_only):
    """Sharing the live file alone frees 0."""
    make_subvolume(tree / "live")
    write_extent(tree / "one", noise(1, SIZE))
    write_extent(tree / "live/two", noise(1, SIZE))
    snapshot(tree / "live", tree / "old", read_only)

    assert check(dedupd).freed_bytes == SIZE
    assert oracle.is_shared(tree / "one", tree / "old/two")


def test_a_truncated_copy(tree, dedupd):
    """More than is shown."""
    write_extent(tree / "one", noise(1, SIZE))
    write_extent(tree / "two", noise(1, SIZE))
    os.truncate(tree / "two", SIZE // 2)

    assert check(dedupd).freed_bytes == SIZE


@pytest.fixture
def compressing(make_filesystem):
    return make_filesystem("btrfs", mount_options="compress-force=zstd")


def test_a_compressed_copy_but_for_its_first_block(compressing, make_dedupd):
    """The one extent of 128 KiB that the block lies in stays, all others go."""
    tree = pathlib.Path(compressing.mount_point)
    data = text(1, 4 * MIB)
    write(tree / "one", data)
    harness.settle(compressing)
    alone = harness.used_data_bytes(compressing)
    write(tree / "two", noise(2, BLOCK) + data[BLOCK:])
    harness.settle(compressing)
    both = harness.used_data_bytes(compressing)

    done = check(make_dedupd(compressing))

    assert done.freed_bytes >= (both - alone) * 31 // 32 - 128 * KIB
    assert done.freed_bytes < both - alone


def test_half_of_a_compressed_extent(compressing, make_dedupd):
    tree = pathlib.Path(compressing.mount_point)
    data = text(1, 128 * KIB)
    write(tree / "one", data)
    harness.settle(compressing)
    write(tree / "two", data[:64 * KIB] + text(2, 64 * KIB))

    assert check(make_dedupd(compressing)).freed_bytes == 0
