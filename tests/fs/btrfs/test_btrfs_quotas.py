# SPDX-License-Identifier: GPL-2.0-or-later
"""Quotas of subvolumes: whom a pass charges, and what it does where a limit is reached."""

import errno
import pathlib

import pytest

import content
import filesystem as filesystems
import harness
import ioctls
import oracle
import quotas
from content import BLOCK, MIB, noise, write_extent
from harness import check_btrfs_pass as check
from subvolumes import btrfs, make_subvolume, snapshot

SIZE = 8 * MIB
REMAINDER = MIB
METADATA = 256 << 10  # what trees may take more or less


def edited(data, count):
    """@data with other contents in its last @count bytes but a block."""
    return data[:-count - BLOCK] + noise(99, count) + data[-BLOCK:]


class Accounts:
    """A btrfs on which two users have a subvolume each, and what these are charged."""

    def __init__(self, filesystem):
        self.filesystem = filesystem
        self.tree = pathlib.Path(filesystem.mount_point)
        self.alice, self.bob = self.tree / "alice", self.tree / "bob"

    def of(self, subvolume):
        return quotas.usage(self.tree)[quotas.subvolume_id(subvolume)]

    def make(self):
        make_subvolume(self.alice)
        make_subvolume(self.bob)

    def write_pair(self):
        """Alice's data stays, and Bob's file is equal to it but for REMAINDER bytes."""
        write_extent(self.alice / "one", noise(1, SIZE))
        # What more places show is the source.
        for name in ("again", "and-again"):
            content.clone(self.alice / "one", self.alice / name)
        harness.settle(self.filesystem)
        write_extent(self.bob / "two", edited(noise(1, SIZE), REMAINDER))
        harness.settle(self.filesystem)


@pytest.fixture
def simple():
    """With simple quotas; programs of btrfs older than these refuse to check it."""
    try:
        with filesystems.LoopFilesystem("btrfs", "1G") as filesystem:
            accounts = Accounts(filesystem)
            try:
                quotas.enable_simple(accounts.tree)
            except OSError as failure:
                if failure.errno != errno.EINVAL:
                    raise
                pytest.skip("this kernel has no simple quotas")
            accounts.make()
            yield accounts
            assert not ioctls.btrfs_scrub(filesystem.mount_point)
    except filesystems.FilesystemUnavailable as unavailable:
        pytest.skip(str(unavailable))


@pytest.fixture
def simple_dedupd(simple, make_dedupd):
    return make_dedupd(simple.filesystem)


def is_near(value, expected):
    return abs(value - expected) <= METADATA


def test_the_remainder_stays_on_its_owners_account(simple, simple_dedupd):
    simple.write_pair()
    alice, bob, top = (simple.of(path) for path in (simple.alice, simple.bob, simple.tree))

    done = check(simple_dedupd)

    assert done.first.rewritten["bytes"] == REMAINDER
    assert done.freed_bytes == SIZE - REMAINDER
    assert is_near(simple.of(simple.alice), alice)
    assert is_near(simple.of(simple.bob), bob - SIZE + REMAINDER)
    assert is_near(simple.of(simple.tree), top)


def test_the_owner_is_charged_also_where_another_subvolume_shows_it(simple, simple_dedupd):
    """Bob's data moved to a subvolume that is nobody's: it stays on his account."""
    simple.write_pair()
    shelf = make_subvolume(simple.tree / "shelf")
    content.clone(simple.bob / "two", shelf / "two")
    (simple.bob / "two").unlink()
    harness.settle(simple.filesystem)
    bob, top = simple.of(simple.bob), simple.of(simple.tree)

    assert check(simple_dedupd).freed_bytes == SIZE - REMAINDER

    assert is_near(simple.of(simple.bob), bob - SIZE + REMAINDER)
    assert is_near(simple.of(shelf), 0)
    assert is_near(simple.of(simple.tree), top)


def test_if_the_owner_is_read_only_a_writable_subvolume_that_shows_it_is_charged(
        simple, simple_dedupd):
    simple.write_pair()
    snapshot(simple.bob, simple.tree / "writable", read_only=False)
    btrfs("property", "set", simple.bob, "ro", "true")
    top = simple.of(simple.tree)

    assert check(simple_dedupd).freed_bytes == SIZE - REMAINDER

    assert is_near(simple.of(simple.tree / "writable"), REMAINDER)
    assert is_near(simple.of(simple.tree), top)


def test_if_all_that_show_it_are_read_only_nobody_is_charged(simple, simple_dedupd):
    simple.write_pair()
    btrfs("property", "set", simple.bob, "ro", "true")
    bob, top = simple.of(simple.bob), simple.of(simple.tree)

    run = simple_dedupd.run(find="checksums")

    assert run.freed_bytes == 0
    assert run.skipped == {"no-temporary-file": 1}
    assert is_near(simple.of(simple.bob), bob)
    assert is_near(simple.of(simple.tree), top)
    assert (simple.bob / "two").read_bytes() == edited(noise(1, SIZE), REMAINDER)


def test_at_a_simple_limit_the_remainder_is_not_copied(simple, simple_dedupd):
    simple.write_pair()
    quotas.limit(simple.tree, simple.bob, simple.of(simple.bob) + BLOCK)
    before = oracle.snapshot(simple.tree)

    run = simple_dedupd.run(find="checksums")

    assert run.status == 0
    assert run.freed_bytes == 0
    assert run.skipped == {"no-space": 1}
    harness.assert_unchanged(before, simple.tree)
    quotas.limit(simple.tree, simple.bob, 2 * SIZE)
    assert check(simple_dedupd).freed_bytes == SIZE - REMAINDER


def test_equal_data_is_charged_to_the_one_whose_extent_stays(simple, simple_dedupd):
    write_extent(simple.alice / "one", noise(1, SIZE))
    harness.settle(simple.filesystem)
    write_extent(simple.bob / "two", noise(1, SIZE))
    harness.settle(simple.filesystem)
    alice, bob = simple.of(simple.alice), simple.of(simple.bob)

    assert check(simple_dedupd).freed_bytes == SIZE

    assert is_near(simple.of(simple.alice), alice)
    assert is_near(simple.of(simple.bob), bob - SIZE)
    # It stays on her account for as long as Bob's file shows it.
    (simple.alice / "one").unlink()
    harness.settle(simple.filesystem)
    assert is_near(simple.of(simple.alice), alice)


@pytest.fixture
def full(make_filesystem):
    """With the quota groups that count each reference."""
    accounts = Accounts(make_filesystem("btrfs", "1G"))
    btrfs("quota", "enable", accounts.tree)
    accounts.make()
    return accounts


def test_at_a_full_limit_the_remainder_is_not_copied(full, make_dedupd):
    dedupd = make_dedupd(full.filesystem)
    full.write_pair()
    btrfs("quota", "rescan", "-w", full.tree)
    quotas.limit(full.tree, full.bob, full.of(full.bob) + BLOCK)
    before = oracle.snapshot(full.tree)

    run = dedupd.run(find="checksums")

    assert run.status == 0
    assert run.freed_bytes == 0
    assert run.skipped == {"no-space": 1}
    harness.assert_unchanged(before, full.tree)
    quotas.limit(full.tree, full.bob, 4 * SIZE)
    bob, top = full.of(full.bob), full.of(full.tree)

    assert check(dedupd).freed_bytes == SIZE - REMAINDER

    # It refers to whole extents: to Alice's, though its file shows only a part of that, and the copy.
    assert is_near(full.of(full.bob), bob + REMAINDER)
    assert is_near(full.of(full.tree), top)
