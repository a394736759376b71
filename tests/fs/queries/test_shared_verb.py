# SPDX-License-Identifier: GPL-2.0-or-later
"""dedupctl shared: how much of two files is the same data on the disk."""

import json
import os
import pathlib
import shutil
import subprocess

import pytest

import content
import harness
import ioctls
from content import KIB, MIB, noise, write

ALL, FAILED, USAGE, PARTLY, NONE = 0, 1, 2, 10, 11


def ask(*files, **options):
    done = harness.dedupctl("shared", "--json", *files, status=None, **options)
    row = json.loads(done.stdout)["shared"][0] if done.stdout else None
    return done.returncode, row, done.stderr


def clone_range(source, offset, length, target, target_offset):
    subprocess.run(["xfs_io", "-c", f"reflink {source} {offset} {target_offset} {length}", target],
                   check=True, stdout=subprocess.DEVNULL)


def figures(row):
    return tuple(row[key] for key in ("verdict", "shared_bytes", "in_place_bytes",
                                      "first_data_bytes", "first_shared_bytes",
                                      "second_data_bytes", "second_shared_bytes"))


def test_a_clone_is_shared_and_a_copy_is_not(tree):
    one = write(tree / "one", noise(1, 3 * MIB + 100))
    size = 3 * MIB + 4 * KIB
    status, row, _ = ask(one, content.clone(one, tree / "clone"))
    assert status == ALL
    assert figures(row) == ("all", size, size, size, size, size, size)

    status, row, _ = ask(one, write(tree / "copy", noise(1, 3 * MIB + 100)))
    assert status == NONE
    assert figures(row) == ("none", 0, 0, size, 0, size, 0)


def test_what_a_pass_shares_is_shared(tree, dedupd):
    one, two = content.write_twins(tree, MIB)
    assert ask(one, two)[0] == NONE
    harness.settle(dedupd.filesystem)
    assert dedupd.run().status == 0
    assert ask(one, two)[0] == ALL


def test_a_part_is_told_by_its_bytes_and_whether_it_lies_at_the_same_place(tree):
    one = write(tree / "one", noise(1, MIB))
    here = write(tree / "here", noise(2, MIB))
    there = write(tree / "there", noise(3, 2 * MIB))
    clone_range(one, 256 * KIB, 128 * KIB, here, 256 * KIB)
    clone_range(one, 0, MIB, there, MIB)

    status, row, _ = ask(one, here)
    assert status == PARTLY
    assert figures(row) == ("partly", 128 * KIB, 128 * KIB, MIB, 128 * KIB, MIB, 128 * KIB)
    status, row, _ = ask(one, there)
    assert status == PARTLY, "not all of the second file is"
    assert figures(row) == ("partly", MIB, 0, MIB, MIB, 2 * MIB, MIB)


def test_what_repeats_within_a_file_counts_each_time(tree):
    one = write(tree / "one", noise(1, 64 * KIB))
    other = write(tree / "other", b"")
    for place in range(3):
        clone_range(one, 0, 64 * KIB, other, place * 64 * KIB)
    status, row, _ = ask(one, other)
    assert status == ALL
    assert figures(row) == ("all", 64 * KIB, 64 * KIB, 64 * KIB, 64 * KIB, 192 * KIB, 192 * KIB)
    assert row["why"] == "a file repeats data, which BYTES count once"


def test_holes_and_reserved_space_are_no_data(tree):
    one = content.write_sparse(tree / "one", 4 * MIB, {MIB: noise(1, MIB)})
    other = content.clone(one, tree / "other")
    content.preallocate(other, 2 * MIB, MIB)
    status, row, _ = ask(one, other)
    assert status == ALL
    assert figures(row) == ("all", MIB, MIB, MIB, MIB, MIB, MIB)
    empty = content.write_sparse(tree / "empty", 4 * MIB, {})
    assert ask(one, empty)[0] == NONE
    assert ask(empty, content.write_sparse(tree / "empty too", 4 * MIB, {}))[0] == NONE


def test_one_file_by_two_names_is_shared_with_itself(tree):
    one = write(tree / "one", noise(1, MIB))
    os.link(one, tree / "link")
    (tree / "symlink").symlink_to("one")
    for name in ("one", "link", "symlink"):
        status, row, _ = ask(one, tree / name)
        assert (status, row["why"]) == (ALL, "both are one file")


def test_data_that_only_waits_in_memory_is_looked_at(tree):
    one = write(tree / "one", noise(1, MIB))
    assert ask(one, write(tree / "two", noise(1, MIB)))[1]["second_data_bytes"] == MIB


def test_small_files_inside_metadata_share_nothing(make_filesystem):
    tree = pathlib.Path(make_filesystem("btrfs").mount_point)
    one, two = content.write_twins(tree, 100)
    status, row, _ = ask(one, two)
    assert status == NONE
    assert figures(row) == ("none", 0, 0, 100, 0, 100, 0)


def test_compressed_extents_are_shared_where_the_same_part_is_shown(compressing):
    tree = pathlib.Path(compressing.mount_point)
    one = write(tree / "one", content.text(1, MIB))
    clone = content.clone(one, tree / "clone")
    with open(one, "rb") as file:
        assert all(e.flags & ioctls.EXTENT_ENCODED for e in ioctls.extents(file.fileno()))
    status, row, _ = ask(one, clone)
    assert status == ALL
    assert row["shared_bytes"] == row["in_place_bytes"] == MIB

    # Of each extent of 128 KiB one file shows the first half, the other the second.
    halves = [write(tree / "first", b""), write(tree / "second", b"")]
    for number, half in enumerate(halves):
        clone_range(one, number * 64 * KIB, 64 * KIB, half, 0)
    assert ask(*halves)[0] == NONE
    status, row, _ = ask(one, halves[1])
    assert (status, row["shared_bytes"], row["in_place_bytes"]) == (PARTLY, 64 * KIB, 0)


def test_a_snapshot_shares_all_with_what_it_was_taken_of(make_filesystem):
    tree = pathlib.Path(make_filesystem("btrfs").mount_point)
    harness.btrfs("subvolume", "create", tree / "sub")
    one = write(tree / "sub/one", noise(1, MIB))
    harness.btrfs("subvolume", "snapshot", "-r", tree / "sub", tree / "snapshot")
    status, row, _ = ask(one, tree / "snapshot/one")
    assert (status, row["why"]) == (ALL, None)
    content.overwrite(one, 0, noise(2, 64 * KIB))
    assert ask(one, tree / "snapshot/one")[0] == PARTLY


@pytest.mark.parametrize("kinds", [("btrfs", "xfs"), ("xfs", "xfs")])
def test_different_filesystems_share_nothing(make_filesystem, kinds):
    trees = [pathlib.Path(make_filesystem(kind).mount_point) for kind in kinds]
    status, row, _ = ask(*(write(tree / "file", noise(1, MIB)) for tree in trees))
    assert (status, row["why"]) == (NONE, "they lie on different filesystems")
    assert figures(row) == ("none", 0, 0, MIB, 0, MIB, 0)


def test_what_cannot_be_compared_is_refused_by_name(tree, tmp_path):
    one = write(tree / "one", noise(1, MIB))
    (tree / "directory").mkdir()
    os.mkfifo(tree / "fifo")
    write(tmp_path / "elsewhere", b"x")
    for other, said in [("directory", "is no regular file"), ("fifo", "is no regular file"),
                        ("absent", "No such file"), ("a\nb\x1b[2J", "a\\nb\\e[2J: No such file")]:
        status, row, message = ask(one, tree / other)
        assert (status, row) == (FAILED, None)
        assert said in message and message.count("\n") == 1 and "\x1b" not in message
    assert ask(one)[0] == ask(one, one, one)[0] == ask()[0] == USAGE


def test_an_ordinary_user_sees_the_same_and_is_told_what_is_not_his(tree, filesystem, tmp_path):
    os.chmod(filesystem.directory, 0o755)
    for directory in (tmp_path, *tmp_path.parents):
        directory.chmod(directory.stat().st_mode | 0o111)
    as_user = {"program": shutil.copy(harness.dedupctl_program(), tmp_path / "dedupctl"), "user": harness.USER}
    one = write(tree / "one", noise(1, MIB))
    clone = content.clone(one, tree / "clone")
    other = write(tree / "other", noise(2, MIB))

    assert figures(ask(one, clone, **as_user)[1]) == figures(ask(one, clone)[1])
    assert ask(one, other, **as_user)[0] == NONE
    other.chmod(0o600)
    status, row, message = ask(one, other, **as_user)
    assert (status, row) == (FAILED, None)
    assert f"cannot read {other}: Permission denied" in message
