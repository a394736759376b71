# SPDX-License-Identifier: GPL-2.0-or-later
"""Whoever writes while passes share, rewrite and are killed finds what was written, and only that."""

import os

import pytest

import damage
import harness
import ioctls
from content import MIB
from race import Race, RaceLost
from subvolumes import delete_subvolumes, wait_for_deleted

OPERATIONS = int(os.environ.get("DEDUPD_RACE_OPERATIONS", "30000"))


@pytest.fixture
def filesystem(make_filesystem):
    return make_filesystem("btrfs", "3G")


@pytest.mark.parametrize("seed", harness.seeds(1))
def test_every_byte_is_what_its_writer_wrote(tree, filesystem, dedupd, start_writers, seed):
    used_bytes = harness.used_data_bytes(filesystem)
    writers = start_writers(seed, OPERATIONS)
    race = Race(dedupd.command(find="checksums", no_data_cow="skip"), seed)

    race.run_against(writers)
    race.kill_at_rest()
    # What deleted snapshots still give back is not freed by the pass.
    wait_for_deleted(tree)
    # Small extents that the file they lay in does not show any more are looked for by the second pass.
    harness.check_btrfs_pass(dedupd, may_note=True)
    filesystem.unmount()
    filesystem.mount()
    writers.check()

    assert race.passes.complete > 0 and race.passes.killed > 0, race.passes
    assert race.passes.freed_bytes > 16 * MIB, race.passes
    assert race.passes.rewritten_extents > 0, race.passes
    delete_subvolumes(tree, *os.listdir(tree))
    assert harness.used_data_bytes(filesystem) == used_bytes


def touch(_filesystem, tree):
    os.utime(next(tree.glob("live-*/*")))


def unlink(_filesystem, tree):
    next(tree.glob("live-*/*")).unlink()


def add(_filesystem, tree):
    (tree / "live-0" / "another").touch()


def has_data_last(path):
    with open(path, "rb") as file:
        extents = ioctls.extents(file.fileno())
        return extents and extents[-1].is_data


def change_bytes(filesystem, tree):
    """Without a checksum nothing but a look at the file itself tells that it was changed."""
    damage.make_unreadable(filesystem, next(
        path for path in tree.glob("*/*")
        if ioctls.flags(path) & ioctls.FS_NO_COW and has_data_last(path)))


@pytest.mark.parametrize("change, complaint", [
    (touch, "another modification time"),
    (unlink, "No such file|files and not"),
    (add, "files and not"),
    (change_bytes, "differs in"),
], ids=["touch", "unlink", "add", "change-bytes"])
def test_what_no_writer_did_is_noticed(tree, filesystem, start_writers, change, complaint):
    writers = start_writers(7, 800)
    while writers.are_running(1):
        pass
    writers.check()

    change(filesystem, tree)

    with pytest.raises(RaceLost, match=f"seed 7, writer .*({complaint})"):
        writers.check()
