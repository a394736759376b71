# SPDX-License-Identifier: GPL-2.0-or-later
"""What a pass over a btrfs reads from the disk, by checksums unless said otherwise."""

import pytest

import harness
from content import KIB, MIB, clone, forget_pages, noise, write, write_extent, write_sparse

# Nodes of trees, and what the checks of a pass read of them.
MOST_METADATA_BYTES = 4 * MIB


@pytest.fixture(params=["btrfs"])
def kind(request):
    return request.param


def read_once(dedupd, tree):
    """A pass that reads what it compares, and all of it once."""
    harness.settle(dedupd.filesystem)
    forget_pages(tree)
    drops = harness.cache_drops()
    run = dedupd.run(find="checksums")
    assert run.status == 0, run.stderr
    is_once = run.device_bytes < run.read["compare_bytes"] + MOST_METADATA_BYTES
    if not is_once and harness.cache_drops() != drops:
        pytest.skip("somebody else emptied the page cache meanwhile")
    assert is_once, f"it read {run.device_bytes} bytes to compare {run.read['compare_bytes']}"
    return run


@pytest.mark.alone
def test_what_is_fetched_ahead_of_many_files_is_read_once(tree, dedupd):
    for number in range(400):
        for side in "ab":
            write_extent(tree / f"{number}-{side}", noise(number, 64 * KIB))

    run = read_once(dedupd, tree)

    assert run.freed_bytes == 400 * 64 * KIB
    assert run.read["compare_bytes"] == 400 * 128 * KIB


@pytest.mark.alone
def test_what_is_fetched_ahead_all_over_one_file_is_read_once(tree, dedupd):
    pieces = {number * 16 * MIB: noise(number, 256 * KIB) for number in range(80)}
    for name in ("one", "two"):
        write_sparse(tree / name, 81 * 16 * MIB, pieces)

    run = read_once(dedupd, tree)

    assert run.freed_bytes == 80 * 256 * KIB
    assert run.read["compare_bytes"] == 80 * 512 * KIB


def test_what_is_too_dear_to_be_compared_is_not_read_ahead(tree, filesystem, dedupd):
    """Two files of 1 MiB with 400 clones each: by reading, each clone would be compared with the others."""
    for name in ("one", "two"):
        write(tree / name, noise(1, MIB))
        for number in range(400):
            clone(tree / name, tree / f"{name}-{number}")
    harness.settle(filesystem)
    filesystem.forget_data()

    run = dedupd.run(find="read")
    assert run.skipped["clones"] > 0
    assert run.device_bytes <= 256 * MIB
