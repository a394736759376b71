# SPDX-License-Identifier: GPL-2.0-or-later
"""Passes over a whole XFS whose inodes know their names, so that no directory is read for them."""

import os
import pathlib
import random

import pytest

import content
import harness
from content import MIB, noise, write
from feigned_kernel import feigning
# These hold however names are found.
from test_xfs_bulkstat import (  # noqa: F401
    assert_knows_directories, check_pass, kind, named_in_skips, settled_run, skipped_file,
    test_a_bind_mount_shows_nothing_of_what_lies_outside_it,
    test_a_deleted_file_that_is_open_is_no_file,
    test_a_file_of_the_state_directory_that_lies_elsewhere_too_is_a_file,
    test_a_file_that_loses_the_name_it_was_known_by_gets_another,
    test_a_renamed_file_has_its_new_name, test_a_renamed_tree_is_not_read_and_has_its_new_paths,
    test_a_store_from_before_learns_the_names, test_a_tree_moved_into_another_directory_has_its_new_paths,
    test_a_whole_filesystem_is_listed_by_its_inodes, test_deleted_directories_are_forgotten,
    test_every_kind_of_inode_is_told_apart, test_hard_links_are_one_file,
    test_links_to_all_files_read_nothing,
    test_names_of_what_an_interrupted_pass_did_not_read_are_found_by_the_next,
    test_new_trees_are_learned_with_their_names,
    test_the_state_directory_on_the_filesystem_is_left_out,
    test_what_a_mount_hides_is_part_of_the_filesystem,
    test_what_was_walked_and_what_was_listed_is_the_same)

SWAP_SIGNATURE = b"SWAPSPACE2"


@pytest.fixture(name="filesystem")
def filesystem_fixture(make_filesystem):
    return make_filesystem("xfs", knows_names=True)


def make_swap(path):
    """A file that each pass names, since it is left alone."""
    write(path, noise(9, MIB))
    content.overwrite(path, os.sysconf("SC_PAGESIZE") - 10, SWAP_SIGNATURE)
    return path


def test_no_directory_is_read_for_names(tree, filesystem, dedupd):
    (tree / "a/b").mkdir(parents=True)
    content.write_twins(tree / "a/b", MIB)
    swap = make_swap(tree / "a/swap")
    (tree / "a/b/empty").touch()

    with feigning(dedupd, FEIGN_UNREADABLE_DIRECTORIES="1"):
        run = settled_run(filesystem, dedupd)

    assert run.freed_bytes == MIB
    assert named_in_skips(run, "swap-file") == {str(swap)}
    assert named_in_skips(run, "small") == {str(tree / "a/b/empty")}
    assert_knows_directories(dedupd, tree)


def test_where_the_kernel_cannot_be_asked_directories_are_read(tree, dedupd):
    (tree / "a/b").mkdir(parents=True)
    content.write_twins(tree / "a/b", MIB)
    swap = make_swap(tree / "a/swap")

    with feigning(dedupd, FEIGN_OLD_KERNEL="1"):
        done = check_pass(dedupd)

    assert done.freed_bytes == MIB
    assert done.first.stderr.count("\n") <= 2 and "names" not in done.first.stderr
    assert named_in_skips(done.first, "swap-file") == {str(swap)}
    assert_knows_directories(dedupd, tree)


@pytest.mark.parametrize("old_first", [False, True])
def test_kernels_may_take_turns(tree, filesystem, dedupd, old_first):
    """One that can be asked, and one that cannot, over one store."""
    (tree / "a/b").mkdir(parents=True)
    swap = make_swap(tree / "a/b/swap")
    names = [swap]

    for turn in range(4):
        if (turn % 2 == 0) == old_first:
            with feigning(dedupd, FEIGN_OLD_KERNEL="1"):
                run = settled_run(filesystem, dedupd)
        else:
            run = settled_run(filesystem, dedupd)

        assert named_in_skips(run, "swap-file") == {str(path) for path in names}
        assert_knows_directories(dedupd, tree)
        (tree / f"new-{turn}/deep").mkdir(parents=True)
        names[0] = names[0].rename(tree / f"new-{turn}/deep/swap")
        (tree / f"new-{turn}").rename(tree / f"renamed-{turn}")
        names[0] = tree / f"renamed-{turn}/deep/swap"
        names.append(make_swap(tree / f"renamed-{turn}/other"))


def test_where_most_of_many_files_want_names_directories_are_read(tree, filesystem, dedupd):
    """And again where few do."""
    for number in range(1300):
        (tree / f"{number % 20}").mkdir(exist_ok=True)
        write(tree / f"{number % 20}/{number}", number.to_bytes(2, "big"))
    swap = make_swap(tree / "7/swap")
    state = tree / "state"
    state.mkdir(mode=0o700)
    dedupd.state_directory = state

    many = settled_run(filesystem, dedupd)
    moved = swap.rename(tree / "8/swap")
    few = settled_run(filesystem, dedupd)
    before = dedupd.store_contents()
    none = settled_run(filesystem, dedupd)

    assert many.files["read"] == 1300 and few.files["read"] == 0
    assert named_in_skips(many, "swap-file") == {str(swap)}
    assert named_in_skips(few, "swap-file") == {str(moved)}
    assert named_in_skips(few, "own-state") == {str(state)}
    assert none.files["unchanged"] == 1301
    assert dedupd.store_contents() == before


def test_a_file_with_very_many_and_long_names_has_one_of_them(tree, filesystem, dedupd):
    """More of them than one call of the kernel gives."""
    swap = make_swap(tree / "swap")
    chance = random.Random(1)
    links = [swap]
    for number in range(200):
        directory = tree / f"{number % 7}"
        directory.mkdir(exist_ok=True)
        name = b"%d-" % number + chance.randbytes(200).replace(b"/", b"-").replace(b"\0", b"-")
        links.append(pathlib.Path(os.fsdecode(os.path.join(os.fsencode(directory), name))))
        os.link(swap, links[-1])

    first = settled_run(filesystem, dedupd)
    for link in links[1:]:
        link.unlink()
    second = settled_run(filesystem, dedupd)

    assert first.skipped == second.skipped == {"swap-file": 1}
    assert first.files["seen"] == 1
    assert named_in_skips(second, "swap-file") == {str(swap)}
    assert_knows_directories(dedupd, tree)


def test_a_file_that_is_deleted_while_it_is_listed_has_no_name(tree, filesystem, dedupd):
    """It is open, so that its inode is there, with no name to be asked for."""
    content.write_twins(tree, MIB)
    with open(tree / "deleted", "wb+") as file:
        file.write(noise(1, MIB))
        file.flush()
        (tree / "deleted").unlink()

        run = settled_run(filesystem, dedupd)

    assert run.status == 0
    assert run.files["seen"] == 2


def test_most_files_are_found_equal_wherever_they_lie(tree, dedupd):
    """Names are what files are opened by where handles do not serve."""
    for number in range(60):
        (tree / f"{number % 6}/{number % 4}").mkdir(parents=True, exist_ok=True)
        write(tree / f"{number % 6}/{number % 4}/{number}", noise(number % 30, 64 << 10))

    done = harness.check_pass(dedupd)

    assert done.first.inventory["by"] == "bulkstat"
    assert done.freed_bytes == 30 * (64 << 10)
    assert_knows_directories(dedupd, tree)
