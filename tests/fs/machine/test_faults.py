# SPDX-License-Identifier: GPL-2.0-or-later
"""One call of a pass fails: it ends as documented, nothing is lost, and the next pass frees what was left."""

import contextlib
import os
import sqlite3

import pytest

import content
import faults
import harness
import oracle
from content import KIB, MIB
from harness import FIND

# tests/bench/faults has all calls fail, one after the other.
SAMPLES = int(os.environ.get("DEDUPD_FAULT_SAMPLES", "30"))
KILLS = 4 * SAMPLES


@pytest.fixture
def injected(failing_calls, dedupd, kind):
    return faults.Faults(dedupd, failing_calls, FIND[kind])


@pytest.mark.parametrize("calls", faults.SETS)
def test_a_call_that_fails_loses_nothing(injected, calls):
    n_calls = injected.count(calls)
    assert n_calls > SAMPLES
    done = [injected.inject(calls, 1 + sample * n_calls // SAMPLES, sample) for sample in range(SAMPLES)]

    assert not [fault for fault in done if fault.complaint]
    # The last of them may be made in some passes only.
    assert sum(bool(fault.failed) for fault in done) > SAMPLES // 2


def test_a_pass_that_is_killed_at_any_moment_loses_nothing(injected):
    seconds = injected.pass_seconds()

    done = [injected.kill(seconds * (kill + 1) / KILLS) for kill in range(KILLS)]

    assert not [fault for fault in done if fault.complaint]
    assert sum(fault.status < 0 for fault in done) > KILLS // 8


def test_no_change_of_several_rows_is_kept_in_half(injected):
    prepare = "sqlite3_prepare_v3"
    done = [injected.inject(prepare, number) for number in range(1, injected.count(prepare) + 1)]

    assert all(fault.failed for fault in done)
    assert not [fault for fault in done if fault.complaint]


@pytest.mark.parametrize("kind", ["xfs"])
def test_what_was_shared_in_part_is_shared_by_the_next_pass(tree, dedupd, failing_calls):
    content.write_twins(tree, MIB, seed=1)
    content.write(tree / "third", content.noise(1, MIB))
    content.clone(tree / "third", tree / "clone")
    harness.settle(dedupd.filesystem)
    dedupd.feigned = {"LD_PRELOAD": failing_calls, "FAIL_DEDUPE_HALF": "1"}
    run = dedupd.run()
    dedupd.feigned = {}
    assert 0 < run.freed_bytes < 2 * MIB
    assert "busy" in run.skipped

    done = harness.check_pass(dedupd, tree)

    assert run.freed_bytes + done.freed_bytes == 2 * MIB


def share_first_of_two(tree, dedupd, between, feigned):
    """Share the first of two ranges of 64 KiB, with @between bytes between, as the call for the second one fails."""
    begin, end = content.noise(1, 64 * KIB), content.noise(2, 64 * KIB)
    for name in ("one", "two"):
        content.write(tree / name, begin + content.noise(name, between) + end)
    harness.settle(dedupd.filesystem)
    used = oracle.physical_bytes(tree)
    dedupd.feigned = feigned
    run = dedupd.run()
    dedupd.feigned = {}
    assert run.freed_bytes == used - oracle.physical_bytes(tree) == 64 * KIB
    return run


# The first block of a file is a call of its own.
@pytest.mark.parametrize("kind", ["xfs"])
def test_what_was_shared_before_a_quota_was_used_up_counts(tree, dedupd, failing_calls):
    feigned = {"LD_PRELOAD": failing_calls, "FAIL_DEDUPE_QUOTA": "3"}
    run = share_first_of_two(tree, dedupd, 64 * KIB, feigned)

    assert "no-space" in run.skipped, run.skipped
    assert harness.check_pass(dedupd, tree).freed_bytes == 64 * KIB


@pytest.mark.parametrize("kind", ["xfs"])
def test_what_was_shared_before_the_target_was_denied_counts(tree, dedupd, failing_calls):
    feigned = {"LD_PRELOAD": failing_calls, "FAIL_DEDUPE_DENIED": "3"}
    run = share_first_of_two(tree, dedupd, 8 * KIB, feigned)

    assert run.skipped == {"denied": 1}


@pytest.mark.parametrize("kind", ["xfs"])
@pytest.mark.parametrize("call", ["eventfd", "pthread_create"])
def test_a_pass_that_cannot_start_says_so_in_its_report(injected, call):
    fault = injected.inject(call, 1)

    assert fault.failed
    assert fault.status == 1
    assert not fault.complaint


@pytest.mark.parametrize("kind", ["xfs"])
def test_nothing_is_settled_that_is_not_on_the_disk(tree, filesystem, dedupd, failing_calls):
    content.write_twins(tree, MIB)
    harness.settle(filesystem)
    # The first flush precedes the reading.
    dedupd.feigned = {"LD_PRELOAD": failing_calls, "FAIL_SET": "syncfs", "FAIL_AT": "2"}

    run = dedupd.run()

    assert run.status == 1
    assert "cannot flush" in run.stderr
    assert run.shared["bytes"] == MIB
    with contextlib.closing(sqlite3.connect(dedupd.store_path)) as store:
        assert store.execute("SELECT value FROM meta WHERE name = 'settled_below'").fetchone() == (1,)
