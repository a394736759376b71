# SPDX-License-Identifier: GPL-2.0-or-later
"""What a pass over a btrfs that is found from checksums waits for."""

import signal
import time

import pytest

import content
import harness
from content import MIB, noise, write
from hindrances import being_scrubbed
from stopping import STOP_SECONDS

SCRUB_MESSAGE = "waiting for a scrub to end"


@pytest.fixture(params=["btrfs"])
def kind(request):
    return request.param


@pytest.fixture
def twins(tree, filesystem):
    """Twins, and enough else that a scrub has something to do."""
    content.write_twins(tree, 4 * MIB)
    write(tree / "else", noise(3, 64 * MIB))
    harness.settle(filesystem)
    return tree


def skip_unless(is_scrubbed):
    if not is_scrubbed:
        pytest.skip("this kernel does not limit the speed of a scrub")


def test_a_pass_waits_for_a_scrub_to_end(twins, dedupd):
    with being_scrubbed(twins) as is_scrubbed:
        skip_unless(is_scrubbed)
        process = dedupd.start(find="checksums")
        time.sleep(3)
        assert process.poll() is None

    run = dedupd.finish(process)

    assert run.status == 0, run.stderr
    assert run.seconds < 5
    assert run.freed_bytes == 4 * MIB
    assert run.stderr.count(SCRUB_MESSAGE) == 1


def test_a_pass_that_shares_waits_for_a_scrub_that_began_meanwhile(tree, filesystem, dedupd):
    for number in range(16):
        content.write_twins(tree, MIB, seed=number, names=(f"{number}-1", f"{number}-2"))
    harness.settle(filesystem)
    filesystem.forget_data()
    process = dedupd.start(find="checksums", limit_rate="8M")
    time.sleep(1.5)
    with being_scrubbed(tree) as is_scrubbed:
        skip_unless(is_scrubbed)
        time.sleep(1.5)
        used = harness.used_data_bytes(filesystem)
        time.sleep(1.5)
        assert harness.used_data_bytes(filesystem) == used
        assert process.poll() is None

    run = dedupd.finish(process)

    assert run.status == 0, run.stderr
    assert run.freed_bytes == 16 * MIB
    assert run.stderr.count(SCRUB_MESSAGE) == 1


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_wait(twins, dedupd, stop):
    with being_scrubbed(twins) as is_scrubbed:
        skip_unless(is_scrubbed)
        process = dedupd.start(find="checksums")
        time.sleep(1)
        process.send_signal(stop)
        run = dedupd.finish(process)

    assert run.seconds < STOP_SECONDS
    assert run.status == 128 + stop
    assert run.report["outcome"] == "interrupted"
    assert run.shared["calls"] == 0
    assert SCRUB_MESSAGE in run.stderr
    assert harness.check_pass(dedupd, find="checksums").freed_bytes == 4 * MIB


def test_a_scrub_that_ended_or_was_cancelled_is_not_waited_for(twins, dedupd):
    with being_scrubbed(twins):
        pass

    done = harness.check_pass(dedupd, find="checksums", quiet=True)

    assert done.first.stderr == ""
    assert done.freed_bytes == 4 * MIB
