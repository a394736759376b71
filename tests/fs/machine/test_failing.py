# SPDX-License-Identifier: GPL-2.0-or-later
"""Disks that are missing, fail or go away: work on them ends, with a reason, and goes on when they are
back."""

import array
import fcntl
import os
import pathlib
import subprocess
import time

import pytest

import content
import damage
import harness
import oracle
from content import MIB, noise, write
from filesystem import FilesystemUnavailable, LoopFilesystem
from service import wait_until

FAILING = 7
FILES = 24
XFS_IOC_GOINGDOWN = 0x8004587D
BLKFLSBUF = 0x1261
# With what is in its log written out.
XFS_FLUSH_LOG = 1


@pytest.fixture
def kind():
    return "xfs"


class Mirror(LoopFilesystem):
    """A btrfs on two devices, the second of which can be taken away."""

    def __init__(self):
        super().__init__("btrfs", "256M")
        self._second = None

    def _mkfs_command(self):
        image = os.path.join(self.image_directory, "second")
        with open(image, "wb") as file:
            file.truncate(self.size_bytes)
        self._second = subprocess.run(["losetup", "--find", "--show", image], check=True,
                                      capture_output=True, text=True).stdout.strip()
        return ["mkfs.btrfs", "-q", "-f", "-m", "raid1", "-d", "raid1", self.device, self._second]

    def take_away(self):
        self.unmount()
        subprocess.run(["btrfs", "device", "scan", "--forget", self._second], check=True,
                       capture_output=True)
        self._detach_second()
        self.mount_options = ["degraded"]
        self.mount()

    def _detach_second(self):
        if self._second:
            subprocess.run(["losetup", "--detach", self._second], check=True)
        self._second = None

    def _detach(self):
        super()._detach()
        self._detach_second()


@pytest.fixture
def mirror():
    """With 4 MiB twice, and without its second device."""
    try:
        with Mirror() as mirror:
            content.write_twins(pathlib.Path(mirror.mount_point), 4 * MIB)
            harness.settle(mirror)
            mirror.take_away()
            yield mirror
    except FilesystemUnavailable as unavailable:
        pytest.skip(str(unavailable))


def configured(tmp_path, *lines):
    path = tmp_path / "failing.conf"
    path.write_text("\n".join(["[Dedupd]", *lines, ""]))
    return path


def stopped_reason(run):
    assert run.status == FAILING, (run.status, run.stderr)
    assert run.filesystem["outcome"] == "interrupted"
    return run.filesystem["stopped_reason"]


def test_a_btrfs_that_lacks_a_device_is_left_alone(mirror, make_dedupd, tmp_path):
    dedupd = make_dedupd(mirror)

    run = dedupd.run(find="checksums")

    assert stopped_reason(run) == "device 2 of the btrfs is missing"
    assert "device 2 of the btrfs is missing" in run.stderr
    assert run.shared["calls"] == 0
    run = dedupd.run(find="checksums", config=configured(tmp_path, "Degraded=run"))
    assert run.status == 0, run.stderr
    assert run.shared["bytes"] >= 4 * MIB


def test_the_service_waits_while_a_device_is_missing(mirror, service):
    service.configure(mirror.mount_point)
    service.start()
    wait_until(lambda: service.shows(mirror.mount_point)["why"]
               == "device 2 of the btrfs is missing", service.log)
    service.tell("start", mirror.mount_point)
    time.sleep(0.5)
    shown = service.shows(mirror.mount_point)
    assert (shown["state"], shown["passes"]) == ("waiting", 0)

    service.configure(mirror.mount_point, Degraded="run")
    service.tell("reload")
    service.wait_for_passes(mirror.mount_point, 1)


@pytest.fixture
def pairs(quick_disks, make_filesystem, kind):
    filesystem = make_filesystem(kind, "512M")
    for number in range(FILES):
        content.write_twins(pathlib.Path(filesystem.mount_point), MIB, seed=number,
                            names=(f"{number}a", f"{number}b"))
    harness.settle(filesystem)
    filesystem.forget_data()
    return filesystem


def shut_down(filesystem):
    fd = os.open(filesystem.mount_point, os.O_RDONLY)
    fcntl.ioctl(fd, XFS_IOC_GOINGDOWN, array.array("I", [XFS_FLUSH_LOG]))
    os.close(fd)


def reading(process, filesystem):
    """Whether a pass is in the middle."""
    before = filesystem.read_bytes()
    wait_until(lambda: filesystem.read_bytes() - before > 4 * MIB or process.poll() is not None)
    assert process.poll() is None


def test_an_xfs_that_was_shut_down_is_refused_as_that(pairs, service):
    shut_down(pairs)
    service.configure(pairs.mount_point)
    service.start()
    wait_until(lambda: f"{pairs.mount_point} was shut down" in service.log(), service.log)
    assert "hides" not in service.log()

    pairs.unmount()
    pairs.mount()
    service.wait_for_passes(pairs.mount_point, 1)


def test_the_service_says_of_an_xfs_that_it_knew_that_it_was_shut_down(pairs, service, tmp_path):
    service.configure(pairs.mount_point)
    service.start()
    service.wait_for_passes(pairs.mount_point, 1)
    shut_down(pairs)
    # A mount anywhere has the service look at all of them.
    other = tmp_path / "other"
    other.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "none", other], check=True)
    try:
        wait_until(lambda: "was shut down" in service.shows(pairs.mount_point)["why"], service.log)
        assert service.shows(pairs.mount_point)["state"] == "refused"
    finally:
        subprocess.run(["umount", other], check=True)
    pairs.unmount()
    pairs.mount()


def test_an_xfs_that_is_shut_down_in_mid_pass_is_an_outcome(pairs, make_dedupd):
    dedupd = make_dedupd(pairs)
    process = dedupd.start(limit_rate="4M")
    reading(process, pairs)
    shut_down(pairs)
    run = dedupd.finish(process)

    assert stopped_reason(run) == "the filesystem was shut down"
    pairs.unmount()
    pairs.mount()
    # What could not be read then is read now.
    run = dedupd.run()
    assert run.status == 0, run.stderr
    assert "unreadable" not in run.skipped
    assert run.freed_bytes == FILES * MIB


def test_the_service_survives_that_and_goes_on_when_it_is_mounted_anew(pairs, service):
    service.configure(pairs.mount_point, LimitRate="4M")
    service.start()
    uuid = service.shows(pairs.mount_point)["uuid"]
    wait_until(lambda: (service.shows(uuid)["stage_bytes"] or 0) > 4 * MIB, service.log)
    shut_down(pairs)
    # When anything is mounted meanwhile it is found that nothing can be read there.
    wait_until(lambda: service.shows(uuid)["state"] == "refused" or service.shows(uuid)["why"]
               == "the last pass failed: the filesystem was shut down", service.log)
    assert service.shows(uuid)["last_outcome"] == "interrupted"
    assert "the pass ends, as the filesystem was shut down" in service.log()

    service.configure(pairs.mount_point)
    service.tell("reload")
    pairs.unmount()
    wait_until(lambda: service.shows(uuid)["state"] == "unmounted", service.log)
    pairs.mount()
    wait_until(lambda: service.shows(uuid)["last_outcome"] == "complete", service.log)
    tree = pathlib.Path(pairs.mount_point)
    for number in range(FILES):
        assert oracle.is_shared(tree / f"{number}a", tree / f"{number}b")


@pytest.mark.parametrize("kind", ["btrfs"])
@pytest.mark.parametrize("find", ["checksums", "read"])
def test_a_btrfs_whose_device_goes_away_in_mid_pass_is_an_outcome(pairs, make_dedupd, find):
    dedupd = make_dedupd(pairs)
    pairs.expect_bad_data()
    copy = pairs.image + ".copy"
    pairs.unmount()
    subprocess.run(["cp", "--sparse=always", pairs.image, copy], check=True)
    pairs.mount()
    process = dedupd.start(find=find, limit_rate="4M")
    reading(process, pairs)
    os.truncate(pairs.image, 0)
    run = dedupd.finish(process)

    assert "new errors" in stopped_reason(run) or "could not be read" in stopped_reason(run)
    pairs.unmount()
    subprocess.run(["dd", f"if={copy}", f"of={pairs.image}", "conv=sparse,notrunc", "bs=1M",
                    "status=none"], check=True)
    os.truncate(pairs.image, pairs.size_bytes)
    os.unlink(copy)
    with open(pairs.device, "rb") as device:
        fcntl.ioctl(device, BLKFLSBUF)
    pairs.mount()
    run = dedupd.run(find=find)
    assert run.status == 0, run.stderr
    assert run.freed_bytes == FILES * MIB


def test_sixteen_files_that_cannot_be_read_end_a_pass(quick_disks, make_filesystem, make_dedupd,
                                                      tmp_path):
    filesystem = make_filesystem("xfs", "512M")
    tree = pathlib.Path(filesystem.mount_point)
    for number in range(12):
        (tree / f"directory-{number}").mkdir()
        write(tree / f"directory-{number}" / "file", noise(100 + number, MIB))
    harness.settle(filesystem)
    # A directory of the last allocation group, at the end of the disk.
    last = max(tree.glob("directory-*/file"), key=place_of).parent
    for number in range(30):
        write(last / f"file-{number}", noise(200 + number, MIB))
    harness.settle(filesystem)
    end = sorted(map(place_of, last.glob("file-*")))[-20]
    filesystem.expect_bad_data()
    os.truncate(filesystem.image, end)
    filesystem.forget_data()
    dedupd = make_dedupd(filesystem)
    try:
        run = dedupd.run()
        assert stopped_reason(run) == "16 files could not be read"
        assert run.skip_of("unreadable")["count"] == 16
        # Nothing of it is remembered, and it is the same again.
        assert stopped_reason(dedupd.run()) == "16 files could not be read"
        run = dedupd.run(config=configured(tmp_path, "Degraded=run"))
        assert run.status == 4, run.stderr
        assert "20 files could not be read" in run.stderr
        assert run.skip_of("unreadable")["count"] == 20
        # These are known by now.
        run = dedupd.run()
        assert run.status == 4, run.stderr
        assert run.skip_of("unreadable")["count"] == 20
    finally:
        os.truncate(filesystem.image, filesystem.size_bytes)


@pytest.fixture
def spoiled(make_filesystem):
    """A btrfs with good twins of 4 MiB, and 20 pairs of which one file has a wrong checksum: (filesystem, pairs)."""
    filesystem = make_filesystem("btrfs", "512M")
    tree = pathlib.Path(filesystem.mount_point)
    twins = [(write(tree / f"bad-{number}", noise(number, MIB)),
              write(tree / f"good-{number}", noise(number, MIB))) for number in range(20)]
    content.write_twins(tree, 4 * MIB, seed=100)
    harness.settle(filesystem)
    filesystem.expect_bad_data()
    damage.spoil_checksums(filesystem, [bad for bad, _ in twins])
    for bad, _ in twins:
        with pytest.raises(OSError):
            bad.read_bytes()
    filesystem.forget_data()
    return filesystem, twins


def assert_went_on(run, twins):
    # Any user could make such files until kernel 6.15, so they are no sign that a disk fails.
    assert run.filesystem["outcome"] == "complete"
    assert run.filesystem["stopped_reason"] is None
    assert run.freed_bytes == 4 * MIB
    assert run.skip_of("unreadable")["count"] == len(twins)
    assert not any(oracle.is_shared(bad, good) for bad, good in twins)


def test_wrong_checksums_end_no_pass_however_many(spoiled, make_dedupd):
    filesystem, twins = spoiled

    done = harness.check_pass(make_dedupd(filesystem), status=4, find="read")

    assert_went_on(done.first, twins)


def test_wrong_checksums_that_comparing_meets_end_no_pass_either(spoiled, make_dedupd):
    filesystem, twins = spoiled
    dedupd = make_dedupd(filesystem)

    run = dedupd.run(find="checksums")

    assert run.status == 4, run.stderr
    assert_went_on(run, twins)
    # They are known by now, and not compared again.
    harness.check_pass(dedupd, find="checksums")


def place_of(path):
    return oracle.file_extents(path)[-1].physical


class Feigned:
    """A program that sees directories of sysfs that are the test's."""

    def __init__(self, program, directory):
        self._directory = directory
        self._program = program
        self._covered = {}
        self.path = directory / "feigned"

    def cover(self, place, **files):
        """Have @place show files, by their names with __ for /, instead of what is there."""
        mirror = self._directory / f"cover-{len(self._covered)}"
        self._covered[place] = mirror
        for name, text in files.items():
            self.put(place, name, text)
        mounts = [f"mount --bind {mirror} {place}" for place, mirror in self._covered.items()]
        self.path.write_text("\n".join(["#!/bin/sh -e", "[ -n \"$FEIGNED\" ] ||",
                                        f'\texec env FEIGNED=1 {" ".join(harness.own_mounts())} "$0" "$@"',
                                        *mounts, f'exec {self._program} "$@"', ""]))
        self.path.chmod(0o755)

    def put(self, place, name, text):
        path = self._covered[place] / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")


@pytest.fixture
def feigned(program, tmp_path):
    return Feigned(program, tmp_path)


@pytest.fixture
def array_of(feigned):
    """Have a loop device pass for an array."""
    def make(filesystem):
        name = os.path.basename(filesystem.device)
        place = os.path.realpath(f"/sys/block/{name}")
        kept = {entry: pathlib.Path(place, entry.replace("__", "/")).read_text().strip()
                for entry in ("dev", "stat", "queue__rotational", "loop__backing_file")}
        feigned.cover(place, **kept, md__degraded="0", md__sync_action="idle")
        return place
    return make


def read_within(filesystem, seconds):
    before = filesystem.read_bytes()
    time.sleep(seconds)
    return filesystem.read_bytes() - before


@pytest.mark.parametrize("kind", ["xfs"])
def test_a_pass_waits_while_its_array_is_checked(pairs, make_dedupd, feigned, array_of):
    array = array_of(pairs)
    dedupd = make_dedupd(pairs)
    dedupd.program = feigned.path
    process = dedupd.start(find="auto", limit_rate="4M")
    reading(process, pairs)
    feigned.put(array, "md__sync_action", "check")
    # It looks once a second, and what it asked for may still come.  Then it reads no data.
    wait_until(lambda: read_within(pairs, 2) < MIB)
    assert process.poll() is None

    feigned.put(array, "md__sync_action", "idle")
    run = dedupd.finish(process)
    assert run.status == 0, run.stderr
    assert run.freed_bytes == FILES * MIB
    assert run.stderr.count(f"waiting for a check of {os.path.basename(array)} to end") == 1


def test_an_array_that_loses_a_device_ends_the_pass(pairs, make_dedupd, feigned, array_of):
    array = array_of(pairs)
    dedupd = make_dedupd(pairs)
    dedupd.program = feigned.path
    process = dedupd.start(limit_rate="4M")
    reading(process, pairs)
    feigned.put(array, "md__degraded", "1")
    run = dedupd.finish(process)

    assert stopped_reason(run) == f"{os.path.basename(array)} lacks 1 of its devices"
    feigned.put(array, "md__degraded", "0")
    assert dedupd.run().freed_bytes == FILES * MIB


def test_the_service_begins_no_pass_while_an_array_is_rebuilt(pairs, service, feigned, array_of):
    array = array_of(pairs)
    feigned.put(array, "md__sync_action", "recover")
    service.program = feigned.path
    service.configure(pairs.mount_point)
    service.start()
    name = os.path.basename(array)
    wait_until(lambda: service.shows(pairs.mount_point)["why"]
               == f"a recovery of {name} is going on", service.log)
    assert service.shows(pairs.mount_point)["passes"] == 0

    feigned.put(array, "md__sync_action", "idle")
    # Which has it look at once.
    service.tell("reload")
    shown = service.wait_for_passes(pairs.mount_point, 1)
    assert shown["freed_bytes"] == FILES * MIB


def test_on_battery_the_service_does_only_what_it_is_asked_for(pairs, service, feigned):
    power = "/sys/class/power_supply"
    feigned.cover(power, AC__type="Mains", AC__online="1", BAT0__type="Battery",
                  BAT0__status="Charging")
    service.program = feigned.path
    service.configure(pairs.mount_point, LimitRate="2M")
    service.start()
    wait_until(lambda: (service.shows(pairs.mount_point)["stage_bytes"] or 0) > 0, service.log)

    feigned.put(power, "AC__online", "0")
    feigned.put(power, "BAT0__status", "Discharging")
    wait_until(lambda: service.shows(pairs.mount_point)["why"] == "the machine runs on battery",
               service.log)
    shown = service.shows(pairs.mount_point)
    assert (shown["state"], shown["last_outcome"]) == ("waiting", "interrupted")

    service.configure(pairs.mount_point)
    service.tell("reload")
    time.sleep(1)
    assert service.shows(pairs.mount_point)["state"] == "waiting"
    service.tell("start", pairs.mount_point)
    wait_until(lambda: service.shows(pairs.mount_point)["last_outcome"] == "complete", service.log)
    assert service.shows(pairs.mount_point)["freed_bytes"] == FILES * MIB
