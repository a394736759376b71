# SPDX-License-Identifier: GPL-2.0-or-later
"""A btrfs on several devices, and passes during which its data or its devices move."""

import pathlib
import signal
import subprocess

import pytest

import content
import harness
import oracle
from content import MIB
from filesystem import CommandFailed, FilesystemUnavailable
from harness import used_data_bytes
from many_devices import ManyDevices
from service import wait_until
from subvolumes import btrfs, make_subvolume, wait_for_deleted

PAIRS = 16
RATE = "16M"
SLOW_RATE = "2M"


@pytest.fixture
def make_devices(quick_disks):
    """Make a ManyDevices, which must be sound when the test ends."""
    made = []

    def make(**options):
        filesystem = ManyDevices(**options)
        try:
            made.append(filesystem.__enter__())
        except FilesystemUnavailable as unavailable:
            pytest.skip(str(unavailable))
        return filesystem
    try:
        yield make
        for one in made:
            one.check()
    finally:
        for one in made:
            one.close()


def fill(filesystem):
    tree = pathlib.Path(filesystem.mount_point)
    for number in range(PAIRS):
        content.write_twins(tree, MIB, seed=number, names=(f"{number}a", f"{number}b"))
    harness.settle(filesystem)
    return tree


def start_sharing(dedupd, rate=RATE, **options):
    """A pass that is in the middle."""
    filesystem = dedupd.filesystem
    filesystem.forget_data()
    before = filesystem.read_bytes()
    process = dedupd.start(limit_rate=rate, **options)
    wait_until(lambda: filesystem.read_bytes() - before > 2 * MIB or process.poll() is not None)
    assert process.poll() is None
    return process


@pytest.mark.parametrize("data, metadata, count", [
    ("raid0", "raid1", 2), ("raid1", "raid1", 2), ("raid5", "raid1", 3), ("dup", "dup", 1)])
def test_each_profile_is_shared(make_devices, make_dedupd, data, metadata, count):
    filesystem = make_devices(data=data, metadata=metadata, count=count)
    fill(filesystem)

    done = harness.check_btrfs_pass(make_dedupd(filesystem))

    assert done.freed_bytes == PAIRS * MIB


def test_a_block_group_tree_is_no_obstacle(make_filesystem, make_dedupd):
    try:
        filesystem = make_filesystem("btrfs", mkfs_options=["-O", "block-group-tree"])
    except CommandFailed as failure:
        pytest.skip(str(failure).splitlines()[0])
    fill(filesystem)

    assert harness.check_btrfs_pass(make_dedupd(filesystem)).freed_bytes == PAIRS * MIB


def balance(filesystem):
    btrfs("balance", "start", "--full-balance", filesystem.mount_point)


def replace(filesystem):
    btrfs("replace", "start", "-B", "-f", "1", filesystem.attach(), filesystem.mount_point)


def move_to_another(filesystem):
    btrfs("device", "add", "-f", filesystem.attach(), filesystem.mount_point)
    btrfs("device", "remove", filesystem.device, filesystem.mount_point)


def resize(filesystem):
    btrfs("filesystem", "resize", "-150m", filesystem.mount_point)
    btrfs("filesystem", "resize", "max", filesystem.mount_point)


def defragment(filesystem):
    btrfs("filesystem", "defragment", "-r", "-f", filesystem.mount_point)


@pytest.mark.parametrize("action, find", [
    (balance, "checksums"), (balance, "read"), (replace, "checksums"), (move_to_another, "checksums"),
    (resize, "read"), (defragment, "checksums")])
def test_what_moves_during_a_pass_is_shared_by_the_next(make_devices, make_dedupd, action, find):
    filesystem = make_devices()
    tree = fill(filesystem)
    dedupd = make_dedupd(filesystem)
    before = oracle.snapshot(tree)
    used = used_data_bytes(filesystem)
    process = start_sharing(dedupd, find=find)
    action(filesystem)
    run = dedupd.finish(process)

    assert run.status == 0, run.stderr
    assert run.report["outcome"] == "complete"
    harness.assert_unchanged(before, tree)
    harness.settle(filesystem)
    again = dedupd.run(find=find)
    assert again.status == 0, again.stderr
    assert used - used_data_bytes(filesystem) == PAIRS * MIB
    if action is not defragment:
        assert run.freed_bytes + again.freed_bytes == PAIRS * MIB
        assert again.pinned == {}
    harness.assert_unchanged(before, tree)
    dedupd.run(find=find)
    harness.assert_converged(dedupd, tree, find=find)


def test_data_that_a_balance_moved_is_no_duplicate_of_itself(make_devices, make_dedupd):
    filesystem = make_devices()
    fill(filesystem)
    dedupd = make_dedupd(filesystem)
    assert dedupd.run(find="checksums").freed_bytes == PAIRS * MIB

    balance(filesystem)
    run = dedupd.run(find="checksums")

    assert run.freed_bytes == 0
    assert run.skipped == {} and run.pinned == {}
    # The addresses that they had are forgotten.
    assert run.files["gone"] == PAIRS


def test_a_subvolume_that_is_deleted_goes_while_the_pass_runs(make_devices, make_dedupd):
    filesystem = make_devices(mount_options=["commit=1"])
    tree = pathlib.Path(filesystem.mount_point)
    make_subvolume(tree / "sub")
    for number in range(PAIRS):
        content.write_twins(tree / "sub", MIB, seed=100 + number, names=(f"{number}a", f"{number}b"))
    fill(filesystem)
    dedupd = make_dedupd(filesystem)
    process = start_sharing(dedupd, "4M", find="checksums")
    btrfs("subvolume", "delete", tree / "sub")
    wait_for_deleted(tree)
    # With nothing left to share the pass may be over by now.
    process.terminate()
    assert dedupd.finish(process).status in (0, 128 + signal.SIGTERM)

    run = dedupd.run(find="checksums")
    assert run.status == 0, run.stderr
    wait_until(lambda: used_data_bytes(filesystem) == PAIRS * MIB)


def test_a_seed_is_refused_and_what_grows_from_it_is_shared(make_devices, make_dedupd):
    filesystem = make_devices()
    tree = pathlib.Path(filesystem.mount_point)
    content.write_twins(tree, MIB)
    harness.settle(filesystem)
    filesystem.unmount()
    subprocess.run(["btrfstune", "-S", "1", filesystem.device], check=True, capture_output=True)
    # The kernel says that it is read-only.
    subprocess.run(["mount", filesystem.device, tree], check=True, capture_output=True)
    dedupd = make_dedupd(filesystem)
    run = dedupd.run(find="checksums")
    assert run.status == 1
    assert f"{tree} is mounted read-only" in run.stderr

    btrfs("device", "add", "-f", filesystem.attach(), tree)
    filesystem.remount("rw")
    content.write_twins(tree, MIB, seed=2, names=("three", "four"))

    assert harness.check_btrfs_pass(make_dedupd(filesystem, "grown")).freed_bytes == 2 * MIB
