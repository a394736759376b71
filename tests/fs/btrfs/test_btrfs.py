# SPDX-License-Identifier: GPL-2.0-or-later
"""What only btrfs has: subvolumes, snapshots, compression, nodatacow, inline data, bookends."""

import os
import pathlib
import subprocess

import pytest

import content
import harness
import ioctls
import oracle
from content import KIB, MIB, noise, text, write, write_no_cow
from subvolumes import btrfs, make_subvolume, snapshot

pytestmark = pytest.mark.usefixtures("filled_memory")


@pytest.fixture(params=["btrfs"])
def kind(request):
    return request.param


def test_files_of_nested_subvolumes_share_with_those_around(tree, dedupd):
    make_subvolume(tree / "sub")
    (tree / "sub/deep").mkdir()
    make_subvolume(tree / "sub/deep/nested")
    data = noise(1, 4 * MIB)
    for directory in (tree, tree / "sub", tree / "sub/deep/nested"):
        write(directory / "file", data)

    done = harness.check_pass(dedupd)

    assert done.freed_bytes == done.used_drop_bytes == 8 * MIB
    assert "other-mount" not in done.first.skipped


def test_a_read_only_snapshot_is_shared_with_and_costs_no_second_read(tree, dedupd):
    size = 8 * MIB
    make_subvolume(tree / "sub")
    write(tree / "sub/file", noise(1, size), piece=size)
    snapshot(tree / "sub", tree / "snapshot")
    write(tree / "copy", noise(1, size))

    done = harness.check_pass(dedupd)

    assert done.freed_bytes == done.used_drop_bytes == size
    assert done.first.read["finding_bytes"] <= 2 * size


def test_zeros_of_a_read_only_snapshot_become_holes(tree, dedupd):
    make_subvolume(tree / "sub")
    write(tree / "sub/file", noise(1, MIB) + bytes(4 * MIB), piece=MIB)
    snapshot(tree / "sub", tree / "snapshot")

    done = harness.check_pass(dedupd, zeros="hole", has_clones=True)

    assert done.used_drop_bytes == 4 * MIB
    assert done.first.skipped == {}


def test_zeros_become_holes_in_a_directory_where_new_files_are_nodatacow(tree, dedupd):
    (tree / "directory").mkdir()
    write(tree / "directory/file", noise(1, MIB) + bytes(4 * MIB))
    ioctls.add_flags(tree / "directory", ioctls.FS_NO_COW)

    done = harness.check_pass(dedupd, zeros="hole")

    assert done.freed_bytes == 4 * MIB


def test_a_twin_held_by_snapshots_is_freed_once_all_of_them_are_done(tree, dedupd):
    size = 4 * MIB
    make_subvolume(tree / "sub")
    content.write_twins(tree / "sub", size)
    for number in range(3):
        snapshot(tree / "sub", tree / f"snapshot-{number}")

    done = harness.check_pass(dedupd)

    assert done.freed_bytes == done.used_drop_bytes == size


def test_a_nodatacow_file_shares_with_its_like_or_not_at_all(tree, dedupd):
    data = noise(1, 2 * MIB)
    for name in ("nocow-1", "nocow-2"):
        write_no_cow(tree / name, data)
    for name in ("cow-1", "cow-2"):
        write(tree / name, data)

    done = harness.check_pass(dedupd)

    assert oracle.is_shared(tree / "cow-1", tree / "cow-2")
    assert not oracle.is_shared(tree / "nocow-1", tree / "cow-1")
    assert done.freed_bytes in (2 * MIB, 4 * MIB)
    if done.freed_bytes == 2 * MIB:
        assert done.first.skipped["nodatacow"] >= 1


def test_a_lone_nodatacow_twin_is_no_reason_to_try_again(tree, dedupd):
    data = noise(1, 2 * MIB)
    write_no_cow(tree / "nocow", data)
    write(tree / "cow", data)

    done = harness.check_pass(dedupd)

    assert done.freed_bytes == 0
    assert done.first.skipped["nodatacow"] >= 1


def test_files_without_checksums_are_survived(make_filesystem, make_dedupd, kind):
    filesystem = make_filesystem(kind)
    tree = pathlib.Path(filesystem.mount_point)
    data = noise(1, 2 * MIB)
    for name in ("sum-1", "sum-2"):
        write(tree / name, data, piece=2 * MIB)
    filesystem.remount("nodatasum")
    for name in ("nosum-1", "nosum-2"):
        write(tree / name, data, piece=2 * MIB)
    filesystem.remount("datasum")

    done = harness.check_pass(make_dedupd(filesystem))

    assert oracle.is_shared(tree / "sum-1", tree / "sum-2")
    assert done.freed_bytes in (2 * MIB, 4 * MIB)


def test_compressed_twins_are_shared(compressing, make_dedupd):
    tree = pathlib.Path(compressing.mount_point)
    data = text(1, 8 * MIB)
    for name in ("one", "two"):
        write(tree / name, data)

    done = harness.check_pass(make_dedupd(compressing))

    assert done.used_drop_bytes > 0
    assert oracle.is_shared(tree / "one", tree / "two")


def test_a_compressed_and_a_plain_twin_end_as_one(compressing, make_dedupd):
    tree = pathlib.Path(compressing.mount_point)
    data = text(1, 8 * MIB)
    write(tree / "compressed", data, piece=8 * MIB)
    compressing.remount("compress=no")
    write(tree / "plain", data, piece=8 * MIB)

    done = harness.check_pass(make_dedupd(compressing))

    assert done.used_drop_bytes >= 0
    assert done.freed_bytes >= 0


def test_differing_compressed_files_are_left_alone(compressing, make_dedupd):
    tree = pathlib.Path(compressing.mount_point)
    write(tree / "one", text(1, 4 * MIB))
    write(tree / "two", text(2, 4 * MIB))

    done = harness.check_pass(make_dedupd(compressing))

    assert done.first.shared["calls"] == 0


def test_inline_files_are_left_alone(tree, dedupd):
    for number in range(200):
        write(tree / f"{number}", noise(1, 2000))

    done = harness.check_pass(dedupd, min_size="1")

    assert done.first.shared["calls"] == 0
    assert done.first.skipped["inline"] == 200


def test_sharing_part_of_an_extent_claims_no_more_than_it_frees(tree, dedupd):
    common = noise(1, 8 * MIB)
    write(tree / "one", common, piece=8 * MIB)
    write(tree / "two", noise(2, MIB) + common, piece=9 * MIB)

    done = harness.check_pass(dedupd)

    assert 0 <= done.used_drop_bytes <= 8 * MIB


def test_the_hidden_part_of_a_truncated_extent_goes_with_it(tree, dedupd):
    data = noise(1, 8 * MIB)
    write(tree / "one", data[:4 * MIB], piece=4 * MIB)
    write(tree / "two", data, piece=8 * MIB)
    os.truncate(tree / "two", 4 * MIB)

    done = harness.check_pass(dedupd)

    assert done.freed_bytes == 4 * MIB
    assert done.used_drop_bytes in (4 * MIB, 8 * MIB)


def test_many_small_extents_make_no_more_metadata_than_the_file_had(tree, dedupd):
    data = noise(1, 4 * MIB)
    write(tree / "fragments", data, piece=16 * KIB)
    write(tree / "whole", data, piece=4 * MIB)
    before = len(oracle.file_extents(tree / "fragments"))

    done = harness.check_pass(dedupd)

    assert done.freed_bytes == done.used_drop_bytes == 4 * MIB
    assert len(oracle.file_extents(tree / "whole")) <= before


def test_a_snapshot_being_deleted_and_a_balance_do_no_harm(tree, dedupd):
    make_subvolume(tree / "sub")
    content.write_twins(tree / "sub", 4 * MIB)
    harness.check_pass(dedupd)
    snapshot(tree / "sub", tree / "snapshot", read_only=False)
    btrfs("balance", "start", "--full-balance", tree)
    btrfs("subvolume", "delete", "--commit-after", tree / "snapshot")

    done = harness.check_pass(dedupd)

    assert done.freed_bytes == 0


@pytest.mark.alone
def test_leaves_that_a_pass_rewrote_are_looked_through_once(tree, filesystem, dedupd):
    # Enough of them that looking through them again and again would be seen.
    twin = noise(0, 8 * KIB)
    for number in range(6000):
        write(tree / f"{number:04}", twin if number % 50 == 0 else noise(number, 8 * KIB))
    subprocess.run(["sync", "-f", tree], check=True)
    first = dedupd.run(find="checksums")
    assert first.shared["runs"] > 0, first.filesystem
    dedupd.run(find="checksums")

    filesystem.drop_caches()
    third = dedupd.run(find="checksums")

    assert third.filesystem["found"]["by"] == "checksums"
    assert third.device_bytes <= 256 * KIB
    write(tree / "late", twin)
    late = dedupd.run(find="checksums")
    assert late.files["new"] == 1
    assert late.freed_bytes == 8 * KIB
