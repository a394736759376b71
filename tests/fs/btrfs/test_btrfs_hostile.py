# SPDX-License-Identifier: GPL-2.0-or-later
"""What any user can do to a btrfs within seconds keeps no pass busy, and no pass from ending."""

import os
import signal
import time

import pytest

import filesystem as filesystems
import harness
import ioctls
import oracle
from content import BLOCK, KIB, MIB, noise, write, write_extent
from deep_tree import NAME_BYTES, link_often, make_deep
from stopping import STOP_SECONDS
from subvolumes import make_subvolume, snapshot

LEVELS = 30_000
NAMES = 65_000
PASS_SECONDS = 30
PATH_BYTES_MAX = 16383
ESCAPED = 4  # bytes of a report for one of a path, at most


@pytest.fixture(params=["btrfs"])
def kind(request):
    return request.param


@pytest.fixture
def filesystem(kind):
    """Scrubbed at the end: `btrfs check` takes minutes for a file of 65,000 names."""
    try:
        with filesystems.LoopFilesystem(kind, "2G") as filesystem:
            yield filesystem
            assert not ioctls.btrfs_scrub(filesystem.mount_point)
    except filesystems.FilesystemUnavailable as unavailable:
        pytest.skip(str(unavailable))


def stop_within(dedupd, seconds_before, *paths, **options):
    """Stop a pass after a while, and return how long it took to end, and the pass."""
    process = dedupd.start(*paths, find="checksums", **options)
    time.sleep(seconds_before)
    begun = time.monotonic()
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(timeout=PASS_SECONDS)
    finally:
        process.kill()
    return time.monotonic() - begun, dedupd.finish(process)


def run_bounded(dedupd, *paths, **options):
    begun = time.monotonic()
    run = dedupd.run(*paths, find="checksums", **options)
    assert run.status == 0, run.stderr
    assert time.monotonic() - begun < PASS_SECONDS
    return run


@pytest.fixture
def deep(tree):
    """A file with very many names in a very deep directory, and its twin at the top."""
    (tree / "in").mkdir()
    (tree / "out").mkdir()
    write_extent(tree / "out/file", noise(1, MIB))
    write_extent(tree / "in/twin", noise(1, MIB))
    fd = make_deep(tree / "out", LEVELS)
    try:
        link_often(tree / "out/file", fd, NAMES)
    finally:
        os.close(fd)
    yield tree
    assert (tree / "in/twin").read_bytes() == (tree / "out/file").read_bytes() == noise(1, MIB)


# The name "in" is that of a path, which alone is part of the pass.
LIMITS = {
    "a path": (["in"], {}),
    "a glob for names": ([], {"exclude": "*i*"}),
    "a glob for paths": ([], {"exclude": "*/link-*"}),
    "a glob that is nowhere": ([], {"exclude": "*/nowhere/*/*/*"}),
}


@pytest.mark.alone
@pytest.mark.parametrize("limit", LIMITS)
def test_many_names_in_a_deep_directory(deep, filesystem, dedupd, limit):
    names, options = LIMITS[limit]
    paths = [deep / name for name in names]
    harness.settle(filesystem)
    filesystem.drop_caches()

    seconds, stopped = stop_within(dedupd, 0.3, *paths, **options)
    assert seconds < STOP_SECONDS
    # From a disk whose cache was dropped it may take as long until it can hear.
    assert stopped.status in (0, 128 + signal.SIGTERM, -signal.SIGTERM)

    run = run_bounded(dedupd, *paths, **options)
    for entry in run.filesystem["skipped"]:
        for example in entry["examples"]:
            assert len(os.fsencode(example)) <= ESCAPED * PATH_BYTES_MAX


def test_snapshots_multiply_names_and_directories(tree, filesystem, dedupd):
    make_subvolume(tree / "out")
    (tree / "in").mkdir()
    write_extent(tree / "in/twin", noise(1, MIB))
    write_extent(tree / "out/file", noise(1, MIB))
    fd = make_deep(tree / "out", 10_000, name_bytes=1)
    link_often(tree / "out/file", fd, 20_000)
    os.close(fd)
    for number in range(100):
        snapshot(tree / "out", tree / f"snapshot-{number}", read_only=False)
    harness.settle(filesystem)

    seconds, _ = stop_within(dedupd, 1, exclude="*/link-*")
    assert seconds < STOP_SECONDS
    seconds, _ = stop_within(dedupd, 1, tree / "in")
    assert seconds < STOP_SECONDS
    run_bounded(dedupd, tree / "in", state_dir=dedupd.state_directory / "path")
    run_bounded(dedupd, exclude="*/link-*", state_dir=dedupd.state_directory / "glob")


def test_a_backup_of_many_hard_links_is_not_cut_short(tree, filesystem, dedupd):
    """As `cp -al` makes one a day, of files that a glob excludes by each of their names."""
    days, files = 400, 20
    for number in range(files):
        write(tree / f"{number}.iso", noise(number // 2, 64 * KIB))
    for day in range(days):
        (tree / f"backup/{day}/a/b/c").mkdir(parents=True)
        for number in range(files):
            os.link(tree / f"{number}.iso", tree / f"backup/{day}/a/b/c/{number}.iso")

    done = harness.check_btrfs_pass(dedupd, exclude="*.iso")

    assert done.freed_bytes == 0
    assert done.first.skipped == {"excluded": files}
    # One of the names is enough.
    os.link(tree / "0.iso", tree / "backup/399/a/b/c/zero")
    os.link(tree / "1.iso", tree / "backup/399/a/b/c/one")
    assert harness.check_btrfs_pass(dedupd, exclude="*.iso").freed_bytes == 64 * KIB
    assert oracle.is_shared(tree / "0.iso", tree / "1.iso")


def test_a_long_path_is_cut_in_the_middle(tree, filesystem, dedupd):
    (tree / "in").mkdir()
    write_extent(tree / "in/twin", noise(1, MIB))
    fd = make_deep(tree, 2 * PATH_BYTES_MAX // NAME_BYTES)
    try:
        os.mkdir("last", dir_fd=fd)
        write_extent(tree / "file", noise(1, MIB))
        os.rename(tree / "file", "last/file", dst_dir_fd=fd)
    finally:
        os.close(fd)
    harness.settle(filesystem)

    run = run_bounded(dedupd, tree / "in")

    (example,) = run.skip_of("outside")["examples"]
    assert PATH_BYTES_MAX - 1024 < len(os.fsencode(example)) <= PATH_BYTES_MAX
    assert example.startswith(f"{tree}/ddd")
    assert example.endswith("/last/file")
    assert "/…/" in example


def clone_onto_itself(path, count):
    """@count references to the first block of a file, made by doubling."""
    fd = os.open(path, os.O_RDWR)
    try:
        made = 1
        while made < count:
            more = min(made, count - made)
            ioctls.clone_range(fd, 0, more * BLOCK, fd, made * BLOCK)
            made += more
    finally:
        os.close(fd)


def test_snapshots_multiply_references(tree, filesystem, dedupd):
    """Each look-up of all that shows the extent would take the kernel a second."""
    references, snapshots, extents = 40_000, 80, 4
    make_subvolume(tree / "sub")
    for number in range(extents):
        write_extent(tree / f"sub/{number}", noise(number, BLOCK))
        clone_onto_itself(tree / f"sub/{number}", references)
        write_extent(tree / f"twin-{number}", noise(number, BLOCK))
    for number in range(snapshots):
        snapshot(tree / "sub", tree / f"snapshot-{number}", read_only=False)
    harness.settle(filesystem)

    seconds, _ = stop_within(dedupd, 0.5, min_size=BLOCK)
    assert seconds < STOP_SECONDS
    run_bounded(dedupd, min_size=BLOCK)
    for number in range(extents):
        assert (tree / f"twin-{number}").read_bytes() == noise(number, BLOCK)
