# SPDX-License-Identifier: GPL-2.0-or-later
"""What a pass that finds equal data of a btrfs from its checksums reads from the disk."""

import pytest

import harness
from content import KIB, MIB, forget_pages, noise, write_extent, write_sparse

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


def test_what_is_fetched_ahead_of_many_files_is_read_once(tree, dedupd):
    for number in range(400):
        for side in "ab":
            write_extent(tree / f"{number}-{side}", noise(number, 64 * KIB))

    run = read_once(dedupd, tree)

    assert run.freed_bytes == 400 * 64 * KIB
    assert run.read["compare_bytes"] == 400 * 128 * KIB


def test_what_is_fetched_ahead_all_over_one_file_is_read_once(tree, dedupd):
    pieces = {number * 16 * MIB: noise(number, 256 * KIB) for number in range(80)}
    for name in ("one", "two"):
        write_sparse(tree / name, 81 * 16 * MIB, pieces)

    run = read_once(dedupd, tree)

    assert run.freed_bytes == 80 * 256 * KIB
    assert run.read["compare_bytes"] == 80 * 512 * KIB
