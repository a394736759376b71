# SPDX-License-Identifier: GPL-2.0-or-later
"""A filesystem that is frozen (fsfreeze(8)), as for a snapshot of its disk: a pass waits for the thaw."""

import contextlib
import pathlib
import subprocess
import time

import pytest

import content
import harness
import oracle
from content import MIB
from service import END_SECONDS, wait_until

FROZEN_SECONDS = 2
# What "at once" means on a machine that does other things, too.
AT_ONCE_SECONDS = 1.5


@contextlib.contextmanager
def frozen(tree):
    subprocess.run(["fsfreeze", "--freeze", tree], check=True)
    try:
        yield
    finally:
        subprocess.run(["fsfreeze", "--unfreeze", tree], check=True)


def has_thread_that_waits_for_thaw(pid):
    """Whether the kernel holds a thread of it before a write to what is frozen; no signal ends that."""
    for place in pathlib.Path(f"/proc/{pid}/task").glob("*/wchan"):
        with contextlib.suppress(OSError):
            if place.read_text(encoding="ascii") == "percpu_rwsem_wait":
                return True
    return False


def wait_until_it_waits_for_thaw(pid):
    wait_until(lambda: has_thread_that_waits_for_thaw(pid))


@pytest.fixture(name="twins")
def twins_fixture(filesystem, tree):
    for number in range(4):
        content.write_twins(tree, 4 * MIB, seed=number, names=(f"one-{number}", f"two-{number}"))
    harness.settle(filesystem)
    return [(tree / f"one-{number}", tree / f"two-{number}") for number in range(4)]


def assert_deduplicated(twins):
    for one, two in twins:
        assert oracle.is_shared(one, two)


@pytest.fixture(name="find", params=["read", "checksums"])
def find_fixture(request, kind):
    if kind == "xfs" and request.param == "checksums":
        pytest.skip("XFS has no checksums of data")
    return request.param


def test_a_pass_goes_on_when_its_filesystem_is_thawed(tree, dedupd, twins, find):
    before = oracle.snapshot(tree)
    with frozen(tree):
        process = dedupd.start(find=find)
        wait_until_it_waits_for_thaw(process.pid)
        time.sleep(FROZEN_SECONDS)
        assert process.poll() is None
    run = dedupd.finish(process)

    assert run.status == 0, run.stderr
    assert not run.skipped
    assert_deduplicated(twins)
    assert not oracle.differences(before, oracle.snapshot(tree))


def test_a_pass_that_is_ended_meanwhile_ends_when_its_filesystem_is_thawed(tree, dedupd, twins, find):
    with frozen(tree):
        process = dedupd.start(find=find)
        wait_until_it_waits_for_thaw(process.pid)
        process.terminate()
        time.sleep(1)
        assert process.poll() is None
    begun = time.monotonic()
    run = dedupd.finish(process)

    assert time.monotonic() - begun < END_SECONDS
    assert run.status == 143, run.stderr
    harness.check_pass(dedupd, find=find)
    assert_deduplicated(twins)


def test_the_service_answers_and_can_be_ended_meanwhile(tree, service, twins):
    service.configure(tree)
    with frozen(tree):
        service.start()
        wait_until_it_waits_for_thaw(service.pid)
        for words in (["status"], ["status", tree], ["list"]):
            begun = time.monotonic()
            assert service.ask(*words).returncode == 0
            assert time.monotonic() - begun < AT_ONCE_SECONDS
    service.wait_for_passes(str(tree), 1)
    assert_deduplicated(twins)

    with frozen(tree):
        service.tell("start", tree)
        service.begin_to_end()
        wait_until(lambda: not service.socket_path.exists())
    assert service.wait_for_end() < END_SECONDS
