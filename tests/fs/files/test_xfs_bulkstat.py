# SPDX-License-Identifier: GPL-2.0-or-later
"""Passes over a whole XFS, which list its inodes and walk no names."""

import contextlib
import os
import pathlib
import random
import shutil
import signal
import sqlite3
import subprocess
import time

import pytest

import content
import damage
import harness
import ioctls
import oracle
from content import MIB, noise, write
from filesystem import CommandFailed

BULKSTAT = {"by": "bulkstat", "reason": None}


@pytest.fixture
def kind():
    return "xfs"


def check_pass(dedupd, **options):
    done = harness.check_pass(dedupd, **options)
    assert done.first.inventory == BULKSTAT
    assert done.second.inventory == BULKSTAT
    return done


def settled_run(filesystem, dedupd, *paths, **options):
    """A pass over what is old enough to be trusted."""
    harness.settle(filesystem)
    run = dedupd.run(*paths, **options)
    assert run.status == 0, run.stderr
    return run


def assert_found_by_walking(run, why):
    assert run.status == 0, run.stderr
    assert run.inventory["by"] == "walk"
    assert why in run.inventory["reason"]


def stored_paths(dedupd):
    """Inode -> path of all directories that the store knows."""
    with contextlib.closing(sqlite3.connect(dedupd.store_path)) as database:
        rows = {inode: (parent, os.fsdecode(name)) for inode, parent, name in
                database.execute("SELECT inode, parent, name FROM directory")}

    def path(inode):
        parent, name = rows[inode]
        return pathlib.Path(name) if parent == 0 else path(parent) / name
    return {inode: path(inode) for inode in rows}


def assert_knows_directories(dedupd, tree):
    """The store has every directory below @tree at its path, and no other."""
    actual = {os.stat(path).st_ino: pathlib.Path(path) for path, _, _ in os.walk(tree)}
    assert stored_paths(dedupd) == actual


def named_in_skips(run, reason):
    return set(run.skip_of(reason)["examples"])


# Numbers in the record of an object, seven bits a byte, the low ones first; hashstore/objects/object-record.c.
GENERATION, DOUBTED_DAY = 1, 5
MTIME_PLACE, MTIME_BYTES = 3, 8


def number_end(record, place):
    while record[place] & 0x80:
        place += 1
    return place + 1


def change_record(dedupd, path, number, change):
    """Have the store know another number of the file."""
    with contextlib.closing(sqlite3.connect(dedupd.store_path)) as database, database:
        key = [path.stat().st_ino]
        record = database.execute("SELECT record FROM object WHERE inode = ?", key).fetchone()[0]
        place = 0
        for skipped in range(number):
            place = number_end(record, place)
            if skipped + 1 == MTIME_PLACE:
                place += MTIME_BYTES
        end = number_end(record, place)
        old = sum((byte & 0x7f) << 7 * n for n, byte in enumerate(record[place:end]))
        new, changed = change(old), b""
        while new >= 0x80:
            changed += bytes([new & 0x7f | 0x80])
            new >>= 7
        changed += bytes([new])
        database.execute("UPDATE object SET record = ? WHERE inode = ?",
                         [record[:place] + changed + record[end:], *key])


@pytest.fixture
def skipped_file(tree):
    """A file that each pass names, since it is left alone: a swap file."""
    (tree / "a/b").mkdir(parents=True)
    path = tree / "a/b/swap"
    write(path, noise(9, MIB))
    content.overwrite(path, os.sysconf("SC_PAGESIZE") - 10, b"SWAPSPACE2")
    return path


def test_a_whole_filesystem_is_listed_by_its_inodes(tree, dedupd):
    (tree / "a/b").mkdir(parents=True)
    content.write_twins(tree / "a/b", MIB)

    done = check_pass(dedupd)

    assert done.first.files["seen"] == 2
    assert done.freed_bytes == MIB
    assert_knows_directories(dedupd, tree)


def test_every_kind_of_inode_is_told_apart(tree, dedupd):
    content.write_twins(tree, MIB)
    os.symlink("one", tree / "link")
    os.mkfifo(tree / "fifo")
    (tree / "empty").touch()
    (tree / "directory").mkdir()

    done = check_pass(dedupd)

    assert done.first.files["seen"] == 2
    assert done.first.skipped == {"special": 2, "small": 1}
    assert named_in_skips(done.first, "special") == {str(tree / "link"), str(tree / "fifo")}
    assert named_in_skips(done.first, "small") == {str(tree / "empty")}
    assert done.second.skipped == done.first.skipped


def test_a_renamed_tree_is_not_read_and_has_its_new_paths(tree, filesystem, dedupd, skipped_file):
    content.write_twins(tree / "a/b", MIB)
    check_pass(dedupd)

    os.rename(tree / "a", tree / "renamed")
    done = check_pass(dedupd)

    assert done.first.files["unchanged"] == 3
    assert done.first.read["finding_bytes"] == 0
    assert named_in_skips(done.first, "swap-file") == {str(tree / "renamed/b/swap")}
    assert_knows_directories(dedupd, tree)


def test_a_tree_moved_into_another_directory_has_its_new_paths(tree, dedupd, skipped_file):
    for number in range(20):
        (tree / f"other/{number}/deep").mkdir(parents=True)
    check_pass(dedupd)

    os.rename(tree / "a", tree / "other/7/deep/a")
    os.rename(tree / "other/3", tree / "third")
    done = check_pass(dedupd)

    assert named_in_skips(done.first, "swap-file") == {str(tree / "other/7/deep/a/b/swap")}
    assert_knows_directories(dedupd, tree)


def test_a_renamed_file_has_its_new_name(tree, dedupd, skipped_file):
    check_pass(dedupd)

    os.rename(skipped_file, tree / "moved")
    done = check_pass(dedupd)

    assert named_in_skips(done.first, "swap-file") == {str(tree / "moved")}


def test_deleted_directories_are_forgotten(tree, dedupd):
    (tree / "a/b/c").mkdir(parents=True)
    content.write_twins(tree / "a/b/c", MIB)
    content.write_twins(tree, MIB, seed=2)
    check_pass(dedupd)

    shutil.rmtree(tree / "a")
    done = check_pass(dedupd)

    assert done.first.files["gone"] == 2
    assert_knows_directories(dedupd, tree)


def test_new_trees_are_learned_with_their_names(tree, dedupd):
    content.write_twins(tree, MIB)
    check_pass(dedupd)

    for number in range(30):
        (tree / f"new/{number}/x/y").mkdir(parents=True)
    (tree / "new/13/x/y/empty").touch()
    done = check_pass(dedupd)

    assert named_in_skips(done.first, "small") == {str(tree / "new/13/x/y/empty")}
    assert_knows_directories(dedupd, tree)


def test_a_file_that_loses_the_name_it_was_known_by_gets_another(tree, dedupd):
    """The other name lies in a directory that did not change."""
    (tree / "a").mkdir()
    (tree / "z").mkdir()
    path = write(tree / "a/name", noise(1, MIB))
    write(tree / "z/twin", noise(1, MIB))
    os.link(path, tree / "z/other-name")
    check_pass(dedupd)
    path.unlink()
    settled = check_pass(dedupd)
    assert settled.first.files["doubted"] == 1

    # It is named when it is left alone.
    content.overwrite(tree / "z/other-name", os.sysconf("SC_PAGESIZE") - 10, b"SWAPSPACE2")
    done = check_pass(dedupd)

    assert named_in_skips(done.first, "swap-file") == {str(tree / "z/other-name")}


def test_an_inode_that_is_used_again_is_read_again(tree, filesystem, dedupd):
    (tree / "keep").mkdir()
    content.write_twins(tree / "keep", MIB)
    old = write(tree / "file", noise(1, MIB))
    settled_run(filesystem, dedupd)
    before = old.stat()

    old.unlink()
    new = write(tree / "file", noise(2, MIB))
    os.utime(new, ns=(before.st_atime_ns, before.st_mtime_ns))
    if new.stat().st_ino != before.st_ino:
        pytest.skip("this kernel does not use the inode again")
    run = settled_run(filesystem, dedupd)

    assert run.files["changed"] == 1
    assert run.files["read"] == 1


def test_another_generation_alone_is_another_file(tree, filesystem, dedupd):
    """As where a clock was set back: all times are those that are known."""
    path = write(tree / "file", noise(1, MIB))
    content.write_twins(tree, MIB, seed=2)
    settled_run(filesystem, dedupd)
    change_record(dedupd, path, GENERATION, lambda generation: generation ^ 1)

    run = settled_run(filesystem, dedupd)

    assert run.files["changed"] == 1
    assert run.files["unchanged"] == 2


def test_hard_links_are_one_file(tree, dedupd):
    one = write(tree / "one", noise(1, MIB))
    (tree / "links").mkdir()
    for number in range(5):
        os.link(one, tree / f"links/{number}")
    write(tree / "two", noise(1, MIB))

    done = check_pass(dedupd)

    assert done.first.files["seen"] == 2
    assert done.freed_bytes == MIB


def test_links_to_all_files_read_nothing(tree, dedupd):
    (tree / "tree/sub").mkdir(parents=True)
    for number in range(50):
        write(tree / f"tree/sub/{number}", noise(number, 8192))
    check_pass(dedupd)

    subprocess.run(["cp", "-al", tree / "tree", tree / "copy"], check=True)
    done = check_pass(dedupd)

    assert done.first.files["doubted"] == 50
    assert done.first.read["finding_bytes"] == 0
    assert_knows_directories(dedupd, tree)


@pytest.mark.parametrize("rmapbt", [0, 1])
def test_files_are_read_in_the_order_of_the_disk(make_filesystem, make_dedupd, rmapbt):
    """Whether their places come from a map of all data, or one by one."""
    filesystem = make_filesystem("xfs", mkfs_options=["-m", f"reflink=1,rmapbt={rmapbt}"])
    tree = pathlib.Path(filesystem.mount_point)
    dedupd = make_dedupd(filesystem)
    names = [f"{number}" for number in range(40)]
    for name in names:
        (tree / name).touch()
    for name in random.Random(1).sample(names, len(names)):
        write(tree / name, noise(int(name) % 30, 64 << 10), piece=64 << 10)

    ioctls.sync(tree)
    starts = {name: oracle.file_extents(tree / name)[0].physical for name in names}
    assert sorted(names, key=starts.get) != names

    done = check_pass(dedupd)

    assert done.freed_bytes == 10 * (64 << 10)
    ids = ids_by_inode(dedupd)
    by_place = [ids[(tree / name).stat().st_ino] for name in sorted(names, key=starts.get)]
    assert by_place == sorted(by_place)


def ids_by_inode(dedupd):
    """Ids are given as files are read."""
    with contextlib.closing(sqlite3.connect(dedupd.store_path)) as database:
        return dict(database.execute("SELECT inode, id FROM object"))


def test_changed_owners_read_nothing(tree, dedupd):
    (tree / "tree/sub").mkdir(parents=True)
    for number in range(50):
        write(tree / f"tree/sub/{number}", noise(number, 8192))
    check_pass(dedupd)

    subprocess.run(["chown", "-R", "12345", tree / "tree"], check=True)
    done = check_pass(dedupd)

    assert done.first.files["doubted"] == 50
    assert done.first.read["finding_bytes"] == 0


def test_a_deleted_file_that_is_open_is_no_file(tree, dedupd):
    content.write_twins(tree, MIB)
    with open(tree / "deleted", "wb+") as file:
        file.write(noise(1, MIB))
        file.flush()
        (tree / "deleted").unlink()

        done = check_pass(dedupd)

    assert done.first.files["seen"] == 2


def test_inodes_of_quotas_are_no_files(make_filesystem, make_dedupd):
    try:
        filesystem = make_filesystem("xfs", mount_options=["uquota", "gquota", "pquota"])
    except CommandFailed:
        pytest.skip("this kernel knows no quotas of XFS")
    tree = pathlib.Path(filesystem.mount_point)
    content.write_twins(tree, MIB)

    done = check_pass(make_dedupd(filesystem))

    assert done.first.files["seen"] == 2
    assert done.first.skipped == {}


def test_a_file_with_its_mtime_set_back_is_found_in_time(tree, filesystem, dedupd):
    """It is doubted at once, and read again within the month."""
    path = write(tree / "file", noise(1, MIB))
    settled_run(filesystem, dedupd)
    before = path.stat()
    content.overwrite(path, 0, noise(2, 4096))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    run = settled_run(filesystem, dedupd)
    change_record(dedupd, path, DOUBTED_DAY, lambda day: day - 32)
    a_month_later = dedupd.run()

    assert run.files["doubted"] == 1 and run.files["read"] == 0
    assert a_month_later.files["changed"] == 1 and a_month_later.files["read"] == 1


def test_data_that_is_not_on_the_disk_yet_counts(tree, filesystem, dedupd):
    """The sizes that come with the inodes are those on the disk."""
    for name in ("one", "two"):
        with open(tree / name, "wb") as file:
            file.write(noise(1, MIB))

    first = dedupd.run()
    again = settled_run(filesystem, dedupd)

    assert first.files["seen"] == 2
    assert "small" not in first.skipped and "changed" not in first.skipped
    assert first.freed_bytes + again.freed_bytes == MIB


def test_small_files_that_grew_and_are_not_on_the_disk_yet_are_not_small(tree, dedupd):
    with open(tree / "file", "wb") as file:
        file.write(noise(1, MIB))

    run = dedupd.run(min_size="512K")

    assert run.files["seen"] == 1
    assert run.skipped == {}


def test_excluded_paths_have_names_walked(tree, filesystem, dedupd):
    (tree / "in").mkdir()
    (tree / "out").mkdir()
    content.write_twins(tree / "in", MIB)
    content.write_twins(tree / "out", MIB, seed=2)

    run = settled_run(filesystem, dedupd, exclude="out")

    assert_found_by_walking(run, "--exclude")
    assert run.files["seen"] == 2
    assert run.skipped == {"excluded": 1}
    assert not oracle.is_shared(tree / "out/one", tree / "out/two")


def test_what_was_walked_and_what_was_listed_is_the_same(tree, filesystem, dedupd):
    (tree / "a/b").mkdir(parents=True)
    content.write_twins(tree / "a/b", MIB)
    walked = settled_run(filesystem, dedupd, exclude="nothing")

    listed = check_pass(dedupd)
    again = dedupd.run(exclude="nothing")

    assert walked.files["read"] == 2
    assert listed.first.files == walked.files | {"new": 0, "read": 0, "unchanged": 2}
    assert again.files == listed.first.files
    assert_knows_directories(dedupd, tree)


def test_a_subtree_is_walked(tree, filesystem, dedupd):
    (tree / "in").mkdir()
    content.write_twins(tree / "in", MIB)
    content.write_twins(tree, MIB, seed=2)

    run = settled_run(filesystem, dedupd, tree / "in")

    assert_found_by_walking(run, "a part of the filesystem")
    assert run.files["seen"] == 2
    assert not oracle.is_shared(tree / "one", tree / "two")


def mount(*arguments):
    subprocess.run(["mount", *map(str, arguments)], check=True)


def test_a_bind_mount_shows_nothing_of_what_lies_outside_it(tree, filesystem, dedupd):
    (tree / "in").mkdir()
    content.write_twins(tree / "in", MIB)
    content.write_twins(tree, MIB, seed=2)
    bound = pathlib.Path(filesystem.directory) / "bound"
    bound.mkdir()
    mount("--bind", tree / "in", bound)

    run = settled_run(filesystem, dedupd, bound)

    assert_found_by_walking(run, "a part of the filesystem")
    assert run.files["seen"] == 2
    assert not oracle.is_shared(tree / "one", tree / "two")


def test_what_a_mount_hides_is_part_of_the_filesystem(tree, filesystem, dedupd):
    (tree / "hidden/deeper").mkdir(parents=True)
    content.write_twins(tree / "hidden/deeper", MIB)
    (tree / "hidden/deeper/empty").touch()
    mount("-t", "tmpfs", "none", tree / "hidden")

    run = settled_run(filesystem, dedupd)

    assert run.inventory == BULKSTAT
    assert run.files["seen"] == 2
    assert run.freed_bytes == MIB
    assert named_in_skips(run, "small") == {str(tree / "hidden/deeper/empty")}
    assert named_in_skips(run, "other-mount") == {str(tree / "hidden")}


def test_without_privilege_names_are_walked(tree, filesystem, users_dedupd):
    content.write_twins(tree, MIB)
    os.chmod(tree, 0o755)
    for name in ("one", "two"):
        os.chown(tree / name, harness.USER, harness.USER)

    run = settled_run(filesystem, users_dedupd, user=harness.USER)

    assert_found_by_walking(run, "not permitted")
    assert run.freed_bytes == MIB


def test_the_state_directory_on_the_filesystem_is_left_out(tree, filesystem, dedupd):
    state = tree / "var/state"
    state.mkdir(parents=True, mode=0o700)
    content.write_twins(tree, MIB)
    dedupd.state_directory = state

    first = settled_run(filesystem, dedupd)
    second = settled_run(filesystem, dedupd)
    before = dedupd.store_contents()
    third = settled_run(filesystem, dedupd)

    assert first.inventory == BULKSTAT
    assert [run.files["seen"] for run in (first, second, third)] == [2, 2, 2]
    assert named_in_skips(first, "own-state") == {str(state)}
    assert third.skipped == {"own-state": 1}
    assert dedupd.store_contents() == before


def test_a_file_of_the_state_directory_that_lies_elsewhere_too_is_a_file(tree, filesystem, dedupd):
    state = tree / "state"
    state.mkdir(mode=0o700)
    one, _ = content.write_twins(tree, MIB)
    os.link(one, state / "link")
    write(state / "only-here", noise(1, MIB))
    dedupd.state_directory = state

    run = settled_run(filesystem, dedupd)

    assert run.files["seen"] == 2


def test_a_store_from_before_learns_the_names(tree, filesystem, dedupd, skipped_file):
    settled_run(filesystem, dedupd)
    with contextlib.closing(sqlite3.connect(dedupd.store_path)) as database, database:
        database.execute("DELETE FROM directory")

    os.rename(skipped_file, tree / "a/swap")
    done = check_pass(dedupd)

    assert named_in_skips(done.first, "swap-file") == {str(tree / "a/swap")}
    assert_knows_directories(dedupd, tree)


def test_names_of_what_an_interrupted_pass_did_not_read_are_found_by_the_next(
        tree, filesystem, dedupd):
    """Their directories are known already, and did not change since."""
    (tree / "a").mkdir()
    for number in range(4):
        write(tree / f"a/{number}", noise(number, 8 * MIB))
    swap = write(tree / "a/swap", noise(9, MIB))
    content.overwrite(swap, os.sysconf("SC_PAGESIZE") - 10, b"SWAPSPACE2")
    harness.settle(filesystem)
    filesystem.forget_data()
    process = dedupd.start(limit_rate="8M")
    time.sleep(1.5)
    process.send_signal(signal.SIGINT)
    interrupted = dedupd.finish(process)
    if interrupted.status != 130 or "swap-file" in interrupted.skipped:
        pytest.skip("it came further than it was to")

    run = dedupd.run()

    assert run.files["new"] > 0
    assert named_in_skips(run, "swap-file") == {str(swap)}


def test_an_unchanged_filesystem_is_left_dirty(tree, filesystem, dedupd):
    """What is not written yet is written out only where something is to be read."""
    content.write_twins(tree, MIB)
    check_pass(dedupd)
    (tree / "empty").touch()

    run = dedupd.run()

    assert run.files["read"] == 0
    assert run.skipped == {"small": 1}


def test_where_inodes_cannot_be_listed_to_their_end_names_are_walked(tree, filesystem, dedupd):
    """A damaged inode ends the list; all but what lies beside it on the disk is worked on."""
    (tree / "victims").mkdir()
    victims = [write(tree / f"victims/{number}", noise(number, 4096)) for number in range(200)]
    (tree / "late").mkdir()
    content.write_twins(tree / "late", MIB)
    os.symlink("nothing", tree / "link")
    inode = victims[100].stat().st_ino
    harness.settle(filesystem)
    damage.set_inode_magic(filesystem, inode, 0)

    run = dedupd.run()
    damage.set_inode_magic(filesystem, inode, damage.XFS_INODE_MAGIC)
    later = dedupd.run()

    assert_found_by_walking(run, "could not be listed to their end")
    assert 100 < run.files["seen"] < 202
    assert run.freed_bytes == MIB
    assert run.skipped["special"] == 1
    assert later.inventory == BULKSTAT
    assert later.files["seen"] == 202
    assert later.files["gone"] == 0
