# SPDX-License-Identifier: GPL-2.0-or-later
"""Which part of which filesystem a pass works on, and which it refuses."""

import errno
import os
import pathlib
import subprocess

import pytest

import content
import harness
import oracle
from content import MIB, noise, write
from subvolumes import make_subvolume


def mount(*arguments):
    subprocess.run(["mount", *map(str, arguments)], check=True)


@pytest.fixture
def tmpfs(tree):
    """A tmpfs mounted inside the tree; it goes with the filesystem's other mounts."""
    (tree / "tmpfs").mkdir()
    mount("-t", "tmpfs", "-o", "size=16m", "none", tree / "tmpfs")
    return tree / "tmpfs"


def test_other_filesystems_inside_the_tree_are_not_entered(tree, dedupd, tmpfs):
    content.write_twins(tmpfs, MIB)
    content.write_twins(tree, MIB)

    done = harness.check_pass(dedupd)

    assert done.first.files["seen"] == 2
    assert done.first.skip_of("other-mount")["examples"] == [str(tmpfs)]
    assert done.freed_bytes == MIB


def test_a_bind_mount_inside_the_tree_is_not_entered(tree, dedupd):
    (tree / "real").mkdir()
    (tree / "bound").mkdir()
    content.write_twins(tree / "real", MIB)
    mount("--bind", tree / "real", tree / "bound")

    done = harness.check_pass(dedupd)

    assert done.first.files["seen"] == 2
    assert done.first.skipped["other-mount"] == 1
    assert done.freed_bytes == MIB


def test_a_bind_mount_serves_as_a_path(tree, filesystem, dedupd):
    content.write_twins(tree, MIB)
    bound = pathlib.Path(filesystem.directory) / "bound"
    bound.mkdir()
    mount("--bind", tree, bound)

    done = harness.check_pass(dedupd, paths=[bound])

    assert done.freed_bytes == MIB


@pytest.fixture
def system(tree):
    """A tree with /boot, both with files that equal others."""
    if not os.path.isdir("/boot"):
        pytest.skip("there is no /boot to mount at")
    (tree / "system/boot/grub").mkdir(parents=True)
    content.write_twins(tree / "system", MIB)
    content.write_twins(tree / "system/boot", MIB, seed=2)
    content.write_twins(tree / "system/boot/grub", MIB, seed=3)
    return tree / "system"


def test_boot_is_left_alone_wherever_it_is_met(tree, filesystem, dedupd, system):
    harness.settle(filesystem)

    run = harness.run_where_boot_is(system / "boot", dedupd)

    assert run.skip_of("boot")["examples"] == [str(system / "boot")]
    assert run.freed_bytes == MIB
    for directory in (system / "boot", system / "boot/grub"):
        assert not oracle.is_shared(directory / "one", directory / "two")


@pytest.mark.parametrize("kind", ["btrfs"])
def test_boot_that_is_a_subvolume_is_left_alone(tree, filesystem, dedupd):
    make_subvolume(tree / "sub")
    content.write_twins(tree / "sub", MIB)
    harness.settle(filesystem)

    run = harness.run_where_boot_is(tree / "sub", dedupd)

    assert run.skipped == {"boot": 1}
    assert run.files["seen"] == 0


def test_a_bind_mount_of_boot_is_left_alone(tree, filesystem, dedupd, system):
    bound = pathlib.Path(filesystem.directory) / "bound"
    bound.mkdir()
    mount("--bind", system / "boot", bound)
    harness.settle(filesystem)

    run = harness.run_where_boot_is(system / "boot", dedupd, bound)

    assert run.skip_of("boot")["examples"] == [str(bound)]
    assert run.files["seen"] == 0


@pytest.mark.parametrize("path, freed_bytes", [("/boot", 2 * MIB), ("/boot/grub", MIB)])
def test_boot_is_worked_on_when_it_is_named(filesystem, dedupd, system, path, freed_bytes):
    harness.settle(filesystem)

    run = harness.run_where_boot_is(system / "boot", dedupd, path)

    assert run.freed_bytes == freed_bytes
    assert "boot" not in run.skipped


@pytest.mark.parametrize("kind", ["xfs"])
@pytest.mark.parametrize("words", [
    ("{0}", "{0}"), ("{0}/sub/..",), ("{0}//", "{0}/."), ("{0}/sub/", "{0}"), ("{0}/to-top",),
], ids=["twice", "dot-dot", "slashes", "nested", "symlink"])
def test_a_path_may_be_named_in_many_ways(tree, dedupd, words):
    (tree / "sub").mkdir()
    os.symlink(".", tree / "to-top")
    content.write_twins(tree / "sub", MIB)

    done = harness.check_pass(dedupd, paths=[word.format(tree) for word in words])

    assert done.first.files["seen"] == 2
    assert done.freed_bytes == MIB


def test_a_subtree_limits_the_pass(tree, dedupd):
    data = noise(1, MIB)
    for name in ("in", "out"):
        (tree / name).mkdir()
        for copy in range(3):
            write(tree / name / f"{copy}", data)

    done = harness.check_pass(dedupd, paths=[tree / "in"])

    assert done.first.files["seen"] == 3
    assert done.freed_bytes == 2 * MIB
    assert not oracle.is_shared(tree / "out/0", tree / "out/1")


def test_single_files_may_be_named(tree, dedupd):
    write(tree / "other", noise(1, MIB))
    paths = content.write_twins(tree, MIB)

    done = harness.check_pass(dedupd, paths=paths)

    assert done.freed_bytes == MIB
    assert not oracle.is_shared(tree / "other", paths[0])


def test_what_lies_outside_a_subtree_stays_known(tree, dedupd):
    for name in ("in", "out"):
        (tree / name).mkdir()
        content.write_twins(tree / name, MIB, seed=len(name))
    harness.check_pass(dedupd)

    inner = dedupd.run(tree / "in")
    outer = dedupd.run()

    assert inner.files["gone"] == 0
    assert outer.files["read"] == 0


def test_two_filesystems_are_worked_on_in_one_run(make_filesystem, make_dedupd):
    first, second = make_filesystem("btrfs"), make_filesystem("xfs")
    for filesystem in (first, second):
        content.write_twins(pathlib.Path(filesystem.mount_point), MIB)
        harness.settle(filesystem)

    run = make_dedupd(first).run(first.mount_point, second.mount_point)

    assert run.status == 0, run.stderr
    assert [entry["kind"] for entry in run.report["filesystems"]] == ["btrfs", "XFS"]
    assert [entry["freed"]["bytes"] for entry in run.report["filesystems"]] == [MIB, MIB]


def test_a_filesystem_that_fails_does_not_hold_up_the_others(make_filesystem, make_dedupd):
    broken, sound = make_filesystem("xfs"), make_filesystem("btrfs")
    for filesystem in (broken, sound):
        content.write_twins(pathlib.Path(filesystem.mount_point), MIB)
        harness.settle(filesystem)
    broken.remount("ro")

    run = make_dedupd(sound).run(broken.mount_point, sound.mount_point)

    assert run.status == 1
    assert oracle.is_shared(*(f"{sound.mount_point}/{name}" for name in ("one", "two")))


def assert_refused(run, *words):
    assert run.status == 1
    for word in words:
        assert word in run.stderr
    assert run.report["outcome"] == "failed"
    assert all(entry["error"] for entry in run.report["filesystems"])


def test_a_read_only_mount_is_refused(tree, filesystem, dedupd):
    content.write_twins(tree, MIB)
    filesystem.remount("ro")

    assert_refused(dedupd.run(), filesystem.mount_point, "read-only")


def test_an_xfs_without_reflink_is_refused(make_filesystem, make_dedupd):
    filesystem = make_filesystem("xfs", mkfs_options=["-m", "reflink=0"])
    content.write_twins(pathlib.Path(filesystem.mount_point), MIB)

    assert_refused(make_dedupd(filesystem).run(), filesystem.mount_point, "reflink")


def test_a_path_on_another_kind_of_filesystem_is_bad_use(dedupd, tmpfs):
    run = dedupd.run(tmpfs)

    assert run.status == 2
    assert str(tmpfs) in run.stderr


def test_an_overlay_above_is_bad_use_and_below_it_all_is_well(tree, dedupd):
    for name in ("lower", "upper", "work", "merged"):
        (tree / name).mkdir()
    content.write_twins(tree / "lower", MIB)
    mount("-t", "overlay", "-o",
          f"lowerdir={tree}/lower,upperdir={tree}/upper,workdir={tree}/work", "none",
          tree / "merged")

    assert dedupd.run(tree / "merged").status == 2
    assert harness.check_pass(dedupd).freed_bytes == MIB


def fill(tree):
    """Fill the filesystem up to its last block."""
    for size in (MIB, 4096):
        try:
            for number in range(100000):
                write(tree / f"filler-{size}-{number}", noise(size + number, size), piece=size)
        except OSError as error:
            assert error.errno == errno.ENOSPC


def test_a_full_filesystem_gets_space_back(make_filesystem, make_dedupd, kind):
    filesystem = make_filesystem(kind, "320M")
    tree = pathlib.Path(filesystem.mount_point)
    content.write_twins(tree, 32 * MIB)
    fill(tree)

    done = harness.check_pass(make_dedupd(filesystem))

    assert done.freed_bytes == 32 * MIB


def test_a_filesystem_mounted_twice_is_one(tree, filesystem, dedupd):
    content.write_twins(tree, MIB)
    again = pathlib.Path(filesystem.directory) / "again"
    again.mkdir()
    mount(filesystem.device, again)

    done = harness.check_pass(dedupd, paths=[tree, again])

    assert done.first.files["seen"] == 2
    assert done.freed_bytes == MIB
