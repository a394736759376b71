# SPDX-License-Identifier: GPL-2.0-or-later
"""Where nothing changes nothing is done, even if the store, and what the service says, lie on the
filesystems that it looks after."""

import contextlib
import os
import pathlib
import subprocess
import time

import pytest

from block_trace import BlockTrace, TraceUnavailable
from content import write_twins
from harness import dedupctl_program, settle
from service import Service, wait_until

MIB = 1 << 20
# Longer than the service leaves sysfs alone.
QUIET_SECONDS = 62
# The time of three looks.
LOOKS_SECONDS = 3
# The kernel's own work on what a pass freed is done within seconds by these.
BTRFS_OPTIONS = ["commit=1", "nodiscard"]
RESIDENT_BYTES = 20 * MIB
# A first one, one that sees what it did, and one that sees what that did.
MOST_PASSES_TO_SETTLE = 3


@pytest.fixture
def watched(make_filesystem):
    """A filesystem of each kind with 8 MiB twice."""
    found = [make_filesystem("btrfs", mount_options=BTRFS_OPTIONS), make_filesystem("xfs")]
    for one in found:
        write_twins(pathlib.Path(one.mount_point), 8 * MIB)
        settle(one)
    return found


def requests(filesystem):
    """Reads, writes, discards and flushes of its device so far."""
    name = os.path.basename(filesystem.device)
    fields = pathlib.Path(f"/sys/block/{name}/stat").read_text(encoding="ascii").split()
    return [int(fields[place]) for place in (0, 4, 11, 15)]


def changes(filesystem):
    """The same without reads: other programs on this machine may probe the device."""
    return requests(filesystem)[1:]


@contextlib.contextmanager
def own_reads(filesystems):
    """Yields a list that holds, afterwards, what threads of the service read from these devices."""
    found = []
    try:
        with contextlib.ExitStack() as stack:
            traces = [stack.enter_context(BlockTrace(one.device)) for one in filesystems]
            yield found
    except TraceUnavailable as unavailable:
        pytest.skip(str(unavailable))
    found += [read for trace in traces for read in trace.reads
              if read.thread in ("dedupd", "worker", "reader")]


def be_quiet(filesystem):
    """Have the kernel do now what it would do later."""
    mount_point = filesystem.mount_point
    for what in ("--freeze", "--unfreeze"):
        subprocess.run(["fsfreeze", what, mount_point], check=True)
    before = []

    def is_quiet():
        unchanged = changes(filesystem) == before
        before[:] = changes(filesystem)
        if not unchanged:
            time.sleep(3)
        return unchanged
    wait_until(is_quiet)


@pytest.fixture
def make_service(program):
    """The service with all that it keeps, and what it says, in a directory."""
    dedupctl = dedupctl_program()
    services = []

    def make(directory):
        directory.mkdir(mode=0o700)
        services.append(Service(program, dedupctl, directory))
        services[0].says_all = False
        return services[0]
    yield make
    for one in services:
        one.close()


@pytest.mark.alone
def test_an_idle_service_asks_nothing_of_any_disk(watched, make_service):
    trees = [filesystem.mount_point for filesystem in watched]
    service = make_service(pathlib.Path(trees[0], "own"))
    service.configure(*trees)
    service.start()
    for tree in trees:
        assert service.wait_for_passes(tree, 1)["last_freed_bytes"] == 8 * MIB
    for filesystem in watched:
        be_quiet(filesystem)
        filesystem.drop_caches()
    # What is read to answer this is read again.
    assert service.shows(trees[0])["state"] == "waiting"
    before = [changes(filesystem) for filesystem in watched]

    with own_reads(watched) as reads:
        time.sleep(QUIET_SECONDS)

    assert [changes(filesystem) for filesystem in watched] == before, service.log()
    assert not reads
    assert service.resident_bytes() <= RESIDENT_BYTES
    assert [service.shows(tree)["passes"] for tree in trees] == [1, 1]
    service.end()


def test_what_the_store_changed_is_no_reason_to_write_to_it(make_filesystem, kind, make_dedupd):
    filesystem = make_filesystem(kind, mount_options=BTRFS_OPTIONS if kind == "btrfs" else ())
    tree = pathlib.Path(filesystem.mount_point)
    state = tree / "state"
    state.mkdir(mode=0o700)
    write_twins(tree, 8 * MIB)
    settle(filesystem)
    dedupd = make_dedupd(filesystem)

    def write_requests_of_a_pass():
        before = changes(filesystem)
        run = dedupd.run(find="auto", state_dir=state)
        assert run.status == 0, run.stderr
        subprocess.run(["sync", "-f", tree], check=True)
        return [now - then for now, then in zip(changes(filesystem), before)]

    first = [write_requests_of_a_pass() for _ in range(MOST_PASSES_TO_SETTLE)]
    assert first[0][0] > 0
    be_quiet(filesystem)

    assert [write_requests_of_a_pass() for _ in range(3)] == [[0, 0, 0]] * 3


def test_a_service_whose_store_is_watched_comes_to_rest(make_filesystem, make_service):
    """Each pass ends with what it changed itself; after the last of them nothing changed any more."""
    filesystem = make_filesystem("btrfs", mount_options=BTRFS_OPTIONS)
    tree = filesystem.mount_point
    write_twins(pathlib.Path(tree), 8 * MIB)
    settle(filesystem)
    service = make_service(pathlib.Path(tree, "own"))
    service.configure(tree, WakeInterval="1s")
    service.start()
    service.wait_for_passes(tree, 1)

    wait_until(lambda: service.shows(tree)["why"] == "nothing changed", service.log)
    time.sleep(LOOKS_SECONDS)

    wait_until(lambda: service.shows(tree)["why"] == "nothing changed", service.log)
    passes = service.shows(tree)["passes"]
    time.sleep(LOOKS_SECONDS)
    assert service.shows(tree)["passes"] == passes
    # Nor does it say so in a file that lies there.
    assert service.log().count("freed") == 1
    service.end()
