# SPDX-License-Identifier: GPL-2.0-or-later
"""With --zeros=share zeros that are found by reading are shared with each other, and no hole appears."""

import pathlib

import pytest

import content
import harness
import ioctls
import oracle
from content import BLOCK, KIB, MIB, noise, write

DATA = noise(1, MIB)


def data_blocks(path):
    return sum(address is not None for address in oracle.block_addresses(path))


def check(dedupd, **options):
    """A pass that shares zeros: afterwards each file has as many blocks as before."""
    tree = dedupd.filesystem.mount_point
    harness.settle(dedupd.filesystem)
    before = {path: data_blocks(path) for path in pathlib.Path(tree).rglob("*")}
    done = harness.check_pass(dedupd, zeros="share", **options)
    assert done.first.freed["hole_bytes"] == 0
    assert {path: data_blocks(path) for path in before} == before
    return done


@pytest.fixture(params=["xfs"])
def kind(request):
    return request.param


def test_one_run_of_zeros_stays(tree, dedupd):
    for number in range(4):
        write(tree / str(number), bytes(4 * MIB), piece=4 * MIB)

    done = check(dedupd)

    assert done.freed_bytes == 12 * MIB
    assert oracle.physical_bytes(tree) == 4 * MIB


def test_long_zeros_are_shared_with_their_own_first_16_mib(tree, dedupd):
    write(tree / "long", bytes(100 * MIB), piece=100 * MIB)

    done = check(dedupd)

    assert oracle.physical_bytes(tree) == 16 * MIB
    assert done.freed_bytes == 84 * MIB


def test_zeros_beside_data_are_shared_at_any_place(tree, dedupd):
    write(tree / "one", DATA + bytes(2 * MIB) + DATA[::-1])
    write(tree / "two", noise(2, 12 * KIB) + bytes(2 * MIB) + noise(3, 100) + bytes(MIB))
    write(tree / "disk.img", noise(4, BLOCK) + bytes(2 * MIB + 500))

    done = check(dedupd)

    assert done.freed_bytes >= 4 * MIB + 900 * KIB


def test_zeros_alone_are_left_alone(tree, dedupd):
    write(tree / "zeros", bytes(4 * MIB), piece=4 * MIB)

    done = check(dedupd)

    assert done.freed_bytes == 0
    assert done.first.shared["calls"] == 0


def test_zeros_that_come_later_are_shared_with_those_that_stayed(tree, dedupd):
    write(tree / "one", bytes(4 * MIB), piece=4 * MIB)
    check(dedupd)
    write(tree / "two", bytes(6 * MIB), piece=6 * MIB)

    done = check(dedupd)

    assert done.freed_bytes == 6 * MIB
    assert oracle.physical_bytes(tree) == 4 * MIB


def test_those_that_stayed_are_remembered_wherever_they_lie(tree, dedupd):
    """Behind more data than a run of zeros may have."""
    write(tree / "one", noise(1, 20 * MIB) + bytes(2 * MIB))
    assert check(dedupd).freed_bytes == 0
    stayed = oracle.block_addresses(tree / "one")[20 * MIB // BLOCK:]
    write(tree / "two", bytes(2 * MIB), piece=2 * MIB)

    done = check(dedupd)

    assert done.freed_bytes == 2 * MIB
    assert oracle.block_addresses(tree / "one")[20 * MIB // BLOCK:] == stayed
    assert set(oracle.block_addresses(tree / "two")) <= set(stayed)


def test_when_those_that_stayed_are_gone_others_stay(tree, dedupd):
    write(tree / "one", bytes(4 * MIB), piece=4 * MIB)
    check(dedupd)
    (tree / "one").unlink()
    for name in ("two", "three"):
        write(tree / name, bytes(2 * MIB), piece=2 * MIB)

    assert check(dedupd).freed_bytes == 2 * MIB


def test_when_those_that_stayed_are_overwritten_others_stay(tree, dedupd):
    write(tree / "one", bytes(4 * MIB), piece=4 * MIB)
    check(dedupd)
    content.overwrite(tree / "one", 0, noise(9, 4 * MIB))
    for name in ("two", "three"):
        write(tree / name, bytes(2 * MIB), piece=2 * MIB)

    assert check(dedupd).freed_bytes == 2 * MIB


def test_holes_and_reservations_stay_what_they_are(tree, dedupd):
    content.preallocate(tree / "reserved", 0, 4 * MIB)
    content.write_sparse(tree / "sparse", 8 * MIB, {0: DATA, 7 * MIB: DATA[::-1]})
    for name in ("one", "two"):
        write(tree / name, bytes(MIB), piece=MIB)

    done = check(dedupd)

    assert done.freed_bytes == MIB
    assert sum(e.length for e in oracle.file_extents(tree / "reserved")
               if e.flags & ioctls.EXTENT_UNWRITTEN) == 4 * MIB


def test_a_dry_run_says_what_would_be_shared(tree, dedupd):
    for name in ("one", "two"):
        write(tree / name, bytes(4 * MIB), piece=4 * MIB)
    harness.settle(dedupd.filesystem)
    before = oracle.layout(tree)

    run = dedupd.run(zeros="share", dry_run=True)

    assert run.freed["bytes"] == 4 * MIB
    assert run.freed["hole_bytes"] == 0
    assert oracle.layout(tree) == before


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
        write(tree / name, bytes(4 * MIB), piece=4 * MIB)

    for policy, freed_bytes in steps:
        assert harness.check_pass(dedupd, zeros=policy).freed_bytes == freed_bytes, policy
