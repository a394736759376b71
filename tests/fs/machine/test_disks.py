# SPDX-License-Identifier: GPL-2.0-or-later
"""What the service asks of disks, each of them one loop device whose file lies in memory."""

import json
import os
import pathlib
import signal
import time

import pytest

import content
import harness
from content import MIB
from filesystem import FilesystemUnavailable, LoopFilesystem
from service import END_SECONDS, wait_until

FILES = 48


@pytest.fixture
def kind():
    """Where it does not matter."""
    return "btrfs"


@pytest.fixture
def disk(quick_disks, make_filesystem, kind):
    """A filesystem with much to compare."""
    filesystem = make_filesystem(kind, "1G")
    for number in range(FILES):
        data = content.noise(number, MIB)
        for name in "ab":
            content.write(pathlib.Path(filesystem.mount_point, f"{number}{name}"), data)
    harness.settle(filesystem)
    filesystem.forget_data()
    return filesystem


def name_of(filesystem):
    return os.path.basename(filesystem.device)


def configure(service, filesystem, *lines):
    service.configure(filesystem.mount_point)
    with service.config_path.open("a") as config:
        config.write("\n".join([f"\n[Disk {name_of(filesystem)}]", *lines, ""]))


def read_within(filesystem, seconds):
    """What is read of it within so many seconds, per second."""
    before, begun = filesystem.read_bytes(), time.monotonic()
    time.sleep(seconds)
    return (filesystem.read_bytes() - before) / (time.monotonic() - begun)


def begin_slowly(disk, service):
    """A pass that reads 2 MiB per second, and is in the middle."""
    configure(service, disk, "ReadRate=2M")
    service.start()
    wait_until(lambda: service.shows(disk.mount_point)["stage"] == "sharing", service.log)
    rate = read_within(disk, 3)
    assert 0 < rate < 3 * MIB
    assert service.shows(disk.mount_point)["state"] == "running"


def test_a_limit_that_is_lifted_by_a_reload_is_lifted_at_once(disk, service):
    begin_slowly(disk, service)
    configure(service, disk, "ReadRate=none")
    service.tell("reload")
    begun = time.monotonic()

    shown = service.wait_for_passes(disk.mount_point, 1)

    # With it there were 40 seconds to go.
    assert time.monotonic() - begun < 20
    assert shown["last_freed_bytes"] == FILES * MIB


def test_a_limit_that_a_reload_sets_holds_for_the_pass_that_runs(disk, service):
    begin_slowly(disk, service)
    configure(service, disk, "ReadRate=256K")
    service.tell("reload")
    # What was under way already, and a second in which it is to hold.
    time.sleep(2)

    assert read_within(disk, 4) < MIB
    assert service.shows(disk.mount_point)["state"] == "running"


def budget_of(service, filesystem):
    shown = json.loads(service.tell("budget", "--json", name_of(filesystem)))["disks"]
    assert len(shown) == 1
    return shown[0]


def test_a_budget_that_is_set_in_mid_pass_holds_at_once(disk, service):
    configure(service, disk, "ReadRate=2M", "ReadIOPS=9000")
    service.start()
    wait_until(lambda: service.shows(disk.mount_point)["stage"] == "sharing", service.log)
    shown = budget_of(service, disk)
    assert (shown["rate_bytes"], shown["iops"], shown["from"]) == (2 * MIB, 9000, "configuration")
    assert (shown["pressure"], shown["charged_bytes"] > 0) == ("off", True)

    service.tell("budget", f"/dev/{name_of(disk)}", "--rate=256K")
    time.sleep(2)
    assert read_within(disk, 3) < MIB
    shown = budget_of(service, disk)
    assert (shown["rate_bytes"], shown["iops"], shown["from"]) == (256 * 1024, 9000, "set")

    # Neither what the configuration says nor reading it anew changes that.
    service.tell("reload")
    assert budget_of(service, disk)["rate_bytes"] == 256 * 1024
    assert service.shows(disk.mount_point)["state"] == "running"

    service.tell("budget", name_of(disk), "--rate=none", "--iops=none")
    begun = time.monotonic()
    service.wait_for_passes(disk.mount_point, 1)
    # With either limit there were minutes to go.
    assert time.monotonic() - begun < 20
    shown = budget_of(service, disk)
    assert (shown["rate_bytes"], shown["iops"], shown["from"]) == (None, None, "set")


def test_a_budget_that_is_none_is_refused(disk, service):
    configure(service, disk)
    service.start()

    for words, status, text in [
            (["nosuchdisk", "--rate=1M"], 1, "nosuchdisk is not a disk"),
            (["nosuchdisk"], 1, "nosuchdisk is not a disk"),
            ([name_of(disk), "--rate=fast"], 2, "--rate: "),
            ([name_of(disk), "--iops=-1"], 2, "--iops: -1"),
            (["--iops=1"], 2, "no disk"),
    ]:
        told = service.ask("budget", *words)
        assert told.returncode == status, words
        assert text in told.stderr, words
    told = service.ask("budget", name_of(disk), "--rate=1M", user=harness.USER)
    assert told.returncode == 1
    assert "only root" in told.stderr
    assert budget_of(service, disk)["from"] == "configuration"
    assert name_of(disk) in service.ask("budget", user=harness.USER).stdout


@pytest.fixture
def below(quick_disks):
    """A filesystem for images of others, which are gone before it."""
    try:
        with LoopFilesystem("xfs", "1G") as filesystem:
            yield filesystem
    except FilesystemUnavailable as unavailable:
        pytest.skip(str(unavailable))


@pytest.fixture
def two_on_one_disk(below, make_filesystem, monkeypatch):
    """Two filesystems in files on one disk, each with much to compare."""
    monkeypatch.setattr(LoopFilesystem, "images", below.mount_point)
    both = [make_filesystem("btrfs", "256M"), make_filesystem("xfs", "300M")]
    for filesystem in both:
        for number in range(8):
            content.write_twins(pathlib.Path(filesystem.mount_point), MIB, seed=number,
                                names=(f"{number}a", f"{number}b"))
        harness.settle(filesystem)
        filesystem.forget_data()
    return below, both


def rows_of(service, both):
    rows = json.loads(service.tell("list", "--json"))["filesystems"]
    return [row for row in rows if row["mount_point"] in [each.mount_point for each in both]]


def states(service, both):
    """Of one moment."""
    return sorted(row["state"] for row in rows_of(service, both))


def begin_both(service, below, both, rotating):
    service.options = ["--pressure=off"]
    service.configure(*[filesystem.mount_point for filesystem in both], LimitRate="4M")
    with service.config_path.open("a") as config:
        config.write(f"\n[Disk {name_of(below)}]\nRotating={rotating}\n")
    service.start()
    wait_until(lambda: "running" in states(service, both), service.log)


def test_on_a_rotating_disk_one_pass_works_at_a_time(two_on_one_disk, service):
    below, both = two_on_one_disk
    begin_both(service, below, both, "yes")
    rows = rows_of(service, both)
    seen = []
    while any(row["passes"] == 0 for row in rows):
        seen.append(sorted((row["state"], row["why"]) for row in rows))
        time.sleep(0.1)
        rows = rows_of(service, both)
    assert any(("waiting", "a pass over another filesystem uses its disk") in rows for rows in seen)
    assert all([state for state, _ in rows].count("running") <= 1 for rows in seen)
    for filesystem in both:
        assert service.wait_for_passes(filesystem.mount_point, 1)["last_freed_bytes"] == 8 * MIB


def test_on_a_disk_that_does_not_rotate_passes_work_side_by_side(two_on_one_disk, service):
    below, both = two_on_one_disk
    begin_both(service, below, both, "no")
    wait_until(lambda: states(service, both) == ["running", "running"], service.log)


@pytest.mark.parametrize("rotating", ["yes", "no"])
def test_a_process_waits_for_the_pass_of_another_one_on_a_rotating_disk(
        two_on_one_disk, make_dedupd, rotating):
    _, both = two_on_one_disk
    first, second = [make_dedupd(filesystem, state=filesystem.kind) for filesystem in both]
    slow = first.start(rotating=rotating, limit_rate="4M")
    wait_until(lambda: os.listdir(first.state_directory))
    run = second.run(rotating=rotating)

    assert run.status == 0, run.stderr
    assert run.freed_bytes == 8 * MIB
    waited = "waiting for a pass over another filesystem on its disk to end" in run.stderr
    assert waited == (rotating == "yes")
    # It goes on when the other has ended, not before.
    assert (slow.poll() is not None) == waited
    assert first.finish(slow).status == 0


def test_a_turn_ends_with_the_process_that_has_it(two_on_one_disk, make_dedupd):
    _, both = two_on_one_disk
    first, second = [make_dedupd(filesystem, state=filesystem.kind) for filesystem in both]
    slow = first.start(rotating="yes", limit_rate="100K")
    wait_until(lambda: os.listdir(first.state_directory))
    waiting = second.start(rotating="yes")
    time.sleep(1)
    assert waiting.poll() is None

    slow.kill()
    slow.communicate()

    run = second.finish(waiting)
    assert run.status == 0, run.stderr
    assert run.freed_bytes == 8 * MIB


def test_who_waits_for_a_turn_can_be_stopped(two_on_one_disk, make_dedupd):
    _, both = two_on_one_disk
    first, second = [make_dedupd(filesystem, state=filesystem.kind) for filesystem in both]
    slow = first.start(rotating="yes", limit_rate="100K")
    wait_until(lambda: os.listdir(first.state_directory))
    waiting = second.start(rotating="yes")
    time.sleep(1)
    assert waiting.poll() is None

    waiting.terminate()
    run = second.finish(waiting, time.monotonic())

    assert run.status == 128 + signal.SIGTERM
    assert run.seconds < END_SECONDS
    assert run.report["outcome"] == "interrupted"
    slow.kill()
    slow.communicate()
