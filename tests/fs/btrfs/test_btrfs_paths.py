# SPDX-License-Identifier: GPL-2.0-or-later
"""Which places of a btrfs a pass that finds by checksums works on: paths, globs, sizes, /boot."""

import collections
import contextlib
import fnmatch
import os
import pathlib
import random
import subprocess

import pytest

import content
import harness
import ioctls
import oracle
from content import BLOCK, KIB, MIB, clone, noise, overwrite, write, write_no_cow
from harness import check_btrfs_pass as check
from hindrances import leased
from subvolumes import delete_subvolumes, make_subvolume, snapshot

TAKEN_UP = 4096  # extents left out by its limits that every pass takes up again
NAME_MAX = 255
LIMITS_NOTE = "btrfs-limits"
SEEDS = harness.seeds(4)


@pytest.fixture(params=["btrfs"])
def kind(request):
    return request.param


def make_twins(directory, size=MIB, seed=1, names=("one", "two")):
    """Equal files in a directory that is made where there is none."""
    directory.mkdir(parents=True, exist_ok=True)
    return content.write_twins(directory, size, seed, names)


def are_shared(directory):
    return oracle.is_shared(directory / "one", directory / "two")


def mount_subvolume(filesystem, subvolume, name, *options):
    """Mount a subvolume, named from the top level, beside the mount point."""
    path = pathlib.Path(filesystem.directory) / name
    path.mkdir()
    subprocess.run(["mount", "-o", ",".join([f"subvol={subvolume}", *options]),
                    filesystem.device, path], check=True)
    return path


# --exclude


@pytest.mark.parametrize("glob", ["*.iso", "keep", "keep/", "{0}/keep", "keep/*", "*/keep/two.iso"])
def test_what_is_excluded_is_not_shared(tree, dedupd, glob):
    make_twins(tree / "share", seed=1)
    make_twins(tree / "keep", seed=2, names=("one.iso", "two.iso"))

    done = check(dedupd, exclude=glob.format(tree), quiet=True)

    assert done.freed_bytes == MIB
    assert are_shared(tree / "share")
    excluded = done.first.skip_of("excluded")
    assert set(excluded["examples"]) <= {str(tree / "keep/one.iso"), str(tree / "keep/two.iso")}
    assert done.first.stderr == ""


@pytest.mark.parametrize("glob", ["*.isos", "eep", "/keep", "{0}/keep/one.iso/x"])
def test_what_only_looks_like_it_is_shared(tree, dedupd, glob):
    make_twins(tree / "keep", names=("one.iso", "two.iso"))

    done = check(dedupd, exclude=glob.format(tree), quiet=True)

    assert done.freed_bytes == MIB
    assert "excluded" not in done.first.skipped
    assert "matched none of the 2 files with equal data on" in done.first.stderr


def test_a_directory_is_excluded_with_all_below_it(tree, dedupd):
    make_twins(tree / "a/cache/deep/er", seed=1)
    make_subvolume(tree / "a/cache/sub")
    make_twins(tree / "a/cache/sub/deep", seed=2)
    make_twins(tree / "a/cached", seed=3)

    done = check(dedupd, exclude="cache")

    assert done.freed_bytes == MIB
    assert are_shared(tree / "a/cached")


def test_each_glob_that_matched_nothing_is_warned_of(tree, dedupd):
    make_twins(tree / "share", seed=1)
    make_twins(tree / "keep", seed=2)

    done = check(dedupd, exclude=["keep", "*.nothing", "/nowhere/*"])

    assert done.first.stderr.count("warning") == 2
    for glob in ("*.nothing", "/nowhere/*"):
        assert f"--exclude {glob} matched none of the 4 files with equal data on" in (
            done.first.stderr)


def test_no_glob_is_warned_of_where_no_file_was_looked_up(tree, dedupd):
    make_twins(tree)
    check(dedupd)

    assert dedupd.run(find="checksums", exclude="*.nothing", quiet=True).stderr == ""


def test_a_file_that_is_excluded_is_no_source(tree, dedupd):
    write(tree / "keep.iso", noise(1, MIB))
    check(dedupd, exclude="*.iso")
    write(tree / "other", noise(1, MIB))

    assert check(dedupd, exclude="*.iso").freed_bytes == 0
    assert check(dedupd).freed_bytes == MIB


def test_one_name_that_is_not_excluded_is_enough(tree, dedupd):
    write(tree / "a", noise(1, MIB))
    (tree / "keep").mkdir()
    write(tree / "keep/b", noise(1, MIB))
    os.link(tree / "keep/b", tree / "b")

    done = check(dedupd, exclude="keep")

    assert done.freed_bytes == MIB
    assert oracle.is_shared(tree / "a", tree / "keep/b")


def test_all_of_many_names_are_tried(tree, dedupd):
    """More than one item holds, so that btrfs makes it an extended one."""
    (tree / "keep").mkdir()
    write(tree / "a", noise(1, MIB))
    write(tree / "keep/b", noise(1, MIB))
    for number in range(200):
        os.link(tree / "keep/b", tree / "keep" / f"{number:0>{NAME_MAX}}")
    assert check(dedupd, exclude="keep").freed_bytes == 0
    os.link(tree / "keep/b", tree / "b")

    done = check(dedupd, exclude="keep")

    assert done.freed_bytes == MIB


def test_a_place_that_is_excluded_pins_the_extent(tree, dedupd):
    for name in ("first", "second"):
        write(tree / name, noise(1, MIB))
        clone(tree / name, tree / f"{name}.iso")

    done = check(dedupd, exclude="*.iso")

    assert done.freed_bytes == 0
    assert done.first.shared["calls"] == 0
    assert done.first.skipped == {"excluded": 2}
    assert set(done.first.skip_of("excluded")["examples"]) == {
        str(tree / "first.iso"), str(tree / "second.iso")}


def test_the_other_places_of_such_an_extent_serve_as_source(tree, dedupd):
    write(tree / "first", noise(1, MIB))
    clone(tree / "first", tree / "first.iso")
    check(dedupd)
    write(tree / "second", noise(1, MIB))

    assert check(dedupd, exclude="*.iso").freed_bytes == MIB


def test_what_is_settled_is_shared_with_such_an_extent(tree, dedupd):
    write(tree / "first", noise(1, MIB))
    check(dedupd)
    write(tree / "second", noise(1, MIB))
    clone(tree / "second", tree / "second.iso")

    assert check(dedupd, exclude="*.iso").freed_bytes == MIB


@pytest.mark.parametrize("names", [("one.iso", "two"), ("one", "two.iso")])
def test_only_they_do(tree, dedupd, names):
    write(tree / names[0], noise(1, MIB))
    clone(tree / names[0], tree / names[1])
    check(dedupd)
    write(tree / "other", noise(1, MIB))
    harness.settle(dedupd.filesystem)

    with leased(next(tree.glob("*.iso"))):
        run = dedupd.run(find="checksums", exclude="*.iso")

    assert run.freed_bytes == MIB
    assert run.skipped == {}


def test_they_do_so_in_the_pass_that_finds_both(tree, dedupd):
    write(tree / "first", noise(1, MIB))
    clone(tree / "first", tree / "first.iso")
    write(tree / "second", noise(1, MIB - BLOCK))

    done = check(dedupd, exclude="*.iso")

    assert done.freed_bytes == MIB - BLOCK


def test_names_are_bytes(tree, dedupd):
    directory = os.fsencode(tree) + b"/\xff\xfe\n"
    os.mkdir(directory)
    for name in (b"a\x80", b"b\x80"):
        write(directory + b"/" + name, noise(1, MIB))
    make_twins(tree / "share", seed=2)

    assert check(dedupd, exclude=os.fsdecode(b"?\x80")).freed_bytes == MIB
    done = check(dedupd, exclude=os.fsdecode(b"\xff*/b\x80"))
    assert done.freed_bytes == 0
    assert done.first.skip_of("excluded")["examples"] == [f"{tree}/\\xff\\xfe\\n/b\\x80"]
    assert check(dedupd).freed_bytes == MIB


def test_names_that_are_longer_than_a_path_may_be(tree, dedupd):
    """Two times 4 KiB and more of directories, with a subvolume on the way."""
    make_subvolume(tree / "sub")
    with contextlib.ExitStack() as stack:
        def enter(fd, name):
            with contextlib.suppress(FileExistsError):
                os.mkdir(name, dir_fd=fd)
            entered = os.open(name, os.O_RDONLY | os.O_DIRECTORY, dir_fd=fd)
            stack.callback(os.close, entered)
            return entered

        fd = os.open(tree, os.O_RDONLY)
        stack.callback(os.close, fd)
        for _ in range(20):
            fd = enter(fd, "d" * 250)
        os.rename(tree / "sub", "keep", dst_dir_fd=fd)
        fd = enter(fd, "keep")
        for _ in range(20):
            fd = enter(fd, "d" * 250)
        for name in ("one", "two"):
            file = os.open(name, os.O_WRONLY | os.O_CREAT, dir_fd=fd)
            os.write(file, noise(1, MIB))
            os.close(file)

        done = check(dedupd, exclude="keep")
        assert done.freed_bytes == 0
        assert all(len(path) > 40 * 250 for path in done.first.skip_of("excluded")["examples"])
        assert check(dedupd, exclude="*/keep/*/one").freed_bytes == 0
        assert check(dedupd).freed_bytes == MIB


# --min-size


def test_small_files_are_left_alone(tree, dedupd):
    make_twins(tree / "small", MIB - 1, seed=1)
    make_twins(tree / "large", MIB, seed=2)

    done = check(dedupd, min_size="1M")

    assert done.freed_bytes == MIB
    assert are_shared(tree / "large")
    assert done.first.skipped["small"] > 0
    assert str(tree / "small") in done.first.skip_of("small")["examples"][0]


def test_a_file_that_grew_is_shared_by_the_next_pass(tree, dedupd):
    make_twins(tree, MIB)
    assert check(dedupd, min_size="1500K").freed_bytes == 0
    for name in ("one", "two"):
        overwrite(tree / name, MIB, noise(len(name) + ord(name[0]), MIB))

    assert check(dedupd, min_size="1500K").freed_bytes == MIB


# Paths


def test_a_subtree_limits_the_pass(tree, dedupd):
    for name in ("in", "out"):
        (tree / name).mkdir()
        for copy in range(3):
            write(tree / name / f"{copy}", noise(1, MIB))

    done = check(dedupd, tree / "in")

    assert done.freed_bytes == 2 * MIB
    assert oracle.is_shared(tree / "in/0", tree / "in/1")
    assert not oracle.is_shared(tree / "out/0", tree / "out/1")
    assert not oracle.is_shared(tree / "out/0", tree / "in/0")
    assert done.first.skipped == {"outside": 3}
    assert set(done.first.skip_of("outside")["examples"]) == {
        str(tree / "out" / f"{copy}") for copy in range(3)}


def test_many_equal_files_outside_stand_before_none_inside(tree, dedupd):
    for name in ("out", "in"):
        (tree / name).mkdir()
        for copy in range(30):
            write(tree / name / f"{copy}", noise(1, 128 * KIB))
        harness.settle(dedupd.filesystem)

    assert check(dedupd, tree / "in").freed_bytes == 29 * 128 * KIB


def write_pieces(path, data, piece):
    """A file of many small extents."""
    return write(path, data, piece=piece * BLOCK)


def test_files_of_small_extents_are_limited_alike(tree, dedupd):
    """Cut at other places, they are only found as stretches."""
    data = noise(1, 128 * BLOCK)
    for name in ("in", "out"):
        (tree / name).mkdir()
        for number, piece in enumerate((5, 7)):
            write_pieces(tree / name / f"{number}", data, piece)

    done = check(dedupd, tree / "in")
    assert done.freed_bytes == 128 * BLOCK
    assert oracle.is_shared(tree / "in/0", tree / "in/1")
    assert done.first.skipped["outside"] > 0
    assert all(path.startswith(f"{tree}/out/")
               for path in done.first.skip_of("outside")["examples"])

    assert check(dedupd, exclude="1").freed_bytes == 128 * BLOCK
    assert not oracle.is_shared(tree / "out/0", tree / "out/1")
    assert check(dedupd).freed_bytes == 128 * BLOCK


def test_many_files_of_small_extents_outside_stand_before_none_inside(tree, dedupd):
    data = noise(1, 64 * BLOCK)
    for name, pieces in (("out", range(6, 18)), ("in", range(3, 6))):
        (tree / name).mkdir()
        for piece in pieces:
            write_pieces(tree / name / f"{piece}", data, piece)

    assert check(dedupd, tree / "in").freed_bytes == 2 * 64 * BLOCK


def test_files_without_checksums_are_limited_alike(tree, dedupd):
    for name in ("in", "out"):
        (tree / name).mkdir()
        ioctls.add_flags(tree / name, ioctls.FS_NO_COW)
        content.write_twins(tree / name, MIB)
    options = {"no_data_cow": "share"}

    done = check(dedupd, tree / "in", **options)

    assert done.freed_bytes == MIB
    assert are_shared(tree / "in") and not are_shared(tree / "out")
    assert check(dedupd, exclude="one", **options).freed_bytes == MIB
    assert check(dedupd, **options).freed_bytes == MIB


def test_several_paths_make_one_pass(tree, dedupd):
    for number, name in enumerate(("a/b", "c", "d")):
        make_twins(tree / name, seed=number)
        write(tree / name / "common", noise(100, MIB))

    done = check(dedupd, tree / "a", tree / "c", tree / "c/one")

    assert done.freed_bytes == 3 * MIB
    assert oracle.is_shared(tree / "a/b/common", tree / "c/common")
    assert not are_shared(tree / "d")


def test_single_files_may_be_named(tree, dedupd):
    write(tree / "other", noise(1, MIB))
    paths = make_twins(tree)

    done = check(dedupd, *paths)

    assert done.freed_bytes == MIB
    assert not oracle.is_shared(tree / "other", paths[0])
    assert done.first.skipped == {"outside": 1}


def test_a_file_that_is_named_is_excluded_all_the_same(tree, dedupd):
    paths = make_twins(tree)

    assert check(dedupd, *paths, exclude="two").freed_bytes == 0
    assert check(dedupd, *paths, exclude=tree / "on?").freed_bytes == 0
    assert check(dedupd, *paths, exclude="x").freed_bytes == MIB


def test_subvolumes_below_the_path_are_part_of_it(tree, dedupd):
    (tree / "in").mkdir()
    outer = make_subvolume(tree / "in/outer")
    (outer / "directory").mkdir()
    inner = make_subvolume(outer / "directory/inner")
    sister = make_subvolume(tree / "sister")
    for directory in (outer, inner, sister):
        write(directory / "file", noise(1, MIB))

    done = check(dedupd, tree / "in")

    assert done.freed_bytes == MIB
    assert oracle.is_shared(outer / "file", inner / "file")
    assert done.first.skip_of("outside")["examples"] == [str(sister / "file")]


def test_a_snapshot_outside_pins_what_it_shows(tree, dedupd):
    sub = make_subvolume(tree / "sub")
    write(sub / "first", noise(1, MIB))
    check(dedupd)
    write(sub / "second", noise(1, MIB))
    snapshot(sub, tree / "snapshot")

    done = check(dedupd, sub)

    assert done.freed_bytes == 0
    assert done.first.shared["calls"] == 0
    assert done.first.skipped == {"outside": 1}
    assert done.first.skip_of("outside")["examples"] == [str(tree / "snapshot/second")]

    delete_subvolumes(tree, "snapshot")
    assert check(dedupd, sub).freed_bytes == MIB


def test_a_source_is_found_behind_many_snapshots_outside(tree, dedupd):
    sub = make_subvolume(tree / "sub")
    write(sub / "first", noise(1, MIB))
    for number in range(80):
        snapshot(sub, tree / f"snapshot-{number}")
    check(dedupd)
    write(sub / "second", noise(1, MIB))

    assert check(dedupd, sub).freed_bytes == MIB


def test_a_subvolume_is_worked_on_where_the_top_level_is_not_mounted(filesystem, tree, dedupd):
    home, other = make_subvolume(tree / "@home"), make_subvolume(tree / "@other")
    nested = make_subvolume(home / "nested")
    for directory in (home, nested, other):
        make_twins(directory)
    mounted = mount_subvolume(filesystem, "@home", "home")
    filesystem.unmount()
    filesystem.mount_point, top = str(mounted), filesystem.mount_point

    done = check(dedupd, mounted)

    assert done.freed_bytes == 3 * MIB
    assert set(done.first.skip_of("outside")["examples"]) == {
        "<FS_TREE>/@other/one", "<FS_TREE>/@other/two"}
    assert are_shared(mounted) and are_shared(mounted / "nested")

    assert check(dedupd, mounted / "nested").freed_bytes == 0
    filesystem.mount_point = top
    filesystem.mount()
    assert check(dedupd).freed_bytes == 2 * MIB


def test_subvolumes_side_by_side_are_worked_on_together(filesystem, tree, dedupd):
    """Files of the one are opened by the mount of the other, as nothing shows both."""
    home, other, third = (make_subvolume(tree / name) for name in ("@home", "@other", "@third"))
    for directory in (home, other, third):
        write(directory / "file", noise(1, MIB))
    paths = [mount_subvolume(filesystem, name, name[1:]) for name in ("@home", "@other")]
    filesystem.unmount()
    filesystem.mount_point, top = str(paths[0]), filesystem.mount_point

    done = check(dedupd, *paths)

    assert done.freed_bytes == MIB
    assert oracle.is_shared(*(path / "file" for path in paths))
    assert done.first.skip_of("outside")["examples"] == ["<FS_TREE>/@third/file"]
    filesystem.mount_point = top
    filesystem.mount()


def test_it_makes_no_difference_which_mount_shows_a_place(filesystem, tree, dedupd):
    sub = make_subvolume(tree / "sub")
    make_twins(sub / "deep/er")
    (tree / "bound").mkdir()
    subprocess.run(["mount", "--bind", sub / "deep", tree / "bound"], check=True)
    mounted = mount_subvolume(filesystem, "sub", "mounted")

    for path in (mounted / "deep/er", tree / "bound", tree / "bound/er", mounted):
        make_twins(sub / "deep/er", seed=hash(str(path)))
        done = check(dedupd, path)
        assert done.freed_bytes == MIB, path


def test_paths_of_several_mounts_count_together(filesystem, tree, dedupd):
    sub = make_subvolume(tree / "sub")
    (tree / "directory").mkdir()
    for directory in (sub, tree / "directory", tree):
        write(directory / "file", noise(1, MIB))
    mounted = mount_subvolume(filesystem, "sub", "mounted")

    done = check(dedupd, tree / "directory", mounted)

    assert done.freed_bytes == MIB
    assert done.first.skip_of("outside")["examples"] == [str(tree / "file")]


def test_a_mount_that_is_read_only_is_refused_also_beside_another(filesystem, tree, dedupd):
    make_twins(tree / "directory")
    bound = pathlib.Path(filesystem.directory) / "bound"
    bound.mkdir()
    subprocess.run(["mount", "--bind", "-o", "ro", tree / "directory", bound], check=True)

    for paths in ((bound,), (tree, bound)):
        run = dedupd.run(*paths, find="checksums")
        assert run.status == 1
        assert f"{bound} is mounted read-only" in run.stderr
    assert check(dedupd, tree / "directory").freed_bytes == MIB


def test_a_file_that_has_no_name_any_more_pins_what_it_shows(tree, dedupd):
    for name in ("first", "second"):
        write(tree / name, noise(1, MIB))
        clone(tree / name, tree / f"{name}-gone")
    with open(tree / "first-gone", "rb"), open(tree / "second-gone", "rb"):
        for name in ("first", "second"):
            (tree / f"{name}-gone").unlink()
        harness.settle(dedupd.filesystem)
        run = dedupd.run(tree, find="checksums", exclude="x")

    assert run.status == 0, run.stderr
    assert run.freed_bytes == 0
    assert run.skipped == {"outside": 2}
    assert run.skip_of("outside")["examples"] == []
    assert check(dedupd, tree, exclude="x").freed_bytes == MIB


# /boot and the state directory


@pytest.mark.parametrize("boot", ["directory", "subvolume"])
def test_boot_is_left_alone(tree, filesystem, dedupd, boot):
    if not os.path.isdir("/boot"):
        pytest.skip("there is no /boot to mount at")
    (tree / "system").mkdir()
    if boot == "subvolume":
        make_subvolume(tree / "system/boot")
    make_twins(tree / "system/boot/grub", seed=1)
    make_twins(tree / "system", seed=2)
    harness.settle(filesystem)

    run = harness.run_where_boot_is(tree / "system/boot", dedupd, find="checksums")

    assert run.freed_bytes == MIB
    assert not are_shared(tree / "system/boot/grub")
    assert {os.path.dirname(path) for path in run.skip_of("boot")["examples"]} == {
        str(tree / "system/boot/grub")}
    assert check(dedupd).freed_bytes == MIB


@pytest.mark.parametrize("path", ["/boot", "/boot/grub"])
def test_boot_is_worked_on_when_it_is_named(tree, filesystem, dedupd, path):
    if not os.path.isdir("/boot"):
        pytest.skip("there is no /boot to mount at")
    make_twins(tree / "boot/grub")
    harness.settle(filesystem)

    run = harness.run_where_boot_is(tree / "boot", dedupd, path, find="checksums")

    assert run.freed_bytes == MIB
    assert "boot" not in run.skipped


def test_the_state_directory_is_left_alone(tree, filesystem, program):
    state = tree / "in/state"
    state.mkdir(parents=True, mode=0o700)
    dedupd = harness.Dedupd(program, state, filesystem)
    make_twins(tree / "in", seed=1)
    make_twins(state, seed=2)
    harness.settle(filesystem)

    run = dedupd.run(tree / "in", find="checksums")

    assert run.status == 0
    assert run.freed_bytes == MIB
    assert not are_shared(state)
    assert str(state) in run.skip_of("own-state")["examples"][0]


# From one pass to the next


def test_a_pass_over_everything_finds_what_limited_ones_left(tree, dedupd):
    make_twins(tree / "a", seed=1)
    make_twins(tree / "b", seed=2, names=("one.iso", "two.iso"))
    make_twins(tree / "c", 512 * KIB, seed=3)
    write(tree / "a/common", noise(4, MIB))
    write(tree / "b/common", noise(4, MIB))

    assert check(dedupd, tree / "a").freed_bytes == MIB
    assert check(dedupd, exclude=["*.iso", "b"], min_size="1M").freed_bytes == 0
    assert check(dedupd, exclude=["*.iso"], min_size="1M").freed_bytes == MIB
    assert check(dedupd, tree / "c", tree / "a").freed_bytes == 512 * KIB
    assert check(dedupd).freed_bytes == MIB


def test_what_is_renamed_into_the_pass_is_shared(tree, dedupd):
    (tree / "in").mkdir()
    make_twins(tree / "out/deep")
    assert check(dedupd, tree / "in").freed_bytes == 0
    assert check(dedupd, exclude="out").freed_bytes == 0
    (tree / "out").rename(tree / "in/moved")

    assert check(dedupd, tree / "in").freed_bytes == MIB


def test_what_is_renamed_out_of_the_pass_is_not_shared(tree, dedupd):
    (tree / "in/keep").mkdir(parents=True)
    write(tree / "in/keep/one", noise(1, MIB))
    check(dedupd, tree / "in")
    (tree / "in/keep").rename(tree / "kept")
    write(tree / "in/two", noise(1, MIB))

    done = check(dedupd, tree / "in")

    assert done.freed_bytes == 0
    assert not oracle.is_shared(tree / "kept/one", tree / "in/two")


def test_a_renamed_subvolume_is_known_by_its_new_name(tree, dedupd):
    make_twins(make_subvolume(tree / "keep"))
    assert check(dedupd, exclude="keep").freed_bytes == 0
    (tree / "keep").rename(tree / "share")

    assert check(dedupd, exclude="keep").freed_bytes == MIB


def test_a_limited_pass_after_a_full_one_has_nothing_to_do(tree, dedupd):
    for name in ("a", "b"):
        make_twins(tree / name, seed=ord(name))
    check(dedupd)

    run = dedupd.run(tree / "a", find="checksums", exclude="x")

    assert run.shared["calls"] == 0
    assert run.skipped == {}


def make_many(directory, count):
    """Pairs of equal files, each of an extent of its own, in two directories."""
    for half in ("1", "2"):
        (directory / half).mkdir(parents=True)
        for number in range(count):
            write(directory / half / f"{number}", noise(number, BLOCK))


@pytest.mark.parametrize("change", ["paths", "week"])
def test_what_was_left_in_great_numbers_is_settled_until(tree, dedupd, change):
    """... a pass has other limits, or a week is over."""
    make_many(tree / "out", TAKEN_UP + 1)
    make_twins(tree / "in")
    harness.settle(dedupd.filesystem)

    first = dedupd.run(tree / "in", find="checksums")
    assert first.freed_bytes == MIB
    assert first.skipped == {"outside": 2 * (TAKEN_UP + 1)}
    store = dedupd.store_contents()
    (tree / "out").rename(tree / "in/moved")
    second = dedupd.run(tree / "in", find="checksums")
    assert second.shared["calls"] == 0
    assert second.skipped == {}
    assert dedupd.store_contents() == store

    if change == "week":
        day, limits = dedupd.note(LIMITS_NOTE).split()
        dedupd.set_note(LIMITS_NOTE, f"{int(day) - 7} {limits}")
    third = dedupd.run(tree / "in" if change == "week" else tree, find="checksums")
    assert third.freed_bytes == (TAKEN_UP + 1) * BLOCK
    assert third.skipped == {}
    assert dedupd.note(LIMITS_NOTE) == ""


def test_what_was_left_in_small_numbers_is_not_settled(tree, dedupd):
    make_many(tree / "out", 10)
    check(dedupd, tree / "out/1")

    assert dedupd.note(LIMITS_NOTE) is None
    assert dedupd.run(tree / "out/1", find="checksums").skipped == {"outside": 10}
    assert check(dedupd, tree / "out").freed_bytes == 10 * BLOCK


class Forest:
    """Equal files all over a filesystem: in directories, a subvolume and its snapshots, cloned, linked."""

    def __init__(self, tree, seed):
        self.tree = tree
        self.random = random.Random(seed)
        self.directories = [tree / "a", tree / "a/b", tree / "c", make_subvolume(tree / "sub"),
                            tree / "sub/d", tree / "sub/d/e"]
        for directory in self.directories:
            directory.mkdir(exist_ok=True)
        self.count = 0

    def new_name(self):
        self.count += 1
        directory = self.random.choice(self.directories)
        return directory / f"{self.count}{self.random.choice(['.iso', '.txt'])}"

    def grow(self, count):
        """Add files, one extent each."""
        for _ in range(count):
            number = self.random.randrange(5)
            data = noise(number, (3 + 11 * number) * BLOCK)
            name = write(self.new_name(), data, piece=len(data))
            if self.random.random() < 0.3:
                clone(name, self.new_name())
            if self.random.random() < 0.3:
                with contextlib.suppress(OSError):  # to another subvolume
                    os.link(name, self.new_name())

    def change(self):
        """Something that changes no data."""
        if self.random.random() < 0.4:
            snapshot(self.tree / "sub", self.tree / f"s{self.count}")
        if self.random.random() < 0.5:
            old = self.random.choice([self.tree / "a", self.tree / "c"])
            new = self.tree / f"was-{old.name}-{self.count}"
            old.rename(new)
            for directory in ("a", "a/b", "c"):
                (self.tree / directory).mkdir(exist_ok=True)

    def limits(self):
        """Paths and options of a pass."""
        paths = self.random.choice([[], [], ["a"], ["sub"], ["a", "sub/d"], ["c", "sub/d/e"]])
        options = self.random.choice([{}, {}, {"exclude": "*.iso"}, {"min_size": "60K"},
                                      {"exclude": ["b", "d/e"]}, {"exclude": "a*"}])
        return [self.tree / path for path in paths], options

    def beyond(self, paths, exclude=(), min_size=None):
        """inode of each file that the pass must not touch, with where it lies."""
        globs = [exclude] if isinstance(exclude, str) else exclude
        names = collections.defaultdict(list)
        for path in self.tree.rglob("*"):
            if path.is_file():
                status = path.stat()
                names[status.st_dev, status.st_ino].append(path)
        return {key: [extent[:3] for extent in oracle.file_extents(some[0])] for key, some in names.items()
                if (min_size and some[0].stat().st_size < 60 * KIB)
                or not any(self.reaches(path, paths or [self.tree], globs) for path in some)}

    @staticmethod
    def reaches(path, roots, globs):
        def is_excluded(below):
            return any(fnmatch.fnmatchcase(str(below) if "/" in glob else below.name, glob)
                       for glob in globs)

        for root in roots:
            if path.is_relative_to(root):
                below = path.relative_to(root)
                ways = [below, *list(below.parents)[:-1]]
                if not any(is_excluded(way) for way in ways):
                    return True
        return False


@pytest.mark.parametrize("seed", SEEDS)
def test_limited_passes_keep_to_their_limits_and_leave_nothing_for_good(
        tree, filesystem, make_dedupd, seed):
    dedupd = make_dedupd(filesystem)
    forest = Forest(tree, seed)
    for number in range(4):
        forest.grow(8)
        forest.change()
        paths, options = forest.limits()
        harness.settle(filesystem)
        before = forest.beyond(paths, **options)
        check(dedupd, *paths, **options)
        after = forest.beyond(paths, **options)
        assert after == before, (paths, options)
        fresh = make_dedupd(filesystem, f"fresh-{number}")
        assert fresh.run(*paths, find="checksums", **options).freed_bytes == 0

    check(dedupd)
    assert make_dedupd(filesystem, "fresh").run(find="checksums").freed_bytes == 0


# Examples


def test_what_is_left_alone_is_named(tree, dedupd):
    write(tree / "first", noise(1, 2 * MIB))
    check(dedupd)
    write(tree / "part", noise(1, 2 * MIB)[:MIB] + noise(2, MIB))
    for number in range(8):
        write_no_cow(tree / f"plain-{number}", noise(number, MIB))

    done = check(dedupd)

    assert done.first.skipped == {"pinned": 1, "nodatacow": 8}
    assert done.first.skip_of("pinned")["examples"] == [str(tree / "part")]
    plain = done.first.skip_of("nodatacow")["examples"]
    assert len(set(plain)) == 5
    assert all(path.startswith(f"{tree}/plain-") for path in plain)


def test_what_keeps_an_extent_is_named(tree, dedupd):
    write(tree / "first", noise(1, MIB))
    check(dedupd)
    write(tree / "second", noise(1, MIB))
    clone(tree / "second", tree / "kept")
    ioctls.add_flags(tree / "kept", ioctls.FS_IMMUTABLE)
    try:
        done = check(dedupd)
    finally:
        ioctls.remove_flags(tree / "kept", ioctls.FS_IMMUTABLE)

    assert done.first.skip_of("immutable")["examples"] == [str(tree / "kept")]
