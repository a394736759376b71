# SPDX-License-Identifier: GPL-2.0-or-later
"""Ended at any moment, a pass leaves all in order and the next one goes on from there."""

import os
import random
import signal
import time

import pytest

import content
import harness
import oracle
from content import MIB, noise, write
from stopping import STOP_SECONDS

KILL_ROUNDS = int(os.environ.get("DEDUPD_KILL_ROUNDS", "10"))


@pytest.fixture
def tree(tree):
    """32 MiB in 32 files, each the twin of another."""
    for number in range(16):
        content.write_twins(tree, MIB, seed=number, names=(f"{number}-1", f"{number}-2"))
    return tree


def stop(process, number):
    """Send a signal and return how long the process took to end."""
    begun = time.monotonic()
    process.send_signal(number)
    process.wait(timeout=30)
    return time.monotonic() - begun


@pytest.mark.parametrize("number, status", [(signal.SIGINT, 130), (signal.SIGTERM, 143)],
                         ids=["SIGINT", "SIGTERM"])
def test_a_signal_ends_a_pass_and_the_next_one_resumes(tree, filesystem, dedupd, number, status):
    harness.settle(filesystem)
    before = oracle.snapshot(tree)
    filesystem.forget_data()
    process = dedupd.start(limit_rate="8M")
    time.sleep(2.5)
    seconds = stop(process, number)
    interrupted = dedupd.finish(process)

    assert interrupted.status == status, interrupted.stderr
    assert seconds <= STOP_SECONDS
    assert interrupted.report["outcome"] == "interrupted"
    harness.assert_unchanged(before, tree)
    read = interrupted.read["finding_bytes"]
    assert read >= 8 * MIB

    done = harness.check_pass(dedupd)

    assert done.first.read["finding_bytes"] <= 32 * MIB - read + 2 * MIB
    assert interrupted.freed_bytes + done.freed_bytes == 16 * MIB


def test_a_signal_ends_the_pass_while_it_shares(tree, filesystem, dedupd):
    harness.settle(filesystem)
    assert dedupd.run(dry_run=True).status == 0
    before = oracle.snapshot(tree)
    filesystem.forget_data()
    process = dedupd.start(limit_rate="4M")
    time.sleep(2.5)
    seconds = stop(process, signal.SIGTERM)
    interrupted = dedupd.finish(process)

    assert interrupted.status == 143
    assert seconds <= STOP_SECONDS
    harness.assert_unchanged(before, tree)
    done = harness.check_pass(dedupd)
    assert interrupted.freed_bytes + done.freed_bytes == 16 * MIB
    assert done.first.read["finding_bytes"] == 0


def test_a_second_signal_kills_no_data(tree, filesystem, dedupd):
    harness.settle(filesystem)
    before = oracle.snapshot(tree)
    filesystem.forget_data()
    process = dedupd.start(limit_rate="8M")
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGTERM)
    process.wait(timeout=STOP_SECONDS)

    assert dedupd.finish(process).status in (130, 143)
    harness.assert_unchanged(before, tree)


def test_killed_at_any_moment_the_store_opens_and_a_pass_completes(tree, filesystem, dedupd):
    harness.settle(filesystem)
    before = oracle.snapshot(tree)
    moments = random.Random(1)
    for round_number in range(KILL_ROUNDS):
        write(tree / f"round-{round_number}", noise(round_number % 4, MIB))
        before = oracle.snapshot(tree)
        filesystem.forget_data()
        process = dedupd.start(limit_rate="64M")
        time.sleep(moments.uniform(0, 0.8))
        process.kill()
        process.communicate()
        harness.assert_unchanged(before, tree)

    harness.check_pass(dedupd)

    data = oracle.physical_bytes(tree)
    assert data == 16 * MIB


def test_the_reader_of_a_report_that_goes_away_does_no_harm(tree, filesystem, dedupd):
    harness.settle(filesystem)
    before = oracle.snapshot(tree)
    process = dedupd.start()
    process.stdout.close()
    process.stderr.close()
    process.wait(timeout=60)

    harness.assert_unchanged(before, tree)
    harness.check_pass(dedupd)
