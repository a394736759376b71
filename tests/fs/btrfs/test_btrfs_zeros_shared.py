# SPDX-License-Identifier: GPL-2.0-or-later
"""With --zeros=share zeros of a btrfs are shared with each other, and no hole appears."""

import os
import pathlib

import pytest

import content
import harness
import ioctls
import oracle
from content import BLOCK, KIB, MIB, noise, write, write_extent
from forger import forge
from harness import check_btrfs_pass
from subvolumes import make_subvolume, snapshot


@pytest.fixture(params=["btrfs"])
def kind(request):
    return request.param


def check(dedupd, *paths, **options):
    """A pass that shares zeros: afterwards each file has as many blocks as before."""
    tree = pathlib.Path(dedupd.filesystem.mount_point)
    harness.settle(dedupd.filesystem)
    before = blocks_of_files(tree)
    done = check_btrfs_pass(dedupd, *paths, zeros="share", **options)
    assert done.first.freed["hole_bytes"] == 0
    assert blocks_of_files(tree) == before
    return done


def blocks_of_files(tree):
    """How many blocks of each file lie somewhere."""
    return {path: sum(address is not None for address in oracle.block_addresses(path))
            for path in tree.rglob("*") if path.is_file() and not path.is_symlink()}


def write_zeros(path, size):
    write_extent(path, bytes(size))


def test_one_extent_of_zeros_stays(tree, dedupd):
    for number in range(4):
        write_zeros(tree / str(number), 4 * MIB)

    done = check(dedupd)

    assert done.freed_bytes == 12 * MIB
    assert done.first.skipped == {}
    assert oracle.physical_bytes(tree) == 4 * MIB


def test_the_longest_zeros_stay_for_shorter_ones(tree, dedupd):
    for number, size in enumerate((64 * KIB, BLOCK, 8 * MIB, MIB)):
        write_zeros(tree / str(number), size)

    done = check(dedupd)

    assert oracle.physical_bytes(tree) == 8 * MIB
    assert done.freed_bytes == MIB + 64 * KIB + BLOCK


def test_of_equally_long_zeros_those_at_the_lowest_address_stay(tree, dedupd):
    for name in "cab":
        write_zeros(tree / name, 2 * MIB)
    harness.settle(dedupd.filesystem)
    lowest = min(oracle.block_addresses(tree / name)[0] for name in "abc")

    check(dedupd)

    assert {oracle.block_addresses(tree / name)[0] for name in "abc"} == {lowest}


def test_long_zeros_are_shared_with_16_mib_of_them(tree, dedupd):
    write_zeros(tree / "enough", 16 * MIB)
    write(tree / "long", bytes(192 * MIB), piece=64 * MIB)

    done = check(dedupd)

    assert oracle.physical_bytes(tree) == 16 * MIB
    assert done.freed_bytes == 192 * MIB
    assert len(oracle.file_extents(tree / "long")) <= 13


def test_zeros_alone_are_left_alone(tree, dedupd):
    write_zeros(tree / "zeros", 4 * MIB)

    done = check(dedupd)

    assert done.freed_bytes == 0
    assert done.first.shared["calls"] == 0
    assert done.first.skipped == {}


def test_zeros_that_come_later_are_shared_with_those_that_stayed(tree, dedupd):
    for name in ("one", "two"):
        write_zeros(tree / name, 4 * MIB)
    check(dedupd)
    kept = oracle.block_addresses(tree / "one")[0]

    write_zeros(tree / "three", 5 * MIB)
    done = check(dedupd)

    assert done.freed_bytes == 5 * MIB
    assert oracle.physical_bytes(tree) == 4 * MIB
    assert oracle.block_addresses(tree / "three")[0] == kept


def test_when_those_that_stayed_are_gone_others_stay(tree, dedupd):
    write_zeros(tree / "one", 4 * MIB)
    check(dedupd)
    os.unlink(tree / "one")

    for name in ("two", "three"):
        write_zeros(tree / name, 4 * MIB)
    done = check(dedupd)

    assert done.freed_bytes == 4 * MIB
    assert oracle.physical_bytes(tree) == 4 * MIB


def test_disk_images_are_no_exception(tree, dedupd):
    write_zeros(tree / "disk.img", 4 * MIB)
    write_zeros(tree / "other.raw", 4 * MIB)

    assert check(dedupd).freed_bytes == 4 * MIB


def test_an_extent_goes_whole_or_not_at_all(tree, dedupd):
    data = noise(1, MIB)
    write_zeros(tree / "zeros", MIB)
    write_extent(tree / "twin", data + noise(2, 2 * MIB))
    write_extent(tree / "goes", data + bytes(MIB))
    write_extent(tree / "stays", noise(3, MIB) + bytes(MIB))

    done = check(dedupd)

    assert done.freed_bytes == 2 * MIB
    assert done.first.skipped == {"pinned": 1}
    assert done.first.skip_of("pinned")["examples"] == [str(tree / "stays")]


def test_a_small_rest_beside_zeros_is_copied(tree, dedupd):
    write_zeros(tree / "zeros", MIB)
    write_extent(tree / "file", noise(1, 512 * KIB) + bytes(4 * MIB) + noise(2, BLOCK + 100))

    done = check(dedupd)

    assert done.first.filesystem["rewritten"]["bytes"] == 512 * KIB + 2 * BLOCK
    assert done.freed_bytes == 4 * MIB


def test_where_all_zeros_have_data_beside_them_half_an_extent_of_zeros_stays(tree, dedupd):
    data = noise(1, MIB)
    write_extent(tree / "kept", noise(2, 64 * KIB) + bytes(4 * MIB))
    write_extent(tree / "twin", data + noise(3, 2 * MIB))
    write_extent(tree / "goes", data + bytes(512 * KIB))

    assert check(dedupd, rewrite="never").freed_bytes == MIB + 512 * KIB


def test_holes_and_reservations_stay_what_they_are(tree, dedupd):
    content.preallocate(tree / "reserved", 0, 4 * MIB)
    content.write_sparse(tree / "hole", 4 * MIB, {})
    content.write_sparse(tree / "sparse", 8 * MIB, {0: noise(1, MIB), 7 * MIB: noise(2, MIB)})
    content.preallocate(tree / "half", 0, 4 * MIB)
    content.overwrite(tree / "half", 0, bytes(2 * MIB))
    for name in ("one", "two"):
        write_zeros(tree / name, MIB)

    done = check(dedupd)

    assert done.freed_bytes == MIB
    for name, length in (("reserved", 4 * MIB), ("half", 2 * MIB)):
        assert sum(e.length for e in oracle.file_extents(tree / name)
                   if e.flags & ioctls.EXTENT_UNWRITTEN) == length
    assert oracle.file_extents(tree / "hole") == []


def test_zeros_of_snapshots_go_in_all_of_them(tree, dedupd):
    make_subvolume(tree / "data")
    write_zeros(tree / "kept", 4 * MIB)
    write_zeros(tree / "data" / "zeros", 4 * MIB)
    for number in range(3):
        snapshot(tree / "data", tree / f"kept-{number}")

    assert check(dedupd, has_clones=True).freed_bytes == 4 * MIB


def test_what_only_looks_like_zeros_is_no_source_of_them(tree, dedupd):
    write_extent(tree / "forged", forge(bytes(8 * MIB), 1))
    for name in ("one", "two"):
        write_zeros(tree / name, 4 * MIB)

    done = check(dedupd)

    assert done.freed_bytes == 4 * MIB
    assert oracle.physical_bytes(tree) == 12 * MIB


def test_zeros_outside_the_pass_are_no_source(tree, dedupd):
    for name in ("inside", "outside"):
        (tree / name).mkdir()
    write_zeros(tree / "outside" / "zeros", 8 * MIB)
    for name in ("one", "two"):
        write_zeros(tree / "inside" / name, 4 * MIB)

    done = check(dedupd, tree / "inside")

    assert done.freed_bytes == 4 * MIB
    assert not oracle.is_shared(tree / "inside" / "one", tree / "outside" / "zeros")


@pytest.mark.parametrize("steps", [
    # Two disk images of zeros, of 4 MiB, and a plain file of as many: what each policy frees.
    (("auto", 4 * MIB), ("hole", 8 * MIB)),
    (("hole", 12 * MIB), ("share", 0)),
    (("auto", 4 * MIB), ("share", 4 * MIB), ("hole", 4 * MIB)),
    (("keep", 0), ("auto", 4 * MIB)),
    (("share", 8 * MIB), ("keep", 0), ("hole", 4 * MIB)),
])
def test_another_policy_looks_again_at_what_was_settled(tree, dedupd, steps):
    for name in ("one.img", "two.img", "plain"):
        write_zeros(tree / name, 4 * MIB)

    for policy, freed_bytes in steps:
        assert check_btrfs_pass(dedupd, zeros=policy).freed_bytes == freed_bytes, policy
