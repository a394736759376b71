# SPDX-License-Identifier: GPL-2.0-or-later
"""An ordinary user works on what is theirs, and no more."""

import os

import pytest

import content
import harness
import oracle
from content import MIB, noise, write
from harness import USER

OTHER = 65532


@pytest.fixture
def dedupd(users_dedupd, filesystem):
    filesystem.remount("noatime")  # Files of others cannot be read without moving their atime.
    return users_dedupd


def give(owner, *paths, mode=0o644):
    for path in paths:
        os.chown(path, owner, owner)
        os.chmod(path, mode)


def test_a_user_shares_their_own_files(tree, dedupd):
    give(USER, *content.write_twins(tree, MIB))
    give(USER, write(tree / "shifted", noise(2, 4096) + noise(1, MIB)), mode=0o400)

    done = harness.check_pass(dedupd, user=USER)

    assert done.freed_bytes >= MIB


def test_files_of_others_are_left_alone(tree, dedupd):
    give(OTHER, *content.write_twins(tree, MIB))

    done = harness.check_pass(dedupd, user=USER)

    assert done.freed_bytes == 0
    assert done.first.skipped["denied"] >= 1


@pytest.mark.parametrize("own", [0, 1])
def test_a_readable_file_of_another_is_a_source_for_ones_own(tree, dedupd, own):
    twins = content.write_twins(tree, MIB)
    give(OTHER, twins[1 - own])
    give(USER, twins[own])

    done = harness.check_pass(dedupd, user=USER)

    assert done.freed_bytes == MIB
    assert "denied" not in done.first.skipped


@pytest.mark.parametrize("kind", ["xfs"])
@pytest.mark.parametrize("own", [0, 5, 11])
def test_ones_own_files_are_shared_among_many_of_others(tree, dedupd, own):
    twins = content.write_twins(tree, MIB, names="abcdefghijkl")
    give(OTHER, *twins)
    give(USER, twins[own])

    done = harness.check_pass(dedupd, user=USER)

    assert done.freed_bytes == MIB


def test_zeros_in_files_of_others_stay(tree, dedupd):
    give(OTHER, write(tree / "file", bytes(MIB)))

    done = harness.check_pass(dedupd, user=USER, zeros="hole")

    assert done.freed_bytes == 0
    assert done.first.skipped == {"denied": 1}


def own_directory(tree, name):
    directory = tree / name
    directory.mkdir()
    os.chown(directory, USER, USER)
    return directory


def test_zeros_become_holes_where_one_may_write(tree, dedupd):
    home = own_directory(tree, "home")
    give(USER, write(home / "file", noise(1, MIB) + bytes(4 * MIB)))
    give(USER, write(home / "odd", bytes(MIB + 5)))

    done = harness.check_pass(dedupd, user=USER, zeros="hole")

    assert done.freed_bytes == 5 * MIB + 4096
    assert done.first.skipped == {}


def test_zeros_elsewhere_become_holes_by_a_file_in_ones_own_path(tree, dedupd):
    home = own_directory(tree, "home")
    (tree / "elsewhere").mkdir()
    give(USER, write(tree / "elsewhere/file", noise(1, MIB) + bytes(4 * MIB)))

    done = harness.check_pass(dedupd, paths=[tree / "elsewhere", home], user=USER, zeros="hole")

    assert done.freed_bytes == 4 * MIB


def test_zeros_stay_where_no_temporary_file_can_be_made(tree, dedupd):
    give(USER, write(tree / "file", noise(1, MIB) + bytes(4 * MIB)))

    done = harness.check_pass(dedupd, user=USER, zeros="hole")

    assert done.freed_bytes == 0
    assert done.first.skipped == {"no-temporary-file": 1}
    assert done.first.skip_of("no-temporary-file")["examples"] == [str(tree / "file")]


def test_files_of_others_that_one_may_write_are_shared(tree, dedupd):
    give(OTHER, *content.write_twins(tree, MIB), mode=0o666)

    done = harness.check_pass(dedupd, user=USER)

    assert done.freed_bytes == MIB


@pytest.mark.parametrize("own", [0, 1])
def test_a_file_that_became_ones_own_is_shared_without_being_read(tree, dedupd, own):
    twins = content.write_twins(tree, MIB)
    give(OTHER, *twins)
    assert harness.check_pass(dedupd, user=USER).freed_bytes == 0

    give(USER, twins[own])
    done = harness.check_pass(dedupd, user=USER)

    assert done.first.read["finding_bytes"] == 0
    assert done.freed_bytes == MIB


def test_a_file_that_was_given_away_is_left_alone(tree, dedupd):
    twins = content.write_twins(tree, MIB)
    give(USER, *twins)
    harness.settle(dedupd.filesystem)
    assert dedupd.run(user=USER, dry_run=True).freed_bytes == MIB

    give(OTHER, *twins)
    done = harness.check_pass(dedupd, user=USER)

    assert done.first.read["finding_bytes"] == 0
    assert done.freed_bytes == 0


def test_root_finds_in_the_store_of_a_user_what_it_may_share(tree, dedupd):
    give(OTHER, *content.write_twins(tree, MIB))
    give(USER, write(tree / "own", noise(3, MIB)))
    assert harness.check_pass(dedupd, user=USER).freed_bytes == 0
    # Root writes into no directory that another user owns.
    for path in (dedupd.state_directory, *dedupd.state_directory.iterdir()):
        os.chown(path, 0, 0)

    done = harness.check_pass(dedupd)

    assert done.first.read["finding_bytes"] == 0
    assert done.freed_bytes == MIB


@pytest.mark.parametrize("kind", ["xfs"])
@pytest.mark.parametrize("unreadable", [1, 2, 3, 4])
def test_unreadable_members_of_a_group_do_not_hold_up_the_rest(tree, dedupd, unreadable):
    paths = content.write_twins(tree, MIB, names="abcd")
    give(USER, *paths[unreadable:])
    give(OTHER, *paths[:unreadable], mode=0o600)

    done = harness.check_pass(dedupd, user=USER)

    assert done.freed_bytes == max(0, 3 - unreadable) * MIB
    assert done.first.skipped["denied"] == unreadable


def test_an_unreadable_directory_is_counted(tree, dedupd):
    (tree / "closed").mkdir(mode=0o700)
    content.write_twins(tree / "closed", MIB)
    give(USER, *content.write_twins(tree, MIB))

    done = harness.check_pass(dedupd, user=USER)

    assert done.first.skip_of("denied")["examples"] == [str(tree / "closed")]
    assert done.freed_bytes == MIB
    assert not oracle.is_shared(tree / "closed/one", tree / "closed/two")
