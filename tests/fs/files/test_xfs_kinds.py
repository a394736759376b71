# SPDX-License-Identifier: GPL-2.0-or-later
"""Each way to make and to mount an XFS: a pass shares what is equal, or says why it does not."""

import os
import pathlib
import subprocess

import pytest

import content
import harness
import ioctls
from content import KIB, MIB, noise, write
from filesystem import CommandFailed, FilesystemUnavailable, LoopFilesystem

PAIRS = 4
INHERIT_REALTIME = 0x100
PROJECT = 42


@pytest.fixture
def kind():
    return "xfs"


class XfsOnTwo(LoopFilesystem):
    """An XFS whose log, or whose realtime data, lies on a device of its own."""

    def __init__(self, part, mkfs_options=()):
        super().__init__("xfs", "512M", mkfs_options)
        self._part = part
        self._second = None

    def _mkfs_command(self):
        image = os.path.join(self.directory, "second")
        with open(image, "wb") as file:
            file.truncate(self.size_bytes)
        self._second = subprocess.run(["losetup", "--find", "--show", image], check=True, capture_output=True,
                                      text=True).stdout.strip()
        self.mount_options = [f"{self._part}dev={self._second}"]
        section = {"log": "-l", "rt": "-r"}[self._part]
        return [*super()._mkfs_command(), section, self.mount_options[0]]

    def check(self):
        """Unmount it, and raise FilesystemDamaged unless xfs_repair finds it sound."""
        option = {"log": "-l", "rt": "-r"}[self._part]
        self.unmount()
        subprocess.run(["xfs_repair", "-n", option, self._second, self.device], check=True,
                       capture_output=True)

    def _detach(self):
        super()._detach()
        if self._second:
            subprocess.run(["losetup", "--detach", self._second], check=True)
        self._second = None


@pytest.fixture
def make_on_two():
    made = []

    def make(*arguments, **options):
        made.append(XfsOnTwo(*arguments, **options))
        try:
            return made[-1].__enter__()
        except (CommandFailed, FilesystemUnavailable) as unavailable:
            made.pop()
            pytest.skip(str(unavailable).splitlines()[0])
    yield make
    for one in made:
        try:
            one.check()
        finally:
            one.close()


def fill(filesystem):
    """Identical files, and one that holds the data of another at other blocks."""
    tree = pathlib.Path(filesystem.mount_point)
    for number in range(PAIRS):
        content.write_twins(tree, MIB + number * 1000, seed=number, names=(f"{number}a", f"{number}b"))
    data = noise(5, 3 * MIB)
    write(tree / "plain", data)
    write(tree / "shifted", noise(6, 64 * KIB) + data)
    return tree


KINDS = {
    "blocks of 1 KiB": (["-b", "size=1k"], []),
    "blocks of 2 KiB": (["-b", "size=2k"], []),
    "blocks larger than pages": (["-b", "size=64k"], []),
    "small groups": (["-d", "agcount=7"], []),
    "old formats": (["-m", "bigtime=0,inobtcount=0,finobt=0"], []),
    "many extents": (["-i", "nrext64=1"], []),
    "no quota": ([], ["noquota"]),
    "no device for DAX": ([], ["dax=always"]),
}


@pytest.mark.parametrize("name", KINDS)
def test_a_pass_shares_on_an_xfs_with(make_filesystem, make_dedupd, name):
    mkfs_options, mount_options = KINDS[name]
    try:
        filesystem = make_filesystem("xfs", "512M", mkfs_options=mkfs_options, mount_options=mount_options)
    except CommandFailed as failure:
        pytest.skip(str(failure).splitlines()[0])
    fill(filesystem)

    done = harness.check_pass(make_dedupd(filesystem))

    assert done.freed_bytes >= (PAIRS + 3) * MIB


def test_a_pass_shares_on_an_xfs_with_an_external_log(make_on_two, make_dedupd):
    filesystem = make_on_two("log")
    fill(filesystem)

    assert harness.check_pass(make_dedupd(filesystem)).freed_bytes >= (PAIRS + 3) * MIB


def test_files_on_a_realtime_device_are_left_alone(make_on_two, make_dedupd):
    # Where mkfs.xfs knows groups there, such a filesystem may have reflink.
    filesystem = make_on_two("rt", mkfs_options=["-m", "reflink=1,metadir=1"])
    tree = pathlib.Path(filesystem.mount_point)
    (tree / "realtime").mkdir()
    ioctls.set_fsxattr(tree / "realtime", xflags=INHERIT_REALTIME)
    content.write_twins(tree / "realtime", MIB)
    content.write_twins(tree, MIB, seed=2)
    harness.settle(filesystem)

    run = make_dedupd(filesystem).run()

    assert run.status == 0, run.stderr
    assert run.freed_bytes == MIB
    assert run.skip_of("realtime")["count"] == 2


QUOTAS = {"project": ("prjquota", "-p", PROJECT), "user": ("usrquota", "-u", harness.USER)}


@pytest.mark.parametrize("name", QUOTAS)
def test_a_quota_stays_as_it_is_and_hinders_nobody_else(make_filesystem, make_dedupd, name):
    option, letter, who = QUOTAS[name]
    try:
        filesystem = make_filesystem("xfs", "512M", mount_options=[option])
    except CommandFailed:
        pytest.skip("this kernel has no quota on XFS")
    tree = fill(filesystem)
    for path in tree.iterdir():
        ioctls.set_project(path, PROJECT)
        os.chown(path, harness.USER, harness.USER)
    content.write_twins(tree, MIB, seed=99)
    harness.settle(filesystem)

    def quota(command):
        return subprocess.run(["xfs_quota", "-x", "-c", command, tree], check=True, capture_output=True,
                              text=True).stdout

    def used():
        return int(quota(f"quota {letter} -N -b {who}").split()[1])
    blocks = used()
    quota(f"limit {letter} bhard={blocks}k {who}")
    dedupd = make_dedupd(filesystem)
    run = dedupd.run()
    assert run.freed_bytes == MIB
    assert run.skip_of("no-space")["bytes"] >= (PAIRS + 3) * MIB
    assert used() == blocks

    quota(f"limit {letter} bhard={blocks + 1024}k {who}")
    assert harness.check_pass(dedupd).freed_bytes >= (PAIRS + 3) * MIB
    assert used() == blocks
