# SPDX-License-Identifier: GPL-2.0-or-later
"""What a pass does to the page cache, and what the page cache spares the disk."""

import os
import pathlib
import random
import subprocess
import time

import pytest

import content
import harness
import ioctls
from content import KIB, MIB, noise, write
from slow_disk import DiskUnavailable, little_memory

SIZE = 24 * MIB
VERSIONS = 14
# What is read back is not waited for.
RESTORE_SECONDS = 5
LEFT_BYTES = 32 * MIB
GENERATIONS = pathlib.Path("/sys/kernel/mm/lru_gen/enabled")


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


def test_generations_are_read_once(make_filesystem, make_dedupd):
    """XFS drops the cached data of a file that was shared onto: it must not be the source of the next one."""
    filesystem = make_filesystem("xfs", VERSIONS * SIZE * 2)
    tree = pathlib.Path(filesystem.mount_point)
    places = random.Random(4)
    for number in range(VERSIONS):
        version = bytearray(noise(1, SIZE))
        for offset in places.sample(range(0, SIZE, MIB // 4), 24):
            version[offset:offset + 8 * KIB] = noise(places.random(), 8 * KIB)
        write(tree / f"version-{number:02}", bytes(version))

    run = run_cold(make_dedupd(filesystem))

    assert run.freed_bytes > 0.9 * (VERSIONS - 1) * SIZE
    assert run.device_bytes <= 1.1 * VERSIONS * SIZE


def run_hot(dedupd, *paths, every_other_mib=False):
    """A pass while these files, and no other, are in the page cache; all that was there stays."""
    harness.settle(dedupd.filesystem)
    dedupd.filesystem.drop_caches()
    drops = harness.cache_drops()
    for path in paths:
        content.cache_pages(path, every_other_mib=every_other_mib)
    cached = [ioctls.resident_bytes(path) for path in paths]

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


def run_in_little_memory(dedupd, limit_bytes, *used):
    """A pass in a control group with so much memory, in which these files are read first; its Run."""
    drops = harness.cache_drops()
    script = 'cat $USED >/dev/null; exec "$@"'
    environment = dedupd.environment() | {"USED": " ".join(map(str, used))}
    try:
        with little_memory(limit_bytes) as wrapper, \
                subprocess.Popen([*wrapper, "sh", "-c", script, "sh", *dedupd.command(find="read")],
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, env=environment) as process:
            run = dedupd.finish(process)
    except DiskUnavailable as unavailable:
        pytest.skip(str(unavailable))
    assert run.status == 0, run.stderr
    if harness.cache_drops() != drops:
        pytest.skip("somebody else emptied the page cache meanwhile")
    return run


def test_data_larger_than_memory_displaces_nothing_in_use(make_filesystem, make_dedupd, kind):
    filesystem = make_filesystem(kind, "1G")
    tree = pathlib.Path(filesystem.mount_point)
    large = [tree / f"large-{number}" for number in range(3)]
    for number, path in enumerate(large):
        write(path, noise(number, 96 * MIB))
    used = tree / "used"
    write(used, noise(9, 32 * MIB))
    if ioctls.resident_bytes(used) is None:
        pytest.skip("this kernel has no cachestat(2)")

    harness.settle(filesystem)
    filesystem.drop_caches()
    cached = [ioctls.resident_bytes(path) for path in large]
    run = run_in_little_memory(make_dedupd(filesystem), 128 * MIB, used, used, used)

    assert run.read["finding_bytes"] >= 3 * 96 * MIB
    assert ioctls.resident_bytes(used) >= 0.98 * 32 * MIB
    # On a busy machine, pages may stay that the kernel was still using when they were dropped.
    assert sum(map(ioctls.resident_bytes, large)) <= sum(cached) + LEFT_BYTES


def test_what_was_read_is_compared_from_memory_that_old_files_had(files, dedupd):
    """A hole fills the page cache like data, and is not read by the pass."""
    if GENERATIONS.exists() and int(GENERATIONS.read_text(), 16) & 1:
        pytest.skip("this kernel does not tell which files are old")
    old = files[0].parent / "old"
    with open(old, "wb") as file:
        file.truncate(200 * MIB)

    harness.settle(dedupd.filesystem)
    dedupd.filesystem.drop_caches()
    run = run_in_little_memory(dedupd, 224 * MIB, old)

    on_disk = 3 * SIZE + 80 * KIB
    assert run.read["compare_bytes"] >= 2 * SIZE
    metadata = harness.metadata_bytes(dedupd.filesystem, files[0].parent)
    assert run.read["disk_bytes"] <= 1.05 * on_disk + metadata
