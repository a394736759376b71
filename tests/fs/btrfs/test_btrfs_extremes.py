# SPDX-License-Identifier: GPL-2.0-or-later
"""A btrfs with very many extents, references or snapshots: time and memory stay within bounds."""

import os
import pathlib
import threading
import time

import pytest

import harness
import ioctls
import oracle
from content import BLOCK, MIB, clone, noise, write, write_extent
from harness import REFERENCES_MAX
from subvolumes import make_subvolume, snapshot

MANY = 30_000
SNAPSHOTS = 1000
PASS_SECONDS = 30
RESIDENT_BYTES = 64 * MIB


@pytest.fixture(params=["btrfs"])
def kind(request):
    return request.param


@pytest.fixture
def filesystem(make_filesystem, kind):
    return make_filesystem(kind, "2G")


class MemoryWatch(threading.Thread):
    """The most memory that a running process had, looked at again and again."""

    def __init__(self, pid):
        super().__init__()
        self.status = pathlib.Path(f"/proc/{pid}/status")
        self.peak_bytes = 0

    def run(self):
        while True:
            try:
                lines = self.status.read_text(encoding="ascii").splitlines()
            except (FileNotFoundError, ProcessLookupError):
                return
            peak = [line.split()[1] for line in lines if line.startswith("VmHWM:")]
            if not peak:  # it ended
                return
            self.peak_bytes = max(self.peak_bytes, int(peak[0]) << 10)
            time.sleep(0.01)


def run_bounded(dedupd, **options):
    """A pass in bounded time and memory."""
    process = dedupd.start(find="checksums", **options)
    watch = MemoryWatch(process.pid)
    watch.start()
    run = dedupd.finish(process)
    watch.join()

    assert run.status == 0, run.stderr
    assert run.seconds < PASS_SECONDS
    assert watch.peak_bytes < RESIDENT_BYTES
    # A short one may have ended unseen.
    assert watch.peak_bytes > 0 or run.seconds < 0.1
    return run


def check(dedupd, filesystem, tree):
    """A pass that keeps every promise within bounds; those after it have nothing to do."""
    harness.settle(filesystem)
    before, used = oracle.snapshot(tree), harness.used_data_bytes(filesystem)

    run = run_bounded(dedupd)

    harness.assert_unchanged(before, tree)
    assert run.freed_bytes == used - harness.used_data_bytes(filesystem)
    # So much changed that the next pass notes how far it has come.
    second = run_bounded(dedupd)
    assert second.read["compare_bytes"] == second.shared["calls"] == second.freed_bytes == 0
    harness.assert_converged(dedupd, tree, find="checksums")
    return run


def write_in_extents(path, data):
    """A file of one extent per block: every other one is written first."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
    try:
        for parity in (0, 1):
            for block in range(parity, len(data) // BLOCK, 2):
                os.pwrite(fd, data[block * BLOCK:(block + 1) * BLOCK], block * BLOCK)
            os.fsync(fd)
    finally:
        os.close(fd)


def test_a_file_of_many_extents(tree, filesystem, dedupd):
    data = noise(1, MANY * BLOCK)
    for name in ("one", "two"):
        write_in_extents(tree / name, data)
    write(tree / "whole", data)
    assert len(oracle.file_extents(tree / "one")) >= MANY // 2

    run = check(dedupd, filesystem, tree)

    assert run.files["seen"] >= 2 * MANY
    assert run.freed_bytes == 2 * MANY * BLOCK


def clone_many(source, target, piece):
    """MANY references to the first @piece bytes of a file, in another one."""
    source_fd, target_fd = os.open(source, os.O_RDONLY), os.open(target, os.O_RDWR | os.O_CREAT)
    try:
        for number in range(MANY):
            ioctls.clone_range(source_fd, 0, piece, target_fd, number * piece)
    finally:
        os.close(source_fd)
        os.close(target_fd)


@pytest.mark.parametrize("popular", ["older", "younger"])
@pytest.mark.parametrize("blocks", [4, 256])
def test_an_extent_with_many_references_in_one_file(tree, filesystem, dedupd, popular, blocks):
    names = ["popular", "twin"] if popular == "older" else ["twin", "popular"]
    for name in names:
        write_extent(tree / name, noise(1, blocks * BLOCK))
    # All of it, or a part.
    clone_many(tree / "popular", tree / "clones", 4 * BLOCK)

    run = check(dedupd, filesystem, tree)

    # It has too many places to be moved from, and serves as the source.
    assert run.freed_bytes == blocks * BLOCK
    assert oracle.is_shared(tree / "popular", tree / "twin")


def test_many_twins_of_an_extent_with_many_references(tree, filesystem, dedupd):
    write_extent(tree / "popular", noise(1, 4 * BLOCK))
    clone_many(tree / "popular", tree / "clones", 4 * BLOCK)
    for number in range(300):
        write(tree / f"twin-{number}", noise(1, 4 * BLOCK))
    harness.settle(filesystem)

    run = run_bounded(dedupd)

    assert run.freed_bytes == 300 * 4 * BLOCK
    assert all((tree / f"twin-{number}").read_bytes() == noise(1, 4 * BLOCK)
               for number in range(300))


def test_two_extents_with_many_references_pin_each_other(tree, filesystem, dedupd):
    for name in ("one", "two"):
        write_extent(tree / name, noise(1, MIB))
        for number in range(REFERENCES_MAX):
            clone(tree / name, tree / f"{name}-{number}")
    clone_many(tree / "one", tree / "clones", BLOCK)

    run = check(dedupd, filesystem, tree)

    assert run.freed_bytes == 0
    assert run.shared["calls"] == 0
    assert run.skipped == {"clones": 1}


@pytest.mark.alone
def test_many_snapshots_of_a_small_subvolume(tree, filesystem, dedupd):
    make_subvolume(tree / "sub")
    (tree / "outside").mkdir()
    for number in range(20):
        write(tree / f"sub/{number}", noise(number, 16 * BLOCK))
    harness.settle(filesystem)
    filesystem.drop_caches()
    alone = run_bounded(dedupd, dry_run=True)
    for number in range(SNAPSHOTS):
        snapshot(tree / "sub", tree / f"snapshot-{number}")
    harness.settle(filesystem)
    filesystem.drop_caches()

    beside = run_bounded(dedupd, dry_run=True, state_dir=dedupd.state_directory / "other")

    # Finding sees each extent once, however many show it.
    assert beside.files["seen"] == alone.files["seen"] == 20
    assert beside.seconds < alone.seconds + 1
    assert beside.read["disk_bytes"] < alone.read["disk_bytes"] + 4 * MIB
    # The twin of what all snapshots show gives way to it.
    for number in range(20):
        write(tree / f"outside/{number}", noise(number, 16 * BLOCK))
    before = oracle.snapshot(tree / f"snapshot-{SNAPSHOTS // 2}")
    run = check(dedupd, filesystem, tree / "outside")
    harness.assert_unchanged(before, tree / f"snapshot-{SNAPSHOTS // 2}")
    assert run.freed_bytes == 20 * 16 * BLOCK
    assert oracle.is_shared(tree / "outside/0", tree / f"snapshot-{SNAPSHOTS - 1}/0")


def test_an_extent_half_of_which_is_hidden_is_freed_as_a_whole(tree, filesystem, dedupd):
    data = noise(1, 64 * MIB)
    write_extent(tree / "source", data)
    write_extent(tree / "truncated", data)
    os.truncate(tree / "truncated", 32 * MIB)

    run = check(dedupd, filesystem, tree)

    assert run.freed_bytes == 64 * MIB
    assert run.read["compare_bytes"] == 64 * MIB


def test_a_hidden_half_that_another_file_shows_is_moved_too_or_pins(tree, filesystem, dedupd):
    data = noise(1, 64 * MIB)
    write_extent(tree / "source", data)
    write_extent(tree / "truncated", data)
    clone(tree / "truncated", tree / "clone")
    os.truncate(tree / "truncated", 32 * MIB)
    os.truncate(tree / "source", 32 * MIB)

    # The second half of the clone is equal to nothing that is shown: all stays but what hides.
    run = check(dedupd, filesystem, tree)
    assert run.freed_bytes == 64 * MIB
    assert oracle.is_shared(tree / "source", tree / "truncated")

    write_extent(tree / "again", data)
    assert check(dedupd, filesystem, tree).freed_bytes == 64 * MIB
