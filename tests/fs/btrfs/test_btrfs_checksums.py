# SPDX-License-Identifier: GPL-2.0-or-later
"""Equal data of a btrfs that is found from its own checksums, extent by extent."""

import collections
import contextlib
import os
import pathlib
import random
import signal
import struct
import subprocess
import threading
import time
from typing import NamedTuple

import pytest

import content
import harness
import ioctls
import oracle
from content import BLOCK, KIB, MIB, clone, noise, text, write, write_extent
from harness import CERTAIN_BLOCKS, REFERENCES_MAX, USER
from harness import check_btrfs_pass as check
from hindrances import being_sent, leased
from subvolumes import btrfs, make_subvolume, snapshot
from test_btrfs_guard import count_items

SEEDS = harness.seeds(6)


@pytest.fixture(params=["btrfs"])
def kind(request):
    return request.param


def test_identical_files_are_shared_and_only_they_are_read(tree, dedupd):
    content.write_twins(tree, 8 * MIB)
    write(tree / "other", noise(2, 8 * MIB))

    done = check(dedupd)

    assert done.freed_bytes == 8 * MIB
    assert done.first.found["by"] == "checksums" and done.first.found["reason"] is None
    assert done.first.read["finding_bytes"] == 0
    assert done.first.read["compare_bytes"] == 16 * MIB
    assert oracle.is_shared(tree / "one", tree / "two")


def test_the_tails_of_identical_files_are_shared_too(tree, dedupd):
    for size in (3 * BLOCK + 1, 9 * BLOCK + 4095, MIB + 1000):
        content.write_twins(tree, size, seed=size, names=(f"{size}-1", f"{size}-2"))

    done = check(dedupd)

    assert done.freed_bytes == (4 + 10 + 257) * BLOCK
    assert done.first.skipped == {}


def test_a_tail_that_ends_within_a_longer_file_pins_its_extent(tree, dedupd):
    data = noise(1, 2 * MIB)
    write_extent(tree / "long", data)
    write_extent(tree / "short", data[:MIB + 1000])

    done = check(dedupd, rewrite="never")

    assert done.freed_bytes == 0
    assert done.first.skipped == {"pinned": 1}


# Of so many short extents some have the anchor in common that their four blocks are found by.
SHORT = 32


def test_what_ends_within_a_longer_file_is_covered_by_its_twin(tree, dedupd):
    """What comes first has all blocks of both files, but none that ends where they do."""
    size = 3 * BLOCK + 500
    for number in range(SHORT):
        data = noise(number, size)
        longer = noise(100 + number, BLOCK) + data + bytes(-size % BLOCK) + noise(200 + number, BLOCK)
        write_extent(tree / f"longer-{number}", longer)
        content.write_twins(tree, size, seed=number, names=(f"{number}-1", f"{number}-2"))

    done = check(dedupd, rewrite="never")

    assert done.freed_bytes == SHORT * 4 * BLOCK


def test_what_goes_on_behind_the_end_of_a_file_is_covered_by_its_twin(tree, dedupd):
    """What comes first ends within a block that others have zeros in, too."""
    for number in range(SHORT):
        data = noise(number, 3 * BLOCK + 500)
        write_extent(tree / f"ends-{number}", noise(100 + number, BLOCK) + data)
        for name in ("one", "two"):
            write_extent(tree / f"{name}-{number}", data + bytes(-len(data) % BLOCK))

    done = check(dedupd, rewrite="never")

    assert done.freed_bytes == SHORT * 4 * BLOCK


def test_whole_extents_are_found_inside_a_larger_one(tree, dedupd):
    data = noise(1, 8 * MIB)
    write_extent(tree / "large", data)
    for number, first in enumerate((1, 300, 1000, 2048 - 256)):
        write_extent(tree / f"part-{number}", data[first * BLOCK:first * BLOCK + MIB])

    done = check(dedupd)

    assert done.freed_bytes == 4 * MIB


def test_a_larger_extent_is_the_source_also_if_it_came_later(tree, dedupd):
    data = noise(1, 8 * MIB)
    for number, first in enumerate((1, 300, 1000, 2048 - 256)):
        write_extent(tree / f"part-{number}", data[first * BLOCK:first * BLOCK + MIB])
    write_extent(tree / "large", data)

    assert check(dedupd).freed_bytes == 4 * MIB


def test_several_sources_cover_one_target(tree, dedupd):
    data = noise(1, 4 * MIB)
    before, between, behind = (noise(seed, 2 * MIB) for seed in (2, 3, 4))
    write_extent(tree / "one", before + data[:2 * MIB] + between)
    write_extent(tree / "two", behind + data[2 * MIB:] + noise(5, MIB))
    check(dedupd)
    write_extent(tree / "target", data)

    done = check(dedupd)

    assert done.freed_bytes == 4 * MIB
    assert done.first.shared["runs"] == 2


def test_an_extent_that_is_equal_in_part_only_is_pinned(tree, dedupd):
    data = noise(1, 4 * MIB)
    write_extent(tree / "one", data)
    check(dedupd)
    write_extent(tree / "two", data[:2 * MIB] + noise(2, 2 * MIB))

    done = check(dedupd)

    assert done.freed_bytes == 0
    assert done.first.shared["calls"] == 0
    assert done.first.skipped == {"pinned": 1}


def test_a_pinned_extent_is_freed_when_its_data_comes_again(tree, dedupd):
    data = noise(1, 4 * MIB)
    write_extent(tree / "one", data)
    check(dedupd)
    write_extent(tree / "two", data[:2 * MIB] + noise(2, 2 * MIB))
    check(dedupd)
    write_extent(tree / "three", noise(2, 2 * MIB))

    done = check(dedupd)

    assert done.freed_bytes == 2 * MIB
    assert oracle.block_addresses(tree / "two")[512:] == oracle.block_addresses(tree / "three")


def test_all_snapshots_of_a_file_are_moved_with_it(tree, dedupd):
    make_subvolume(tree / "sub")
    write_extent(tree / "first", noise(1, 4 * MIB))
    check(dedupd)
    write_extent(tree / "sub/file", noise(1, 4 * MIB))
    for number in range(3):
        snapshot(tree / "sub", tree / f"snapshot-{number}")

    done = check(dedupd)

    assert done.freed_bytes == 4 * MIB
    assert done.first.shared["runs"] == 4
    for directory in ("sub", "snapshot-0", "snapshot-1", "snapshot-2"):
        assert oracle.is_shared(tree / "first", tree / directory / "file")


def test_an_extent_with_too_many_places_is_pinned(tree, dedupd):
    write_extent(tree / "first", noise(1, MIB))
    ioctls.add_flags(tree / "first", ioctls.FS_IMMUTABLE)
    check(dedupd)
    write_extent(tree / "second", noise(1, MIB))
    for number in range(REFERENCES_MAX):
        clone(tree / "second", tree / f"clone-{number}")

    done = check(dedupd)

    assert done.freed_bytes == 0
    assert done.first.skipped == {"clones": 1}

    write_extent(tree / "third", noise(1, MIB))
    assert check(dedupd).freed_bytes == MIB


def test_compressed_extents_match_as_a_whole(compressing, make_dedupd):
    tree = pathlib.Path(compressing.mount_point)
    for name in ("one", "two"):
        write_extent(tree / name, text(1, 4 * MIB + 1000))
    done = check(make_dedupd(compressing))

    assert 0 < done.freed_bytes < 4 * MIB
    assert oracle.is_shared(tree / "one", tree / "two")


def test_a_compressed_file_has_as_many_items_as_before(compressing, make_dedupd):
    """What is tried first of a long stretch ends where an extent does."""
    tree = pathlib.Path(compressing.mount_point)
    chance = random.Random(1)
    data = b"".join(b"%d line %d\n" % (number, chance.randrange(10**6)) for number in range(400000))
    for name in ("one", "two"):
        write_extent(tree / name, data)
    items = count_items(tree / "one"), count_items(tree / "two")

    done = check(make_dedupd(compressing))
    assert done.freed_bytes > MIB
    assert (count_items(tree / "one"), count_items(tree / "two")) == items


def test_a_part_of_a_compressed_extent_is_moved(compressing, make_dedupd):
    tree = pathlib.Path(compressing.mount_point)
    dedupd = make_dedupd(compressing)
    write_extent(tree / "one", text(1, 128 * KIB))
    check(dedupd)
    write_extent(tree / "two", text(1, 128 * KIB))
    content.overwrite(tree / "two", 32 * KIB, noise(1, 16 * KIB))
    extent = oracle.disk_bytes(tree / "one")

    done = check(dedupd)

    assert done.freed_bytes == extent


def test_differently_compressed_files_do_not_match(compressing, make_dedupd):
    tree = pathlib.Path(compressing.mount_point)
    write_extent(tree / "zstd", text(1, 4 * MIB))
    for option in ("compress-force=zlib", "compress=no"):
        compressing.remount(option)
        write_extent(tree / option, text(1, 4 * MIB))

    done = check(make_dedupd(compressing))

    assert done.freed_bytes == 0
    assert done.first.shared["calls"] == 0


def test_preallocated_space_is_found_once_it_is_written(tree, dedupd):
    data = noise(1, 4 * MIB)
    write_extent(tree / "one", data)
    content.preallocate(tree / "two", 0, 4 * MIB)
    assert check(dedupd).freed_bytes == 0
    content.overwrite(tree / "two", 0, data[:2 * MIB])
    assert check(dedupd).freed_bytes == 0
    content.overwrite(tree / "two", 2 * MIB, data[2 * MIB:])

    done = check(dedupd)

    assert done.freed_bytes == 4 * MIB
    assert oracle.is_shared(tree / "one", tree / "two")


def test_half_written_twins_in_preallocated_space_keep_their_reservation(tree, dedupd):
    for name in ("one", "two"):
        content.preallocate(tree / name, 0, 4 * MIB)
        content.overwrite(tree / name, MIB, noise(1, 2 * MIB))

    done = check(dedupd)

    assert done.freed_bytes == 0
    assert done.first.shared["calls"] == 0


def test_space_that_is_only_preallocated_is_left_alone(tree, dedupd):
    for name in ("one", "two"):
        content.preallocate(tree / name, 0, 4 * MIB)

    done = check(dedupd)

    assert done.freed_bytes == 0
    assert done.first.shared["calls"] == 0


def test_what_holes_and_truncation_hide_goes_with_its_extent(tree, dedupd):
    data = noise(1, 4 * MIB)
    write_extent(tree / "source", data)
    check(dedupd)
    write_extent(tree / "punched", data)
    subprocess.run(["fallocate", "--punch-hole", "--offset", str(MIB), "--length", str(MIB),
                    tree / "punched"], check=True)
    write_extent(tree / "truncated", data)
    os.truncate(tree / "truncated", 2 * MIB)

    done = check(dedupd)

    assert done.freed_bytes == done.used_drop_bytes == 8 * MIB


def test_a_source_serves_with_what_is_left_of_it(tree, dedupd):
    data = noise(1, 4 * MIB)
    write_extent(tree / "source", data)
    os.truncate(tree / "source", 2 * MIB)
    check(dedupd)
    write_extent(tree / "covered", data[:MIB])
    write_extent(tree / "hidden", data[3 * MIB:])

    done = check(dedupd)

    assert done.freed_bytes == MIB
    assert oracle.block_addresses(tree / "covered") == oracle.block_addresses(tree / "source")[:256]


def test_a_source_that_hides_its_data_does_not_stand_before_one_that_shows_it(tree, dedupd):
    data = noise(1, 4 * MIB)
    write_extent(tree / "hiding", noise(2, MIB) + data)
    write_extent(tree / "showing", noise(3, MIB) + data)
    os.truncate(tree / "hiding", 2 * MIB)
    check(dedupd)
    write_extent(tree / "target", data)

    done = check(dedupd)

    assert done.freed_bytes == 4 * MIB


def test_inline_files_are_no_extents(tree, dedupd):
    for number in range(50):
        write(tree / f"{number}", noise(1, 1000))

    done = check(dedupd)

    assert done.first.files["seen"] == 0
    assert done.first.shared["calls"] == 0


def test_deleted_files_and_their_reused_space_are_no_trouble(tree, dedupd):
    for number in range(4):
        write_extent(tree / f"old-{number}", noise(number, 4 * MIB))
    check(dedupd)
    for number in range(3):
        (tree / f"old-{number}").unlink()
    btrfs("filesystem", "sync", tree)
    for number in range(3):
        write_extent(tree / f"new-{number}", noise(number + 10, 4 * MIB))
    write_extent(tree / "again", noise(0, 4 * MIB))
    write_extent(tree / "twin", noise(3, 4 * MIB))

    done = check(dedupd)

    assert done.freed_bytes == 4 * MIB
    assert oracle.is_shared(tree / "old-3", tree / "twin")


def test_what_a_balance_moved_is_found_at_its_new_place(tree, dedupd):
    write_extent(tree / "one", noise(1, 4 * MIB))
    content.write_twins(tree, 2 * MIB, seed=2, names=("old-1", "old-2"))
    check(dedupd)
    btrfs("balance", "start", "-d", tree)
    write_extent(tree / "two", noise(1, 4 * MIB))

    done = check(dedupd)

    assert done.freed_bytes == 4 * MIB
    assert oracle.is_shared(tree / "one", tree / "two")
    assert oracle.is_shared(tree / "old-1", tree / "old-2")


def test_reading_and_checksums_take_turns(tree, dedupd):
    for number, find in enumerate(("checksums", "read", "checksums", "read")):
        write(tree / f"{number}", noise(1, 2 * MIB))
        write(tree / f"{number}-lone", noise(number + 2, MIB))

        done = harness.check_pass(dedupd, find=find)

        assert done.first.found["by"] == ("reading" if find == "read" else find)
        assert done.freed_bytes == (2 * MIB if number else 0)


def test_a_dry_run_changes_nothing_and_tells_what_would_be_freed(tree, filesystem, dedupd):
    data = noise(1, 8 * MIB)
    write_extent(tree / "large", data)
    for number in range(3):
        write_extent(tree / f"copy-{number}", data)
        write_extent(tree / f"part-{number}", data[MIB:2 * MIB])
    write_extent(tree / "lone", noise(2, MIB))
    harness.settle(filesystem)
    before, layout = oracle.snapshot(tree), oracle.layout(tree)

    dry = dedupd.run(find="checksums", dry_run=True)

    assert dry.status == 0
    harness.assert_unchanged(before, tree)
    assert oracle.layout(tree) == layout
    assert dry.freed_bytes == (3 * 8 + 3) * MIB
    assert check(dedupd).freed_bytes == dry.freed_bytes


def assert_refused_and_else_read(dedupd, reason, *paths, **options):
    refused = dedupd.run(*paths, find="checksums", **options)
    assert refused.status == 1
    assert "--find checksums does not work on " in refused.stderr
    assert reason in refused.stderr

    done = dedupd.run(*paths, find="auto", **options)
    assert done.status == 0
    assert done.found["by"] == "reading"
    assert reason in done.found["reason"]
    return done


def test_an_ordinary_user_is_refused_and_else_reads(tree, users_dedupd):
    for path in content.write_twins(tree, MIB):
        os.chown(path, USER, USER)

    done = assert_refused_and_else_read(users_dedupd, "CAP_SYS_ADMIN", user=USER)

    assert done.freed_bytes == MIB


def test_xfs_has_no_checksums_of_data(make_filesystem, make_dedupd):
    filesystem = make_filesystem("xfs")
    content.write_twins(pathlib.Path(filesystem.mount_point), MIB)

    done = assert_refused_and_else_read(make_dedupd(filesystem), "keeps no checksums")

    assert done.freed_bytes == MIB


@pytest.mark.parametrize("checksum", ["xxhash", "sha256", "blake2"])
def test_every_kind_of_checksum_serves(make_filesystem, make_dedupd, kind, checksum):
    filesystem = make_filesystem(kind, mkfs_options=["--csum", checksum])
    tree = pathlib.Path(filesystem.mount_point)
    data = noise(1, 2 * MIB) + bytes(MIB) + noise(2, MIB)
    write_extent(tree / "one", data)
    write_extent(tree / "two", data)
    write_extent(tree / "part", data[MIB:])

    done = check(make_dedupd(filesystem))

    assert done.freed_bytes == 7 * MIB


def test_the_state_directory_is_neither_source_nor_target(tree, filesystem, program):
    state = tree / "state"
    state.mkdir(mode=0o700)
    dedupd = harness.Dedupd(program, state, filesystem)
    content.write_twins(tree, 4 * MIB)
    first = dedupd.run(find="checksums")
    btrfs("filesystem", "sync", tree)
    for path in sorted(state.iterdir()):
        write_extent(tree / f"copy-of-{path.name}", path.read_bytes())
    before = {path: oracle.file_extents(path) for path in state.iterdir()}

    run = dedupd.run(find="checksums")

    assert first.freed_bytes == 4 * MIB
    assert run.status == 0
    mine = {e.physical for path in state.iterdir() for e in oracle.file_extents(path)}
    others = {e.physical for path in tree.glob("copy-*") for e in oracle.file_extents(path)}
    assert before
    assert not mine & others


def test_an_immutable_place_keeps_its_extent_and_nothing_of_it_is_shared(tree, dedupd):
    write_extent(tree / "first", noise(1, 4 * MIB))
    ioctls.add_flags(tree / "first", ioctls.FS_IMMUTABLE)
    check(dedupd)
    write_extent(tree / "a", noise(1, 4 * MIB))
    clone(tree / "a", tree / "b")
    clone(tree / "a", tree / "c")
    ioctls.add_flags(tree / "b", ioctls.FS_IMMUTABLE)
    try:
        done = check(dedupd)
    finally:
        ioctls.remove_flags(tree / "b", ioctls.FS_IMMUTABLE)

    assert done.freed_bytes == 0
    assert done.first.shared["calls"] == 0
    assert done.first.skipped == {"immutable": 1}


def test_an_immutable_file_serves_as_source(tree, dedupd):
    write_extent(tree / "first", noise(1, 4 * MIB))
    ioctls.add_flags(tree / "first", ioctls.FS_IMMUTABLE)
    try:
        check(dedupd)
        write_extent(tree / "second", noise(1, 4 * MIB))
        done = check(dedupd)
    finally:
        ioctls.remove_flags(tree / "first", ioctls.FS_IMMUTABLE)

    assert done.freed_bytes == 4 * MIB


def test_what_one_pass_could_not_open_the_next_one_shares(tree, filesystem, dedupd):
    content.write_twins(tree, 4 * MIB)
    content.write_twins(tree, MIB, seed=2, names=("other-1", "other-2"))
    harness.settle(filesystem)
    with leased(tree / "two"):
        run = dedupd.run(find="checksums")
    assert run.status == 0
    assert run.freed_bytes == MIB
    assert run.skipped == {"leased": 1}

    assert check(dedupd).freed_bytes == 4 * MIB


def test_what_a_deleted_file_shows_is_shared_when_it_has_gone(tree, filesystem, dedupd):
    content.write_twins(tree, 4 * MIB)
    clone(tree / "two", tree / "three")
    with open(tree / "two", "rb"):
        (tree / "two").unlink()
        harness.settle(filesystem)
        run = dedupd.run(find="checksums")
    assert run.status == 0
    assert run.shared["calls"] == 0
    assert run.skipped == {"changed": 1}

    assert check(dedupd).freed_bytes == 4 * MIB


def test_what_was_postponed_is_shared_also_when_the_store_was_packed_since(tree, filesystem,
                                                                           dedupd):
    # Segments of earlier passes are merged when there are more than sixteen.
    for number in range(18):
        write_extent(tree / f"old-{number}", noise(10 + number, MIB))
        harness.settle(filesystem)
        assert dedupd.run(find="checksums").status == 0
    content.write_twins(tree, 4 * MIB)
    harness.settle(filesystem)
    with leased(tree / "two"):
        run = dedupd.run(find="checksums")
    assert run.skipped == {"leased": 1}
    assert run.store["segments"] < 18

    assert check(dedupd).freed_bytes == 4 * MIB


def test_what_is_being_sent_is_shared_by_a_later_pass(tree, filesystem, dedupd):
    make_subvolume(tree / "sub")
    write_extent(tree / "first", noise(1, 16 * MIB))
    check(dedupd)
    write_extent(tree / "sub/file", noise(1, 16 * MIB))
    snapshot(tree / "sub", tree / "snapshot")
    harness.settle(filesystem)
    with being_sent(tree / "snapshot"):
        run = dedupd.run(find="checksums")
    assert run.status == 0
    assert run.freed_bytes == 0
    assert run.skipped == {"busy": 1}

    assert check(dedupd).freed_bytes == 16 * MIB


def test_a_subvolume_that_is_being_deleted_pins_what_it_shows(tree, dedupd):
    make_subvolume(tree / "sub")
    write_extent(tree / "first", noise(1, 4 * MIB))
    check(dedupd)
    write_extent(tree / "sub/file", noise(1, 4 * MIB))
    snapshot(tree / "sub", tree / "snapshot")
    with open(tree / "snapshot/file", "rb"):
        # It is unlinked, and its space is kept while a file of it is open.
        btrfs("subvolume", "delete", tree / "snapshot")
        run = dedupd.run(find="checksums")

    assert run.status == 0, run.stderr
    assert run.report["outcome"] == "complete"
    assert run.freed_bytes in (0, 4 * MIB)


def make_pairs(tree, count=16):
    for number in range(count):
        content.write_twins(tree, MIB, seed=number, names=(f"{number}-1", f"{number}-2"))


def test_a_signal_ends_the_pass_while_it_shares_and_the_next_completes(tree, filesystem, dedupd):
    make_pairs(tree)
    write_extent(tree / "large-1", noise(100, 32 * MIB))
    write_extent(tree / "large-2", noise(100, 32 * MIB))
    harness.settle(filesystem)
    before = oracle.snapshot(tree)
    content.forget_pages(tree)
    process = dedupd.start(find="checksums", limit_rate="12M")
    time.sleep(2.5)
    process.send_signal(signal.SIGTERM)
    interrupted = dedupd.finish(process)

    assert interrupted.status == 143, interrupted.stderr
    assert interrupted.report["outcome"] == "interrupted"
    harness.assert_unchanged(before, tree)
    assert interrupted.shared["calls"] > 0
    assert interrupted.freed_bytes < 48 * MIB
    done = check(dedupd)
    assert interrupted.freed_bytes + done.freed_bytes == 48 * MIB


def test_killed_while_it_shares_the_next_pass_completes(tree, filesystem, dedupd):
    make_pairs(tree)
    harness.settle(filesystem)
    before = oracle.snapshot(tree)
    used = harness.used_data_bytes(filesystem)
    for seconds in (0.05, 0.3, 0.9):
        content.forget_pages(tree)
        process = dedupd.start(find="checksums", limit_rate="12M")
        time.sleep(seconds)
        process.kill()
        process.communicate()
        harness.assert_unchanged(before, tree)

    check(dedupd)

    assert used - harness.used_data_bytes(filesystem) == 16 * MIB


@contextlib.contextmanager
def being_written(path, data):
    """A thread overwrites blocks of the file with what they hold, and others with something new."""
    stop = threading.Event()

    def overwrite():
        fd = os.open(path, os.O_WRONLY)
        number = 0
        while not stop.is_set():
            at = number * 37 % (len(data) // BLOCK) * BLOCK
            if number % 2:
                data[at:at + BLOCK] = noise(number, BLOCK)
            os.pwrite(fd, data[at:at + BLOCK], at)
            if number % 16 == 0:
                os.fdatasync(fd)
            number += 1
        os.close(fd)

    writer = threading.Thread(target=overwrite)
    writer.start()
    try:
        yield
    finally:
        stop.set()
        writer.join()


def test_a_file_that_is_written_meanwhile_holds_what_its_writer_wrote(tree, filesystem, dedupd):
    data = bytearray(noise(1, 8 * MIB))
    write_extent(tree / "still", bytes(data))
    write_extent(tree / "written", bytes(data))
    with being_written(tree / "written", data):
        for _ in range(5):
            run = dedupd.run(find="checksums")
            assert run.status == 0, run.stderr
            content.forget_pages(tree)

    assert (tree / "still").read_bytes() == noise(1, 8 * MIB)
    assert (tree / "written").read_bytes() == data
    check(dedupd)
    filesystem.forget_data()
    assert (tree / "written").read_bytes() == data


class Place(NamedTuple):
    """What an EXTENT_DATA item shows of an extent, in blocks."""
    first: int
    contents: tuple  # of the blocks; the last may be cut off by the end of the file


def data_extents(tree):
    """(address, bytes) -> places, of all data extents, from the subvolumes' trees."""
    found = collections.defaultdict(list)
    btrfs("filesystem", "sync", tree)
    for directory in [tree, *(path for path in tree.iterdir() if path.is_dir())]:
        root = int(subprocess.run(["btrfs", "inspect-internal", "rootid", directory], check=True,
                                  capture_output=True, text=True).stdout)
        paths = {path.stat().st_ino: path for path in directory.iterdir() if path.is_file()}
        fd = os.open(tree, os.O_RDONLY)
        for item in ioctls.btrfs_tree_items(fd, root, 256, (1 << 64) - 257):
            if item.type != ioctls.BTRFS_EXTENT_DATA or item.data[20] != 1:
                continue
            address, disk_bytes, offset, length = struct.unpack_from("<QQQQ", item.data, 21)
            if address:
                data = paths[item.objectid].read_bytes()[item.offset:item.offset + length]
                blocks = tuple(data[at:at + BLOCK] for at in range(0, len(data), BLOCK))
                found[address, disk_bytes].append(
                    Place(offset // BLOCK, blocks))
        os.close(fd)
    return found


class Oracle:
    """Which extents other extents can take over, by brute force.

    One after another, in an order of its own, an extent is given up when each block that is shown of
    it lies in a stretch that is equal in one that stays: of CERTAIN_BLOCKS blocks at least, or the
    whole extent.
    """

    def __init__(self, tree):
        self.blocks = {}  # key -> {block: content}
        self.references = {}
        for key, places in data_extents(tree).items():
            self.references[key] = len(places)
            blocks = self.blocks[key] = {}
            for place in places:
                for number, data in enumerate(place.contents):
                    blocks[place.first + number] = data

    def _stretch(self, target, source, block, other):
        """The equal stretch around a block of each, as first and end in the target."""
        mine, theirs = self.blocks[target], self.blocks[source]
        shift = other - block
        first = end = block
        while first - 1 in mine and mine[first - 1] == theirs.get(first - 1 + shift):
            first -= 1
        while end in mine and mine[end] == theirs.get(end + shift):
            end += 1
        return first, end

    def _is_covered(self, target, sources, positions):
        """The sources that take over a target, or None."""
        mine = self.blocks[target]
        used, covered = set(), set()
        for block in sorted(mine):
            if block in covered:
                continue
            for source, other in positions[mine[block]]:
                if source == target or source not in sources:
                    continue
                first, end = self._stretch(target, source, block, other)
                whole = (mine == self.blocks[source] and first == other - block + first
                         and target[1] == source[1])
                if end - first >= CERTAIN_BLOCKS or whole:
                    covered.update(range(first, end))
                    used.add(source)
                    break
            else:
                return None
        return used

    def certain_bytes(self):
        """What giving up extents in some order frees."""
        positions = collections.defaultdict(list)
        for key, blocks in self.blocks.items():
            for number, data in blocks.items():
                if len(data) == BLOCK:
                    positions[data].append((key, number))
        staying, needed, freed = set(self.blocks), set(), 0
        for target in sorted(self.blocks, key=lambda key: (len(self.blocks[key]), key)):
            if target in needed or self.references[target] > REFERENCES_MAX:
                continue
            if any(len(data) < BLOCK for data in self.blocks[target].values()):
                continue
            used = self._is_covered(target, staying, positions)
            if used is not None:
                staying.remove(target)
                needed |= used
                freed += target[1]
        return freed


class RandomSubvolumes:
    """A tree whose files are copies, shifts, edits and clones of each other, with snapshots."""

    def __init__(self, tree, seed):
        self.tree = tree
        self.random = random.Random(seed)
        self.seed = seed << 20
        self.files = []
        make_subvolume(tree / "sub")

    def _noise(self, blocks):
        self.seed += 1
        return noise(self.seed, blocks * BLOCK)

    def _data(self):
        if not self.files or self.random.random() < 0.3:
            return self._noise(self.random.choice([1, 5, 19, 64, 300]))
        data = self.random.choice(self.files).read_bytes()
        choice = self.random.random()
        if choice < 0.35:
            return data
        if choice < 0.55:
            return self._noise(self.random.randrange(1, 20)) + data
        if choice < 0.8:
            start = self.random.randrange(max(1, len(data) // BLOCK - 20))
            return data[start * BLOCK:(start + self.random.choice([20, 64, 128])) * BLOCK]
        if choice < 0.9:
            return data + self.random.choice(self.files).read_bytes()
        return data[:len(data) // 2]

    def _write(self, number):
        directory = self.tree / self.random.choice(["sub", "."])
        path = directory / f"file-{number}"
        if self.files and self.random.random() < 0.15:
            source = self.random.choice(self.files)
            clone(source, path)
        else:
            data = self._data()
            write(path, data[:2000 * BLOCK], piece=self.random.choice([64, 256, 4096]) * BLOCK)
        self.files.append(path)

    def _edit(self):
        path = self.random.choice(self.files)
        blocks = path.stat().st_size // BLOCK
        if blocks > 2:
            at = self.random.randrange(blocks - 1)
            content.overwrite(path, at * BLOCK, self._noise(1))
        if blocks > 40 and self.random.random() < 0.3:
            os.truncate(path, (blocks - 5) * BLOCK)

    def make(self, count=60):
        for number in range(count):
            self._write(len(self.files))
            if self.random.random() < 0.2:
                self._edit()
            if number % 10 == 9:
                snapshot(self.tree / "sub", self.tree / f"snapshot-{len(self.files)}")


@pytest.mark.parametrize("seed", SEEDS)
def test_what_can_be_freed_of_a_random_tree_is_freed(tree, dedupd, seed):
    RandomSubvolumes(tree, seed).make()
    certain = Oracle(tree).certain_bytes()

    done = check(dedupd)

    assert done.first.shared["differed"] == 0
    assert done.freed_bytes >= certain * 9 // 10


@pytest.mark.parametrize("seed", SEEDS[:max(1, len(SEEDS) // 3)])
def test_passes_between_changes_keep_their_promises(tree, dedupd, seed):
    made = RandomSubvolumes(tree, 1000 + seed)
    freed = 0
    for _ in range(3):
        made.make(count=20)
        freed += check(dedupd).freed_bytes

    assert freed > 0


def test_small_files_with_extents_of_their_own_are_shared_by_default(make_filesystem, make_dedupd):
    """Inside of metadata a file has no extent; elsewhere it has one, whatever its size."""
    filesystem = make_filesystem("btrfs", mount_options=("max_inline=0",))
    dedupd = make_dedupd(filesystem)
    tree = pathlib.Path(filesystem.mount_point)
    for name in ("one", "two"):
        write(tree / name, noise(1, 1500))
    assert harness.check_pass(dedupd, find="checksums", min_size="2K").freed_bytes == 0
    assert harness.check_pass(dedupd, find="checksums").freed_bytes == 4096
    assert oracle.is_shared(tree / "one", tree / "two")
