# SPDX-License-Identifier: GPL-2.0-or-later
"""A long extent of which the rest is in many short ones goes, though no anchor says where that rest is.

Here an image holds what an older image has, and small files in another order.
"""

import pathlib
import random
import signal
import time

import pytest

import harness
import oracle
from content import BLOCK, KIB, MIB, noise, write
from feigned_kernel import feigning
from subvolumes import make_subvolume, snapshot
from stopping import patience

# By the guard 16 pieces are free and each 64 KiB of what goes pay for one more.
FILE_BLOCKS = (3, 9)
# So many have a pass last five times as long as it may take to stop.
SOURCES_PER_SECOND_OF_PATIENCE = 130
LAYOUTS = ("shuffled", "in other images")


@pytest.fixture
def kind():
    return "btrfs"


class Images:
    """An older and a newer image, and small files that the newer one has beside."""

    def __init__(self, tree, filesystem, layout="shuffled", beside=b"", common_bytes=3 * MIB, files=40, seed=0,
                 decoys=0):
        chance = random.Random(3)
        common = noise(seed + 1, common_bytes)
        self.smalls = [noise(seed + 100 + number, BLOCK * chance.randrange(*FILE_BLOCKS)) for number in range(files)]
        blocks = [data[at:at + BLOCK] for data in self.smalls for at in range(0, len(data), BLOCK)]
        for number in range(decoys):
            chance.shuffle(blocks)
            write(tree / f"decoy-{number}", b"".join(blocks))
            # Extents are looked through in the order in which they were found.
            harness.settle(filesystem)
        self.older = write(tree / "older", common + noise(seed + 2, common_bytes))
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


def test_who_has_the_blocks_in_any_order_hides_nothing(tree, filesystem, dedupd):
    """Each decoy has all that is looked for, in pieces of a block: what is cut into such is not worth it."""
    images = Images(tree, filesystem, decoys=20)

    done = harness.check_btrfs_pass(dedupd, rewrite="never")
    assert done.first.freed_bytes >= images.newer_bytes
    assert not any(pinned["cause"] == "uncovered" for pinned in done.first.filesystem["pinned"])


def test_what_does_not_fit_into_memory_is_looked_for_in_parts(make_filesystem, make_dedupd):
    """A quarter of 4 MiB holds the blocks of 113 MiB, and each of three images has some 48."""
    filesystem = make_filesystem("btrfs", "1G")
    tree = pathlib.Path(filesystem.mount_point)
    expected = 0
    for number in range(3):
        (tree / str(number)).mkdir()
        expected += Images(tree / str(number), filesystem, common_bytes=36 * MIB, files=550,
                           seed=10000 * (number + 1)).newer_bytes

    done = harness.check_btrfs_pass(make_dedupd(filesystem), rewrite="never", memory="4M", may_note=True)
    assert done.first.freed_bytes == expected


def test_what_is_too_little_for_the_filesystem_is_not_looked_for(tree, filesystem, dedupd):
    """All checksums would be read for two short images: the older one is a source, and looked for as well."""
    images = Images(tree, filesystem, common_bytes=24 * BLOCK, files=6)
    assert images.newer_bytes >= 128 * KIB
    write(tree / "much", noise(4, 256 * (images.newer_bytes + images.older.stat().st_size) + MIB))

    done = harness.check_btrfs_pass(dedupd, rewrite="never")
    assert done.first.freed_bytes < images.newer_bytes - 24 * BLOCK
    assert done.first.skip_of("pinned")["bytes"] == images.newer_bytes


def test_a_source_that_may_go_takes_with_it_what_was_shared_onto_it(tree, filesystem, dedupd):
    """The longest is searched, and the middle one as its source: the shortest was shared onto that by then."""
    data = noise(1, 60 * BLOCK)
    for number, blocks in enumerate((59, 60, 58)):
        path = write(tree / f"copy-{number}", data[:blocks * BLOCK])
        harness.settle(filesystem)
        if blocks < 60:
            with path.open("ab") as file:
                file.write(noise(10 + number, (60 - blocks) * BLOCK))
            harness.settle(filesystem)

    done = harness.check_btrfs_pass(dedupd, rewrite="never")
    assert done.first.freed_bytes == (59 + 58) * BLOCK


def seconds_to_stop(dedupd, after_seconds):
    process = dedupd.start(find="checksums", rewrite="never", dry_run=True)
    time.sleep(after_seconds)
    begun = time.monotonic()
    process.send_signal(signal.SIGTERM)
    process.communicate()
    return time.monotonic() - begun


@pytest.mark.true_clock
def test_planning_one_image_ends_when_the_pass_is_told_to(tree, filesystem, dedupd):
    """Each of hundreds of sources is searched for, and nearly all of the time goes into searches."""
    limit = patience()
    Images(tree, filesystem, common_bytes=12 * MIB, files=SOURCES_PER_SECOND_OF_PATIENCE * limit)

    with feigning(dedupd, FEIGN_SLOW_SEARCHES="18000"):
        run = dedupd.run(find="checksums", rewrite="never", dry_run=True)
        assert run.seconds > 4 * limit
        took = [seconds_to_stop(dedupd, run.seconds * part) for part in (0.3, 0.7)]
    assert max(took) <= limit, took


def test_snapshots_that_hold_the_image_are_told(tree, filesystem, dedupd):
    """It is shared away where files can be written to, and freed when the snapshot goes."""
    make_subvolume(tree / "live")
    images = Images(tree / "live", filesystem)
    snapshot(tree / "live", tree / "snapshot")

    run = harness.check_btrfs_pass(dedupd, rewrite="never", read_only_snapshots="writable").first
    assert run.freed_bytes == 0
    assert run.filesystem["deferred"]["bytes"] == images.newer_bytes
