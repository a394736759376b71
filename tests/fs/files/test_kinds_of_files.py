# SPDX-License-Identifier: GPL-2.0-or-later
"""Files that are special, protected or odd are left alone for a reason, or shared all the same."""

import fcntl
import os
import shutil
import socket
import stat
import subprocess

import pytest

import content
import harness
import ioctls
import oracle
from content import BLOCK, MIB, noise, write
from hindrances import leased


def test_special_files_are_counted_and_never_opened(tree, dedupd):
    os.mkfifo(tree / "fifo")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tree / "socket"))
    os.mknod(tree / "null", stat.S_IFCHR | 0o600, os.makedev(1, 3))
    os.mknod(tree / "block", stat.S_IFBLK | 0o600, os.makedev(7, 255))
    write(tree / "target", noise(1, MIB))
    os.symlink("target", tree / "link")
    os.symlink("missing", tree / "dangling")
    os.symlink(".", tree / "loop")

    done = harness.check_pass(dedupd)

    assert done.first.skipped["special"] == 7
    assert done.first.files["seen"] == 1


def test_hard_links_are_one_file(tree, dedupd):
    one, two = content.write_twins(tree, MIB)
    (tree / "sub").mkdir()
    os.link(one, tree / "sub/one again")
    os.link(one, tree / "another")
    os.link(two, tree / "sub/two again")

    done = harness.check_pass(dedupd)

    assert done.first.files["seen"] == 2
    assert done.first.files["read"] <= 2
    assert done.freed_bytes == MIB


def test_links_of_one_file_are_no_duplicates(tree, dedupd):
    write(tree / "one", noise(1, MIB))
    os.link(tree / "one", tree / "two")

    done = harness.check_pass(dedupd)

    assert done.first.shared["calls"] == 0
    assert done.first.files["seen"] == 1


ODD_NAMES = [b"-rf", b"two  spaces ", b"new\nline", b"esc\x1b[31mred", b"invalid\xff\xfeutf-8",
             b"quote\"and\\backslash'`$(x)", b"tab\tbell\x07", "größe".encode(), b"x" * 255]


def test_files_with_odd_names_are_shared(tree, dedupd):
    data = noise(1, MIB)
    for name in ODD_NAMES:
        write(os.path.join(os.fsencode(tree), name), data)

    done = harness.check_pass(dedupd)

    assert done.freed_bytes == (len(ODD_NAMES) - 1) * MIB


ESCAPED = {b"new\nline": r"new\nline", b"esc\x1b[31mred": r"esc\e[31mred",
           b"invalid\xff\xfeutf-8": r"invalid\xff\xfeutf-8", b"tab\tbell\x07": r"tab\tbell\x07"}


def test_odd_names_are_escaped_wherever_they_are_told(tree, dedupd):
    for name in ESCAPED:
        write(os.path.join(os.fsencode(tree), name), b"tiny")

    run = dedupd.run(verbose=True, min_size="2K")

    assert set(run.skip_of("small")["examples"]) == {f"{tree}/{text}" for text in ESCAPED.values()}
    assert all(ord(c) >= 32 or c == "\n" for c in run.stderr)
    assert "\udcff" not in run.stdout + run.stderr


def test_paths_beyond_path_max_are_shared(tree, dedupd):
    data = noise(1, MIB)
    write(tree / "shallow", data)
    content.write_deep(tree, "deep", data)
    content.write_deep(tree, "tiny", b"tiny")

    done = harness.check_pass(dedupd, min_size="2K")

    assert done.freed_bytes == MIB
    assert done.first.skip_of("small")["examples"][0].endswith("/tiny")


def test_a_wide_and_deep_tree_is_walked(tree, dedupd):
    directory = tree
    for level in range(300):
        directory = directory / "d"
        directory.mkdir()
        if level % 100 == 99:
            write(directory / "file", noise(1, MIB))

    done = harness.check_pass(dedupd)

    assert done.freed_bytes == 2 * MIB


@pytest.fixture
def protected():
    """Set inode flags that are taken off again, so that the tree can be looked at and removed."""
    paths = []

    def protect(path, flag):
        ioctls.add_flags(path, flag)
        paths.append((path, flag))
    yield protect
    for path, flag in paths:
        ioctls.remove_flags(path, flag)


def test_immutable_twins_stay_apart(tree, dedupd, protected):
    for path in content.write_twins(tree, MIB):
        protected(path, ioctls.FS_IMMUTABLE)

    done = harness.check_pass(dedupd)

    assert done.freed_bytes == 0
    assert done.first.skipped["immutable"] >= 1


@pytest.mark.parametrize("which", [0, 1])
def test_an_immutable_file_is_the_source_for_its_twin(tree, dedupd, protected, which):
    protected(content.write_twins(tree, MIB)[which], ioctls.FS_IMMUTABLE)

    done = harness.check_pass(dedupd)

    assert done.freed_bytes == MIB


def test_a_file_that_is_immutable_no_longer_is_shared_without_being_read(tree, dedupd, protected):
    twins = content.write_twins(tree, MIB)
    for path in twins:
        protected(path, ioctls.FS_IMMUTABLE)
    assert harness.check_pass(dedupd).freed_bytes == 0

    ioctls.remove_flags(twins[0], ioctls.FS_IMMUTABLE)
    done = harness.check_pass(dedupd)

    assert done.first.read["finding_bytes"] == 0
    assert done.freed_bytes == MIB


def test_append_only_files_are_shared(tree, dedupd, protected):
    for path in content.write_twins(tree, MIB):
        protected(path, ioctls.FS_APPEND_ONLY)

    done = harness.check_pass(dedupd)

    assert done.freed_bytes == MIB


def test_modes_owners_and_xattrs_are_no_obstacle_to_root(tree, dedupd):
    one, two = content.write_twins(tree, MIB)
    os.setxattr(one, "user.colour", b"blue")
    os.chown(two, 1234, 2345)
    os.chmod(two, 0o400)
    os.chmod(one, 0)

    done = harness.check_pass(dedupd)

    assert done.freed_bytes == MIB


def test_a_running_program_is_shared(tree, dedupd):
    data = open(shutil.which("sleep"), "rb").read()
    for name in ("one", "two"):
        write(tree / name, data)
        os.chmod(tree / name, 0o755)
    with subprocess.Popen([tree / "one", "60"]) as sleeper:
        try:
            done = harness.check_pass(dedupd)
        finally:
            sleeper.kill()

    assert done.freed_bytes == -(-len(data) // BLOCK) * BLOCK


def make_swap_file(path, kind):
    path.touch(mode=0o600)
    if kind == "btrfs":
        ioctls.add_flags(path, ioctls.FS_NO_COW)
    content.overwrite(path, 0, noise(1, BLOCK) + bytes(4 * MIB - BLOCK))
    subprocess.run(["mkswap", "--quiet", path], check=True)
    return path


def test_swap_files_are_left_alone(tree, dedupd, kind):
    for name in ("one", "two"):
        make_swap_file(tree / name, kind)

    # On btrfs they are nodatacow, which is left alone in any case unless that is wanted.
    done = harness.check_pass(dedupd, zeros="hole", no_data_cow="share")

    assert done.freed_bytes == 0
    assert done.first.shared["calls"] == 0
    assert done.first.skipped["swap-file"] == 2


def test_an_active_swap_file_is_left_alone(tree, dedupd, kind):
    swap = make_swap_file(tree / "swap", kind)
    twin = write(tree / "twin", swap.read_bytes()[BLOCK:])
    active = subprocess.run(["swapon", swap], capture_output=True, text=True, check=False)
    if active.returncode != 0:
        pytest.skip(f"no swapping here: {active.stderr.strip()}")
    try:
        done = harness.check_pass(dedupd, zeros="keep", no_data_cow="share")
    finally:
        subprocess.run(["swapoff", swap], check=True)

    assert done.first.skipped["swap-file"] == 1
    assert not oracle.is_shared(swap, twin)


def test_boot_loader_environment_blocks_are_left_alone(tree, dedupd):
    block = b"# GRUB Environment Block\n".ljust(1024, b"#")
    for name in ("grubenv", "other"):
        write(tree / name, block + noise(1, 8 * BLOCK))

    done = harness.check_pass(dedupd, min_size="1")

    assert done.first.skipped["boot"] == 2
    assert done.freed_bytes == 0


def test_a_leased_file_is_skipped_and_found_later(tree, filesystem, dedupd):
    one, _ = content.write_twins(tree, MIB)
    harness.settle(filesystem)
    before = oracle.snapshot(tree)
    with leased(one):
        run = dedupd.run()

    assert run.status == 0, run.stderr
    assert run.seconds < 20, "it waited for the lease"
    assert run.skip_of("leased")["examples"] == [str(one)]
    harness.assert_unchanged(before, tree)
    assert harness.check_pass(dedupd).freed_bytes == MIB


def test_a_file_open_for_writing_and_a_locked_one_are_shared(tree, dedupd):
    one, two = content.write_twins(tree, MIB)
    with open(one, "r+b") as writer, open(two, "rb") as locked:
        fcntl.flock(locked, fcntl.LOCK_EX)

        done = harness.check_pass(dedupd)

        writer.flush()
    assert done.freed_bytes == MIB
