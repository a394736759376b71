# SPDX-License-Identifier: GPL-2.0-or-later
"""What doctor and list say of devices and images that are not mounted."""

import contextlib
import json
import os
import subprocess

import pytest

import harness
from content import MIB

XFS_BYTES = 320 * MIB
BTRFS_BYTES = 128 * MIB


def run(*words):
    return subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True).stdout.strip()


def make_image(path, size, *mkfs):
    path.touch()
    os.truncate(path, size)
    if mkfs:
        run(*mkfs, path)
    return path


@pytest.fixture
def attach():
    """Attach an image: its loop device, which goes with the test."""
    if os.geteuid() != 0:
        pytest.skip("loop devices take root")
    with contextlib.ExitStack() as stack:
        def attach(image):
            device = run("losetup", "--find", "--show", image)
            stack.callback(run, "losetup", "--detach", device)
            return device
        yield attach


class Found:
    """What doctor finds of what is named, but for the machine."""

    def __init__(self, *names):
        done = harness.dedupctl("doctor", "--json", *names, status=None)
        self.findings = [each for each in json.loads(done.stdout)["findings"]
                         if each["subject"] != "machine" and each["check"] != "configuration"]
        self.status = done.returncode

    def of(self, check):
        (finding,) = [each for each in self.findings if each["check"] == check]
        return finding

    def checks(self, level):
        return {each["check"] for each in self.findings if each["level"] == level}


def listed(name, status=None):
    done = harness.dedupctl("list", "--json", name, status=status, env=os.environ | {"DEDUPD_SOCKET": "/nonexistent"})
    return json.loads(done.stdout)["filesystems"]


def test_a_label_is_as_udev_has_encoded_it(tmp_path, attach):
    """ID_FS_LABEL has another character in the place of a blank."""
    device = attach(make_image(tmp_path / "image", XFS_BYTES, "mkfs.xfs", "-q", "-L", "a label"))
    number = os.stat(device).st_rdev
    database = tmp_path / "database"
    database.write_text("E:ID_FS_TYPE=xfs\nE:ID_FS_UUID=22222222-2222-4222-8222-222222222222\n"
                        "E:ID_FS_LABEL=a_label\nE:ID_FS_LABEL_ENC=a\\x20label\n")
    script = 'mkdir -p /run/udev && mount -t tmpfs none /run/udev && mkdir /run/udev/data && cp "$1" "$2"; shift 2; exec "$@"'
    done = subprocess.run([*harness.own_mounts(), "sh", "-c", script, "sh", database,
                           f"/run/udev/data/b{os.major(number)}:{os.minor(number)}",
                           harness.dedupctl_program(), "list", "--json", "LABEL=a label"],
                          capture_output=True, text=True, check=False,
                          env=os.environ | {"DEDUPD_SOCKET": "/nonexistent"})
    (row,) = json.loads(done.stdout)["filesystems"]
    assert row["uuid"] == "22222222-2222-4222-8222-222222222222"


def test_an_image_and_its_device_are_described_alike(tmp_path, attach):
    image = make_image(tmp_path / "image", XFS_BYTES, "mkfs.xfs", "-q", "-L", "a label")
    of_image = Found(image)
    assert of_image.checks("ok") == {"device", "size", "blocks", "sharing"}
    assert of_image.checks("note") == {"mount"}
    assert "label a label" in of_image.of("device")["evidence"]
    device = attach(image)
    for name in (image, device, "LABEL=a label"):
        found = Found(name)
        assert {each["subject"] for each in found.findings} == {device}
        assert [each["evidence"] for each in found.findings] == [each["evidence"] for each in of_image.findings]


def test_a_mounted_image_is_its_filesystem(tmp_path, make_filesystem, kind):
    filesystem = make_filesystem(kind)
    for name in (filesystem.image, filesystem.device):
        assert Found(name).of("mount")["subject"] == filesystem.mount_point
    assert [row["mount_point"] for row in listed(filesystem.device)] == [filesystem.mount_point]


@pytest.mark.parametrize("options", [["-m", "reflink=0"], ["-m", "crc=0"]])
def test_an_xfs_that_cannot_share_is_an_error(tmp_path, options):
    found = Found(make_image(tmp_path / "image", XFS_BYTES, "mkfs.xfs", "-q", *options))
    assert found.status == 1
    assert found.checks("error") == {"sharing"}
    assert "mkfs.xfs -m reflink=1" in found.of("sharing")["advice"]


def test_other_sizes_of_blocks_are_told(tmp_path):
    small = Found(make_image(tmp_path / "small", XFS_BYTES, "mkfs.xfs", "-q", "-b", "size=1024"))
    assert small.of("blocks")["evidence"] == "1 KiB"
    large = Found(make_image(tmp_path / "large", XFS_BYTES, "mkfs.xfs", "-q", "-b", "size=65536"))
    assert large.of("blocks")["level"] == "warning"
    assert "6.12" in large.of("blocks")["advice"]


@pytest.mark.parametrize("mkfs", [["mkfs.xfs", "-q"], ["mkfs.btrfs", "-q"]])
def test_a_truncated_image_is_an_error(tmp_path, mkfs):
    image = make_image(tmp_path / "image", XFS_BYTES, *mkfs)
    os.truncate(image, XFS_BYTES // 2)
    found = Found(image)
    assert found.checks("error") == {"size"}
    assert found.of("size")["evidence"] == "the filesystem takes 320 MiB, but the device has 160 MiB"


def test_signatures_of_two_filesystems_are_an_error_that_names_them(tmp_path, attach):
    image = make_image(tmp_path / "image", XFS_BYTES, "mkfs.btrfs", "-q")
    other = make_image(tmp_path / "other", XFS_BYTES, "mkfs.xfs", "-q")
    with open(image, "r+b") as out, open(other, "rb") as source:
        out.write(source.read(512))
    for name in (image, attach(image)):
        (finding,) = Found(name).findings
        assert finding["level"] == "error"
        assert finding["evidence"] == f"{finding['subject']} has signatures of several filesystems: xfs, btrfs"


def test_what_holds_no_such_filesystem_is_an_error(tmp_path, attach):
    empty = attach(make_image(tmp_path / "empty", MIB))
    other = attach(make_image(tmp_path / "other", 8 * MIB, "mkfs.ext4", "-q"))
    assert "no filesystem that libblkid knows" in Found(empty).of("device")["evidence"]
    assert Found(other).of("device")["evidence"] == "ext4"
    # A file is of the filesystem that it lies on.
    assert Found(tmp_path / "other").of("device")["evidence"] == "ext4"


def test_missing_devices_of_a_btrfs_are_an_error(tmp_path, attach):
    images = [make_image(tmp_path / name, BTRFS_BYTES) for name in ("one", "two")]
    with contextlib.ExitStack() as second:
        one, two = attach(images[0]), run("losetup", "--find", "--show", images[1])
        second.callback(run, "losetup", "--detach", two)
        run("mkfs.btrfs", "-q", "-L", "a pair", one, two)
        found = Found(two)
        assert found.of("devices")["level"] == "ok"
        assert one in found.of("devices")["evidence"] and two in found.of("devices")["evidence"]
        (row,) = listed(two)
        assert (row["mount_point"], row["kind"], row["eligible"]) == (None, "btrfs", "no")
        assert one in row["why"] and two in row["why"] and "a pair" in row["why"]
        assert listed("LABEL=a pair") == [row]
    found = Found(one)
    assert found.of("devices")["level"] == "error"
    assert found.of("devices")["evidence"] == f"1 of 2 devices of the filesystem are there: {one}"


@pytest.mark.parametrize("kind", ["xfs"])
def test_an_unmounted_copy_is_told(tmp_path, make_filesystem, attach, kind):
    filesystem = make_filesystem(kind, XFS_BYTES)
    filesystem.unmount()
    copy = tmp_path / "copy"
    run("cp", "--sparse=always", "--reflink=never", filesystem.image, copy)
    device = attach(copy)
    assert "several devices have its UUID: " in Found(device).of("copy")["evidence"]
    filesystem.mount()
    assert filesystem.mount_point in Found(device).of("copy")["evidence"]
    uuid = Found(device).of("device")["evidence"].split()[1].rstrip(",")
    assert {each["subject"] for each in Found(uuid).findings} == {filesystem.mount_point}
    assert [row["mount_point"] for row in listed(uuid)] == [filesystem.mount_point]
    assert "nouuid" in Found(device).of("copy")["advice"]
    rows = listed(device)
    assert [row["mount_point"] for row in rows] == [None]


def test_an_ordinary_user_reads_no_device(tmp_path, attach):
    device = attach(make_image(tmp_path / "image", XFS_BYTES, "mkfs.xfs", "-q"))
    done = harness.dedupctl("doctor", "--json", device, status=1, user=65533)
    (finding,) = [each for each in json.loads(done.stdout)["findings"] if each["subject"] == device]
    assert finding["evidence"] == f"cannot read {device}: Permission denied"
