# SPDX-License-Identifier: GPL-2.0-or-later
"""What a pass does to the page cache, and what the page cache spares the disk."""

import os
import time

import pytest

import content
import harness
import ioctls
from content import KIB, MIB, noise, write

SIZE = 24 * MIB
# What is read back is not waited for.
RESTORE_SECONDS = 5


@pytest.fixture(name="files")
def files_fixture(tree):
    """Two equal files, two more that are small, and one without equal."""
    content.write_twins(tree, SIZE, seed=1, names=("a", "b"))
    content.write_twins(tree, 40 * KIB, seed=2, names=("c", "d"))
    content.write(tree / "e", content.noise(3, SIZE))
    if ioctls.resident_bytes(tree / "e") is None:
        pytest.skip("this kernel has no cachestat(2)")
    return [tree / name for name in "abcde"]


def run_cold(dedupd, **options):
    harness.settle(dedupd.filesystem)
    dedupd.filesystem.drop_caches()
    drops = harness.cache_drops()
    run = dedupd.run(**options)
    assert run.status == 0, run.stderr
    if harness.cache_drops() != drops:
        pytest.skip("somebody else emptied the page cache meanwhile")
    return run


def test_nothing_stays_in_the_page_cache(files, dedupd):
    run = run_cold(dedupd)

    assert run.freed_bytes >= SIZE
    assert [ioctls.resident_bytes(path) for path in files] == [0] * len(files)


def test_a_dry_run_leaves_nothing_in_the_page_cache(files, dedupd):
    run_cold(dedupd, dry_run=True)

    assert [ioctls.resident_bytes(path) for path in files] == [0] * len(files)


def test_what_others_had_cached_stays(files, dedupd):
    harness.settle(dedupd.filesystem)
    dedupd.filesystem.drop_caches()
    files[4].read_bytes()
    cached = ioctls.resident_bytes(files[4])
    drops = harness.cache_drops()

    dedupd.run()

    if harness.cache_drops() != drops:
        pytest.skip("somebody else emptied the page cache meanwhile")
    assert cached >= SIZE
    # The kernel takes some pages by itself where memory is wanted elsewhere.
    assert ioctls.resident_bytes(files[4]) >= 0.98 * cached


def test_what_was_read_to_find_is_compared_from_memory(files, dedupd):
    run = run_cold(dedupd)

    on_disk = 3 * SIZE + 80 * KIB
    assert run.read["finding_bytes"] == on_disk
    assert run.read["compare_bytes"] >= 2 * SIZE
    metadata = harness.metadata_bytes(dedupd.filesystem, files[0].parent)
    assert run.device_bytes <= 1.05 * on_disk + metadata
    assert on_disk <= run.read["disk_bytes"] <= 1.05 * on_disk + metadata


def make_hot(*paths, every_other_mib=False):
    """Have files in the page cache, as whoever uses them does; their resident bytes."""
    for path in paths:
        fd = os.open(path, os.O_RDONLY)
        try:
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
            for offset in range(0, os.fstat(fd).st_size, (1 + every_other_mib) * MIB):
                os.pread(fd, MIB, offset)
        finally:
            os.close(fd)
    return [ioctls.resident_bytes(path) for path in paths]


def run_hot(dedupd, *paths, every_other_mib=False):
    """A pass while these files, and no other, are in the page cache; all that was there stays."""
    harness.settle(dedupd.filesystem)
    dedupd.filesystem.drop_caches()
    drops = harness.cache_drops()
    cached = make_hot(*paths, every_other_mib=every_other_mib)

    run = dedupd.run()

    assert run.status == 0, run.stderr
    deadline = time.monotonic() + RESTORE_SECONDS
    while time.monotonic() < deadline:
        after = [ioctls.resident_bytes(path) for path in paths]
        if all(now >= before for now, before in zip(after, cached)):
            break
        time.sleep(0.05)
    if harness.cache_drops() != drops:
        pytest.skip("somebody else emptied the page cache meanwhile")
    for now, before in zip(after, cached):
        assert 0.95 * before <= now <= 1.05 * before
    return run


def place_of(path):
    with open(path, "rb") as file:
        return ioctls.extents(file.fileno())[0].physical


@pytest.mark.parametrize("kind", ["xfs"])
@pytest.mark.parametrize("hot", [0, 1])
def test_a_hot_file_is_the_source(files, dedupd, hot):
    place = place_of(files[hot])

    run = run_hot(dedupd, files[hot])

    assert run.freed_bytes >= SIZE
    assert run.read["restored_bytes"] == 0
    assert place_of(files[hot]) == place
    assert ioctls.resident_bytes(files[1 - hot]) == 0


def test_a_hot_file_stays_hot_though_it_is_shared_onto(files, dedupd, kind):
    run = run_hot(dedupd, *files)

    assert run.freed_bytes >= SIZE
    assert run.read["restored_bytes"] == (SIZE + 40 * KIB if kind == "xfs" else 0)


@pytest.mark.parametrize("kind", ["xfs"])
def test_a_hot_copy_of_a_file_that_is_settled_stays_hot(tree, dedupd):
    write(tree / "old", noise(1, SIZE))
    harness.check_pass(dedupd)
    write(tree / "copy", noise(1, SIZE))
    if ioctls.resident_bytes(tree / "copy") is None:
        pytest.skip("this kernel has no cachestat(2)")

    run = run_hot(dedupd, tree / "copy")

    assert run.freed_bytes == SIZE
    assert run.read["restored_bytes"] == SIZE
    assert ioctls.resident_bytes(tree / "old") == 0


def test_of_a_file_that_is_partly_hot_that_part_stays(files, dedupd):
    run = run_hot(dedupd, *files, every_other_mib=True)

    assert run.freed_bytes >= SIZE
