# SPDX-License-Identifier: GPL-2.0-or-later
"""What may be shared on btrfs as the user chooses: read-only snapshots, data without checksums."""

import subprocess

import pytest

import harness
import oracle
from content import KIB, MIB, noise, write

BOTH_WAYS = pytest.mark.parametrize("find", ["checksums", "read"])


@pytest.fixture(params=["btrfs"])
def kind(request):
    return request.param


def check(dedupd, **options):
    return harness.check_pass(dedupd, **{"find": "checksums", **options})


def btrfs(*arguments):
    subprocess.run(["btrfs", *map(str, arguments)], check=True, stdout=subprocess.DEVNULL)


def snapshot(subvolume, name):
    btrfs("subvolume", "snapshot", "-r", subvolume, name)
    return name


def write_extent(path, data):
    """A file whose data is on the disk, in an extent of its own."""
    return write(path, data, piece=len(data))


def is_read_only(subvolume):
    shown = subprocess.run(["btrfs", "property", "get", str(subvolume), "ro"], check=True,
                           capture_output=True, text=True).stdout
    return shown.strip() == "ro=true"


@pytest.fixture
def snapshots(tree):
    """Two read-only snapshots with a file each, equal files that nothing else shows."""
    size = 4 * MIB
    for name in ("one", "two"):
        btrfs("subvolume", "create", tree / name)
        write_extent(tree / name / "file", noise(1, size))
        snapshot(tree / name, tree / f"{name}-kept")
        btrfs("subvolume", "delete", tree / name)
    return [tree / "one-kept/file", tree / "two-kept/file"]


@BOTH_WAYS
def test_read_only_snapshots_are_shared_onto_by_default(snapshots, dedupd, find):
    assert check(dedupd, find=find).freed_bytes == 4 * MIB
    assert oracle.is_shared(*snapshots)
    assert all(is_read_only(path.parent) for path in snapshots)


@BOTH_WAYS
def test_snapshots_that_are_sources_only_are_not_shared_onto(snapshots, dedupd, find):
    done = check(dedupd, find=find, read_only_snapshots="source")

    assert done.freed_bytes == 0
    assert done.first.skipped["read-only-snapshot"] >= 1
    assert not oracle.is_shared(*snapshots)


@BOTH_WAYS
def test_snapshots_that_are_sources_are_shared_with(tree, snapshots, dedupd, find):
    # The larger one would be the source, were it not for the policy.
    write_extent(tree / "larger", noise(1, 4 * MIB) + noise(2, MIB))
    write_extent(tree / "equal", noise(1, 4 * MIB))

    done = check(dedupd, find=find, read_only_snapshots="source")

    assert done.freed_bytes >= 4 * MIB
    assert any(oracle.is_shared(tree / "equal", path) for path in snapshots)
    assert not oracle.is_shared(*snapshots)
    assert all(is_read_only(path.parent) for path in snapshots)


@BOTH_WAYS
def test_snapshots_that_are_skipped_are_neither_target_nor_source(tree, snapshots, dedupd, find):
    write_extent(tree / "equal", noise(1, 4 * MIB))

    done = check(dedupd, find=find, read_only_snapshots="skip")

    assert done.freed_bytes == 0
    assert done.first.skipped["read-only-snapshot"] >= 1
    assert not any(oracle.is_shared(tree / "equal", path) for path in snapshots)


@BOTH_WAYS
def test_the_rest_is_shared_beside_snapshots_that_are_skipped(tree, snapshots, dedupd, find):
    for name in ("a", "b"):
        write_extent(tree / name, noise(1, 4 * MIB))

    done = check(dedupd, find=find, read_only_snapshots="skip")

    assert done.freed_bytes == 4 * MIB
    assert oracle.is_shared(tree / "a", tree / "b")
    assert not any(oracle.is_shared(tree / "a", path) for path in snapshots)


@BOTH_WAYS
@pytest.mark.parametrize("first", ["source", "skip"])
def test_what_a_change_of_policy_allows_is_found(snapshots, dedupd, find, first):
    assert check(dedupd, find=find, read_only_snapshots=first).freed_bytes == 0
    assert check(dedupd, find=find).freed_bytes == 4 * MIB
    assert oracle.is_shared(*snapshots)


@BOTH_WAYS
def test_sources_become_free_to_serve_when_no_longer_skipped(tree, snapshots, dedupd, find):
    write_extent(tree / "equal", noise(1, 4 * MIB))

    assert check(dedupd, find=find, read_only_snapshots="skip").freed_bytes == 0
    assert check(dedupd, find=find, read_only_snapshots="source").freed_bytes == 4 * MIB
    assert check(dedupd, find=find, read_only_snapshots="share").freed_bytes == 4 * MIB


def test_an_extent_that_a_snapshot_shows_too_stays_whole(tree, dedupd):
    """Its other place is not shared away either: that would free nothing."""
    btrfs("subvolume", "create", tree / "sub")
    write_extent(tree / "sub/file", noise(1, 2 * MIB))
    snapshot(tree / "sub", tree / "kept")
    write_extent(tree / "larger", noise(1, 2 * MIB) + noise(2, 64 * KIB))

    done = check(dedupd, read_only_snapshots="source")

    assert done.freed_bytes == 0
    assert done.first.skipped == {"read-only-snapshot": 1}
    assert oracle.is_shared(tree / "sub/file", tree / "kept/file")
    assert not oracle.is_shared(tree / "sub/file", tree / "larger")


def test_only_read_only_snapshots_are_meant(tree, dedupd):
    btrfs("subvolume", "create", tree / "sub")
    write_extent(tree / "sub/file", noise(1, 2 * MIB))
    btrfs("subvolume", "snapshot", tree / "sub", tree / "writable")
    write_extent(tree / "equal", noise(1, 2 * MIB))

    assert check(dedupd, read_only_snapshots="skip").freed_bytes == 2 * MIB


def test_a_skipped_snapshot_is_named(tree, snapshots, dedupd):
    run = dedupd.run(find="read", read_only_snapshots="skip")

    named = run.skip_of("read-only-snapshot")["examples"]
    assert sorted(named) == sorted(str(path.parent) for path in snapshots)


def test_a_pass_that_begins_in_a_skipped_snapshot_has_nothing_to_do(snapshots, dedupd):
    run = dedupd.run(snapshots[0].parent, read_only_snapshots="skip")

    assert run.status == 0, run.stderr
    assert run.files["seen"] == 0
    assert run.skipped == {"read-only-snapshot": 1}
