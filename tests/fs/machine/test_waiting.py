# SPDX-License-Identifier: GPL-2.0-or-later
"""Others who have a file open wait for short calls only: FIDEDUPERANGE keeps writers waiting, and on
XFS readers too."""

import contextlib
import mmap
import os

import pytest

import content
import harness
from content import MIB, noise, write

SIZE = 20 * MIB
# Of the pass: as a part of a file, or more of it.
ROUND = 16 * MIB
WAYS = [("xfs", "read"), ("btrfs", "read"), ("btrfs", "checksums")]


@pytest.fixture(params=WAYS, ids=" by ".join)
def way(request):
    return request.param


@pytest.fixture(name="kind")
def kind_fixture(way):
    return way[0]


@pytest.fixture(name="options")
def options_fixture(way):
    return {"find": way[1]}


@contextlib.contextmanager
def opened(path, flags):
    fd = os.open(path, flags)
    try:
        yield fd
    finally:
        os.close(fd)


def twins(tree):
    content.write_twins(tree, SIZE, names=("one", "two"))
    return tree / "one", tree / "two"


def long_calls(length):
    return -(-length // ROUND)


def assert_cut_into_short_calls(run):
    # A first small one tries whether it is worth it, where checksums said that all is equal.
    assert run.shared["short_rounds"] >= long_calls(SIZE) - 1
    assert run.shared["calls"] >= SIZE // MIB


def assert_shared_in_long_calls(run):
    assert run.shared["short_rounds"] == 0
    assert run.shared["calls"] <= long_calls(SIZE) + 2


def test_calls_are_long_while_nobody_has_the_files_open(tree, dedupd, options):
    twins(tree)

    done = harness.check_pass(dedupd, **options)

    assert done.freed_bytes == SIZE
    assert_shared_in_long_calls(done.first)


@pytest.mark.parametrize("side", ["source", "target"])
def test_calls_are_short_while_someone_may_write_to_a_file(tree, dedupd, options, side):
    source, target = twins(tree)

    with opened(source if side == "source" else target, os.O_RDWR):
        done = harness.check_pass(dedupd, **options)

    assert done.freed_bytes == SIZE
    assert_cut_into_short_calls(done.first)


@pytest.mark.parametrize("side", ["source", "target"])
def test_readers_matter_on_xfs_alone(tree, dedupd, options, kind, side):
    source, target = twins(tree)

    with opened(source if side == "source" else target, os.O_RDONLY):
        done = harness.check_pass(dedupd, **options)

    assert done.freed_bytes == SIZE
    if kind == "xfs":
        assert_cut_into_short_calls(done.first)
    else:
        assert_shared_in_long_calls(done.first)


def test_who_has_a_file_mapped_has_it_open(tree, dedupd, options):
    _, target = twins(tree)
    with opened(target, os.O_RDWR) as fd:
        mapping = mmap.mmap(fd, SIZE, mmap.MAP_SHARED)

    done = harness.check_pass(dedupd, **options)

    mapping.close()
    assert done.freed_bytes == SIZE
    assert_cut_into_short_calls(done.first)


def test_files_that_fit_into_a_short_call_do_not_count(tree, dedupd, options):
    content.write_twins(tree, MIB, names=("one", "two"))

    with opened(tree / "two", os.O_RDWR):
        done = harness.check_pass(dedupd, **options)

    assert done.freed_bytes == MIB
    assert done.first.shared["short_rounds"] == 0


def test_what_the_pass_has_open_itself_does_not_count(tree, dedupd, options):
    """The second file is a target first, and the source of the third one next."""
    write(tree / "one", noise(1, 4 * MIB))
    write(tree / "two", noise(1, 3 * MIB) + noise(2, MIB // 2), piece=MIB // 2)
    write(tree / "three", noise(2, MIB // 2))
    write(tree / "four", noise(1, 4 * MIB)[3 * MIB:])

    done = harness.check_pass(dedupd, **options)

    assert done.freed_bytes == 9 * MIB // 2
    assert done.first.shared["short_rounds"] == 0


@pytest.mark.parametrize("way", [("btrfs", "checksums")], ids=" by ".join)
def test_a_copy_of_a_rest_is_nobody_elses(tree, dedupd, options):
    part = noise(1, 24 * MIB)
    content.write_extent(tree / "one", part)
    content.write_extent(tree / "two", part[:21 * MIB] + noise(2, 3 * MIB))

    done = harness.check_pass(dedupd, **options)

    assert done.first.rewritten["bytes"] == 3 * MIB
    assert done.first.shared["short_rounds"] == 0


@pytest.mark.parametrize("way", WAYS[:2], ids=" by ".join)
def test_another_users_file_counts_as_open(tree, users_dedupd, filesystem):
    """Nobody but its owner may ask for a lease on it."""
    filesystem.remount("noatime")
    source, target = twins(tree)
    os.chown(target, harness.USER, harness.USER)
    source.chmod(0o644)

    done = harness.check_pass(users_dedupd, user=harness.USER)

    assert done.freed_bytes == SIZE
    assert_cut_into_short_calls(done.first)
