# SPDX-License-Identifier: GPL-2.0-or-later
"""What a pass does to the page cache, and what the page cache spares the disk."""

import pytest

import content
import harness
import ioctls
from content import KIB, MIB

SIZE = 24 * MIB


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
    assert ioctls.resident_bytes(files[4]) == cached


def test_what_was_read_to_find_is_compared_from_memory(files, dedupd):
    run = run_cold(dedupd)

    on_disk = 3 * SIZE + 80 * KIB
    assert run.read["finding_bytes"] == on_disk
    assert run.read["compare_bytes"] >= 2 * SIZE
    metadata = harness.metadata_bytes(dedupd.filesystem, files[0].parent)
    assert run.device_bytes <= 1.05 * on_disk + metadata
    assert on_disk <= run.read["disk_bytes"] <= 1.05 * on_disk + metadata
