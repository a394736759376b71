# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs of zeros become holes where that is wanted, and reservations stay."""

import pytest

import content
import harness
import ioctls
import oracle
from content import BLOCK, KIB, MIB, noise, write

DATA = noise(1, MIB)


def has_reservation(path):
    return any(e.flags & ioctls.EXTENT_UNWRITTEN for e in oracle.file_extents(path))


def data_blocks(path):
    return sum(address is not None for address in oracle.block_addresses(path))


@pytest.mark.parametrize("policy", ["auto", "hole"])
def test_a_run_of_zeros_becomes_a_hole(tree, dedupd, policy):
    write(tree / "file", DATA + bytes(8 * MIB) + DATA[::-1])

    done = harness.check_pass(dedupd, zeros=policy)

    assert data_blocks(tree / "file") == 512
    assert done.freed_bytes == 8 * MIB
    assert done.first.freed["hole_bytes"] == 8 * MIB


@pytest.mark.parametrize("policy", ["auto", "hole"])
def test_a_file_of_zeros_gives_all_its_space_back(tree, dedupd, policy):
    write(tree / "large", bytes(8 * MIB), piece=8 * MIB)
    write(tree / "odd", bytes(3 * BLOCK + 5), piece=8 * MIB)

    done = harness.check_pass(dedupd, zeros=policy)

    assert oracle.physical_bytes(tree) == 0
    assert done.used_drop_bytes == 8 * MIB + 4 * BLOCK


@pytest.mark.parametrize("n_done, part", [(40, 0), (17, 128 * KIB), (0, 64 * KIB), (39, 192 * KIB)])
def test_zeros_of_which_a_stopped_pass_shared_a_part_are_found_at_little_cost(tree, dedupd, n_done, part):
    """Of 40 runs of zeros, the first @n_done are holes, and @part of the next one."""
    length, data = 256 * KIB, 64 * KIB
    write(tree / "file", b"".join(noise(n, data) + bytes(length) for n in range(40)), piece=16 * MIB)
    content.write_sparse(tree / "hole", length, {})
    harness.settle(dedupd.filesystem)
    assert dedupd.run(dry_run=True).freed_bytes == 40 * length
    with open(tree / "hole", "rb") as hole, open(tree / "file", "rb+") as file:
        for n in range(n_done + (part > 0)):
            some = length if n < n_done else part
            assert ioctls.dedupe_range(hole.fileno(), 0, some, file.fileno(), n * (data + length) + data) == 0
    harness.settle(dedupd.filesystem)
    left = (40 - n_done) * length - part

    done = harness.check_pass(dedupd)

    assert done.freed_bytes == left
    assert data_blocks(tree / "file") == 40 * data // BLOCK
    # Behind each run that is left, it looks for more zeros.
    assert done.first.read["compare_bytes"] <= left + 2 * BLOCK + (40 - n_done) * length


def test_zeros_are_kept_on_request(tree, dedupd):
    write(tree / "file", DATA + bytes(8 * MIB))
    write(tree / "zeros", bytes(MIB))

    done = harness.check_pass(dedupd, zeros="keep")

    assert done.freed_bytes == 0
    assert done.first.shared["calls"] == 0
    assert done.first.skipped["keep-zeros"] == 2


def test_short_runs_of_zeros_stay(tree, dedupd):
    write(tree / "file", DATA + bytes(60 * KIB) + DATA[::-1])

    done = harness.check_pass(dedupd, zeros="hole")

    assert done.freed_bytes == 0


def test_thick_disk_images_keep_their_zeros(tree, dedupd):
    names = ["disk.img", "DISK.RAW", "a.qcow2", "b.vmdk", "c.vdi", "d.vhd", "e.vhdx"]
    for number, name in enumerate(names):
        write(tree / name, noise(number, MIB) + bytes(4 * MIB))

    done = harness.check_pass(dedupd, zeros="auto")

    assert done.freed_bytes == 0
    assert done.first.skipped["keep-zeros"] == len(names)


def test_a_disk_image_with_holes_is_thin_and_gets_more_of_them(tree, dedupd):
    content.write_sparse(tree / "disk.img", 8 * MIB, {0: DATA + bytes(4 * MIB)})

    done = harness.check_pass(dedupd, zeros="auto")

    assert done.freed_bytes == 4 * MIB


def test_a_disk_image_loses_its_zeros_on_request(tree, dedupd):
    write(tree / "disk.img", DATA + bytes(4 * MIB) + DATA[::-1])

    done = harness.check_pass(dedupd, zeros="hole")

    assert done.freed_bytes == 4 * MIB


def test_a_file_with_reserved_space_keeps_its_zeros(tree, dedupd):
    write(tree / "file", DATA + bytes(4 * MIB))
    content.preallocate(tree / "file", 5 * MIB, MIB)

    done = harness.check_pass(dedupd, zeros="auto")

    assert done.freed_bytes == 0
    assert done.first.skipped["keep-zeros"] == 1
    assert has_reservation(tree / "file")


@pytest.mark.parametrize("policy", ["auto", "hole", "keep"])
def test_reservations_stay_whatever_their_twins_hold(tree, dedupd, policy):
    content.preallocate(tree / "reserved", 0, 4 * MIB)
    content.preallocate(tree / "reserved too", 0, 4 * MIB)
    content.write_sparse(tree / "hole", 4 * MIB, {})
    write(tree / "zeros", bytes(4 * MIB))

    harness.check_pass(dedupd, zeros=policy)

    for name in ("reserved", "reserved too"):
        assert [e.length for e in oracle.file_extents(tree / name)
                if e.flags & ioctls.EXTENT_UNWRITTEN] == [4 * MIB]
    assert oracle.file_extents(tree / "hole") == []


@pytest.mark.parametrize("policy", ["auto", "keep"])
def test_holes_are_never_filled(tree, dedupd, policy):
    content.write_sparse(tree / "sparse", 8 * MIB, {0: DATA, 7 * MIB: DATA[::-1]})
    write(tree / "full", DATA + bytes(6 * MIB) + DATA[::-1])

    harness.check_pass(dedupd, zeros=policy)

    assert data_blocks(tree / "sparse") == 512


@pytest.mark.parametrize("kind", ["xfs"])
def test_data_around_zeros_is_shared_whatever_becomes_of_them(tree, dedupd):
    data = [noise(number, MIB) for number in range(3)]
    write(tree / "one.img", data[0] + bytes(MIB) + data[1])
    write(tree / "two.img", data[2] + data[0] + bytes(MIB) + data[1])

    done = harness.check_pass(dedupd, zeros="keep")

    assert done.freed_bytes >= 2 * MIB
