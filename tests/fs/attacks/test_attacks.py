# SPDX-License-Identifier: GPL-2.0-or-later
"""What one ordinary user can do to files of their own harms nobody: the limits of attack_limits.py hold.

Here are the known ways; test_random_attacks.py combines them.
"""

import os

import pytest

import attack_limits
import hostile_acts
from attack import Attack
from content import BLOCK, KIB, MIB, noise, write


@pytest.fixture
def filesystem(quick_disks, make_filesystem, kind):
    return make_filesystem(kind, "3G")


@pytest.fixture
def attack(filesystem, dedupd):
    return Attack(filesystem, dedupd)


def two_files_of(user, blocks, clones_of_each):
    """Two equal files, with so many references to their blocks behind their ends."""
    directory = user.make_directory("pair")
    for path in user.write_copies(directory, user.blocks(blocks), 2):
        with hostile_acts.opened(path) as fd:
            for number in range(clones_of_each):
                hostile_acts.clone(user, fd, number % blocks, 1, fd, blocks + number)


def test_very_many_references_to_few_blocks_are_not_read_again_and_again(attack):
    attack.have_user(two_files_of, 32, 60000)

    attack.check()


def clone_wholes(user, files, file_bytes, clones):
    directory = user.make_directory("clones")
    for number in range(files):
        path = user.write(directory / str(number), user.noise(file_bytes))
        with hostile_acts.opened(path) as source:
            for clone in range(clones):
                with hostile_acts.opened(f"{path}-{clone}") as target:
                    hostile_acts.clone(user, source, 0, file_bytes // BLOCK, target, 0)


@pytest.mark.parametrize(("kind", "options"),
                         [("xfs", {}), ("btrfs", {}), ("btrfs", {"find": "read"}), ("btrfs", {"compressed": "read"})],
                         ids=str)
def test_clones_do_not_let_the_store_grow_with_what_they_map(attack, options):
    """64 MiB that map 18 GiB."""
    attack.options |= options
    attack.have_user(clone_wholes, 10, 6553 * KIB // BLOCK * BLOCK, 280, seconds=20)

    attack.check()


def link_in_the_deep(user, depth, links):
    """A file of which all names are far down, and an equal one, so that it is of interest."""
    directory = user.make_directory("deep")
    data = user.blocks(40)
    user.write(directory / "copy", data)
    fd = hostile_acts.descend(user, directory, "d", depth)
    with open(os.open("0", os.O_RDWR | os.O_CREAT, 0o644, dir_fd=fd), "wb") as file:
        file.write(data)
    for number in range(1, links):
        user.spend()
        os.link("0", str(number), src_dir_fd=fd, dst_dir_fd=fd)
    os.close(fd)


@pytest.mark.parametrize(("kind", "part"), [("btrfs", "whole"), ("xfs", "whole"), ("btrfs", "exclude"),
                                            ("btrfs", "paths")])
def test_a_pass_over_many_names_far_down_ends_when_it_is_told_to(attack, part):
    """Where a pass is over a part of a btrfs, it has to find out that no name lies in that."""
    attack.options |= {"exclude": "home"} if part == "exclude" else {}
    attack.paths = [attack.tree / "root", attack.tree / "other"] if part == "paths" else []
    attack.have_user(link_in_the_deep, 15000, 30000, seconds=8)

    for _ in range(2):
        attack.stop_a_pass()
    attack.check()


def hint_at_large_extents(user, data):
    directory = user.make_directory("hints")
    for number in range(8):
        path = directory / str(number)
        with hostile_acts.opened(path) as fd:
            hostile_acts.set_hints(fd, cow_bytes=256 * MIB)
        user.write(path, data if number % 2 else data[:BLOCK])


@pytest.mark.parametrize("kind", ["xfs"])
def test_hints_at_extent_sizes_stay_with_their_owner(attack, tree):
    data = noise(5, MIB)
    for name in ("public-a", "public-b", "public-c"):
        write(tree / name, data)
    write(tree / "public-block", data[:BLOCK])
    attack.have_user(hint_at_large_extents, data)

    attack.check()

    for path in tree.glob("public-*"):
        with path.open("rb") as file:
            assert hostile_acts.get_hints(file.fileno())[3] == 0


@pytest.mark.parametrize("kind", ["xfs"])
def test_data_very_far_behind_is_shared_or_said_to_be_left_alone(attack):
    attack.have_user(hostile_acts.write_far_apart)

    attack.check()


@pytest.mark.parametrize("act", [act for act in hostile_acts.ACTS],
                         ids=[act.__name__.replace("_", "-") for act in hostile_acts.ACTS])
def test_each_act_alone_harms_nobody(attack, kind, act):
    if kind not in getattr(act, "kinds", (kind,)):
        pytest.skip(f"{kind} does not have that")
    attack.have_user(act)

    attack.check(is_stopped=False)


def test_the_service_is_small_again_after_an_attack(attack, service, tree):
    attack.have_user(two_files_of, 32, 20000)
    attack.have_user(clone_wholes, 3, 4 * MIB, 200)
    service.configure(tree, Find=attack.options["find"])
    service.start()
    service.wait_for_passes(str(tree), 1)

    costs = attack_limits.Costs()
    costs.add("memory of the service", service.resident_bytes(), attack_limits.SERVICE_RESIDENT_BYTES)
    costs.add("seconds to stop", service.end(), attack_limits.stop_seconds())

    assert not costs.missed()
