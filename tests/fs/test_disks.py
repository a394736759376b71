# SPDX-License-Identifier: GPL-2.0-or-later
"""What the service asks of disks, each of them one loop device whose file lies in memory."""

import json
import os
import pathlib
import tempfile
import time

import pytest

import content
import harness
from content import MIB
from service import Service, wait_until

SHARED_MEMORY = pathlib.Path("/dev/shm")
FILES = 48


@pytest.fixture
def kind():
    """Where it does not matter."""
    return "btrfs"


@pytest.fixture
def quick_disks(monkeypatch):
    if not SHARED_MEMORY.is_dir():
        pytest.skip(f"{SHARED_MEMORY} is not there")
    monkeypatch.setattr(tempfile, "tempdir", str(SHARED_MEMORY))


@pytest.fixture
def service(program, tmp_path):
    if "DEDUPCTL" not in os.environ:
        pytest.skip("DEDUPCTL does not name dedupctl")
    service = Service(program, os.environ["DEDUPCTL"], tmp_path)
    yield service
    service.close()


@pytest.fixture
def disk(quick_disks, make_filesystem, kind):
    """A filesystem with much to compare."""
    filesystem = make_filesystem(kind, "1G")
    for number in range(FILES):
        data = content.noise(number, MIB)
        for name in "ab":
            content.write(pathlib.Path(filesystem.mount_point, f"{number}{name}"), data)
    harness.settle(filesystem)
    filesystem.drop_caches()
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
            (["nosuchdisk", "--rate=1M"], 1, "nosuchdisk is no disk"),
            (["nosuchdisk"], 1, "nosuchdisk is no disk"),
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
