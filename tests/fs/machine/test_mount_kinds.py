# SPDX-License-Identifier: GPL-2.0-or-later
"""Mounts of all kinds: with other owners, in namespaces, overlays, and parts of a filesystem."""

import os
import pathlib
import subprocess

import pytest

import content
import harness
import oracle
from content import BLOCK, MIB, noise, write
from idmapped import IdmapUnavailable, mount_idmapped

FIRST_USER = 100000


def mount(*arguments):
    subprocess.run(["mount", *map(str, arguments)], check=True)


@pytest.fixture
def beside(filesystem):
    """Make a directory outside of the filesystem, to mount things at."""
    def make(name):
        path = pathlib.Path(filesystem.directory, name)
        path.mkdir()
        return path
    return make


def mount_idmapped_or_skip(*arguments):
    try:
        mount_idmapped(*arguments)
    except IdmapUnavailable as unavailable:
        pytest.skip(str(unavailable))


def test_a_mount_with_other_owners_is_shared_but_for_what_needs_a_new_file(tree, dedupd, beside, kind):
    """Root has no name there that the filesystem could store, so no file can be made for zeros."""
    shown = beside("idmapped")
    mount_idmapped_or_skip(tree, shown, FIRST_USER)
    content.write_twins(tree, MIB)
    write(tree / "zeros", bytes(MIB) + noise(9, BLOCK))
    assert (shown / "one").stat().st_uid == FIRST_USER

    done = harness.check_pass(dedupd, paths=[shown], find=harness.FIND[kind])

    assert done.freed_bytes == MIB
    assert done.first.skip_of("no-temporary-file")
    assert dedupd.run(tree, find=harness.FIND[kind]).freed_bytes >= MIB - BLOCK


def test_a_user_shares_what_a_mount_shows_as_theirs(tree, filesystem, users_dedupd, beside):
    shown = beside("idmapped")
    mount_idmapped_or_skip(tree, shown, harness.USER, 1)
    for path in content.write_twins(tree, MIB):
        path.chmod(0o600)
    harness.settle(filesystem)
    before = oracle.snapshot(tree)

    assert "denied" in users_dedupd.run(tree, user=harness.USER).skipped
    assert users_dedupd.run(shown, user=harness.USER).freed_bytes == MIB
    harness.assert_unchanged(before, tree)


def test_mount_options_are_no_obstacle(tree, filesystem, dedupd, kind):
    filesystem.remount("nosuid,nodev,noexec,noatime")
    content.write_twins(tree, MIB)

    assert harness.check_pass(dedupd, find=harness.FIND[kind]).freed_bytes == MIB


@pytest.mark.parametrize("kind", ["btrfs"])
def test_a_mount_of_a_directory_limits_the_pass(tree, dedupd, beside, kind):
    (tree / "sub").mkdir()
    content.write_twins(tree / "sub", MIB)
    content.write_twins(tree, MIB, seed=2)
    shown = beside("shown")
    mount("--bind", tree / "sub", shown)

    assert harness.check_pass(dedupd, paths=[shown], find=harness.FIND[kind]).freed_bytes == MIB


def test_a_read_only_mount_of_a_part_is_refused_by_name(tree, dedupd, beside):
    (tree / "sub").mkdir()
    content.write_twins(tree / "sub", MIB)
    shown = beside("shown")
    mount("--bind", tree / "sub", shown)
    mount("-o", "remount,bind,ro", shown)

    run = dedupd.run(shown)

    assert run.status == 1
    assert f"{shown} is mounted read-only" in run.stderr


def test_the_service_works_through_the_mount_that_is_writable(tree, filesystem, service, beside):
    content.write_twins(tree, MIB)
    harness.settle(filesystem)
    shown = beside("shown")
    mount("--bind", tree, shown)
    mount("-o", "remount,bind,ro", tree)
    service.configure(tree)
    service.start()

    assert service.wait_for_passes(str(shown), 1)["last_freed_bytes"] == MIB


def test_a_mount_of_a_single_file_is_refused_as_that(tree, dedupd, beside):
    content.write_twins(tree, MIB)
    shown = beside("shown") / "file"
    shown.touch()
    mount("--bind", tree / "one", shown)

    run = dedupd.run(shown)

    assert run.status == 2
    assert f"{shown} is a mount of a single file" in run.stderr


def test_a_pass_in_a_mount_namespace_of_its_own_works(tree, filesystem, dedupd, beside, kind):
    """As in a container: nothing else shows the filesystem there."""
    content.write_twins(tree, MIB)
    elsewhere = beside("elsewhere")
    harness.settle(filesystem)
    before = oracle.snapshot(tree)
    command = [*harness.own_mounts(), "sh", "-ec", 'mount --bind "$1" "$2"; umount "$1"; shift 2; exec "$@"',
               "sh", str(tree), str(elsewhere)]
    with subprocess.Popen([*command, *dedupd.command(elsewhere, find=harness.FIND[kind])],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=dedupd.environment()) as process:
        run = dedupd.finish(process)

    assert run.status == 0, run.stderr
    assert run.freed_bytes == MIB
    harness.assert_unchanged(before, tree)


def test_files_that_an_overlay_shows_are_shared_while_they_are_in_use(tree, dedupd, kind):
    for name in ("lower", "upper", "work", "merged"):
        (tree / name).mkdir()
    content.write_twins(tree / "lower", MIB)
    content.write_twins(tree / "upper", MIB, names=("three", "four"))
    mount("-t", "overlay", "-o", f"lowerdir={tree}/lower,upperdir={tree}/upper,workdir={tree}/work", "none",
          tree / "merged")
    with open(tree / "merged/one", "rb") as lower, open(tree / "merged/three", "r+b") as upper:
        done = harness.check_pass(dedupd, find=harness.FIND[kind])
        assert done.freed_bytes == 3 * MIB
        assert lower.read() == upper.read()
        upper.seek(0)
        upper.write(b"new")

    assert (tree / "merged/three").read_bytes()[:3] == b"new"
    assert (tree / "merged/four").read_bytes() == (tree / "merged/one").read_bytes() == noise(1, MIB)


def test_the_overlay_itself_is_refused_as_that(tree, dedupd):
    for name in ("lower", "upper", "work", "merged"):
        (tree / name).mkdir()
    mount("-t", "overlay", "-o", f"lowerdir={tree}/lower,upperdir={tree}/upper,workdir={tree}/work", "none",
          tree / "merged")

    run = dedupd.run(tree / "merged")

    assert run.status == 2
    assert "lies on overlay; only btrfs and XFS" in run.stderr


@pytest.mark.parametrize("kind, find", [("btrfs", "checksums"), ("btrfs", "read"), ("xfs", "read")])
def test_what_a_mount_hides_is_shared_where_no_tree_is_walked(tree, filesystem, dedupd, kind, find):
    (tree / "hidden").mkdir()
    content.write_twins(tree / "hidden", MIB)
    content.write_twins(tree, MIB, seed=2)
    mount("-t", "tmpfs", "none", tree / "hidden")
    harness.settle(filesystem)

    run = dedupd.run(find=find)

    is_walked = kind == "btrfs" and find == "read"
    assert run.freed_bytes == (MIB if is_walked else 2 * MIB)


def test_a_pass_mounts_nothing_by_walking_to_it(tree, filesystem, dedupd):
    """An automount is left alone: whoever enters it would have it mounted, or wait for that."""
    (tree / "auto").mkdir()
    content.write_twins(tree, MIB)
    harness.settle(filesystem)
    asked, pipe = os.pipe()
    os.set_blocking(asked, False)
    options = f"fd={pipe},pgrp={os.getpgrp()},minproto=5,maxproto=5,direct"
    try:
        done = subprocess.run(["mount", "-i", "-t", "autofs", "-o", options, "none", tree / "auto"],
                              pass_fds=[pipe], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            pytest.skip(f"no automounts: {done.stderr.strip()}")
        # Processes of the group that serves the automount are let through.
        with subprocess.Popen(dedupd.command(find="read"), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, env=dedupd.environment(),
                              start_new_session=True) as process:
            run = dedupd.finish(process, timeout=20)
        assert run.freed_bytes == MIB
        assert run.skip_of("other-mount")["examples"] == [str(tree / "auto")]
        with pytest.raises(BlockingIOError):
            os.read(asked, 1)
    finally:
        os.close(asked)
        os.close(pipe)
        subprocess.run(["umount", tree / "auto"], check=False, capture_output=True)
