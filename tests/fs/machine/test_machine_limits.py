# SPDX-License-Identifier: GPL-2.0-or-later
"""What happens to a machine during a pass: unmounts, suspend, little memory, disks that fill up or grow."""

import errno
import os
import pathlib
import signal
import subprocess
import time

import pytest

import content
import harness
import oracle
from content import MIB, noise, write
from nbd_file import DiskUnavailable
from service import wait_until
from slow_disk import little_memory

RATE = "8M"
RATE_BYTES = 8 * MIB
UNMOUNT_SECONDS = 2
STOPPED_SECONDS = 3
MEMORY_BYTES = 64 * MIB

pytestmark = pytest.mark.true_clock


@pytest.fixture
def pairs(filesystem, tree):
    """What takes a pass at RATE eight seconds."""
    for number in range(8):
        write(tree / f"file-{number}", noise(number // 2, 8 * MIB))
    harness.settle(filesystem)
    filesystem.forget_data()
    return filesystem


def start_pass(service, tree, **settings):
    """The service in the middle of a pass."""
    service.configure(tree, LimitRate=RATE, **settings)
    service.start()
    wait_until(lambda: (service.shows(str(tree))["stage_bytes"] or 0) > 0, service.log)
    return service.shows(str(tree))["uuid"]


def unmount_within(tree, seconds):
    begun = time.monotonic()
    while subprocess.run(["umount", tree], check=False, capture_output=True).returncode != 0:
        assert time.monotonic() - begun < seconds, f"{tree} is still busy"
        time.sleep(0.02)


@pytest.mark.parametrize("verb, find", [("pause", "read"), ("stop", "auto")])
def test_it_can_be_unmounted_soon_after(pairs, tree, service, verb, find):
    start_pass(service, tree, Find=find)
    service.tell(verb, tree)
    unmount_within(tree, UNMOUNT_SECONDS)
    pairs.mount()


def test_a_lazy_unmount_ends_the_pass_and_the_next_mount_begins_one(pairs, tree, service, kind):
    before = oracle.snapshot(tree)
    pairs.forget_data()
    uuid = start_pass(service, tree)
    subprocess.run(["umount", "--lazy", tree], check=True)
    begun = time.monotonic()
    wait_until(lambda: service.shows(uuid)["state"] == "unmounted", service.log)

    assert time.monotonic() - begun < UNMOUNT_SECONDS
    assert service.shows(uuid)["last_outcome"] == "interrupted"
    # The kernel is done with the device, too.
    subprocess.run([{"btrfs": "btrfs", "xfs": "xfs_repair"}[kind],
                    *{"btrfs": ["check", "--readonly"], "xfs": ["-n"]}[kind], pairs.device], check=True,
                   capture_output=True)
    service.configure(tree)
    service.tell("reload")
    pairs.mount()
    service.wait_for_passes(uuid, 2)
    assert service.shows(uuid)["last_outcome"] == "complete"
    harness.assert_unchanged(before, tree)


@pytest.mark.parametrize("kind", ["xfs"])
def test_a_machine_that_was_suspended_catches_up_with_nothing(pairs, tree, service):
    uuid = start_pass(service, tree, Find="read")
    os.kill(service.pid, signal.SIGSTOP)
    time.sleep(STOPPED_SECONDS)
    before = pairs.read_bytes()
    begun = time.monotonic()
    os.kill(service.pid, signal.SIGCONT)
    time.sleep(2)
    read = pairs.read_bytes() - before

    # A second of the budget is left over at most, and what is read ahead.
    assert read <= (time.monotonic() - begun + 1) * RATE_BYTES + 2 * MIB
    assert service.shows(uuid)["state"] == "running"
    service.tell("stop", tree)
    wait_until(lambda: service.shows(uuid)["state"] == "waiting", service.log)


def test_a_pass_completes_in_little_memory(make_filesystem, make_dedupd, kind):
    """What it has cached counts, too."""
    filesystem = make_filesystem(kind, "1G")
    tree = pathlib.Path(filesystem.mount_point)
    for number in range(3):
        content.write_twins(tree, 48 * MIB, seed=number, names=(f"{number}a", f"{number}b"))
    for number in range(200):
        write(tree / f"small-{number}", noise(1000 + number // 2, 5000))
    harness.settle(filesystem)
    before = oracle.snapshot(tree)
    filesystem.forget_data()
    dedupd = make_dedupd(filesystem)
    try:
        with little_memory(MEMORY_BYTES) as wrapper, \
                subprocess.Popen([*wrapper, *dedupd.command(find=harness.FIND[kind])],
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, env=dedupd.environment()) as process:
            run = dedupd.finish(process)
    except DiskUnavailable as unavailable:
        pytest.skip(str(unavailable))

    assert run.status == 0, run.stderr
    assert run.freed_bytes >= 3 * 48 * MIB
    harness.assert_unchanged(before, tree)


@pytest.mark.parametrize("kind", ["xfs"])
def test_passes_take_turns_where_memory_is_little(pairs, tree, make_filesystem, service, kind):
    other = make_filesystem(kind)
    trees = [tree, pathlib.Path(other.mount_point)]
    content.write_twins(trees[1], 8 * MIB)
    harness.settle(other)
    for filesystem in (pairs, other):
        filesystem.forget_data()

    def shown():
        return [service.shows(str(one)) for one in trees]

    try:
        with little_memory(4 * MEMORY_BYTES) as service.wrapper:
            service.configure(*trees, LimitRate=RATE)
            service.start()
            wait_until(lambda: sorted(one["state"] for one in shown()) == ["running", "waiting"], service.log)
            assert "passes over other filesystems use the memory" in [one["why"] for one in shown()]
            for one in trees:
                service.wait_for_passes(str(one), 1)
            assert [one["last_outcome"] for one in shown()] == ["complete", "complete"]
            service.end()
    except DiskUnavailable as unavailable:
        pytest.skip(str(unavailable))


def test_a_filesystem_that_fills_up_meanwhile_loses_nothing(make_filesystem, make_dedupd, kind):
    filesystem = make_filesystem(kind, "400M")
    tree = pathlib.Path(filesystem.mount_point)
    for number in range(24):
        content.write_twins(tree, MIB, seed=number, names=(f"{number}a", f"{number}b"))
    harness.settle(filesystem)
    before = oracle.snapshot(tree)
    filesystem.forget_data()
    dedupd = make_dedupd(filesystem)
    process = dedupd.start(find=harness.FIND[kind], limit_rate="8M")
    data = noise(7, MIB)
    fd = os.open(tree / "filler", os.O_WRONLY | os.O_CREAT)
    free = os.statvfs(tree)
    os.posix_fallocate(fd, 0, free.f_bavail * free.f_frsize // 10 * 9)
    os.lseek(fd, 0, os.SEEK_END)
    is_full = False
    while process.poll() is None:
        try:
            os.write(fd, data)
        except OSError as error:
            assert error.errno == errno.ENOSPC
            is_full = True
            time.sleep(0.01)
    os.close(fd)
    run = dedupd.finish(process)

    assert is_full, "the pass was over too soon"
    # Of btrfs the metadata may have no room.
    assert run.status in (0, 6), run.stderr
    os.unlink(tree / "filler")
    harness.assert_unchanged(before, tree)


@pytest.mark.parametrize("kind", ["xfs"])
def test_a_filesystem_may_grow_meanwhile(pairs, tree, dedupd):
    before = oracle.snapshot(tree)
    pairs.forget_data()
    process = dedupd.start(limit_rate="16M")
    os.truncate(pairs.image, 2 * pairs.size_bytes)
    subprocess.run(["losetup", "--set-capacity", pairs.device], check=True)
    subprocess.run(["xfs_growfs", tree], check=True, capture_output=True)
    assert process.poll() is None
    run = dedupd.finish(process)

    assert run.status == 0, run.stderr
    assert run.freed_bytes == 32 * MIB
    harness.assert_unchanged(before, tree)


def test_another_filesystem_at_the_same_place_is_another(pairs, tree, service, kind):
    """It has a UUID, and so a store, of its own; a section with the mount point means it, too."""
    service.configure(tree)
    service.start()
    before = service.wait_for_passes(str(tree), 1)["uuid"]
    pairs.unmount()
    wait_until(lambda: service.shows(before)["state"] == "unmounted", service.log)
    subprocess.run([f"mkfs.{kind}", "-q", "-f", pairs.device], check=True, capture_output=True)
    pairs.mount()
    content.write_twins(tree, MIB)
    harness.settle(pairs)
    service.tell("start", tree)
    wait_until(lambda: oracle.is_shared(tree / "one", tree / "two"), service.log)

    after = subprocess.run(["findmnt", "-no", "UUID", tree], check=True, capture_output=True,
                           text=True).stdout.strip()
    assert after != before
    assert service.wait_for_passes(after, 1)["freed_bytes"] == MIB
    assert service.shows(before)["state"] == "unmounted"
    assert {path.stem for path in service.state_directory.glob("*.sqlite")} == {before, after}
