# SPDX-License-Identifier: GPL-2.0-or-later
"""What may be shared on btrfs as the user chooses: read-only snapshots, data without checksums."""

import mmap
import pathlib
import random
import subprocess
import time

import pytest

import content
import harness
import ioctls
import oracle
from content import BLOCK, KIB, MIB, noise, text, write, write_extent, write_no_cow
from harness import check_btrfs_pass as check, settle
from hindrances import leased
from subvolumes import btrfs, delete_subvolumes, is_read_only, make_subvolume, snapshot

BOTH_WAYS = pytest.mark.parametrize("find", ["checksums", "read"])


@pytest.fixture(params=["btrfs"])
def kind(request):
    return request.param


@pytest.fixture
def snapshots(tree):
    """Two read-only snapshots with a file each, equal files that nothing else shows."""
    size = 4 * MIB
    for name in ("one", "two"):
        make_subvolume(tree / name)
        write_extent(tree / name / "file", noise(1, size))
        snapshot(tree / name, tree / f"{name}-kept")
    delete_subvolumes(tree, "one", "two")
    return [tree / "one-kept/file", tree / "two-kept/file"]


@BOTH_WAYS
def test_read_only_snapshots_are_shared_onto_by_default(snapshots, dedupd, find):
    assert check(dedupd, find=find).freed_bytes == 4 * MIB
    assert oracle.is_shared(*snapshots)
    assert all(is_read_only(path.parent) for path in snapshots)


@BOTH_WAYS
def test_snapshots_that_are_sources_only_are_not_shared_onto(snapshots, dedupd, find):
    done = check(dedupd, find=find, read_only_snapshots="source")

    assert done.freed_bytes == 0
    assert done.first.skipped["read-only-snapshot"] >= 1
    assert not oracle.is_shared(*snapshots)


@BOTH_WAYS
def test_snapshots_that_are_sources_are_shared_with(tree, snapshots, dedupd, find):
    # The larger one would be the source, were it not for the policy.
    write_extent(tree / "larger", noise(1, 4 * MIB) + noise(2, MIB))
    write_extent(tree / "equal", noise(1, 4 * MIB))

    done = check(dedupd, find=find, read_only_snapshots="source")

    assert done.freed_bytes >= 4 * MIB
    assert any(oracle.is_shared(tree / "equal", path) for path in snapshots)
    assert not oracle.is_shared(*snapshots)
    assert all(is_read_only(path.parent) for path in snapshots)


@BOTH_WAYS
def test_snapshots_that_are_skipped_are_neither_target_nor_source(tree, snapshots, dedupd, find):
    write_extent(tree / "equal", noise(1, 4 * MIB))

    done = check(dedupd, find=find, read_only_snapshots="skip")

    assert done.freed_bytes == 0
    assert done.first.skipped["read-only-snapshot"] >= 1
    assert not any(oracle.is_shared(tree / "equal", path) for path in snapshots)


@BOTH_WAYS
def test_the_rest_is_shared_beside_snapshots_that_are_skipped(tree, snapshots, dedupd, find):
    for name in ("a", "b"):
        write_extent(tree / name, noise(1, 4 * MIB))

    done = check(dedupd, find=find, read_only_snapshots="skip")

    assert done.freed_bytes == 4 * MIB
    assert oracle.is_shared(tree / "a", tree / "b")
    assert not any(oracle.is_shared(tree / "a", path) for path in snapshots)


@BOTH_WAYS
@pytest.mark.parametrize("first", ["source", "skip"])
def test_what_a_change_of_policy_allows_is_found(snapshots, dedupd, find, first):
    assert check(dedupd, find=find, read_only_snapshots=first).freed_bytes == 0
    assert check(dedupd, find=find).freed_bytes == 4 * MIB
    assert oracle.is_shared(*snapshots)


@BOTH_WAYS
def test_sources_become_free_to_serve_when_no_longer_skipped(tree, snapshots, dedupd, find):
    write_extent(tree / "equal", noise(1, 4 * MIB))

    assert check(dedupd, find=find, read_only_snapshots="skip").freed_bytes == 0
    assert check(dedupd, find=find, read_only_snapshots="source").freed_bytes == 4 * MIB
    assert check(dedupd, find=find, read_only_snapshots="share").freed_bytes == 4 * MIB


def test_an_extent_that_a_snapshot_shows_too_stays_whole(tree, dedupd):
    """Its other place is not shared away either: that would free nothing."""
    write_extent(tree / "larger", noise(1, 2 * MIB) + noise(2, 64 * KIB))
    make_subvolume(tree / "sub")
    write_extent(tree / "sub/file", noise(1, 2 * MIB))
    snapshot(tree / "sub", tree / "kept")

    done = check(dedupd, read_only_snapshots="source", rewrite="never")

    assert done.freed_bytes == 0
    assert done.first.skipped == {"pinned": 1}
    assert oracle.is_shared(tree / "sub/file", tree / "kept/file")
    assert not oracle.is_shared(tree / "sub/file", tree / "larger")
    # What stays is a source for the other, whose rest is small.
    assert check(dedupd, read_only_snapshots="source").freed_bytes == 2 * MIB
    assert oracle.is_shared(tree / "sub/file", tree / "kept/file")


def test_only_read_only_snapshots_are_meant(tree, dedupd):
    make_subvolume(tree / "sub")
    write_extent(tree / "sub/file", noise(1, 2 * MIB))
    snapshot(tree / "sub", tree / "writable", read_only=False)
    write_extent(tree / "equal", noise(1, 2 * MIB))

    assert check(dedupd, read_only_snapshots="skip").freed_bytes == 2 * MIB


def test_a_skipped_snapshot_is_named(tree, snapshots, dedupd):
    run = dedupd.run(find="read", read_only_snapshots="skip")

    named = run.skip_of("read-only-snapshot")["examples"]
    assert sorted(named) == sorted(str(path.parent) for path in snapshots)


def test_a_pass_that_begins_in_a_skipped_snapshot_has_nothing_to_do(snapshots, dedupd):
    run = dedupd.run(snapshots[0].parent, read_only_snapshots="skip")

    assert run.status == 0, run.stderr
    assert run.files["seen"] == 0
    assert run.skipped == {"read-only-snapshot": 1}


@pytest.fixture
def write_no_sum(filesystem):
    """Write a file without checksums that is not overwritten in place."""
    def write_one(path, data):
        filesystem.remount("nodatasum")
        write_extent(path, data)
        filesystem.remount("datasum")
        return path
    return write_one


@BOTH_WAYS
def test_nodatacow_files_are_left_alone_by_default(tree, dedupd, find):
    for name in ("one", "two"):
        write_no_cow(tree / name, noise(1, MIB))

    done = check(dedupd, find=find)

    assert done.freed_bytes == 0
    assert done.first.skipped == {"nodatacow": 2}
    assert done.first.skip_of("nodatacow")["bytes"] == 2 * MIB
    assert done.first.read["finding_bytes"] == 0


@BOTH_WAYS
def test_nodatacow_twins_are_shared_if_that_is_wanted(tree, dedupd, find):
    for name in ("one", "two", "three"):
        write_no_cow(tree / name, noise(1, 4 * MIB))

    done = check(dedupd, find=find, no_data_cow="share")

    assert done.freed_bytes == 8 * MIB
    assert done.first.skipped == {}
    assert done.first.read["finding_bytes"] == 12 * MIB
    assert oracle.is_shared(tree / "one", tree / "two")


@BOTH_WAYS
def test_a_change_of_mind_about_nodatacow_files_is_obeyed(tree, dedupd, find):
    for name in ("one", "two"):
        write_no_cow(tree / name, noise(1, 2 * MIB))
    assert check(dedupd, find=find).freed_bytes == 0
    assert check(dedupd, find=find, no_data_cow="share").freed_bytes == 2 * MIB
    write_no_cow(tree / "three", noise(1, 2 * MIB))

    done = check(dedupd, find=find)

    assert done.freed_bytes == 0
    assert done.first.skipped == {"nodatacow": 3}
    assert done.first.read["finding_bytes"] == 0
    assert check(dedupd, find=find, no_data_cow="share").freed_bytes == 2 * MIB


def test_nodatasum_twins_are_shared_by_default(tree, write_no_sum, dedupd):
    for name in ("one", "two"):
        write_no_sum(tree / name, noise(1, 4 * MIB))

    done = check(dedupd)

    assert done.freed_bytes == 4 * MIB
    assert done.first.skipped == {}
    assert done.first.read["finding_bytes"] == 8 * MIB
    assert oracle.is_shared(tree / "one", tree / "two")


def test_shifted_data_without_checksums_is_shared(tree, write_no_sum, dedupd):
    data = noise(1, 4 * MIB)
    write_no_sum(tree / "one", data)
    write_no_sum(tree / "two", noise(2, 3 * BLOCK) + data)

    done = check(dedupd)

    assert done.first.shared["bytes"] == 4 * MIB
    # btrfs gives an extent back when all of it is unused.
    assert done.freed_bytes in (0, 4 * MIB)


def test_only_extents_that_nothing_shows_any_more_count_as_freed(tree, write_no_sum, dedupd):
    data = noise(1, 4 * MIB)
    write_no_sum(tree / "long", data + noise(2, 3 * MIB))
    write_no_sum(tree / "other", noise(3, 3 * MIB) + data)

    done = check(dedupd)

    assert done.first.shared["bytes"] == 0
    assert done.freed_bytes == 0
    assert done.first.pinned == {"uncovered": 1}


def test_what_extents_without_checksums_have_alone_is_written_anew(tree, dedupd):
    data = noise(1, 4 * MIB)
    write_no_cow(tree / "one", data)
    write_no_cow(tree / "two", data)
    settle(dedupd.filesystem)
    content.overwrite(tree / "two", 100 * BLOCK, noise(2, 3 * BLOCK))

    done = check(dedupd, no_data_cow="share")

    assert done.freed_bytes == 4 * MIB - 3 * BLOCK
    assert done.first.rewritten == {"bytes": 3 * BLOCK, "extents": 1}


def write_images(tree, write_one, data):
    """An image in one extent and in many, and copies that were written to, each in too many pieces to go."""
    write_one(tree / "image", data)
    for copy in range(3):
        changed = bytearray(data)
        for block in random.Random(copy).sample(range(len(data) // BLOCK), 140):
            changed[block * BLOCK:(block + 1) * BLOCK] = noise(copy * 10000 + block, BLOCK)
        write_one(tree / f"copy-{copy}", bytes(changed))
    for number in range(8):
        write_one(tree / f"part-{number}", data[number * MIB:(number + 1) * MIB])


@pytest.mark.parametrize("write_one", [write_extent, write_no_cow])
def test_an_image_goes_of_which_copies_have_all_in_few_pieces(tree, dedupd, write_one):
    write_images(tree, write_one, noise(1, 8 * MIB))

    done = check(dedupd, no_data_cow="share")

    # Blocks that were written to in each copy are written anew.
    assert done.first.rewritten["bytes"] <= 8 * BLOCK
    assert done.freed_bytes == 16 * MIB - done.first.rewritten["bytes"]
    assert done.first.skipped.keys() == {"pieces"}


@pytest.mark.parametrize("parts_of_copies", [False, True])
def test_an_image_goes_that_was_planned_before_its_copies(tree, filesystem, dedupd, parts_of_copies):
    """Something in common with a file that stays makes it a target.  The copies that have the rest come later.

    If others are shared with the copies, these are planned once more, but not before the image went.
    """
    data = noise(1, 8 * MIB)
    write_extent(tree / "other", data[:MIB] + noise(2, 8 * MIB))
    content.clone(tree / "other", tree / "clone")
    settle(filesystem)
    write_images(tree, write_extent, data)
    parts = 3 if parts_of_copies else 0
    for number in range(parts):
        write_extent(tree / f"part-of-{number}", (tree / f"copy-{number}").read_bytes()[4 * MIB:5 * MIB])

    done = check(dedupd)

    assert done.first.rewritten["bytes"] <= 8 * BLOCK
    assert done.freed_bytes == (16 + parts) * MIB - done.first.rewritten["bytes"]


def test_a_file_that_was_overwritten_in_place_is_found_equal_anew(tree, dedupd):
    one = write_no_cow(tree / "one", noise(1, 4 * MIB))
    two = write_no_cow(tree / "two", noise(2, 4 * MIB))
    assert check(dedupd, no_data_cow="share").freed_bytes == 0
    content.overwrite(two, 0, noise(1, 4 * MIB))

    done = check(dedupd, no_data_cow="share")

    assert done.freed_bytes == 4 * MIB
    assert done.first.read["finding_bytes"] == 4 * MIB
    assert oracle.is_shared(one, two)


def test_a_new_copy_is_shared_with_what_earlier_passes_read(tree, dedupd):
    data = noise(1, 4 * MIB)
    write_no_cow(tree / "one", data)
    assert check(dedupd, no_data_cow="share").freed_bytes == 0
    write_no_cow(tree / "two", data[:MIB] + noise(2, BLOCK) + data[MIB + BLOCK:])

    done = check(dedupd, no_data_cow="share")

    assert done.freed_bytes == 4 * MIB - BLOCK
    assert done.first.read["finding_bytes"] == 4 * MIB


def test_after_a_balance_files_without_checksums_are_read_again(tree, dedupd):
    data = noise(1, 4 * MIB)
    write_no_cow(tree / "one", data)
    assert check(dedupd, no_data_cow="share").freed_bytes == 0
    btrfs("balance", "start", "-d", tree)
    write_no_cow(tree / "two", data)

    done = check(dedupd, no_data_cow="share")

    assert done.freed_bytes == 4 * MIB
    assert done.first.read["finding_bytes"] == 8 * MIB


def test_what_was_known_before_a_file_was_overwritten_in_place_harms_nothing(tree, dedupd):
    """The sums of its extents are those of other data by the time of the sharing."""
    data = noise(1, 4 * MIB)
    write_no_cow(tree / "one", data)
    write_no_cow(tree / "two", data)
    write_no_cow(tree / "three", noise(2, 4 * MIB))
    assert check(dedupd, no_data_cow="share", min_size="8M").freed_bytes == 0
    assert check(dedupd, no_data_cow="share").freed_bytes == 4 * MIB
    content.overwrite(tree / "three", 0, data)
    content.overwrite(tree / "one", 0, noise(3, 4 * MIB))

    done = check(dedupd, no_data_cow="share")

    assert done.freed_bytes == 4 * MIB
    assert oracle.is_shared(tree / "two", tree / "three")


def test_zeros_without_checksums_are_shared_like_other_data(tree, write_no_sum, dedupd):
    data = noise(1, MIB) + bytes(2 * MIB) + noise(2, MIB)
    for name in ("one", "two"):
        write_no_sum(tree / name, data)

    assert check(dedupd).freed_bytes == 4 * MIB


def test_files_without_checksums_that_are_excluded_are_not_read(tree, write_no_sum, dedupd):
    """Not by this pass; one without limits reads and shares them."""
    for name in ("one", "two", "three.raw", "four.raw"):
        write_no_sum(tree / name, noise(1 + name.endswith("raw"), 2 * MIB))

    limited = check(dedupd, exclude="*.raw")
    assert limited.freed_bytes == 2 * MIB
    assert limited.first.read["finding_bytes"] == 4 * MIB
    whole = check(dedupd)

    assert whole.freed_bytes == 2 * MIB
    assert whole.first.read["finding_bytes"] == 4 * MIB
    assert oracle.is_shared(tree / "three.raw", tree / "four.raw")


def test_files_without_checksums_elsewhere_cost_a_limited_pass_nothing(tree, dedupd):
    """The second pass, which check() makes, writes nothing: it goes on from where the first was."""
    (tree / "in").mkdir()
    for name in ("in/one", "in/two", "out"):
        write_no_cow(tree / name, noise(1, MIB))

    limited = check(dedupd, tree / "in", no_data_cow="share")
    whole = check(dedupd, no_data_cow="share")

    assert limited.freed_bytes == MIB
    assert limited.first.read["finding_bytes"] == 2 * MIB
    assert whole.freed_bytes == MIB
    assert whole.first.read["finding_bytes"] == MIB


def test_files_without_checksums_that_were_too_small_are_looked_at_later(tree, dedupd):
    for name, size in ("one", 200 * KIB), ("two", 200 * KIB), ("large", 2 * MIB):
        write_no_cow(tree / name, noise(size, size))

    assert check(dedupd, no_data_cow="share", min_size="1M").freed_bytes == 0
    assert check(dedupd, no_data_cow="share").freed_bytes == 200 * KIB


def test_only_like_is_shared_with_like(tree, write_no_sum, dedupd):
    data = noise(1, 2 * MIB)
    for name in ("sum-1", "sum-2"):
        write_extent(tree / name, data)
    for name in ("nosum-1", "nosum-2"):
        write_no_sum(tree / name, data)
    for name in ("nocow-1", "nocow-2"):
        write_no_cow(tree / name, data)

    done = check(dedupd, no_data_cow="share")

    assert done.freed_bytes == 6 * MIB
    for kind_of_file in ("sum", "nosum", "nocow"):
        assert oracle.is_shared(tree / f"{kind_of_file}-1", tree / f"{kind_of_file}-2")
    # Six files of which each was compared with one other, if at all: nothing was tried in vain.
    assert done.first.read["compare_bytes"] <= 3 * 2 * 2 * MIB
    assert done.first.shared["differed"] == 0
    assert done.first.skipped.keys() <= {"nodatacow"}


def test_ordinary_files_beside_are_found_by_their_checksums(tree, write_no_sum, dedupd):
    write_no_sum(tree / "nosum-1", noise(1, MIB))
    write_no_sum(tree / "nosum-2", noise(1, MIB))
    content.write_twins(tree, 8 * MIB, seed=2)

    done = check(dedupd)

    assert done.freed_bytes == 9 * MIB
    assert done.first.read["finding_bytes"] == 2 * MIB
    # The extents of both kinds of files, and the two that were read.
    assert done.first.files["new"] == done.first.files["seen"] == 6
    assert done.first.files["read"] == 4


def test_a_file_that_was_rewritten_in_place_is_found_again(tree, dedupd):
    other = noise(2, 2 * MIB)
    write_no_cow(tree / "one", noise(1, 2 * MIB))
    write_no_cow(tree / "two", other)
    assert check(dedupd, no_data_cow="share").freed_bytes == 0
    content.overwrite(tree / "one", 0, other)

    done = check(dedupd, no_data_cow="share")

    assert done.freed_bytes == 2 * MIB
    assert done.first.files["changed"] == 1
    assert done.first.read["finding_bytes"] == 2 * MIB


def test_a_file_that_was_rewritten_through_memory_is_found_again(tree, write_no_sum, dedupd):
    other = noise(2, 2 * MIB)
    write_no_sum(tree / "one", noise(1, 2 * MIB))
    write_no_sum(tree / "two", other)
    assert check(dedupd).freed_bytes == 0
    with open(tree / "one", "r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        mapped[:] = other

    assert check(dedupd).freed_bytes == 2 * MIB


def test_a_file_written_just_before_the_pass_is_looked_at_again(tree, dedupd):
    """Its times may not tell that it was written once more."""
    other = noise(2, 2 * MIB)
    write_no_cow(tree / "one", noise(1, 2 * MIB))
    write_no_cow(tree / "two", other)
    for number in range(3):
        content.overwrite(tree / "one", 0, noise(3 + number, 2 * MIB))
        run = dedupd.run(find="checksums", no_data_cow="share")
        assert run.status == 0 and run.freed_bytes == 0, run.stderr
    content.overwrite(tree / "one", 0, other)

    assert check(dedupd, no_data_cow="share").freed_bytes == 2 * MIB


def test_a_file_whose_mode_changed_is_not_read_again(tree, write_no_sum, dedupd):
    path = write_no_sum(tree / "one", noise(1, MIB))
    check(dedupd)
    path.chmod(0o600)

    done = check(dedupd)

    assert done.first.files["doubted"] == 1
    assert done.first.read["finding_bytes"] == 0


def test_files_without_checksums_of_all_subvolumes_are_shared(tree, dedupd):
    make_subvolume(tree / "sub")
    make_subvolume(tree / "sub/nested")
    for directory in (tree, tree / "sub", tree / "sub/nested"):
        write_no_cow(directory / "file", noise(1, 2 * MIB))

    assert check(dedupd, no_data_cow="share").freed_bytes == 4 * MIB


def test_places_in_a_later_snapshot_are_shared_too(tree, dedupd):
    """The snapshot's inodes are as old as those that it was made of."""
    make_subvolume(tree / "sub")
    write_no_cow(tree / "sub/file", noise(1, 2 * MIB))
    assert check(dedupd, no_data_cow="share").freed_bytes == 0
    snapshot(tree / "sub", tree / "kept")
    write_no_cow(tree / "equal", noise(1, 2 * MIB))

    done = check(dedupd, no_data_cow="share")

    assert done.freed_bytes == 2 * MIB
    assert oracle.is_shared(tree / "sub/file", tree / "kept/file")
    assert oracle.is_shared(tree / "equal", tree / "kept/file")


@pytest.mark.parametrize("policy", ["source", "skip"])
def test_read_only_snapshots_without_checksums_follow_their_policy(tree, dedupd, policy):
    for name in ("one", "two"):
        make_subvolume(tree / name)
        write_no_cow(tree / name / "file", noise(1, 2 * MIB))
        snapshot(tree / name, tree / f"{name}-kept")
    delete_subvolumes(tree, "one", "two")
    write_no_cow(tree / "equal", noise(1, 2 * MIB))
    options = {"no_data_cow": "share"}

    done = check(dedupd, read_only_snapshots=policy, **options)

    assert done.freed_bytes == (2 * MIB if policy == "source" else 0)
    assert not oracle.is_shared(tree / "one-kept/file", tree / "two-kept/file")
    assert check(dedupd, **options).freed_bytes == 4 * MIB - done.freed_bytes


def test_files_that_are_gone_are_dropped_when_met(tree, write_no_sum, filesystem, dedupd):
    make_subvolume(tree / "sub")
    write_no_sum(tree / "sub/one", noise(1, MIB))
    write_no_sum(tree / "two", noise(1, MIB) + noise(2, MIB))
    write_no_sum(tree / "three", noise(3, MIB))
    check(dedupd)
    delete_subvolumes(tree, "sub")
    (tree / "two").unlink()
    for name in ("four", "five"):
        write_no_sum(tree / name, noise(1, MIB))
    harness.settle(filesystem)

    # What was to be shared with one that is gone is matched with others by the next pass.
    met = dedupd.run(find="checksums")
    done = check(dedupd)

    assert met.status == 0, met.stderr
    assert met.freed_bytes + done.freed_bytes == MIB
    assert done.first.read["finding_bytes"] == 0
    assert done.second.store["objects"] < met.store["objects"] or met.freed_bytes == MIB
    assert oracle.is_shared(tree / "four", tree / "five")


def test_a_leased_file_is_shared_by_the_next_pass(tree, write_no_sum, filesystem, dedupd):
    for name in ("one", "two"):
        write_no_sum(tree / name, noise(1, MIB))
    harness.settle(filesystem)
    with leased(tree / "one"):
        run = dedupd.run(find="checksums")
    assert run.skipped == {"leased": 1}

    assert check(dedupd).freed_bytes == MIB


def test_a_swap_file_is_known_by_what_it_begins_with(tree, dedupd):
    head = bytearray(noise(1, MIB))
    head[BLOCK - 10:BLOCK] = b"SWAPSPACE2"
    for name in ("one", "two"):
        write_no_cow(tree / name, bytes(head))

    done = check(dedupd, no_data_cow="share")

    assert done.freed_bytes == 0
    assert done.first.skipped == {"swap-file": 2}
    assert done.first.skip_of("swap-file")["examples"] == [str(tree / "one"), str(tree / "two")]


def test_space_that_is_only_reserved_still_has_no_checksums(tree, write_no_sum, dedupd):
    content.preallocate(tree / "reserved", 0, MIB)
    write_no_sum(tree / "one", noise(1, MIB))

    done = check(dedupd)

    assert done.first.skipped == {"no-checksums": 1}


def test_from_reading_to_checksums_only_files_without_are_kept(tree, write_no_sum, dedupd):
    write_extent(tree / "sum", noise(1, MIB))
    write_no_sum(tree / "nosum", noise(2, MIB))
    assert check(dedupd, find="read").first.store["objects"] == 2

    done = check(dedupd)

    assert done.first.store["objects"] == 3
    assert done.first.files["gone"] == 1
    # Its extents need sums of their own.
    assert done.first.read["finding_bytes"] == MIB
    write_no_sum(tree / "equal", noise(2, MIB))
    assert check(dedupd).freed_bytes == MIB
    assert check(dedupd, find="read").freed_bytes == 0


def test_a_dry_run_foretells_what_is_freed(tree, write_no_sum, filesystem, dedupd):
    for name in ("one", "two"):
        write_no_sum(tree / name, noise(1, 2 * MIB))
    content.write_twins(tree, MIB, seed=2, names=("three", "four"))
    harness.settle(filesystem)

    run = dedupd.run(find="checksums", dry_run=True)

    assert run.freed_bytes == 3 * MIB
    assert run.shared["calls"] == 0
    assert check(dedupd).freed_bytes == 3 * MIB


def test_killed_at_any_moment_the_next_pass_completes(tree, write_no_sum, filesystem, dedupd):
    for number in range(8):
        write_no_sum(tree / f"nosum-{number}", noise(number % 2, 2 * MIB))
        write_extent(tree / f"sum-{number}", noise(2 + number % 2, 2 * MIB))
    harness.settle(filesystem)
    before = oracle.snapshot(tree)
    used = harness.used_data_bytes(filesystem)
    for seconds in (0.02, 0.1, 0.3, 0.6, 1.0):
        filesystem.forget_data()
        process = dedupd.start(find="checksums", limit_rate="24M")
        time.sleep(seconds)
        process.kill()
        process.communicate()
        harness.assert_unchanged(before, tree)

    check(dedupd)

    assert used - harness.used_data_bytes(filesystem) == 24 * MIB


def test_dedupds_own_files_without_checksums_are_left_alone(tree, make_dedupd, filesystem):
    state = pathlib.Path(tree / "state")
    state.mkdir(mode=0o700)
    ioctls.add_flags(state, ioctls.FS_NO_COW)
    dedupd = make_dedupd(filesystem)
    dedupd.state_directory = state
    for name in ("one", "two"):
        write_no_cow(tree / name, noise(1, 2 * MIB))
    harness.settle(filesystem)

    run = dedupd.run(find="checksums", no_data_cow="share")

    assert run.status == 0, run.stderr
    assert run.freed_bytes == 2 * MIB
    assert run.store["objects"] >= 2
    again = dedupd.run(find="checksums", no_data_cow="share")
    assert again.shared["calls"] == 0
    assert again.read["finding_bytes"] == 0


@pytest.fixture
def write_compressed(filesystem):
    """Write a file that is compressed, by the algorithm that @how names."""
    def write_one(path, data, how="zstd"):
        filesystem.remount(f"compress-force={how}")
        write(path, data)
        subprocess.run(["sync", "-f", path], check=True)
        filesystem.remount("compress=no")
        return path
    return write_one


def test_a_compressed_twin_of_a_plain_file_is_found_by_reading(tree, write_compressed, dedupd):
    data = text(1, 4 * MIB)
    write_compressed(tree / "compressed", data)
    write_extent(tree / "plain", data)
    size = oracle.disk_bytes(tree / "compressed")
    assert 0 < size < 2 * MIB
    assert check(dedupd).freed_bytes == 0

    done = check(dedupd, compressed="read")

    assert done.freed_bytes == size
    assert oracle.is_shared(tree / "compressed", tree / "plain")
    # The plain one is known by its checksums.
    assert done.first.read["finding_bytes"] == 4 * MIB


def test_what_is_compressed_and_equal_in_part_is_said_to_need_reading(tree, write_compressed,
                                                                      dedupd):
    """LZO compresses each page alone, so a change leaves what is before it as it was.

    It compresses so little here that more blocks stay equal than --window needs to find them,
    whatever the store's secret makes anchors of.
    """
    data = b"".join(noise(page, BLOCK * 3 // 4) + bytes(BLOCK // 4) for page in range(32))
    write_compressed(tree / "one", data, "lzo")
    write_compressed(tree / "two", data[:-BLOCK] + text(2, BLOCK), "lzo")
    assert oracle.disk_bytes(tree / "one") < len(data)

    done = check(dedupd)

    assert done.freed_bytes == 0
    assert done.first.skipped == {"needs-reading": 1}
    read = check(dedupd, compressed="read")
    assert read.first.shared["bytes"] == len(data) - BLOCK
    assert "needs-reading" not in read.first.skipped


def test_differently_compressed_twins_are_found_by_reading(tree, write_compressed, dedupd):
    data = text(1, 4 * MIB)
    sizes = {oracle.disk_bytes(write_compressed(tree / how, data, how))
             for how in ("zstd", "zlib:9")}

    done = check(dedupd, compressed="read")

    assert done.freed_bytes in sizes
    assert oracle.is_shared(tree / "zstd", tree / "zlib:9")


def test_shifted_compressed_data_is_found_by_reading(tree, write_compressed, dedupd):
    data = text(1, 8 * MIB)
    write_compressed(tree / "one", data)
    write_compressed(tree / "two", text(2, 5 * BLOCK) + data)

    done = check(dedupd, compressed="read")

    assert done.first.shared["bytes"] >= 7 * MIB
    assert done.freed_bytes > 0


def test_a_dry_run_foretells_what_reading_frees(tree, write_compressed, filesystem, dedupd):
    """Of extents that several files show, only if all of these would be shared away."""
    data = text(1, 4 * MIB)
    write_extent(tree / "plain", data)
    for how in ("zstd", "zlib:9", "lzo"):
        write_compressed(tree / how, data, how)
    content.clone(tree / "zstd", tree / "clone")
    content.clone(tree / "zlib:9", tree / "outside")
    content.clone(tree / "lzo", tree / "longer")
    with open(tree / "longer", "ab") as longer:
        longer.write(noise(1, BLOCK))
    harness.settle(filesystem)
    freed = sum(oracle.disk_bytes(tree / how) for how in ("zstd", "lzo"))
    options = {"find": "checksums", "compressed": "read", "exclude": "outside"}

    run = dedupd.run(**options, dry_run=True)

    assert run.shared["calls"] == 0
    assert run.freed_bytes == freed
    assert harness.check_pass(dedupd, **options).freed_bytes == freed


def test_plain_files_are_only_sources_of_compressed_ones(tree, write_compressed, dedupd):
    """Among each other they are found by their extents, and shared if that frees something."""
    data = noise(1, 4 * MIB)
    write_extent(tree / "one", data + noise(2, MIB))
    write_extent(tree / "two", noise(3, MIB) + data)
    write_compressed(tree / "other", text(4, MIB))

    done = check(dedupd, compressed="read", rewrite="never")

    assert done.freed_bytes == 0
    assert done.first.shared["calls"] == 0
    assert "denied" not in done.first.skipped


def test_with_and_without_checksums_is_not_compared(tree, write_compressed, write_no_sum, dedupd):
    data = text(1, 2 * MIB)
    write_compressed(tree / "compressed", data)
    write_no_sum(tree / "nosum", data)

    done = check(dedupd, compressed="read")

    assert done.first.read["compare_bytes"] == 0
    assert done.first.shared["calls"] == 0


def test_a_file_that_is_compressed_later_is_found(tree, filesystem, dedupd):
    data = text(1, 4 * MIB)
    for name in ("one", "two"):
        write_extent(tree / name, data + noise(len(name), BLOCK))
    write_extent(tree / "three", noise(2, BLOCK) + data)
    check(dedupd, compressed="read")
    btrfs("filesystem", "defragment", "-czstd", tree / "three")

    done = check(dedupd, compressed="read")

    assert done.first.files["changed"] == 1
    assert done.first.shared["bytes"] >= 3 * MIB


def test_what_was_read_is_forgotten_when_checksums_are_to_do(tree, write_compressed, dedupd):
    write_compressed(tree / "compressed", text(1, 2 * MIB))
    write_extent(tree / "plain", noise(2, MIB))
    extents = check(dedupd).first.store["objects"]
    assert check(dedupd, compressed="read").first.store["objects"] == extents + 2

    assert check(dedupd).first.store["objects"] == extents
