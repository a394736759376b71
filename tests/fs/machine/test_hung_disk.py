# SPDX-License-Identifier: GPL-2.0-or-later
"""A btrfs or XFS whose disk does not answer any more is in nobody else's way."""

import contextlib
import pathlib
import subprocess
import time

import pytest

import content
import harness
from content import MIB
from hung_disk import hung_disk
from nbd_file import DiskUnavailable
from service import END_SECONDS, wait_until

# What "at once" means on a machine that does other things, too.
AT_ONCE_SECONDS = 1.5
# What the service allows for a filesystem to answer, with room.
LOOK_SECONDS = 4


@pytest.fixture(name="disk")
def disk_fixture(filesystem):
    try:
        with hung_disk(filesystem) as disk:
            yield disk
            disk.let_go()
    except DiskUnavailable as unavailable:
        pytest.skip(f"no disk that hangs can be had: {unavailable}")


@pytest.fixture(name="hang")
def hang_fixture(filesystem, disk, service):
    """Have the disk hang where whoever opens the filesystem and asks it what it is hangs with it."""
    started = []

    def hang():
        tree = pathlib.Path(filesystem.mount_point)
        if filesystem.kind == "btrfs":
            # A commit has the devices locked while it waits.
            (tree / "written").write_text("x")
            disk.hang("flush")
            command, where = ["sync", "-f", tree], "write_all_supers"
        else:
            # Who makes a file has the top directory locked; where there is room for it nobody looked since
            # the filesystem was mounted.
            disk.hang("read", "write", "flush")
            command, where = ["touch", tree / "new"], "xfs_create"
        started.append(subprocess.Popen(command, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        stack = pathlib.Path(f"/proc/{started[-1].pid}/stack")
        wait_until(lambda: where in stack.read_text(encoding="ascii"))

    yield hang
    disk.let_go()
    for process in started:
        process.wait(10)
    # Or it would have open what lies on the disk.
    service.close()


@pytest.fixture(name="other")
def other_fixture(make_filesystem):
    other = make_filesystem("xfs", "320M")
    content.write_twins(pathlib.Path(other.mount_point), MIB)
    harness.settle(other)
    return pathlib.Path(other.mount_point)


def is_waiting(thread):
    """Whether the kernel holds it."""
    with contextlib.suppress(OSError):
        stat = pathlib.Path(f"/proc/{thread}/stat").read_text(encoding="ascii")
        return stat.rpartition(")")[2].split()[0] == "D"
    return False


def threads_that_hang(service):
    threads = pathlib.Path(f"/proc/{service.pid}/task").iterdir()
    return sum(is_waiting(thread.name) for thread in threads)


def asked_at_once(service, *words):
    begun = time.monotonic()
    done = service.ask(*words)
    assert time.monotonic() - begun < AT_ONCE_SECONDS, service.log()
    return done.stdout + done.stderr


def make_quiet(service, *trees):
    service.configure(*trees, WakeBytes="1T", WakeInterval="30d")
    service.start()
    for tree in trees:
        service.wait_for_passes(str(tree), 1)


def test_who_hangs_before_a_pass_waits_and_others_go_on(tree, service, hang, disk, other):
    make_quiet(service, tree, other)
    hang()
    service.tell("start", tree)
    wait_until(lambda: "does not answer" in asked_at_once(service, "status", tree),
               lambda: service.tell("status", tree) + service.log())
    assert threads_that_hang(service) == 1
    assert service.tell("start", "--wait", other).startswith(f"{other}: complete")
    service.ask("stop", tree)
    service.tell("start", tree)
    time.sleep(LOOK_SECONDS)
    assert threads_that_hang(service) == 1

    disk.let_go()
    service.wait_for_passes(str(tree), 2)


def test_what_is_mounted_meanwhile_is_worked_on(tree, service, hang, make_filesystem):
    make_quiet(service, tree)
    hang()
    asked_at_once(service, "status")
    other = make_filesystem("xfs", "320M")
    twins = pathlib.Path(other.mount_point)
    content.write_twins(twins, MIB)
    service.configure(tree, twins)
    service.tell("reload")
    service.wait_for_passes(str(twins), 1)
    asked_at_once(service, "status")


def start_beside(service, hang, tree, other):
    """Start the service where @tree hangs already; until @other is worked on."""
    service.configure(tree, other)
    hang()
    service.start()
    service.wait_for_passes(str(other), 1)


# btrfs says what it is without waiting for its devices.
@pytest.mark.parametrize("kind", ["xfs"])
def test_a_service_begins_while_one_hangs(tree, service, hang, disk, other):
    start_beside(service, hang, tree, other)
    assert "does not answer" in service.log()
    assert threads_that_hang(service) == 1

    disk.let_go()
    service.wait_for_passes(str(tree), 1)


@pytest.mark.parametrize("kind", ["xfs"])
def test_it_is_shown_what_does_not_answer(tree, service, hang, disk, other):
    start_beside(service, hang, tree, other)
    shown = service.shows(str(tree))
    assert "does not answer" in shown["why"]
    assert shown["eligible"] == "no"
    disk.let_go()
    wait_until(lambda: service.shows(str(tree))["uuid"], service.log)


def test_it_ends_as_soon_as_the_kernel_lets_it(tree, service, hang, disk, other):
    make_quiet(service, tree, other)
    hang()
    service.tell("start", tree)
    wait_until(lambda: threads_that_hang(service) == 1)
    service.begin_to_end()
    # It answers nobody any more, but a thread that the kernel holds keeps it from being gone.
    wait_until(lambda: not service.socket_path.exists())
    wait_until(lambda: main_thread_has_ended(service))
    disk.let_go()
    assert service.wait_for_end() < END_SECONDS


def main_thread_has_ended(service):
    stat = pathlib.Path(f"/proc/{service.pid}/stat").read_text(encoding="ascii")
    return stat.rpartition(")")[2].split()[0] == "Z"
