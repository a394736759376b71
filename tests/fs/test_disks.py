# SPDX-License-Identifier: GPL-2.0-or-later
"""What the service asks of disks, each of them one loop device whose file lies in memory."""

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
