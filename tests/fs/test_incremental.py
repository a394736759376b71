# SPDX-License-Identifier: GPL-2.0-or-later
"""Passes between changes free what one pass with a new store would, whatever the changes were.

DEDUPD_SEEDS chooses the number of histories (5), DEDUPD_SEED the first of them.  All are added up.  Which equal data
stays depends on how it lies, and so on the moment when the kernel wrote it: a single history says little.
"""

import pathlib

import harness
import oracle
from random_history import RandomHistory

# The first ones are short of what a settled extent hides.
SEEDS = [9 + seed for seed in harness.seeds(5)]
ROUNDS = 4
# Of what is in use, over all histories.  A second new store finds 0.3 % more than the first one.
TOLERANCE = {"btrfs": 0.04, "xfs": 0.01}
# Files of XFS that changed time and again are left alone for a week at most.
WEEK_SECONDS = 8 * 86400


def run_pass(dedupd):
    """A pass; the bytes that are in use after it, less what goes when snapshots are deleted."""
    filesystem = dedupd.filesystem
    harness.settle(filesystem)
    run = dedupd.run(find=harness.FIND[filesystem.kind])
    assert run.status == 0, run.stderr
    if filesystem.kind == "xfs":
        return oracle.physical_bytes(filesystem.mount_point)
    return harness.used_data_bytes(filesystem) - run.filesystem["deferred"]["waiting_bytes"]


def used_after(dedupd, seed, after_each_round):
    """A history with a pass at its end, and with one after each round of it if that is asked for."""
    kind = dedupd.filesystem.kind
    history = RandomHistory(pathlib.Path(dedupd.filesystem.mount_point), seed, kind)
    for _ in range(ROUNDS):
        history.go_on()
        if after_each_round:
            run_pass(dedupd)
    if kind == "xfs":
        harness.clock.wait(WEEK_SECONDS)
    return run_pass(dedupd)


def assert_alike(kind, used):
    """Seed -> bytes in use as the passes left it, and as they should have."""
    more = sum(left - wanted for left, wanted in used.values())
    all_bytes = sum(wanted for _, wanted in used.values())
    print(f"{kind}: {more} of {all_bytes} bytes, {100 * more / all_bytes:.2f} %, seeds {used}")
    assert more <= all_bytes * TOLERANCE[kind]


def test_an_old_store_hides_little_that_a_new_one_finds(make_filesystem, make_dedupd, kind, quick_disks):
    used = {}
    for seed in SEEDS:
        filesystem = make_filesystem(kind)
        left = used_after(make_dedupd(filesystem, f"old-{seed}"), seed, True)
        used[seed] = left, run_pass(make_dedupd(filesystem, f"new-{seed}"))

    assert_alike(kind, used)


def test_passes_between_changes_leave_no_more_than_one_pass(make_filesystem, make_dedupd, kind, quick_disks):
    used = {}
    for seed in SEEDS:
        used[seed] = tuple(used_after(make_dedupd(make_filesystem(kind), f"{name}-{seed}"), seed, name == "many")
                           for name in ("many", "one"))

    assert_alike(kind, used)
