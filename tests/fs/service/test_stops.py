# SPDX-License-Identifier: GPL-2.0-or-later
"""A pass that is told to stop ends soon, whatever it is doing, and the next goes on from there."""

import os
import pathlib
import signal
import time

import pytest

import oracle
from content import BLOCK, MIB, noise, overwrite, write_extent
from harness import assert_unchanged, settle
from service import wait_until
from stopping import patience

PAIRS = 12
# So many that they are not all listed before the first look at what that read.
EMPTY_FILES = 10000
# Of larger ones than a GiB the store keeps how far they were read.
LARGE_BYTES = 1040 * MIB


@pytest.fixture
def pairs(make_filesystem, kind):
    """Pairs of 2 MiB of which the second lacks a block at the end, which on btrfs is copied."""
    filesystem = make_filesystem(kind, "1G")
    tree = pathlib.Path(filesystem.mount_point)
    # What takes long to list.
    (tree / "empty").mkdir()
    for number in range(EMPTY_FILES):
        (tree / "empty" / str(number)).touch()
    for number in range(PAIRS):
        data = noise(number, 2 * MIB)
        write_extent(tree / f"{number}a", data)
        write_extent(tree / f"{number}b", data[:-BLOCK] + noise(-1 - number, BLOCK))
    settle(filesystem)
    return filesystem


# What it is doing -> the stages that are this, how equal data is found, and the rate at which it lasts.
STAGES = {
    "listing": (("walking", "comparing"), "read", "16K"),
    "reading": (("reading",), "read", "1M"),
    "sharing": (("sharing",), "auto", "1M"),
}


def wait_for_stage(service, tree, stages):
    seen = set()

    def is_there():
        shown = service.shows(str(tree))
        seen.add((shown["state"], shown["stage"]))
        return shown["state"] == "running" and shown["stage"] in stages
    wait_until(is_there, lambda: f"{seen}: {service.log()}")


def stop(service, tree, by):
    """Have it stop; how many seconds that took."""
    if by == "SIGTERM":
        return service.end()
    begun = time.monotonic()
    service.tell("stop", tree)
    wait_until(lambda: service.shows(str(tree))["state"] == "waiting", service.log)
    return time.monotonic() - begun


@pytest.mark.parametrize("by", ["stop", "SIGTERM"])
# Both are read in the same way.  On XFS all has to be read before it is shared, and is in memory then.
@pytest.mark.parametrize("stage, kind", [("listing", "btrfs"), ("listing", "xfs"), ("reading", "xfs"),
                                         ("sharing", "btrfs")])
def test_the_service_stops_in_each_long_stage(pairs, stage, by, service):
    stages, find, rate = STAGES[stage]
    tree = pathlib.Path(pairs.mount_point)
    before = oracle.snapshot(tree)
    used = oracle.physical_bytes(tree)
    # What is in memory costs the disk nothing, and what btrfs still holds of its trees is not dropped.
    pairs.unmount()
    pairs.mount()
    service.configure(tree, Find=find, LimitRate=rate)
    service.start()
    wait_for_stage(service, tree, stages)
    time.sleep(0.3)

    seconds = stop(service, tree, by)

    assert seconds <= patience(), service.log()
    assert_unchanged(before, tree)
    if by == "SIGTERM":
        assert "interrupted" in service.log()
        service.start()
    else:
        assert service.shows(str(tree))["last_outcome"] == "interrupted"
    finish(service, tree, find)
    settle(pairs)
    assert_unchanged(before, tree)
    assert used - oracle.physical_bytes(tree) == PAIRS * (2 * MIB - BLOCK)


def finish(service, tree, find):
    """Have a pass get through, without a limit."""
    service.configure(tree, Find=find)
    service.tell("reload")
    service.tell("stop", tree)
    wait_until(lambda: service.shows(str(tree))["state"] == "waiting", service.log)
    passes = service.shows(str(tree))["passes"]
    service.tell("start", tree)
    shown = service.wait_for_passes(str(tree), passes + 1)
    assert shown["last_outcome"] == "complete", service.log()


@pytest.fixture
def large(make_filesystem, make_dedupd, kind):
    """dedupd over one file that takes long to read, and for which so much is kept."""
    filesystem = make_filesystem(kind, "2G")
    with open(pathlib.Path(filesystem.mount_point, "large"), "wb") as file:
        for _ in range(LARGE_BYTES // MIB // 16):
            file.write(os.urandom(16 * MIB))
    settle(filesystem)
    return make_dedupd(filesystem)


def interrupt(dedupd, seconds):
    """Run a pass that is stopped in the middle of its reading."""
    dedupd.filesystem.forget_data()
    process = dedupd.start(limit_rate="160M")
    time.sleep(seconds)
    begun = time.monotonic()
    process.send_signal(signal.SIGTERM)
    run = dedupd.finish(process)
    assert time.monotonic() - begun <= patience()
    assert run.report["outcome"] == "interrupted"
    assert run.files["read"] == 0
    return run.read["finding_bytes"]


@pytest.mark.parametrize("kind", ["xfs"])
def test_a_pass_goes_on_in_the_middle_of_a_large_file(large):
    done = interrupt(large, 2)
    done += interrupt(large, 2)
    assert 0 < done < LARGE_BYTES

    run = large.run()

    assert run.files["read"] == 1
    assert run.read["finding_bytes"] == LARGE_BYTES - done
    assert run.freed_bytes == 0
    assert large.run().read["finding_bytes"] == 0


@pytest.mark.parametrize("kind", ["xfs"])
def test_a_large_file_that_changed_meanwhile_is_read_anew(large):
    assert interrupt(large, 2) > 0
    overwrite(pathlib.Path(large.filesystem.mount_point, "large"), 0, noise(1, BLOCK))
    settle(large.filesystem)

    run = large.run()

    assert run.files["read"] == 1
    assert run.read["finding_bytes"] == LARGE_BYTES
