# SPDX-License-Identifier: GPL-2.0-or-later
"""Which of two equal extents of a btrfs stays, where whole copies can be freed."""

import os
import random
import shutil
import signal
import subprocess
import time

import pytest

import content
import harness
import oracle
from content import BLOCK, KIB, MIB, forget_pages, noise, overwrite, write
from subvolumes import make_subvolume, snapshot
from harness import check_btrfs_pass as check


@pytest.fixture(params=["btrfs"])
def kind(request):
    return request.param


def write_cut(path, data, blocks):
    """Write a file in extents of so many blocks each."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    try:
        offset = 0
        for count in blocks:
            os.pwrite(fd, data[offset:offset + count * BLOCK], offset)
            os.fdatasync(fd)
            offset += count * BLOCK
    finally:
        os.close(fd)
    return path


def cut_at_random(path, data, seed, least, most):
    chance = random.Random(seed)
    left = len(data) // BLOCK
    blocks = []
    while left:
        blocks.append(min(left, chance.randrange(least // BLOCK, most // BLOCK + 1)))
        left -= blocks[-1]
    return write_cut(path, data, blocks)


@pytest.mark.parametrize("first, second", [((804, 220), (300, 724)), ((300, 724), (804, 220)),
                                           ((512, 512), (300, 724)), ((1000, 24), (300, 724))])
def test_one_of_two_copies_stays_as_a_whole(tree, filesystem, dedupd, first, second):
    data = noise(1, 1024 * BLOCK)
    write_cut(tree / "one", data, first)
    write_cut(tree / "two", data, second)
    harness.settle(filesystem)

    assert check(dedupd).freed_bytes == len(data)


@pytest.mark.parametrize("least, most", [(MIB, 8 * MIB), (128 * KIB, MIB), (256 * KIB, 4 * MIB)])
def test_copies_cut_at_random_are_freed_but_for_little(tree, filesystem, dedupd, least, most):
    data = noise(1, 48 * MIB)
    for name in range(3):
        cut_at_random(tree / str(name), data, name, least, most)
    harness.settle(filesystem)

    assert check(dedupd).freed_bytes >= 2 * len(data) * 98 // 100


def test_what_was_there_first_stays_of_equal_twins(tree, filesystem, dedupd):
    data = noise(1, 2 * MIB)
    for name in ("one", "two", "three"):
        write(tree / name, data, piece=len(data))
    harness.settle(filesystem)
    first = [extent.physical for extent in oracle.file_extents(tree / "one")]

    check(dedupd)

    for name in ("one", "two", "three"):
        assert [extent.physical for extent in oracle.file_extents(tree / name)] == first


def test_long_extents_stay_rather_than_short_ones(tree, filesystem, dedupd):
    data = noise(1, 8 * MIB)
    write(tree / "short", data, piece=256 * KIB)
    write(tree / "long", data, piece=len(data))
    harness.settle(filesystem)

    assert check(dedupd).freed_bytes == len(data)
    assert len(oracle.file_extents(tree / "short")) == 1


def restore(filesystem, saved):
    """Give the unmounted filesystem back what its image was."""
    shutil.copyfile(saved, filesystem.image)
    subprocess.run(["sync", filesystem.image], check=True)
    subprocess.run(["blockdev", "--flushbufs", filesystem.device], check=True)
    filesystem.mount()


def test_the_same_filesystem_has_the_same_plan(tree, filesystem, make_dedupd, tmp_path):
    """Whatever the store's secret is."""
    data = noise(1, 8 * MIB)
    for number in range(3):
        cut_at_random(tree / f"cut-{number}", data, number, 256 * KIB, MIB)
    for number in range(4):
        write(tree / f"small-{number}", noise(2, 24 * KIB), piece=24 * KIB)
    write(tree / "edited", data[:3 * MIB] + noise(3, BLOCK) + data[3 * MIB:], piece=8 * MIB + BLOCK)
    harness.settle(filesystem)
    filesystem.unmount()
    shutil.copyfile(filesystem.image, tmp_path / "image")
    layouts, figures = [], []

    for number in range(3):
        restore(filesystem, tmp_path / "image")
        run = make_dedupd(filesystem, f"state-{number}").run(find="checksums")
        assert run.status == 0, run.stderr
        figures.append((run.freed_bytes, run.shared["bytes"], run.rewritten["bytes"]))
        layouts.append({name: [extent.length for extent in oracle.file_extents(tree / name)]
                        for name in os.listdir(tree)})
        filesystem.unmount()
    filesystem.mount()

    assert figures[0][0] > 2 * len(data)
    assert figures[1:] == figures[:1] * 2
    assert layouts[1:] == layouts[:1] * 2


@pytest.mark.parametrize("size", [24 * KIB, 2 * MIB], ids=["small", "large"])
def test_what_snapshots_show_stays(tree, filesystem, dedupd, size):
    """Its twin has one place to be shared, it has many."""
    data = noise(1, size)
    write(tree / "plain", data, piece=size)
    make_subvolume(tree / "live")
    write(tree / "live/file", data, piece=size)
    for number in range(5):
        snapshot(tree / "live", tree / f"day-{number}")
    harness.settle(filesystem)

    done = check(dedupd)

    assert done.freed_bytes == done.first.shared["bytes"] == size


def test_what_is_cloned_stays(tree, filesystem, dedupd):
    data = noise(1, 2 * MIB)
    write(tree / "plain", data, piece=len(data))
    write(tree / "cloned", data, piece=len(data))
    for number in range(3):
        subprocess.run(["cp", "--reflink=always", tree / "cloned", tree / f"clone-{number}"],
                       check=True)
    harness.settle(filesystem)

    assert check(dedupd).first.shared["bytes"] == len(data)


def test_what_was_overwritten_in_places_does_not_stay(tree, filesystem, dedupd):
    """It is in several pieces of one file, which is no sharing, and part of it is hidden."""
    data = noise(1, 4 * MIB)
    for number in range(3):
        write(tree / str(number), data, piece=len(data))
    for number in (1, 2):
        for block in range(50 * number, 1024, 200):
            overwrite(tree / str(number), block * BLOCK, noise(block, 2 * BLOCK))
    harness.settle(filesystem)

    assert check(dedupd).freed_bytes == 2 * len(data)


def test_what_changed_since_the_snapshot_is_not_shown_by_it(tree, filesystem, dedupd):
    make_subvolume(tree / "live")
    snapshot(tree / "live", tree / "old")
    write(tree / "live/file", noise(1, 2 * MIB), piece=2 * MIB)
    write(tree / "copy", noise(1, 2 * MIB), piece=2 * MIB)
    make_subvolume(tree / "other")
    write(tree / "other/file", noise(1, 2 * MIB), piece=2 * MIB)
    snapshot(tree / "other", tree / "kept")
    harness.settle(filesystem)

    done = check(dedupd)

    assert done.freed_bytes == done.first.shared["bytes"] == 4 * MIB


DAYS = 9


def shared_places(tree):
    """Of each target how many of its places show its source by now."""
    return [sum(oracle.is_shared(tree / f"one-{number}", tree / place / f"two-{number}")
                for place in ["live", *(f"day-{day}" for day in range(DAYS))])
            for number in range(4)]


def share_until(dedupd, tree, is_enough):
    """Run a slow pass and end it as soon as it shared what is enough; returns shared_places()."""
    forget_pages(tree)
    process = dedupd.start(find="checksums", limit_rate="24M")
    while process.poll() is None and not is_enough(shared_places(tree)):
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    assert dedupd.finish(process).status == 143
    return shared_places(tree)


def write_large_pair(tree):
    """Two equal extents that are planned for before those of 4 MiB, as several files show them, too."""
    for name in ("large", "equal"):
        content.write_extent(tree / name, noise(90, 32 * MIB))
        subprocess.run(["cp", "--reflink=always", tree / name, tree / f"{name}-clone"], check=True)


@pytest.mark.parametrize("comes_better", [False, True])
def test_a_target_that_was_begun_is_finished_first(tree, filesystem, dedupd, comes_better):
    """Nothing of it is freed before its last place is shared, also if larger ones come meanwhile."""
    make_subvolume(tree / "live")
    for number in range(4):
        data = noise(number, 4 * MIB)
        write(tree / f"one-{number}", data, piece=len(data))
        subprocess.run(["cp", "--reflink=always", tree / f"one-{number}", tree / f"more-{number}"],
                       check=True)
        write(tree / "live" / f"two-{number}", data, piece=len(data))
    for day in range(DAYS):
        snapshot(tree / "live", tree / f"day-{day}")
    harness.settle(filesystem)

    begun = share_until(dedupd, tree, lambda counts: any(0 < count <= DAYS for count in counts))
    partial = [number for number, count in enumerate(begun) if 0 < count <= DAYS]
    if comes_better:
        write_large_pair(tree)
        harness.settle(filesystem)
    after = share_until(dedupd, tree, lambda counts: counts != begun)

    assert len(partial) == 1
    if comes_better:
        assert not oracle.is_shared(tree / "large", tree / "equal")
    assert after[partial[0]] > begun[partial[0]]
    if after[partial[0]] <= DAYS:
        assert [count for number, count in enumerate(after) if number != partial[0]] == [
            count for number, count in enumerate(begun) if number != partial[0]]
    check(dedupd)
    assert shared_places(tree) == [DAYS + 1] * 4
