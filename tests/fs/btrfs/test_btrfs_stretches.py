# SPDX-License-Identifier: GPL-2.0-or-later
"""Files of a btrfs that are cut into many small extents, found from its checksums."""

import collections
import os
import pathlib
import random
import signal

import pytest

import content
import harness
import ioctls
import oracle
from content import BLOCK, KIB, MIB, clone, noise, write, write_extent
from harness import check_btrfs_pass as check
from hindrances import leased
from subvolumes import make_subvolume, snapshot

CELL = 16 * MIB


@pytest.fixture(params=["btrfs"])
def kind(request):
    return request.param


def fragment(path, data, seed, least=4 * KIB, most=64 * KIB):
    """Write a file in pieces of @least to @most bytes, in any order, each in an extent of its own.

    Neighbours that were written one after another could lie side by side, and be one extent: every
    piece is written out before the next.
    """
    chance = random.Random(seed)
    pieces = []
    offset = 0
    while offset < len(data):
        size = chance.randrange(least // BLOCK, most // BLOCK + 1) * BLOCK
        pieces.append((offset, data[offset:offset + size]))
        offset += size
    chance.shuffle(pieces)
    fd = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
    try:
        for offset, piece in pieces:
            os.pwrite(fd, piece, offset)
            os.fdatasync(fd)
    finally:
        os.close(fd)
    return path


def test_copies_that_are_cut_at_other_places_are_shared(tree, filesystem, dedupd):
    data = noise(1, 4 * MIB)
    fragment(tree / "one", data, 1)
    fragment(tree / "two", data, 2)
    harness.settle(filesystem)

    run = check(dedupd)

    assert run.freed_bytes == len(data)


def test_a_whole_extent_takes_the_place_of_small_ones(tree, filesystem, dedupd):
    data = noise(1, 4 * MIB)
    write(tree / "whole", data, piece=len(data))
    fragment(tree / "cut", data, 2)
    harness.settle(filesystem)

    run = check(dedupd)

    assert run.freed_bytes == len(data)
    assert len(oracle.file_extents(tree / "cut")) == 1


@pytest.mark.parametrize("bytes_left", [None, 0, 4 * KIB], ids=["unlinked", "emptied", "cut short"])
def test_a_file_that_lost_what_was_found_in_it_is_no_trouble(tree, filesystem, dedupd, bytes_left):
    data = noise(1, 2 * MIB)
    fragment(tree / "lost", data, 1)
    assert dedupd.run(find="checksums").status == 0
    if bytes_left is None:
        (tree / "lost").unlink()
    else:
        os.truncate(tree / "lost", bytes_left)
    # What is equal lies further ahead than it did in the file that lost it.
    fragment(tree / "one", data[MIB:], 2)
    fragment(tree / "two", data[MIB:], 3)
    harness.settle(filesystem)

    run = check(dedupd)

    assert run.freed_bytes == MIB


def test_small_extents_shifted_against_each_other_are_shared(tree, filesystem, dedupd):
    data = noise(1, 2 * MIB)
    fragment(tree / "one", noise(7, 5 * BLOCK) + data, 1)
    fragment(tree / "two", noise(8, 18 * BLOCK) + data, 2)
    harness.settle(filesystem)

    run = check(dedupd)

    # The extents in which the equal data begins and ends belong to both.
    assert len(data) - 128 * KIB <= run.freed_bytes <= len(data)


def test_runs_go_on_from_cell_to_cell(tree, filesystem, dedupd):
    data = noise(1, 2 * MIB)
    for name, seed in ("one", 1), ("two", 2):
        with open(tree / name, "wb") as file:
            file.truncate(CELL + MIB)
        fd = os.open(tree / name, os.O_WRONLY)
        chance = random.Random(seed)
        offset = 0
        while offset < len(data):
            size = chance.randrange(1, 9) * BLOCK
            os.pwrite(fd, data[offset:offset + size], CELL - MIB + offset)
            os.fdatasync(fd)
            offset += size
        os.close(fd)
    harness.settle(filesystem)

    run = check(dedupd)

    assert run.freed_bytes == len(data)


def test_single_blocks_written_into_a_copy_hide_nothing_else(tree, filesystem, dedupd):
    """As virtual machines do: a shared image, then blocks of it written anew, equal in both."""
    base = noise(1, 4 * MIB)
    write(tree / "base", base, piece=len(base))
    clone(tree / "base", tree / "one")
    clone(tree / "base", tree / "two")
    news = noise(2, 40 * BLOCK)
    for name in ("one", "two"):
        fd = os.open(tree / name, os.O_WRONLY)
        order = list(range(40))
        random.Random(name).shuffle(order)
        for block in order:
            os.pwrite(fd, news[block * BLOCK:(block + 1) * BLOCK], MIB + block * BLOCK)
            os.fdatasync(fd)
        os.close(fd)
    harness.settle(filesystem)

    run = check(dedupd, has_clones=True)

    assert run.freed_bytes == len(news)


def test_what_is_added_to_a_file_joins_what_was_there(tree, filesystem, dedupd):
    data = noise(1, 160 * KIB)
    path = tree / "log"
    for at in range(0, len(data), 16 * KIB):
        with open(path, "ab") as file:
            file.write(data[at:at + 16 * KIB])
        harness.settle(filesystem)
        run = dedupd.run(find="checksums")
        assert run.status == 0, run.stderr
        assert run.freed_bytes == 0
    write(tree / "copy", data, piece=len(data))
    harness.settle(filesystem)

    run = check(dedupd)

    assert run.freed_bytes == len(data)
    assert len(oracle.file_extents(path)) == 1


def test_a_copy_of_small_extents_that_a_snapshot_shows_too_is_freed(tree, filesystem, dedupd):
    make_subvolume(tree / "sub")
    data = noise(1, MIB)
    fragment(tree / "sub" / "one", data, 1)
    harness.settle(filesystem)
    snapshot(tree / "sub", tree / "snap-1")
    snapshot(tree / "sub", tree / "snap-2")
    fragment(tree / "two", data, 2)
    harness.settle(filesystem)

    run = check(dedupd, has_clones=True)

    assert run.freed_bytes == len(data)


def test_a_pass_that_was_killed_is_gone_on_with(tree, filesystem, dedupd):
    data = noise(1, 6 * MIB)
    fragment(tree / "one", data, 1)
    fragment(tree / "two", data, 2)
    harness.settle(filesystem)
    filesystem.forget_data()
    before = oracle.physical_bytes(tree)
    process = dedupd.start(find="checksums", limit_rate="4M")
    while oracle.physical_bytes(tree) > before - MIB and process.poll() is None:
        ioctls.sync(tree)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    harness.settle(filesystem)

    check(dedupd, has_clones=True)

    assert oracle.physical_bytes(tree) == before - len(data)


def test_what_was_leased_is_tried_again(tree, filesystem, dedupd):
    data = noise(1, 512 * KIB)
    fragment(tree / "one", data, 1)
    fragment(tree / "two", data, 2)
    harness.settle(filesystem)

    with leased(tree / "one"), leased(tree / "two"):
        held = dedupd.run(find="checksums")
    assert held.status == 0, held.stderr
    assert held.freed_bytes == 0
    assert set(held.skipped) == {"leased"}
    run = check(dedupd)

    assert run.freed_bytes == len(data)
    assert run.first.files["read"] == 0


def test_changes_in_the_middle_are_found(tree, filesystem, dedupd):
    data = bytearray(noise(1, 2 * MIB))
    fragment(tree / "one", bytes(data), 1)
    harness.settle(filesystem)
    assert dedupd.run(find="checksums").status == 0
    part = noise(5, 256 * KIB)
    for at in range(0, len(part), 8 * KIB):
        content.overwrite(tree / "one", MIB + at, part[at:at + 8 * KIB])
        ioctls.sync(tree)
    data[MIB:MIB + len(part)] = part
    fragment(tree / "two", bytes(data), 2)
    harness.settle(filesystem)

    run = check(dedupd)

    assert run.freed_bytes == len(data)


def test_files_of_several_cells_that_come_later_are_shared(tree, filesystem, dedupd):
    """Extents across the end of a cell belong to one stretch of two."""
    write(tree / "known", noise(9, MIB))
    harness.settle(filesystem)
    assert dedupd.run(find="checksums").status == 0
    data = noise(1, 2 * CELL + 4 * MIB)
    fragment(tree / "one", data, 1, 24 * KIB, 120 * KIB)
    fragment(tree / "two", data, 2, 24 * KIB, 120 * KIB)
    harness.settle(filesystem)

    run = check(dedupd)

    # But for what is cut between two stretches of which each has another order.
    assert run.freed_bytes >= len(data) - 4 * 120 * KIB


def test_a_stretch_that_is_cut_in_two_keeps_both_halves(tree, filesystem, dedupd):
    data = bytearray(noise(1, 3 * MIB))
    fragment(tree / "one", bytes(data), 1)
    harness.settle(filesystem)
    assert dedupd.run(find="checksums").status == 0
    for at, size in (MIB, 512 * KIB), (2 * MIB, 16 * KIB):
        data[at:at + size] = noise(at, size)
        content.overwrite(tree / "one", at, bytes(data[at:at + size]))
        ioctls.sync(tree)
    harness.settle(filesystem)
    assert dedupd.run(find="checksums").status == 0
    fragment(tree / "two", bytes(data[:MIB]), 2)
    harness.settle(filesystem)

    run = check(dedupd)

    assert run.freed_bytes == MIB


def test_small_extents_that_a_file_shows_twice_keep_the_others(tree, filesystem, dedupd):
    write(tree / "known", noise(1, MIB))
    harness.settle(filesystem)
    assert dedupd.run(find="checksums").status == 0
    data = noise(2, MIB)
    one = fragment(tree / "one", data, 1)
    with open(one, "r+b") as file:
        ioctls.clone_range(file.fileno(), 0, 256 * KIB, file.fileno(), 2 * MIB)
    harness.settle(filesystem)
    assert dedupd.run(find="checksums").status == 0
    write(tree / "two", data)
    harness.settle(filesystem)

    run = check(dedupd, has_clones=True)

    assert run.freed_bytes == MIB


def look_at_everything_next(dedupd):
    """As is due once a week."""
    dedupd.set_note("btrfs-all-looked-at", "0")


def test_what_only_a_snapshot_still_shows_is_joined_again(tree, filesystem, dedupd):
    make_subvolume(tree / "sub")
    data = noise(1, MIB)
    fragment(tree / "sub/one", data, 1)
    harness.settle(filesystem)
    assert dedupd.run(find="checksums").status == 0
    snapshot(tree / "sub", tree / "snap")
    fragment(tree / "sub/one", noise(2, MIB), 3)
    harness.settle(filesystem)
    assert dedupd.run(find="checksums").status == 0
    # The first look sees that the stretch is not what it was, the second one puts its extents anew.
    for _ in range(2):
        look_at_everything_next(dedupd)
        assert dedupd.run(find="checksums").status == 0
    fragment(tree / "two", data, 2)
    harness.settle(filesystem)

    run = check(dedupd, has_clones=True)

    assert run.freed_bytes == MIB


def test_preallocated_pieces_written_in_two_steps_are_joined(tree, filesystem, dedupd):
    data = noise(1, MIB)
    pieces = range(0, len(data), 64 * KIB)
    for at in pieces:
        if at == 0:
            write(tree / "one", b"")
        content.preallocate(tree / "one", at, 64 * KIB)
        ioctls.sync(tree)
        content.overwrite(tree / "one", at, data[at:at + 32 * KIB])
    harness.settle(filesystem)
    assert dedupd.run(find="checksums").status == 0
    for at in pieces:
        content.overwrite(tree / "one", at + 32 * KIB, data[at + 32 * KIB:at + 64 * KIB])
    fragment(tree / "two", data, 2)
    harness.settle(filesystem)

    run = check(dedupd)

    assert run.freed_bytes == len(data)


def test_files_that_are_gone_are_forgotten(tree, filesystem, dedupd):
    fragment(tree / "one", noise(1, MIB), 1)
    fragment(tree / "keep", noise(2, MIB), 2)
    harness.settle(filesystem)
    assert dedupd.run(find="checksums").status == 0
    objects = dedupd.run(find="checksums").store["objects"]
    (tree / "one").unlink()
    harness.settle(filesystem)

    # A look at everything, which is due after the other way of finding.
    assert dedupd.run(find="read").status == 0
    run = dedupd.run(find="checksums")

    assert run.status == 0
    assert run.store["objects"] < objects


def write_versions(tree, seed):
    """Copies, edited copies and parts, all cut into extents of 4 to 64 KiB in their own ways."""
    chance = random.Random(seed)
    base = noise(seed, 3 * MIB)
    edited = bytearray(base)
    for _ in range(6):
        at = chance.randrange(len(base) // BLOCK - 8) * BLOCK
        edited[at:at + 2 * BLOCK] = noise(at, 2 * BLOCK)
    fragment(tree / "base", base, 1)
    fragment(tree / "copy", base, 2)
    fragment(tree / "edited", bytes(edited), 3)
    fragment(tree / "part", base[MIB:2 * MIB], 4)
    fragment(tree / "moved", noise(9, 7 * BLOCK) + base[:MIB], 5)
    fragment(tree / "other", noise(10, MIB), 6)


def test_no_less_is_freed_than_by_reading(make_filesystem, make_dedupd):
    """But for a block here and there: which blocks become anchors depends on the store's secret."""
    freed = collections.Counter()
    for seed in 1, 2, 3:
        for find in "read", "checksums":
            filesystem = make_filesystem("btrfs")
            write_versions(pathlib.Path(filesystem.mount_point), seed)
            harness.settle(filesystem)
            used = harness.used_data_bytes(filesystem)
            run = make_dedupd(filesystem, f"{find}-{seed}").run(find=find)
            assert run.status == 0, run.stderr
            harness.settle(filesystem)
            freed[find] += used - harness.used_data_bytes(filesystem)

    assert freed["checksums"] >= freed["read"] * 0.995, freed


def test_small_extents_are_found_after_the_file_of_their_stretch_is_gone(tree, dedupd):
    data = noise(1, MIB)
    write(tree / "one", data, piece=32 * KIB)
    clone(tree / "one", tree / "two")
    check(dedupd)
    (tree / "one").unlink()
    check(dedupd, may_note=True)
    write_extent(tree / "three", data)

    assert check(dedupd).freed_bytes == MIB
