# SPDX-License-Identifier: GPL-2.0-or-later
"""Extents of a btrfs that are freed by copying the little of them that nothing equals."""

import contextlib
import os
import pathlib
import random
import subprocess
import time

import pytest

import content
import harness
import ioctls
import oracle
from content import BLOCK, KIB, MIB, noise, write_extent
from harness import check_btrfs_pass as check
from hindrances import leased
from subvolumes import btrfs, delete_subvolumes, make_subvolume, snapshot

SIZE = 2 * MIB


@pytest.fixture(params=["btrfs"])
def kind(request):
    return request.param


def edited(data, *edits, seed=100):
    """@data with other blocks from @first on, @count of them, for each of @edits."""
    copy = bytearray(data)
    for first, count in edits:
        copy[first * BLOCK:(first + count) * BLOCK] = noise(seed + first, count * BLOCK)
    return bytes(copy)


def write_pair(tree, *edits, size=SIZE):
    """A file in one extent, and a copy with edits that were made before it was written."""
    data = noise(1, size)
    write_extent(tree / "one", data)
    write_extent(tree / "two", edited(data, *edits))


def rewritten_blocks(done):
    assert done.first.rewritten["bytes"] % BLOCK == 0
    return done.first.rewritten["bytes"] // BLOCK


@pytest.mark.parametrize("edits", [
    [(0, 1)], [(511, 1)], [(256, 5)], [(0, 3), (100, 1), (101, 1), (509, 3)], [(64, 128)],
], ids=["head", "tail", "middle", "scattered", "a quarter"])
def test_the_rest_is_copied_and_the_extent_freed(tree, dedupd, edits):
    write_pair(tree, *edits)

    done = check(dedupd)

    blocks = sum(count for _, count in edits)
    assert rewritten_blocks(done) == blocks
    assert done.first.rewritten["extents"] == 1
    assert done.freed_bytes == SIZE - blocks * BLOCK


def test_more_than_a_quarter_is_not_copied(tree, dedupd):
    write_pair(tree, (64, 129))

    done = check(dedupd)

    assert done.first.rewritten == {"bytes": 0, "extents": 0}
    assert done.freed_bytes == 0
    assert done.first.skipped["pinned"] >= 1


def test_with_rewrite_more_seven_eighths_are_copied(tree, dedupd):
    write_pair(tree, (64, 448))
    assert check(dedupd).freed_bytes == 0

    done = check(dedupd, rewrite="more")

    assert rewritten_blocks(done) == 448
    assert done.freed_bytes == 64 * BLOCK


def test_with_rewrite_more_an_extent_stays_that_would_free_less_than_an_eighth(tree, dedupd):
    write_pair(tree, (63, 449))

    done = check(dedupd, rewrite="more")

    assert done.first.rewritten == {"bytes": 0, "extents": 0}
    assert done.freed_bytes == 0


@pytest.mark.parametrize("seed", range(3))
def test_with_rewrite_more_nearly_all_that_extents_have_in_common_is_freed(tree, filesystem, dedupd, seed):
    """Each extent has pieces of others, in any place and order, among blocks of its own."""
    chance = random.Random(seed)
    pieces = [noise(1000 * seed + number, chance.randint(20, 120) * BLOCK) for number in range(40)]
    equal, seen = 0, set()
    for number in range(60):
        parts = []
        for place in range(chance.randint(1, 6)):
            if place == 0 or chance.random() < 0.5:
                parts.append(noise(10**6 + 1000 * seed + 10 * number + place, chance.randint(1, 60) * BLOCK))
            else:
                piece = chance.randrange(len(pieces))
                parts.append(pieces[piece])
                equal += len(pieces[piece]) if piece in seen else 0
                seen.add(piece)
        write_extent(tree / f"file-{number:02}", b"".join(parts))
    harness.settle(filesystem)
    little = dedupd.run(find="checksums", dry_run=True).freed_bytes

    done = check(dedupd, rewrite="more")

    assert little < 0.7 * equal
    assert done.freed_bytes >= 0.9 * equal


def write_members(tree, own_blocks):
    """A long file, most of it its own, and five short ones with 24 blocks of it each."""
    shared = [noise(number, 24 * BLOCK) for number in range(5)]
    write_extent(tree / "long", b"".join(shared) + noise(49, 200 * BLOCK))
    for number, data in enumerate(shared):
        write_extent(tree / f"short-{number}", data + noise(50 + number, own_blocks * BLOCK))


@pytest.mark.parametrize("own_blocks", [12, 24])
def test_up_to_half_is_copied_as_long_as_the_pass_writes_little(tree, dedupd, own_blocks):
    write_members(tree, own_blocks)
    content.write_twins(tree, 4 * MIB, seed=90)

    done = check(dedupd)

    assert rewritten_blocks(done) == 5 * own_blocks
    assert done.freed_bytes == 4 * MIB + 5 * 24 * BLOCK


@pytest.mark.parametrize("own_blocks, twin_bytes", [(25, 4 * MIB), (12, 0)])
def test_more_than_half_is_not_copied_nor_more_than_the_pass_can_afford(
        tree, dedupd, own_blocks, twin_bytes):
    write_members(tree, own_blocks)
    if twin_bytes:
        content.write_twins(tree, twin_bytes, seed=90)

    done = check(dedupd)

    assert done.first.rewritten == {"bytes": 0, "extents": 0}
    assert done.freed_bytes == twin_bytes


@pytest.mark.parametrize("first, second", [(1, 100), (100, 1), (0, 100), (40, 41)])
def test_of_two_extents_that_one_goes_of_which_the_rest_is_smaller(tree, dedupd, first, second):
    data = noise(1, 1000 * BLOCK)
    write_extent(tree / "one", data + noise(2, first * BLOCK))
    write_extent(tree / "two", data + noise(3, second * BLOCK))

    done = check(dedupd)

    assert rewritten_blocks(done) == min(first, second)
    assert done.freed_bytes == len(data)


def test_what_several_files_show_stays_whatever_the_rest(tree, dedupd):
    data = noise(1, 1000 * BLOCK)
    write_extent(tree / "one", data + noise(2, BLOCK))
    subprocess.run(["cp", "--reflink=always", tree / "one", tree / "clone"], check=True)
    write_extent(tree / "two", data + noise(3, 100 * BLOCK))

    assert rewritten_blocks(check(dedupd)) == 100


def test_a_copy_of_what_goes_for_its_smaller_rest_goes_too(tree, dedupd):
    data = noise(1, 1000 * BLOCK)
    for name in ("one", "same", "more"):
        write_extent(tree / name, data + noise(2, BLOCK))
    write_extent(tree / "two", data + noise(3, 100 * BLOCK))

    assert check(dedupd).freed_bytes == 3 * len(data) + 2 * BLOCK


def test_never_means_that_nothing_is_written(tree, dedupd):
    write_pair(tree, (256, 1))

    done = check(dedupd, rewrite="never")

    assert done.first.rewritten == {"bytes": 0, "extents": 0}
    assert done.freed_bytes == 0
    assert check(dedupd, rewrite="auto").freed_bytes == SIZE - BLOCK


def test_a_dry_run_writes_nothing_and_says_what_would_be(tree, filesystem, dedupd):
    write_pair(tree, (256, 1))
    harness.settle(filesystem)
    used = harness.used_data_bytes(filesystem)

    run = dedupd.run(find="checksums", dry_run=True)

    assert run.status == 0
    assert run.rewritten == {"bytes": BLOCK, "extents": 1}
    assert run.freed_bytes == SIZE - BLOCK
    assert harness.used_data_bytes(filesystem) == used


def test_what_was_put_before_the_data_of_another_is_copied(tree, dedupd):
    """65 MiB in one extent, of which 64 are elsewhere: sharing these alone frees nothing."""
    data = noise(1, 16 * MIB)
    write_extent(tree / "one", data)
    write_extent(tree / "two", noise(2, MIB) + data)

    assert check(dedupd).freed_bytes == 16 * MIB


def test_places_in_read_only_snapshots_get_the_copy_too(tree, dedupd):
    make_subvolume(tree / "live")
    write_pair(tree / "live", (256, 2))
    snapshot(tree / "live", tree / "old")
    snapshot(tree / "live", tree / "older")

    done = check(dedupd)

    assert rewritten_blocks(done) == 2
    assert done.freed_bytes == SIZE - 2 * BLOCK
    places = {oracle.block_addresses(tree / name / "two")[256] for name in ("live", "old", "older")}
    assert len(places) == 1


def test_a_mount_of_a_subvolume_does_without_the_top_level(make_filesystem, make_dedupd):
    filesystem = make_filesystem("btrfs")
    tree = pathlib.Path(filesystem.mount_point)
    make_subvolume(tree / "inner")
    write_pair(tree / "inner", (256, 2))
    filesystem.unmount()
    filesystem.mount_options = ["subvol=inner"]
    filesystem.mount()

    done = check(make_dedupd(filesystem))

    assert done.freed_bytes == SIZE - 2 * BLOCK


def test_the_last_block_of_a_file_is_copied_with_its_end(tree, dedupd):
    data = noise(1, SIZE + 100)
    write_extent(tree / "one", data)
    write_extent(tree / "two", data[:SIZE] + noise(2, 100))

    done = check(dedupd)

    assert done.freed_bytes == SIZE
    assert done.first.rewritten["bytes"] == BLOCK


def test_a_last_block_that_is_not_last_where_it_is_equal_is_copied(tree, dedupd):
    """Behind the end of the file come zeros, so the blocks are equal, but they cannot be shared."""
    data = noise(1, SIZE + 100)
    write_extent(tree / "longer", data + bytes(BLOCK - 100) + noise(2, 20 * BLOCK))
    write_extent(tree / "shorter", data)

    done = check(dedupd)

    assert done.freed_bytes == SIZE
    assert done.first.rewritten["bytes"] == BLOCK


def test_a_last_block_of_a_source_is_copied_where_the_target_goes_on(tree, dedupd):
    """As in an archive, whose members are filled up with zeros."""
    members = [noise(number, SIZE // 4 - 100) for number in range(8)]
    archive = b"".join(member + bytes(100) for member in members)
    for number, member in enumerate(members):
        write_extent(tree / f"member-{number}", member)
        # What several files show stays.
        subprocess.run(["cp", "--reflink=always", tree / f"member-{number}",
                        tree / f"clone-{number}"], check=True)
    write_extent(tree / "archive", archive)

    done = check(dedupd)

    assert rewritten_blocks(done) == 8
    assert done.freed_bytes == len(archive) - 8 * BLOCK


def test_what_is_hidden_is_not_copied(tree, dedupd):
    data = noise(1, SIZE)
    write_extent(tree / "one", data)
    # What several places show stays.
    subprocess.run(["cp", "--reflink=always", tree / "one", tree / "clone"], check=True)
    write_extent(tree / "two", edited(data, (100, 100)))
    content.overwrite(tree / "two", 100 * BLOCK, noise(3, 99 * BLOCK))

    done = check(dedupd)

    assert rewritten_blocks(done) == 1
    assert done.freed_bytes == SIZE - BLOCK


def test_equal_rests_are_shared_in_the_same_pass(tree, dedupd):
    data = noise(1, SIZE)
    write_extent(tree / "one", data)
    other = edited(data, (256, 40))
    write_extent(tree / "two", other[:-BLOCK] + noise(2, BLOCK))
    write_extent(tree / "three", other[:-BLOCK] + noise(3, BLOCK))

    done = check(dedupd)

    # The rest is there once, and the last block of each.
    assert done.freed_bytes >= 2 * SIZE - 43 * BLOCK


@pytest.mark.parametrize("option", ["compress=zstd", "compress-force=zstd", "nodatasum",
                                    "nodatacow", "autodefrag", "ssd_spread"])
def test_mount_options_do_not_matter(tree, filesystem, dedupd, option):
    write_pair(tree, (256, 20))
    filesystem.remount(option)

    done = check(dedupd)
    assert done.first.skipped == {}

    assert done.freed_bytes == SIZE - 20 * BLOCK


def test_a_quota_of_the_subvolume_does_not_matter(tree, filesystem, dedupd):
    make_subvolume(tree / "inner")
    write_pair(tree / "inner", (256, 20))
    harness.settle(filesystem)
    btrfs("quota", "enable", tree)
    btrfs("quota", "rescan", "-w", tree)
    btrfs("qgroup", "limit", 6 * MIB, tree / "inner")

    assert check(dedupd).freed_bytes == SIZE - 20 * BLOCK


def test_of_many_extents_each_has_its_own_copy(tree, dedupd):
    """What is overwritten later must not be kept by the copies of others."""
    data = noise(1, 40 * 256 * KIB)
    for number in range(40):
        piece = data[number * 256 * KIB:(number + 1) * 256 * KIB]
        write_extent(tree / f"one-{number}", piece)
        write_extent(tree / f"two-{number}", edited(piece, (number, 1)))

    done = check(dedupd)

    assert done.first.rewritten == {"bytes": 40 * BLOCK, "extents": 40}
    used = harness.used_data_bytes(dedupd.filesystem)
    for number in range(10):
        content.overwrite(tree / f"two-{number}", number * BLOCK, noise(number, BLOCK))
    (tree / "two-39").unlink()
    assert harness.used_data_bytes(dedupd.filesystem) == used - BLOCK


def test_later_edits_of_a_twin_are_no_obstacle(tree, filesystem, dedupd):
    """What was shared and copied is shared and copied again when it changed."""
    write_pair(tree, (256, 2))
    check(dedupd)
    content.overwrite(tree / "two", 100 * BLOCK, noise(7, 3 * BLOCK))
    content.overwrite(tree / "one", 400 * BLOCK, noise(8, 3 * BLOCK))

    check(dedupd)


def test_data_is_the_same_when_the_disk_is_asked_again(tree, filesystem, dedupd):
    write_pair(tree, (3, 2), (256, 2))
    before = oracle.snapshot(tree)
    check(dedupd)
    filesystem.unmount()
    filesystem.mount()

    harness.assert_unchanged(before, tree)


def test_no_file_is_left_behind_when_it_is_killed(tree, filesystem, dedupd):
    data = noise(1, 256 * KIB)
    for number in range(200):
        write_extent(tree / f"{number:03}", edited(data, (number % 60, 1), seed=1000 * number))
    harness.settle(filesystem)
    before = oracle.snapshot(tree)

    for delay in (0.01, 0.02, 0.03, 0.05, 0.08, 0.15, 0.3):
        process = dedupd.start(find="checksums")
        time.sleep(delay)
        process.kill()
        process.wait()
        harness.assert_unchanged(before, tree)
    check(dedupd)

    harness.assert_unchanged(before, tree)
    for path in list(tree.iterdir()):
        path.unlink()
    assert harness.used_data_bytes(filesystem) == 0


def fill(path):
    """Write a file until nothing more fits, also after a commit, which gives back what was only reserved."""
    with open(path, "ab", buffering=0) as filler:
        while True:
            before = filler.tell()
            with contextlib.suppress(OSError):
                while filler.write(os.urandom(256 * KIB)):
                    os.fdatasync(filler.fileno())
            if filler.tell() == before:
                return
            ioctls.sync(path)


def test_without_space_for_the_copy_the_extent_stays(make_filesystem, make_dedupd):
    filesystem = make_filesystem("btrfs", "256M")
    tree = pathlib.Path(filesystem.mount_point)
    write_pair(tree, (100, 128))
    fill(tree / "filler")
    # The last time of a write that failed may be in memory only.
    filesystem.unmount()
    filesystem.mount()
    harness.settle(filesystem)
    before = oracle.snapshot(tree)

    run = make_dedupd(filesystem).run(find="checksums")

    assert run.status == 0, run.stderr
    harness.assert_unchanged(before, tree)
    assert run.freed_bytes == 0
    assert run.skipped == {"no-space": 1}
    (tree / "filler").unlink()
    # Without space btrfs may put off freeing the file to the next mount.
    filesystem.unmount()
    filesystem.mount()
    assert check(make_dedupd(filesystem)).freed_bytes == SIZE - 128 * BLOCK


def test_a_leased_place_leaves_the_extent_whole(tree, filesystem, dedupd):
    write_pair(tree, (256, 1))
    harness.settle(filesystem)
    with leased(tree / "two"):
        run = dedupd.run(find="checksums")

    assert run.freed_bytes == 0
    assert run.rewritten == {"bytes": 0, "extents": 0}
    assert run.skipped["leased"] == 1
    assert check(dedupd).freed_bytes == SIZE - BLOCK


def test_hidden_parts_go_with_a_deleted_snapshot(tree, dedupd):
    make_subvolume(tree / "live")
    write_pair(tree / "live", (0, 200))
    snapshot(tree / "live", tree / "old")
    content.overwrite(tree / "live" / "two", 0, noise(9, 199 * BLOCK))
    assert check(dedupd).freed_bytes == 0
    delete_subvolumes(tree, "old")

    # Only one block of the 200 is shown by now; what pinned it is gone.
    content.overwrite(tree / "live" / "one", 511 * BLOCK, noise(10, BLOCK))
    check(dedupd)


def test_clones_within_a_file_are_places_too(tree, dedupd):
    write_pair(tree, (256, 2))
    with open(tree / "two", "r+b") as file:
        ioctls.clone_range(file.fileno(), 250 * BLOCK, 20 * BLOCK, file.fileno(), SIZE)

    done = check(dedupd)

    assert rewritten_blocks(done) == 2
    assert done.freed_bytes == SIZE - 2 * BLOCK
