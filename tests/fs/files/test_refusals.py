# SPDX-License-Identifier: GPL-2.0-or-later
"""What could not be shared for a reason that passes is tried again, and not read again to find it."""

import pytest

import content
import harness
import oracle
from content import MIB, noise, write
from hindrances import being_sent, leased
from service import wait_until
from subvolumes import delete_subvolumes, make_subvolume, snapshot

FAILING = 7
PAIRS = 24


def assert_tried_in_vain(run, reason):
    assert run.status == 0, run.stderr
    assert run.report["outcome"] == "complete"
    assert run.read["finding_bytes"] == 0
    assert run.freed_bytes == 0
    assert reason in run.skipped


def assert_shares_what_it_knows(dedupd, freed_bytes):
    done = harness.check_pass(dedupd)
    assert done.first.read["finding_bytes"] == 0
    assert done.freed_bytes == freed_bytes


@pytest.mark.parametrize("names", [["one"], ["two"], ["one", "two"]], ids=" and ".join)
def test_leased_files_are_tried_again_without_being_read(tree, filesystem, dedupd, names):
    content.write_twins(tree, MIB)
    content.write_twins(tree, 2 * MIB, seed=2, names=("other-1", "other-2"))
    harness.settle(filesystem)
    assert dedupd.run(dry_run=True).freed_bytes == 3 * MIB

    with leased(*(tree / name for name in names)):
        run = dedupd.run()
        assert run.read["finding_bytes"] == 0
        assert run.freed_bytes == 2 * MIB
        assert "leased" in run.skipped
    with leased(*(tree / name for name in names)):
        assert_tried_in_vain(dedupd.run(), "leased")
        store = dedupd.store_contents()
        assert_tried_in_vain(dedupd.run(), "leased")
        assert dedupd.store_contents() == store

    assert_shares_what_it_knows(dedupd, MIB)


def test_a_file_whose_settled_source_is_leased_is_tried_again(tree, filesystem, dedupd):
    write(tree / "one", noise(1, MIB))
    harness.check_pass(dedupd)
    write(tree / "two", noise(1, MIB))
    harness.settle(filesystem)

    with leased(tree / "one"):
        run = dedupd.run()
        assert run.read["finding_bytes"] == MIB
        assert run.freed_bytes == 0
        assert_tried_in_vain(dedupd.run(), "leased")

    assert_shares_what_it_knows(dedupd, MIB)


@pytest.mark.parametrize("kind", ["btrfs"])
def test_what_is_being_sent_is_tried_again_without_being_read(tree, filesystem, dedupd):
    make_subvolume(tree / "sub")
    content.write_twins(tree / "sub", MIB)
    snapshot(tree / "sub", tree / "snapshot")
    delete_subvolumes(tree, "sub")
    content.write_twins(tree, 2 * MIB, seed=2, names=("other-1", "other-2"))
    harness.settle(filesystem)

    with being_sent(tree / "snapshot"):
        run = dedupd.run()
        assert run.freed_bytes == 2 * MIB
        assert run.skipped == {"busy": 1}
        assert_tried_in_vain(dedupd.run(), "busy")
        assert not oracle.is_shared(tree / "snapshot/one", tree / "snapshot/two")

    assert_shares_what_it_knows(dedupd, MIB)


def test_a_remount_to_read_only_ends_a_pass_and_the_next_one_shares_the_rest(tree, filesystem, dedupd):
    for seed in range(PAIRS):
        content.write_twins(tree, MIB, seed=seed, names=(f"{seed}-1", f"{seed}-2"))
    harness.settle(filesystem)
    assert dedupd.run(dry_run=True).freed_bytes == PAIRS * MIB
    before = oracle.snapshot(tree)
    filesystem.forget_data()
    begun = filesystem.read_bytes()
    process = dedupd.start(limit_rate="8M")
    wait_until(lambda: filesystem.read_bytes() - begun > 2 * MIB)
    filesystem.remount("ro")
    try:
        run = dedupd.finish(process)
    finally:
        filesystem.remount("rw")

    assert run.status == FAILING, run.stderr
    assert run.filesystem["stopped_reason"] == "the filesystem became read-only"
    # The rest is not read in vain.
    assert run.read["disk_bytes"] < 2 * PAIRS * MIB
    harness.assert_unchanged(before, tree)
    assert_shares_what_it_knows(dedupd, PAIRS * MIB - run.freed_bytes)
