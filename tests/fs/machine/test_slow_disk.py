# SPDX-License-Identifier: GPL-2.0-or-later
"""Of a slow disk, and with little memory, a pass lets go in time as well."""

import contextlib
import pathlib
import signal
import subprocess
import time

import pytest

import damage
import harness
import oracle
from content import BLOCK, KIB, MIB, noise, write_extent
from harness import assert_unchanged, settle
from nbd_file import DiskUnavailable
from service import wait_until
from slow_disk import little_memory, slow_disk, slow_sectors
from stopping import patience

# A round is of 16 MiB on both sides, and the program needs some, too.
MEMORY_BYTES = 36 * MIB
PAIRS = 3
PAIR_BYTES = 16 * MIB
SMALL_FILES = 60
# What is promised of the end of the time that a pass may take.
DEADLINE_SECONDS = 5
RUN_SECONDS = 2
# What a read of slow sectors takes.
SLOW_SECONDS = 1.5

pytestmark = pytest.mark.true_clock


@pytest.fixture
def slow(make_filesystem, kind):
    """A filesystem with files of a block, which take a request each, and long twins, on a slow disk.

    And what starts a program with little memory.
    """
    filesystem = make_filesystem(kind, "1G")
    tree = pathlib.Path(filesystem.mount_point)
    for number in range(SMALL_FILES):
        write_extent(tree / f"small-{number}", noise(1000 + number, BLOCK))
    for number in range(PAIRS):
        for name in "ab":
            write_extent(tree / f"{number}{name}", noise(number, PAIR_BYTES))
    settle(filesystem)
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(slow_disk(filesystem))
            wrapper = stack.enter_context(little_memory(MEMORY_BYTES))
        except DiskUnavailable as unavailable:
            pytest.skip(str(unavailable))
        yield filesystem, wrapper


def start(dedupd, wrapper, **options):
    return subprocess.Popen([*wrapper, *dedupd.command(**options)], stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dedupd.environment())


def skip_if_killed(status):
    """The kernel may end who has so little memory while much is on its way from the disk."""
    if status == -signal.SIGKILL:
        pytest.skip("the kernel had no memory for it")


def where_it_waits(pid):
    """Each thread's calls within the kernel."""
    return "\n".join(stack.read_text() for stack in pathlib.Path(f"/proc/{pid}/task").glob("*/stack"))


def stop_after(dedupd, wrapper, seconds):
    """How long a pass takes to end that is told to after so long; 0 where it has ended before."""
    with start(dedupd, wrapper, pressure="off", quiet=True) as process:
        with contextlib.suppress(subprocess.TimeoutExpired):
            skip_if_killed(process.wait(seconds))
            return 0
        begun = time.monotonic()
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(patience())
        except subprocess.TimeoutExpired:
            print(where_it_waits(process.pid))
            process.wait()
        return time.monotonic() - begun


def test_a_pass_ends_whenever_it_is_told_to(slow, make_dedupd):
    filesystem, wrapper = slow
    tree = pathlib.Path(filesystem.mount_point)
    dedupd = make_dedupd(filesystem)
    before = oracle.snapshot(tree)
    took = []
    for seconds in (0.5, 1.5, 2.5, 3.5, 4.5, 5.5):
        filesystem.drop_caches()
        took.append(stop_after(dedupd, wrapper, seconds))
    assert max(took) <= patience(), took
    assert_unchanged(before, tree)


def test_a_pass_ends_when_its_time_is_over(slow, service):
    filesystem, wrapper = slow
    tree = filesystem.mount_point
    service.wrapper = wrapper
    service.configure(tree, RunFor=f"{RUN_SECONDS}s", Find="read")
    filesystem.drop_caches()
    service.start()
    wait_until(lambda: service.shows(tree)["state"] == "running", service.log)
    begun = time.monotonic()
    wait_until(lambda: service.shows(tree)["state"] == "waiting", service.log)
    assert RUN_SECONDS - 1 <= time.monotonic() - begun <= RUN_SECONDS + DEADLINE_SECONDS
    assert service.shows(tree)["last_outcome"] == "interrupted", service.log()
    service.end()


def test_what_memory_does_not_hold_is_not_read_in_vain_all_the_time(make_filesystem, make_dedupd):
    """Rounds are of what is there still when the kernel compares it."""
    filesystem = make_filesystem("btrfs", "1G")
    for number in range(12):
        for name in "ab":
            write_extent(pathlib.Path(filesystem.mount_point, f"{number}{name}"), noise(number, PAIR_BYTES))
    settle(filesystem)
    filesystem.drop_caches()
    dedupd = make_dedupd(filesystem)
    try:
        with little_memory(MEMORY_BYTES) as wrapper:
            run = dedupd.finish(start(dedupd, wrapper, find="checksums"))
    except DiskUnavailable as unavailable:
        pytest.skip(str(unavailable))
    skip_if_killed(run.status)
    assert run.status == 0, run.stderr
    assert run.shared["bytes"] == 12 * PAIR_BYTES, run.filesystem["skipped"]
    assert run.read["disk_bytes"] <= 1.8 * run.read["compare_bytes"]


@pytest.fixture
def slow_file(make_filesystem, kind):
    """A filesystem with twins, and one of their files begins with slow sectors."""
    filesystem = make_filesystem(kind, "512M")
    tree = pathlib.Path(filesystem.mount_point)
    for number in range(PAIRS):
        for name in "ab":
            write_extent(tree / f"{number}{name}", noise(number, MIB))
    settle(filesystem)
    begin = damage.device_offset(filesystem, tree / "1b")
    try:
        with slow_sectors(filesystem, begin, begin + 64 * KIB, SLOW_SECONDS):
            yield filesystem
    except DiskUnavailable as unavailable:
        pytest.skip(str(unavailable))


def test_slow_sectors_only_delay_a_pass(slow_file, make_dedupd):
    dedupd = make_dedupd(slow_file)
    tree = pathlib.Path(slow_file.mount_point)

    assert stop_after(dedupd, [], SLOW_SECONDS / 2) <= patience() + SLOW_SECONDS
    n_shared = sum(oracle.is_shared(tree / f"{number}a", tree / f"{number}b") for number in range(PAIRS))
    slow_file.forget_data()

    begun = time.monotonic()
    run = harness.check_pass(dedupd)
    assert n_shared == PAIRS or time.monotonic() - begun > SLOW_SECONDS
    assert run.freed_bytes == (PAIRS - n_shared) * MIB
    assert not run.first.skipped
