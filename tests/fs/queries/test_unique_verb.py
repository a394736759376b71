# SPDX-License-Identifier: GPL-2.0-or-later
"""dedupctl unique: files whose data is nowhere else."""

import json
import os
import pathlib
import subprocess

import pytest

import content
import harness
from content import KIB, MIB, noise, write_extent

FAILED, USAGE = 1, 2


def dedupctl(dedupd, *words, **options):
    return harness.dedupctl("unique", *words, dedupd=dedupd, **options)


@pytest.fixture(name="ask")
def ask_fixture(dedupd):
    """Path -> (bytes elsewhere, state) of what is listed."""
    def ask(*words, status=0):
        said = json.loads(dedupctl(dedupd, "--json", *words, status=status).stdout)
        return {file["file"]: (file["elsewhere_bytes"], file["state"])
                for file in said["unique_files"]}
    return ask


@pytest.fixture(name="trees")
def trees_fixture(tree):
    """A directory to ask about, and one beside it."""
    for name in ("asked", "beside"):
        (tree / name / "deep").mkdir(parents=True)
    write_extent(tree / "asked" / "alone", noise(1, MIB))
    write_extent(tree / "asked" / "deep" / "alone", noise(2, 256 * KIB))
    write_extent(tree / "asked" / "twin", noise(3, MIB))
    write_extent(tree / "beside" / "deep" / "twin", noise(3, MIB))
    for name in "ab":
        write_extent(tree / "asked" / name, noise(4, 512 * KIB))
    write_extent(tree / "beside" / "alone", noise(5, MIB))
    return tree / "asked"


@pytest.mark.parametrize("dry_run", [True, False])
def test_what_is_elsewhere_is_left_out_shared_or_not(trees, ask, learn, dry_run):
    learn(dry_run=dry_run)
    assert ask(str(trees)) == {str(trees / "alone"): (0, "known"),
                               str(trees / "deep" / "alone"): (0, "known")}


def test_names_of_one_file_are_not_elsewhere(trees, ask, learn):
    os.link(trees / "alone", trees / "name")
    os.link(trees / "deep" / "alone", trees.parent / "beside" / "name")
    learn(dry_run=True)
    assert set(ask(str(trees))) == {str(trees / "alone"), str(trees / "name"),
                                    str(trees / "deep" / "alone")}


def test_what_has_no_data_is_left_out_and_links_are_not_followed(trees, ask, learn):
    (trees / "empty").touch()
    content.write_sparse(trees / "hole", MIB, {})
    os.symlink(trees.parent / "beside" / "alone", trees / "link")
    os.symlink(trees.parent / "beside", trees / "tree")
    os.mkfifo(trees / "pipe")
    learn(dry_run=True)
    assert set(ask(str(trees))) == {str(trees / "alone"), str(trees / "deep" / "alone")}


def test_in_doubt_a_file_is_unique(trees, ask, learn):
    learn(dry_run=True)
    content.overwrite(trees / "twin", 0, b"other")
    write_extent(trees / "new", noise(5, MIB))
    told = ask(str(trees))
    assert str(trees / "twin") in told
    assert str(trees / "new") in told
    assert str(trees / "a") not in told


def test_without_a_store_only_what_is_shared_is_elsewhere(trees, ask):
    subprocess.run(["sync", "-f", trees], check=True)
    told = ask(str(trees))
    assert {state for _, state in told.values()} == {"no store"}
    assert set(told) == {str(trees / name) for name in ("alone", "deep/alone", "twin", "a", "b")}
    content.clone(trees / "alone", trees / "clone")
    assert set(ask(str(trees))) == {str(trees / name) for name in ("deep/alone", "twin", "a", "b")}


def test_other_mounts_are_not_gone_into(trees, dedupd, ask, learn):
    learn(dry_run=True)
    place = trees / "mounted"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "none", place], check=True)
    try:
        (place / "file").write_bytes(noise(6, KIB))
        assert str(place / "file") not in ask(str(trees))
    finally:
        subprocess.run(["umount", place], check=True)
    said = dedupctl(dedupd, "/proc", status=FAILED)
    assert "not on a btrfs or XFS filesystem" in said.stderr


def test_what_is_no_directory_is_refused(trees, dedupd):
    for name in (trees / "alone", trees / "absent"):
        assert str(name) in dedupctl(dedupd, str(name), status=FAILED).stderr
    assert "directories" in dedupctl(dedupd, status=USAGE).stderr


def test_hostile_names_do_not_reach_the_terminal(tree, dedupd, learn):
    (tree / "d").mkdir()
    for name in (b"\x1b[2J", b"new\nline", b"\xff\xfe"):
        path = os.path.join(bytes(tree / "d"), name)
        pathlib.Path(os.fsdecode(path)).write_bytes(noise(len(name), 64 * KIB))
    learn(dry_run=True)
    said = dedupctl(dedupd, str(tree / "d")).stdout
    assert "\x1b" not in said and "\udcff" not in said
    assert len(said.splitlines()) == 4


def test_subvolumes_are_gone_into(make_filesystem, make_dedupd):
    filesystem = make_filesystem("btrfs")
    tree = pathlib.Path(filesystem.mount_point)
    subprocess.run(["btrfs", "-q", "subvolume", "create", tree / "sub"], check=True)
    write_extent(tree / "sub" / "file", noise(1, MIB))
    dedupd = make_dedupd(filesystem)
    assert str(tree / "sub" / "file") in dedupctl(dedupd, str(tree)).stdout
    subprocess.run(["btrfs", "-q", "subvolume", "snapshot", tree / "sub", tree / "snap"],
                   check=True)
    assert str(tree / "sub" / "file") not in dedupctl(dedupd, str(tree)).stdout


def test_bare_names_are_those_of_the_list(tree, dedupd, ask, learn):
    (tree / "in").mkdir()
    names = [b"\x1b[2J", b"new\nline", b"\xff\xfe", b"plain"]
    for seed, name in enumerate(names):
        write_extent(tree / "in" / os.fsdecode(name), noise(seed, 256 * KIB))
    for name in ("in/twin", "twin"):
        write_extent(tree / name, noise(9, 256 * KIB))
    learn(dry_run=True)
    said = dedupctl(dedupd, "--null", str(tree / "in"), text=False).stdout
    assert said.endswith(b"\0")
    assert sorted(said[:-1].split(b"\0")) == sorted(os.fsencode(tree / "in") + b"/" + name
                                                   for name in names)
    assert len(ask(str(tree / "in"))) == len(names)
    assert dedupctl(dedupd, "-0", str(tree / "in" / ".."), text=False).stdout.count(b"\0") == len(names)


def test_of_nothing_there_are_no_names(tree, dedupd):
    (tree / "empty").mkdir()
    assert dedupctl(dedupd, "-0", str(tree / "empty")).stdout == ""


def append_extent(path, data):
    """Write it behind what the file has, as an extent of its own."""
    with open(path, "ab") as file:
        file.write(data)
        os.fsync(file.fileno())


@pytest.mark.parametrize("dry_run", [True, False])
def test_what_a_file_has_twice_itself_is_not_elsewhere(tree, ask, learn, dry_run):
    twice = write_extent(tree / "twice", noise(1, MIB))
    append_extent(twice, noise(1, MIB))
    cloned = write_extent(tree / "cloned", noise(2, MIB))
    subprocess.run(["xfs_io", "-c", f"reflink {cloned} 0 {MIB} {MIB}", cloned], check=True,
                   stdout=subprocess.DEVNULL)
    learn(dry_run=dry_run)
    assert ask(str(tree)) == {str(twice): (0, "known"), str(cloned): (0, "known")}


def test_a_twin_of_a_file_that_repeats_itself_is_elsewhere(tree, ask, learn):
    for name in ("one", "two"):
        append_extent(write_extent(tree / name, noise(1, MIB)), noise(1, MIB))
    learn()
    assert ask(str(tree)) == {}


def test_what_is_shared_and_equal_counts_once(tree, ask, learn):
    half = write_extent(tree / "half", noise(1, MIB))
    content.clone(half, tree / "clone")
    write_extent(tree / "copy", noise(1, MIB))
    append_extent(half, noise(2, MIB))
    learn(dry_run=True)
    assert ask(str(tree)) == {str(half): (MIB, "known")}


def test_paths_beyond_path_max_are_looked_at(tree, ask, learn):
    write_extent(tree / "twin", noise(1, MIB))
    content.write_deep(tree, "alone", noise(2, MIB))
    content.write_deep(tree, "twin", noise(1, MIB))
    learn(dry_run=True)
    path, = ask(str(tree))
    assert path.endswith("/alone") and len(path) > 4096


@pytest.mark.parametrize("dry_run", [True, False])
def test_what_had_a_twin_is_unique_when_that_is_gone(trees, tree, ask, learn, dry_run):
    learn(dry_run=dry_run)
    twin = trees / "twin"
    assert str(twin) not in ask(str(trees))
    (tree / "beside" / "deep" / "twin").unlink()
    subprocess.run(["sync", "-f", tree], check=True)
    assert ask(str(trees))[str(twin)] == (0, "known")
    learn(dry_run=dry_run)
    assert ask(str(trees))[str(twin)] == (0, "known")


def test_what_a_deleted_file_still_holds_open_is_not_elsewhere(make_filesystem, make_dedupd):
    """XFS does not say who shares."""
    filesystem = make_filesystem("btrfs")
    tree = pathlib.Path(filesystem.mount_point)
    dedupd = make_dedupd(filesystem)
    one = write_extent(tree / "one", noise(1, MIB))
    two = content.clone(one, tree / "two")
    harness.settle(filesystem)
    assert dedupd.run(find="checksums").status == 0
    with open(two, "rb"):
        assert dedupctl(dedupd, "-0", str(tree)).stdout == ""
        two.unlink()
        subprocess.run(["sync", "-f", tree], check=True)
        assert dedupctl(dedupd, "-0", str(tree)).stdout == f"{one}\0"
