# SPDX-License-Identifier: GPL-2.0-or-later
"""Disks that are missing, fail or go away: work on them ends, with a reason, and goes on when they are
back."""

import array
import fcntl
import os
import pathlib
import subprocess
import tempfile
import time

import pytest

import content
import harness
import oracle
from content import MIB, noise, write
from filesystem import FilesystemUnavailable, LoopFilesystem
from service import Service, wait_until

FAILING = 7
FILES = 24
SHARED_MEMORY = pathlib.Path("/dev/shm")
XFS_IOC_GOINGDOWN = 0x8004587D
BLKFLSBUF = 0x1261
# With what is in its log written out.
XFS_FLUSH_LOG = 1


@pytest.fixture
def kind():
    return "xfs"


@pytest.fixture
def quick_disks(monkeypatch, tmp_path):
    # @tmp_path is made before, where it belongs.
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


class Mirror(LoopFilesystem):
    """A btrfs on two devices, the second of which can be taken away."""

    def __init__(self):
        super().__init__("btrfs", "256M")
        self._second = None

    def _mkfs_command(self):
        image = os.path.join(self.directory, "second")
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
    filesystem.drop_caches()
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
    wait_until(lambda: service.shows(uuid)["why"]
               == "the last pass failed: the filesystem was shut down", service.log)
    shown = service.shows(uuid)
    assert (shown["state"], shown["last_outcome"]) == ("waiting", "interrupted")
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
    filesystem.drop_caches()
    dedupd = make_dedupd(filesystem)
    try:
        run = dedupd.run()
        assert stopped_reason(run) == "16 files could not be read"
        assert run.skip_of("unreadable")["count"] == 16
        # Nothing of it is remembered, and it is the same again.
        assert stopped_reason(dedupd.run()) == "16 files could not be read"
        run = dedupd.run(config=configured(tmp_path, "Degraded=run"))
        assert run.status == 4, run.stderr
        assert run.skip_of("unreadable")["count"] == 20
        # These are known by now.
        run = dedupd.run()
        assert run.status == 4, run.stderr
        assert run.skip_of("unreadable")["count"] == 20
    finally:
        os.truncate(filesystem.image, filesystem.size_bytes)


def place_of(path):
    return oracle.file_extents(path)[-1].physical
