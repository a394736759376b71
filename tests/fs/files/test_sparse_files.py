# SPDX-License-Identifier: GPL-2.0-or-later
"""Data at any offset of a sparse file: deduplicated, or left alone with a reason, and soon."""

import os

import pytest

import harness
import oracle
from content import BLOCK, KIB, MIB, noise, write

# What anchors number: blocks of a file.
LIMIT = ((1 << 32) - 1) * BLOCK
LARGEST = 1 << 62
SECONDS = 60


def write_far(path, offset, data):
    with open(path, "wb") as file:
        file.seek(offset)
        file.write(data)
    return path


def addresses(path):
    """Physical addresses of the data, in the order of the file."""
    return [address for extent in oracle.file_extents(path) if extent.is_data
            for address in range(extent.physical, extent.physical + extent.length, BLOCK)]


@pytest.mark.parametrize("offset", [LIMIT, LIMIT + BLOCK, LARGEST])
def test_data_beyond_the_limit_is_reported(tree, dedupd, offset):
    """At LIMIT + BLOCK, cut to 32 bits, the block's number would be 0."""
    write_far(tree / "one", offset, noise(1, MIB))
    write_far(tree / "two", offset, noise(1, MIB) + noise(2, BLOCK))
    write(tree / "near", noise(1, MIB) + noise(3, BLOCK))
    write(tree / "nearer", noise(1, MIB) + noise(4, BLOCK))

    done = harness.check_pass(dedupd)

    assert done.freed_bytes == MIB
    assert addresses(tree / "near")[:256] == addresses(tree / "nearer")[:256]
    left = done.first.skip_of("large-offset")
    assert left["count"] == 2
    assert left["bytes"] == 2 * MIB + BLOCK
    assert sorted(map(os.path.basename, left["examples"])) == ["one", "two"]


def test_only_what_lies_beyond_the_limit_is_reported(tree, dedupd):
    write_far(tree / "one", LIMIT - MIB, noise(1, 2 * MIB) + noise(2, 64 * KIB))
    write_far(tree / "two", LIMIT - MIB, noise(1, 2 * MIB) + noise(3, 64 * KIB))

    done = harness.check_pass(dedupd)

    # What continues equal data is compared whatever its offset is.
    assert done.freed_bytes == 2 * MIB
    assert done.first.skip_of("large-offset")["bytes"] == 2 * (MIB + 64 * KIB)


def test_files_that_are_equal_as_a_whole_are_deduplicated_beyond_the_limit(tree, dedupd):
    for name in "one", "two":
        write_far(tree / name, LARGEST, noise(1, MIB))

    done = harness.check_pass(dedupd)

    assert done.freed_bytes == MIB
    assert addresses(tree / "one") == addresses(tree / "two")


def test_extents_of_btrfs_are_found_at_any_offset(make_filesystem, make_dedupd):
    filesystem = make_filesystem("btrfs")
    dedupd = make_dedupd(filesystem)
    write_far(os.path.join(filesystem.mount_point, "one"), LARGEST, noise(1, MIB))
    write(os.path.join(filesystem.mount_point, "near"), noise(1, MIB))

    done = harness.check_pass(dedupd, find="checksums")

    assert done.freed_bytes == MIB
    assert not done.first.skipped


def test_a_file_that_is_skipped_while_it_is_read_takes_no_longer_if_it_is_sparse(tree, dedupd):
    swap = bytearray(noise(1, MIB))
    swap[BLOCK - 10:BLOCK] = b"SWAPSPACE2"
    write_far(tree / "swap", 0, swap)
    os.truncate(tree / "swap", (1 << 63) - BLOCK)
    write_far(tree / "other", LARGEST, noise(2, BLOCK))

    harness.settle(dedupd.filesystem)
    run = dedupd.finish(dedupd.start(), timeout=SECONDS)

    assert run.status == 0, run.stderr
    assert run.skipped["swap-file"] == 1
