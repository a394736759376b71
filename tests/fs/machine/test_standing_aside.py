# SPDX-License-Identifier: GPL-2.0-or-later
"""The service, and a pass that reads, stand aside while others work on a filesystem."""

import fcntl
import pathlib
import subprocess
import time

import pytest

import content
import harness
from content import MIB, noise, write
from hindrances import being_scrubbed
from service import wait_until

LOCKS = pathlib.Path("/run/dedupd-lock")
SCRUB_MESSAGE = "waiting for a scrub to end"


@pytest.fixture
def twins(tree, filesystem):
    """Twins, and enough else that a pass which is limited, or a scrub, takes a while."""
    content.write_twins(tree, 4 * MIB)
    write(tree / "else", noise(3, 64 * MIB))
    harness.settle(filesystem)
    filesystem.forget_data()
    return tree


def uuid_of(tree):
    return subprocess.run(["findmnt", "-no", "UUID", tree], check=True, capture_output=True,
                          text=True).stdout.strip()


def assert_stays_waiting(service, tree, why):
    wait_until(lambda: service.shows(str(tree))["why"] == why, service.log)
    service.tell("start", tree)
    time.sleep(3)
    shown = service.shows(str(tree))
    assert (shown["state"], shown["why"], shown["passes"]) == ("waiting", why, 0)


def test_a_pass_that_somebody_else_makes_is_waited_for(twins, dedupd, service):
    process = dedupd.start(find="read", limit_rate="2M")
    lock = LOCKS / uuid_of(twins)
    wait_until(lambda: lock.exists() and lock.read_text() == f"{process.pid}\n")
    service.configure(twins)
    service.start()

    assert_stays_waiting(service, twins, f"dedupd (process {process.pid}) works on it")
    assert "fail" not in service.log()
    assert "dedupd_last_pass_outcome{" not in service.tell("metrics")
    process.terminate()
    dedupd.finish(process)

    shown = service.wait_for_passes(str(twins), 1)
    assert (shown["last_outcome"], shown["last_freed_bytes"]) == ("complete", 4 * MIB)


def test_who_is_kept_out_is_told_by_whom(twins, dedupd, service):
    process = dedupd.start(find="read", limit_rate="2M")
    lock = LOCKS / uuid_of(twins)
    wait_until(lambda: lock.exists() and lock.read_text() == f"{process.pid}\n")

    run = dedupd.run(find="read")

    assert run.status == 5, run.stderr
    assert f"dedupd (process {process.pid}) holds the store of the filesystem" in run.stderr
    process.terminate()
    dedupd.finish(process)


def test_a_verb_that_holds_the_store_is_named(twins, dedupd):
    assert dedupd.run(dry_run=True).status == 0
    # What stands in for it has its words.
    holder = subprocess.Popen(["dedupctl", "-f", "/dev/null"], executable="/usr/bin/tail")
    LOCKS.mkdir(mode=0o700, exist_ok=True)
    with open(LOCKS / uuid_of(twins), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.write(f"{holder.pid}\n")
        lock.flush()
        run = dedupd.run()
    holder.terminate()
    holder.wait()
    assert run.status == 5, run.stderr
    assert f"dedupctl /dev/null (process {holder.pid}) holds the store of the filesystem" in run.stderr


@pytest.mark.parametrize("kind", ["btrfs"])
def test_no_pass_begins_while_a_scrub_runs(twins, service):
    with being_scrubbed(twins) as is_scrubbed:
        if not is_scrubbed:
            pytest.skip("this kernel does not limit the speed of a scrub")
        service.configure(twins, WakeInterval="1s")
        service.start()
        assert_stays_waiting(service, twins, "a scrub is going on")

    assert service.wait_for_passes(str(twins), 1)["last_freed_bytes"] == 4 * MIB
    assert SCRUB_MESSAGE not in service.log()


@pytest.mark.parametrize("kind", ["btrfs"])
def test_a_pass_that_reads_waits_for_a_scrub_that_began_meanwhile(twins, dedupd):
    process = dedupd.start(find="read", limit_rate="8M")
    io = pathlib.Path(f"/proc/{process.pid}/io")

    def bytes_read():
        (line,) = [line for line in io.read_text().splitlines() if line.startswith("read_bytes")]
        return int(line.split()[1])
    wait_until(lambda: bytes_read() > 4 * MIB)
    with being_scrubbed(twins) as is_scrubbed:
        if not is_scrubbed:
            pytest.skip("this kernel does not limit the speed of a scrub")
        # It looks once a second, and ends what it is at.
        time.sleep(3)
        before = bytes_read()
        time.sleep(2)
        assert bytes_read() - before <= MIB
        assert process.poll() is None

    run = dedupd.finish(process)

    assert run.status == 0, run.stderr
    assert run.freed_bytes == 4 * MIB
    assert run.stderr.count(SCRUB_MESSAGE) == 1
