# SPDX-License-Identifier: GPL-2.0-or-later
"""The store stays within its limit, and within the room that its own filesystem has."""

import contextlib
import re
import subprocess

import pytest

import harness
import ioctls
import oracle
from content import BLOCK, MIB, noise, write, write_twins
from harness import dedupctl

# More than a small store holds, also when the anchors of those that were shared are gone.
PAIRS = 160
PASSES_MAX = 40
CLONES = 1000
PAIR_BYTES = 512 << 10
# Of a filesystem for the store: from one that holds nothing to one that holds all of it.
FULL_SIZES = range(16 << 10, 640 << 10, 12 << 10)


@pytest.fixture
def pairs(tree, filesystem):
    """A tree with pairs of equal files: one after another they do not fit a small store."""
    for number in range(PAIRS):
        write_twins(tree, PAIR_BYTES, seed=number, names=(f"{number}-1", f"{number}-2"))
    harness.settle(filesystem)
    return tree


@contextlib.contextmanager
def small_filesystem(directory, size):
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=700", "none", directory], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", directory], check=True)


def is_sound(dedupd):
    """Whether dedupctl finds nothing wrong with the store."""
    dedupctl("store", "check", "--state-dir", dedupd.state_directory)


def test_a_store_at_its_limit_records_and_reads_no_more(pairs, kind, dedupd):
    find = harness.FIND[kind]
    # A store without objects has its tables.
    assert dedupd.run(find=find, store_limit=0).skip_of("store-limit")["bytes"] == PAIRS * 2 * PAIR_BYTES
    limit = dedupd.store_path.stat().st_size + (8 << 10)

    before = oracle.snapshot(pairs)
    freed = 0
    # Anchors of data that was shared fall out, so that the next passes find a little room.
    for _ in range(PASSES_MAX):
        run = dedupd.run(find=find, store_limit=limit)
        assert run.status == 0, run.stderr
        freed += run.freed_bytes
        left = run.skip_of("store-limit")
        assert dedupd.store_path.stat().st_size <= limit + (64 << 10)
        if kind == "xfs":
            assert left["examples"]
            assert run.files["read"] + left["count"] == run.files["new"], "what does not fit was read"
        if run.shared["calls"] == 0 and run.files["read"] == 0:
            break
    else:
        pytest.fail("passes over unchanged files never came to rest")
    assert left["bytes"] > 0
    assert freed < PAIRS * PAIR_BYTES
    harness.assert_unchanged(before, pairs)

    # With room everything is found.
    more = harness.check_pass(dedupd, find=find, may_note=True)
    assert "store-limit" not in more.first.skipped
    assert freed + more.first.freed_bytes == PAIRS * PAIR_BYTES


def test_clones_leave_room_for_the_data_of_others(tree, filesystem, kind, dedupd):
    """Those of one file would fill the store several times; they come first on the disk."""
    if kind != "btrfs":
        pytest.skip("the store keeps the anchors of a block of XFS once")
    original = write(tree / "original", noise(1, MIB))
    with open(original, "rb") as source:
        for number in range(CLONES):
            with open(tree / f"clone-{number}", "wb") as target:
                ioctls.clone_range(source.fileno(), 0, MIB, target.fileno(), 0)
        own = write(tree / "own", noise(3, 8 * MIB))
        with open(own, "r+b") as target:
            ioctls.clone_range(source.fileno(), 0, BLOCK, target.fileno(), 8 * MIB)
    ioctls.sync(tree)
    write_twins(tree, 2 * MIB, seed=2, names=("twin-1", "twin-2"))
    harness.settle(filesystem)
    assert dedupd.run(find="read", store_limit=0).status == 0
    limit = dedupd.store_path.stat().st_size + (256 << 10)

    before = oracle.snapshot(tree)
    used = harness.used_data_bytes(filesystem)
    run = dedupd.run(find="read", store_limit=limit)
    assert run.freed_bytes == 2 * MIB == used - harness.used_data_bytes(filesystem)
    harness.assert_unchanged(before, tree)
    assert 0 < run.skip_of("store-limit")["count"] < CLONES
    # They take less than was estimated, so that the next passes find a little room.
    while (run := dedupd.run(find="read", store_limit=limit)).files["read"] > 0:
        assert run.shared["calls"] == 0 and run.freed_bytes == 0
    assert run.store["bytes"] < limit
    assert run.read["finding_bytes"] == 0


def test_the_configuration_limits_the_store_of_one_filesystem(pairs, filesystem, kind, dedupd, tmp_path):
    config = tmp_path / "dedupd.conf"
    config.write_text(f"[Dedupd]\nStoreLimit=1G\n[Filesystem {filesystem.mount_point}]\nStoreLimit=4K\n")
    run = dedupd.run(find=harness.FIND[kind], config=config)
    assert run.status == 0
    assert run.freed_bytes == 0
    assert run.skip_of("store-limit")["bytes"] == PAIRS * 2 * PAIR_BYTES


def test_a_bad_limit_is_refused_by_name(dedupd):
    run = dedupd.run(store_limit="much")
    assert run.status == 2
    assert "--store-limit" in run.stderr and "much" in run.stderr


def test_recording_stops_before_the_filesystem_of_the_store_is_full(pairs, kind, dedupd):
    before = oracle.snapshot(pairs)
    with small_filesystem(dedupd.state_directory, "16M"):
        filler = dedupd.state_directory / "filler"
        filler.write_bytes(bytes(16 * MIB - (400 << 10)))
        run = dedupd.run(find=harness.FIND[kind])
        assert run.status == 0, run.stderr
        assert run.skip_of("state-space")["bytes"] > 0
        is_sound(dedupd)
        filler.unlink()
        again = dedupd.run(find=harness.FIND[kind])
        assert again.status == 0
        assert "state-space" not in again.skipped
        assert run.freed_bytes + again.freed_bytes == PAIRS * PAIR_BYTES
    harness.assert_unchanged(before, pairs)


def test_a_full_disk_at_any_write_of_the_store_loses_nothing(pairs, kind, dedupd):
    before = oracle.snapshot(pairs)
    freed = 0
    endings = set()
    for size in FULL_SIZES:
        with small_filesystem(dedupd.state_directory, size):
            run = dedupd.run(find=harness.FIND[kind])
            endings.add(run.status)
            if run.status == 0:
                freed += run.freed_bytes
                is_sound(dedupd)
                continue
            # What fails is named, and what was done before is kept.
            assert run.status == 1, run.stderr
            assert re.search(r"no space|full|No space", run.stderr), run.stderr
            assert str(dedupd.state_directory) in run.stderr
            freed += run.freed_bytes
            if list(dedupd.state_directory.glob("*.sqlite")):
                subprocess.run(["mount", "-o", "remount,size=8M", dedupd.state_directory], check=True)
                again = dedupd.run(find=harness.FIND[kind])
                assert again.status == 0, again.stderr
                freed += again.freed_bytes
                is_sound(dedupd)
    harness.assert_unchanged(before, pairs)
    assert endings == {0, 1}, "no size was too small, or all were"
    assert freed == PAIRS * PAIR_BYTES
    harness.check_pass(dedupd, find=harness.FIND[kind])
