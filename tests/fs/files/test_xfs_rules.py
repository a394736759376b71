# SPDX-License-Identifier: GPL-2.0-or-later
"""What XFS alone has: allocation groups that fill up, a realtime device, DAX, limits on extents."""

import os
import pathlib

import pytest

import content
import harness
import ioctls
import oracle
from content import MIB, noise, write
from feigned_kernel import feigning

GROUPS = 4
SIZE_BYTES = 512 * MIB
REALTIME = 0x1
DAX = 0x8000
EXTENTS_MAX = 1 << 20
PROJECT = 42


@pytest.fixture(name="filesystem")
def filesystem_fixture(make_filesystem):
    return make_filesystem("xfs", SIZE_BYTES, mkfs_options=["-d", f"agcount={GROUPS}"])


def inode(path, flags=0, extents=0):
    return f"{path.stat().st_ino}:{flags:x}:{extents}"


def group_of(path):
    with open(path, "rb") as file:
        return ioctls.extents(file.fileno())[0].physical // (SIZE_BYTES // GROUPS)


def write_in_groups(tree):
    """Twins that lie in several groups, by group: XFS puts each directory into another."""
    found = {}
    for number in range(GROUPS):
        directory = tree / f"directory-{number}"
        directory.mkdir()
        content.write_twins(directory, MIB, seed=number)
        found[group_of(directory / "one")] = directory
    assert len(found) >= 2
    return found


def test_a_full_group_is_left_alone_and_the_others_are_not(tree, filesystem, dedupd):
    directories = write_in_groups(tree)
    full = max(directories)
    for number in range(3):
        write(directories[full] / f"more-{number}", noise(full + 100, 3 * MIB))
    harness.settle(filesystem)

    with feigning(dedupd, FEIGN_FULL_GROUP=str(full)):
        run = dedupd.run(threads=1)
        assert run.status == 0, run.stderr
        assert run.report["outcome"] == "complete"
        assert run.freed_bytes == (GROUPS - 1) * MIB
        # Two calls for each file, as the first block has its own.  One found out that a group is full;
        # the others in that group were not even read.
        assert run.shared["calls"] == 2 * (GROUPS - 1) + 1
        assert run.read["compare_bytes"] <= (2 * GROUPS + 6) * MIB
        assert run.skip_of("no-space")["count"] == 3
        for group, directory in directories.items():
            shared = oracle.is_shared(directory / "one", directory / "two")
            assert shared == (group != full)
        again = dedupd.run()
        assert again.read["finding_bytes"] == 0 and again.freed_bytes == 0
        assert "no-space" in again.skipped

    done = harness.check_pass(dedupd)
    assert done.first.read["finding_bytes"] == 0
    assert done.freed_bytes == 7 * MIB


def test_of_a_file_what_lies_in_other_groups_is_shared(tree, filesystem, dedupd):
    """Its source reaches from one group into another."""
    parts = [noise(seed, 4 * MIB) for seed in range(2)]
    for number in range(2):
        (tree / f"directory-{number}").mkdir()
        write(tree / f"directory-{number}" / "part", parts[number])
    groups = [group_of(tree / f"directory-{number}" / "part") for number in range(2)]
    assert groups[0] != groups[1]
    source = tree / "source"
    with open(source, "wb") as file:
        for number in range(2):
            with open(tree / f"directory-{number}" / "part", "rb") as part:
                ioctls.clone_range(part.fileno(), 0, 4 * MIB, file.fileno(),
                                       number * 4 * MIB)
    harness.settle(filesystem)
    harness.check_pass(dedupd)
    write(tree / "target", b"".join(parts))
    harness.settle(filesystem)

    with feigning(dedupd, FEIGN_FULL_GROUP=str(groups[0])):
        run = dedupd.run()
        assert run.freed_bytes == 4 * MIB
        assert run.skip_of("no-space")["bytes"] == 4 * MIB

    assert harness.check_pass(dedupd).freed_bytes == 4 * MIB


@pytest.mark.parametrize("flags, reason", [(REALTIME, "realtime"), (DAX, "unsupported")])
def test_realtime_files_and_dax_are_left_alone_unread(tree, filesystem, dedupd, flags, reason):
    content.write_twins(tree, MIB)
    content.write_twins(tree, MIB, seed=2, names=("three", "four"))
    harness.settle(filesystem)

    with feigning(dedupd, FEIGN_INODES=",".join([inode(tree / "one", flags),
                                                 inode(tree / "two", flags)])):
        run = dedupd.run()

    assert run.status == 0, run.stderr
    assert run.skipped == {reason: 2}
    assert run.freed_bytes == MIB
    assert run.read["finding_bytes"] == 2 * MIB


@pytest.mark.parametrize("extents, freed", [(EXTENTS_MAX - 1, MIB), (EXTENTS_MAX, 0)])
def test_a_file_of_many_extents_gets_no_more(tree, filesystem, dedupd, extents, freed):
    content.write_twins(tree, MIB)
    harness.settle(filesystem)

    with feigning(dedupd, FEIGN_INODES=inode(tree / "two", extents=extents)):
        run = dedupd.run()
        assert run.freed_bytes == freed
        assert run.skipped == ({} if freed else {"pieces": 1})
        assert run.read["compare_bytes"] == 2 * freed
        again = dedupd.run()

    assert again.shared["calls"] == 0 and again.read["compare_bytes"] == 0


def test_without_reflink_nothing_is_walked_or_read(make_filesystem, make_dedupd):
    filesystem = make_filesystem("xfs", mkfs_options=["-m", "reflink=0"])
    content.write_twins(pathlib.Path(filesystem.mount_point), MIB)
    harness.settle(filesystem)
    dedupd = make_dedupd(filesystem)

    run = dedupd.run()

    assert run.status == 1
    for word in (filesystem.mount_point, "reflink", "mkfs.xfs -m reflink=1"):
        assert word in run.stderr
    assert run.files["seen"] == 0
    assert run.device_bytes == 0
    assert not dedupd.store_contents()


@pytest.mark.parametrize("what", ["user", "project"])
def test_a_quota_that_is_used_up_hinders_nobody_else(tree, filesystem, dedupd, what):
    """All lie in one directory, and so in one allocation group; only the first of the owner is read."""
    for number in range(4):
        for path in content.write_twins(tree, MIB, seed=number, names=(f"theirs-{number}-a", f"theirs-{number}-b")):
            os.chown(path, harness.USER, harness.USER)
            ioctls.set_project(path, PROJECT)
    content.write_twins(tree, 2 * MIB, seed=9)
    harness.settle(filesystem)
    used_up = {"user": {"FEIGN_USED_UP_USER": str(harness.USER)},
               "project": {"FEIGN_USED_UP_PROJECT": str(PROJECT)}}[what]

    with feigning(dedupd, **used_up):
        run = dedupd.run(threads=1)
        assert run.status == 0, run.stderr
        assert run.freed_bytes == 2 * MIB
        assert run.skip_of("no-space")["bytes"] == 4 * MIB
        assert run.read["compare_bytes"] <= 6 * MIB
        assert dedupd.run(threads=1).read["compare_bytes"] <= 2 * MIB

    assert harness.check_pass(dedupd).freed_bytes == 4 * MIB
