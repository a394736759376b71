# SPDX-License-Identifier: GPL-2.0-or-later
"""Deduplication changes no attribute of a file, whatever its users do meanwhile.

XFS copies the CoW extent size hint of a source to the target if one request covers both files
completely.  With it a write of one byte to a shared block allocates up to the size of the hint.
"""

import os
import pathlib

import pytest

import harness
import ioctls
import oracle
from content import BLOCK, KIB, MIB, noise, write

HINT = 256 * MIB
# A user whose files are of no use to root.
ATTACKER = 65532


@pytest.fixture
def xfs(make_filesystem):
    # A hint may be half of an allocation group.
    return make_filesystem("xfs", "4G")


@pytest.fixture(name="dedupd")
def dedupd_fixture(make_dedupd, xfs):
    return make_dedupd(xfs)


@pytest.fixture(name="tree")
def tree_fixture(xfs):
    return pathlib.Path(xfs.mount_point)


def give_to_attacker(path, hint=HINT):
    """The file belongs to the attacker, who has given it a hint."""
    ioctls.set_cow_extent_size(path, hint)
    os.chown(path, ATTACKER, ATTACKER)


def hint_of(path):
    attributes = ioctls.fsxattr_of(path)
    return attributes.cowextsize if attributes.xflags & ioctls.XFLAG_COWEXTSIZE else 0


# Below, at and above a block of the filesystem, and a round of the pass.
SIZES = [1, 1000, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, 64 * KIB, 64 * KIB + 17, 15 * MIB,
         33 * MIB + 5]


@pytest.mark.parametrize("read", ["all", "same-size"])
def test_a_hint_does_not_spread_to_files_of_others(tree, dedupd, read):
    for size in SIZES:
        give_to_attacker(write(tree / f"attacker-{size}", noise(size, size)))
        write(tree / f"root-{size}", noise(size, size))

    done = harness.check_pass(dedupd, read=read)

    for size in SIZES:
        assert oracle.is_shared(tree / f"attacker-{size}", tree / f"root-{size}"), size
        assert hint_of(tree / f"root-{size}") == 0, size
    assert not done.first.skipped


def test_small_files_with_hints_of_one_block_are_deduplicated_through_another(tree, dedupd):
    for number in range(40):
        data = noise(number, BLOCK if number % 2 else 1 + number * 100)
        give_to_attacker(write(tree / f"attacker-{number}", data))
        write(tree / f"first-{number}", data)
        write(tree / f"second-{number}", data)

    done = harness.check_pass(dedupd)

    assert done.freed_bytes == 80 * BLOCK
    assert not done.first.skipped


def test_writes_to_deduplicated_files_allocate_no_more_than_before(tree, dedupd):
    for number in range(8):
        give_to_attacker(write(tree / f"attacker-{number}", noise(number, 4 * MIB)))
        write(tree / f"root-{number}", noise(number, 4 * MIB))
    harness.check_pass(dedupd)

    before = os.statvfs(tree).f_bfree
    for number in range(8):
        with open(tree / f"root-{number}", "rb+") as file:
            os.pwrite(file.fileno(), b"x", MIB)
            os.fsync(file.fileno())
    assert (before - os.statvfs(tree).f_bfree) * BLOCK <= 8 * MIB


@pytest.mark.parametrize("zeros", ["hole", "share"])
def test_a_hint_of_a_directory_does_not_spread_through_holes(tree, dedupd, zeros):
    home = tree / "home"
    home.mkdir()
    give_to_attacker(home)
    os.chown(home, ATTACKER, ATTACKER)
    for name, size in (("large", 16 * MIB), ("odd", 3 * MIB + 5), ("small", 3 * BLOCK + 5), ("tiny", 5)):
        for number in range(2):
            write(tree / f"{name}-{number}", bytes(size))
            os.rename(tree / f"{name}-{number}", home / f"{name}-{number}")
    assert hint_of(write(home / "inherits", noise(1, BLOCK))) == HINT

    done = harness.check_pass(dedupd, zeros=zeros)

    assert done.freed_bytes > 18 * MIB
    assert {hint_of(path) for path in home.glob("*-?")} == {0}


def test_attributes_of_source_and_target_stay(tree, dedupd):
    cases = {"none": {}, "hint": {"xflags": ioctls.XFLAG_COWEXTSIZE, "cowextsize": MIB},
             "project": {"projid": 77}, "nodump": {"xflags": 0x80},
             "extent": {"xflags": ioctls.XFLAG_EXTSIZE, "extsize": MIB}}
    for size in (1000, BLOCK, MIB + 5):
        for source, of_source in cases.items():
            for target, of_target in cases.items():
                data = noise(f"{size} {source} {target}", size)
                for name, attributes in (("a", of_source), ("b", of_target)):
                    path = tree / f"{name}-{size}-{source}-{target}"
                    path.touch()
                    ioctls.set_fsxattr(path, **attributes)
                    write(path, data)
                    os.chmod(path, 0o6755)
                    os.setxattr(path, "user.kept", b"x")
        # With the effective flag: version 2, CAP_NET_RAW.
        capability = bytes.fromhex("0100000200200000000000000000000000000000")
        os.setxattr(tree / f"b-{size}-hint-none", "security.capability", capability)

    done = harness.check_pass(dedupd)

    assert done.freed_bytes > 25 * MIB
