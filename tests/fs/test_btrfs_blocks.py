# SPDX-License-Identifier: GPL-2.0-or-later
"""A long extent of which the rest is in many short ones goes, though no anchor says where that rest is.

Here an image holds what an older image has, and small files in another order.
"""

import pathlib
import random

import pytest

import harness
import oracle
from content import BLOCK, KIB, MIB, noise, write
from subvolumes import make_subvolume, snapshot

# By the guard 16 pieces are free and each 64 KiB of what goes pay for one more.
FILE_BLOCKS = (3, 9)
LAYOUTS = ("shuffled", "in other images")


@pytest.fixture
def kind():
    return "btrfs"


class Images:
    """An older and a newer image, and small files that the newer one has beside."""

    def __init__(self, tree, filesystem, layout="shuffled", beside=b"", common_bytes=3 * MIB, files=40):
        chance = random.Random(3)
        common = noise(1, common_bytes)
        self.smalls = [noise(100 + number, BLOCK * chance.randrange(*FILE_BLOCKS)) for number in range(files)]
        self.older = write(tree / "older", common + noise(2, common_bytes))
        chance.shuffle(self.smalls)
        self.newer = write(tree / "newer", common + b"".join(self.smalls) + beside)
        # What lies side by side in one file is found as one.
        chance.shuffle(self.smalls)
        if layout == "shuffled":
            for number, data in enumerate(self.smalls):
                write(tree / f"small-{number}", data)
        else:
            write(tree / "third", b"".join(noise(200 + number, BLOCK) + data
                                           for number, data in enumerate(self.smalls)))
        self.newer_bytes = self.newer.stat().st_size
        harness.settle(filesystem)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_an_image_goes_of_which_the_rest_is_in_short_pieces(tree, filesystem, dedupd, layout):
    images = Images(tree, filesystem, layout)

    done = harness.check_btrfs_pass(dedupd, rewrite="never")
    assert done.first.freed_bytes == images.newer_bytes
    if layout == "shuffled":
        assert "pinned" not in done.first.skipped
        assert done.first.filesystem["pinned"] == []


def test_a_trial_says_the_same(tree, filesystem, dedupd):
    images = Images(tree, filesystem)

    before = oracle.layout(tree)
    run = dedupd.run(find="checksums", rewrite="never", dry_run=True)
    assert run.freed_bytes == images.newer_bytes
    assert oracle.layout(tree) == before


def test_one_block_that_is_nowhere_else_keeps_the_image(tree, filesystem, dedupd):
    images = Images(tree, filesystem, beside=noise(9, BLOCK))

    done = harness.check_btrfs_pass(dedupd, rewrite="never")
    # Of the small files some are found in the image, and go themselves.
    assert done.first.freed_bytes < MIB
    assert done.first.skip_of("pinned")["bytes"] == images.newer_bytes
    (pinned,) = done.first.filesystem["pinned"]
    assert (pinned["cause"], pinned["count"], pinned["uncovered_bytes"]) == ("uncovered", 1, BLOCK)


def test_what_does_not_fit_into_memory_is_told_as_pinned(make_filesystem, make_dedupd):
    """Half of each extent of the large image is elsewhere, and a quarter of 4 MiB holds the blocks of 113 MiB."""
    filesystem = make_filesystem("btrfs", "800M")
    tree = pathlib.Path(filesystem.mount_point)
    images = Images(tree, filesystem)
    common = [noise(1000 + number, MIB) for number in range(80)]
    for name, seed in (("large-older", 2000), ("large-newer", 3000)):
        write(tree / name, b"".join(data + noise(seed + number, MIB) for number, data in enumerate(common)))
    harness.settle(filesystem)

    done = harness.check_btrfs_pass(make_dedupd(filesystem), rewrite="never", memory="4M")
    assert done.first.freed_bytes == images.newer_bytes
    assert done.first.skip_of("pinned")["bytes"] == 160 * MIB


def test_what_is_too_little_for_the_filesystem_is_not_looked_for(tree, filesystem, dedupd):
    """All checksums would be read for one short image."""
    images = Images(tree, filesystem, common_bytes=24 * BLOCK, files=6)
    assert images.newer_bytes >= 128 * KIB
    write(tree / "much", noise(4, 256 * images.newer_bytes + MIB))

    done = harness.check_btrfs_pass(dedupd, rewrite="never")
    assert done.first.freed_bytes < images.newer_bytes - 24 * BLOCK
    assert done.first.skip_of("pinned")["bytes"] == images.newer_bytes


def test_snapshots_that_hold_the_image_are_told(tree, filesystem, dedupd):
    """It is shared away where files can be written to, and freed when the snapshot goes."""
    make_subvolume(tree / "live")
    images = Images(tree / "live", filesystem)
    snapshot(tree / "live", tree / "snapshot")

    run = harness.check_btrfs_pass(dedupd, rewrite="never", read_only_snapshots="writable").first
    assert run.freed_bytes == 0
    assert run.filesystem["deferred"]["bytes"] == images.newer_bytes
