# SPDX-License-Identifier: GPL-2.0-or-later
"""Which equal runs are shared, down to the block, and that nothing beside them is."""

import os
import pathlib

import pytest

import content
import harness
import ioctls
import oracle
from content import BLOCK, KIB, MIB, noise, write

RUN = harness.CERTAIN_BLOCKS_READ * BLOCK  # the shortest run that is certain to be found


def shared_blocks(one, other):
    """Numbers of the blocks that lie at the same place on the disk in both files."""
    pairs = zip(oracle.block_addresses(one), oracle.block_addresses(other))
    return {number for number, (mine, theirs) in enumerate(pairs) if mine == theirs is not None}


def blocks(start, end):
    return set(range(start // BLOCK, end // BLOCK))


def test_equal_files_share_all_their_blocks(tree, dedupd):
    one, two = content.write_twins(tree, 8 * MIB)

    done = harness.check_pass(dedupd)

    assert oracle.is_shared(one, two)
    assert done.freed_bytes == done.used_drop_bytes == 8 * MIB
    assert done.first.shared["bytes"] == 8 * MIB


def test_different_files_are_left_alone(tree, dedupd):
    write(tree / "one", noise(1, 8 * MIB))
    write(tree / "two", noise(2, 8 * MIB))

    done = harness.check_pass(dedupd)

    assert done.first.shared["calls"] == 0
    assert done.freed_bytes == 0


@pytest.mark.parametrize("count", [3, 120, 127, 128, 360])
def test_any_number_of_equal_files_becomes_one(tree, dedupd, count):
    size = 128 * KIB
    content.write_twins(tree, size, names=[str(number) for number in range(count)])

    done = harness.check_pass(dedupd)

    assert done.freed_bytes == (count - 1) * size


@pytest.mark.parametrize("kind", ["xfs"])
def test_only_the_equal_half_is_shared(tree, dedupd):
    common = noise(1, 4 * MIB)
    write(tree / "head-1", common + noise(2, 4 * MIB))
    write(tree / "head-2", common + noise(3, 4 * MIB))
    other = noise(4, 4 * MIB)
    write(tree / "tail-1", noise(5, 4 * MIB) + other)
    write(tree / "tail-2", noise(6, 4 * MIB) + other)

    done = harness.check_pass(dedupd)

    assert shared_blocks(tree / "head-1", tree / "head-2") == blocks(0, 4 * MIB)
    assert shared_blocks(tree / "tail-1", tree / "tail-2") == blocks(4 * MIB, 8 * MIB)
    assert done.freed_bytes == 8 * MIB


@pytest.mark.parametrize("kind", ["xfs"])
@pytest.mark.parametrize("at", [0, 3 * MIB + 17, 6 * MIB - 1], ids=["first", "middle", "last"])
def test_all_but_the_block_with_the_differing_byte_is_shared(tree, dedupd, at):
    one, two = content.write_twins(tree, 6 * MIB)
    byte = one.read_bytes()[at]
    content.overwrite(two, at, bytes([byte ^ 1]))

    done = harness.check_pass(dedupd)

    assert shared_blocks(one, two) == blocks(0, 6 * MIB) - {at // BLOCK}
    assert done.first.shared["differed"] == 0


@pytest.mark.parametrize("at", [0, 6 * MIB - 1], ids=["first", "last"])
def test_a_differing_byte_never_harms(tree, dedupd, at):
    one, two = content.write_twins(tree, 6 * MIB)
    content.overwrite(two, at, bytes([one.read_bytes()[at] ^ 1]))

    harness.check_pass(dedupd)


SIZES = [4095, 4096, 4097, 8191, 41737, 128 * KIB - 1, 128 * KIB, 128 * KIB + 1, 1000 * 1000]


def test_equal_files_of_odd_sizes_share_their_last_block_too(tree, filesystem, dedupd):
    pairs = [content.write_twins(tree, size, seed=size, names=(f"{size}-1", f"{size}-2"))
             for size in SIZES]

    done = harness.check_pass(dedupd)

    for one, two in pairs:
        assert oracle.is_shared(one, two), one
    assert done.freed_bytes == sum(-(-size // BLOCK) * BLOCK for size in SIZES)


@pytest.mark.parametrize("kind", ["xfs"])
def test_the_partial_last_block_is_not_shared_with_the_middle_of_a_longer_file(tree, dedupd):
    data = noise(1, 2 * MIB)
    write(tree / "long", data)
    write(tree / "short", data[:MIB + 1000])

    harness.check_pass(dedupd)

    assert shared_blocks(tree / "long", tree / "short") == blocks(0, MIB)


@pytest.mark.parametrize("kind", ["btrfs"])
def test_tiny_files_are_skipped_as_small(tree, dedupd):
    for number in range(1000):
        write(tree / f"{number}", b"x" * (number % 20))
    for number in range(20):
        write(tree / f"{number}-2047", noise(1, 2047))

    done = harness.check_pass(dedupd)

    assert done.first.skipped["small"] == 1020
    assert done.first.shared["calls"] == 0
    assert done.first.files["read"] == 0


@pytest.mark.parametrize("kind", ["xfs"])
def test_tiny_files_give_their_blocks_back_where_each_has_one(tree, dedupd):
    for number in range(100):
        write(tree / f"{number}", b"x" * (number % 20))

    done = harness.check_pass(dedupd)

    assert done.first.skipped["small"] == 5
    assert done.freed_bytes == (95 - 19) * BLOCK


@pytest.mark.parametrize("kind", ["xfs"])
def test_equal_parts_of_one_file_are_shared_among_themselves(tree, dedupd):
    a, b = noise(1, MIB), noise(2, MIB)
    write(tree / "file", a + a + b + a)

    done = harness.check_pass(dedupd)

    addresses = oracle.block_addresses(tree / "file")
    megabytes = [addresses[at:at + 256] for at in range(0, 1024, 256)]
    assert megabytes[0] == megabytes[1] == megabytes[3] != megabytes[2]
    assert done.freed_bytes == 2 * MIB


def test_overlapping_repeats_inside_one_file_are_survived(tree, dedupd):
    pattern = noise(1, 2 * BLOCK)
    write(tree / "constant", b"\x5a" * MIB)
    write(tree / "period-2", pattern * 128)
    write(tree / "period-2 shifted", noise(2, BLOCK) + pattern * 128)

    done = harness.check_pass(dedupd)

    if dedupd.filesystem.kind == "xfs":
        # Three blocks would do; a run cannot be shared with itself where it overlaps itself.
        assert done.freed_bytes >= 2 * MIB


@pytest.mark.parametrize("kind", ["xfs"])
@pytest.mark.parametrize("lead", [1, 7, 300])
def test_shifted_data_is_found_at_any_block_offset(tree, dedupd, lead):
    data = noise(1, 4 * MIB)
    write(tree / "one", data)
    write(tree / "two", noise(2, lead * BLOCK) + data)

    done = harness.check_pass(dedupd)

    assert done.freed_bytes == 4 * MIB


@pytest.mark.parametrize("kind", ["xfs"])
def test_the_shortest_certain_run_is_found_wherever_it_lies(tree, dedupd):
    runs = [noise(100 + number, RUN) for number in range(40)]
    for seed, order in ((1000, runs), (2000, runs[::-1])):
        write(tree / str(seed), b"".join(run + noise(seed + number, (1 + number % 5) * BLOCK)
                                         for number, run in enumerate(order)))

    done = harness.check_pass(dedupd)

    assert done.freed_bytes == 40 * RUN


def test_far_offsets_and_sparse_files_are_shared(tree, dedupd):
    far = (8 << 40) + 12345 * BLOCK
    data = noise(1, MIB)
    for name in ("one", "two"):
        content.write_sparse(tree / name, far + MIB, {far: data, 3 << 30: data[::-1]})

    done = harness.check_pass(dedupd)

    assert oracle.file_extents(tree / "one")[0].logical == 3 << 30
    assert [e[:3] for e in oracle.file_extents(tree / "one")] == [
        e[:3] for e in oracle.file_extents(tree / "two")]
    assert done.freed_bytes == 2 * MIB


def test_holes_split_runs_and_stay_holes(tree, dedupd):
    a, b = noise(1, MIB), noise(2, MIB)
    for name in ("one", "two"):
        content.write_sparse(tree / name, 8 * MIB, {MIB: a, 4 * MIB: b})

    done = harness.check_pass(dedupd)

    assert oracle.is_shared(tree / "one", tree / "two")
    assert done.freed_bytes == done.used_drop_bytes == 2 * MIB


def test_what_is_shared_already_is_neither_read_nor_asked_for(tree, filesystem, dedupd):
    data = noise(1, 8 * MIB)
    write(tree / "one", data, piece=8 * MIB)
    with open(tree / "one", "rb") as source, open(tree / "two", "wb") as target:
        ioctls.clone_range(source.fileno(), 0, 8 * MIB, target.fileno(), 0)

    done = harness.check_pass(dedupd)

    assert done.first.shared["calls"] == 0
    assert done.first.read["compare_bytes"] == 0
    assert done.first.read["finding_bytes"] <= 8 * MIB


@pytest.mark.parametrize("kind", ["xfs"])
def test_a_half_shared_pair_is_credited_with_the_other_half(tree, dedupd):
    one, two = content.write_twins(tree, 8 * MIB)
    ioctls.sync(tree)
    with open(one, "rb") as source, open(two, "r+b") as target:
        ioctls.clone_range(source.fileno(), 0, 4 * MIB, target.fileno(), 0)

    done = harness.check_pass(dedupd)

    assert done.freed_bytes == 4 * MIB


@pytest.mark.skipif("DEDUPD_LARGE" not in os.environ, reason="DEDUPD_LARGE asks for it: 3 GiB")
def test_runs_of_more_than_a_gigabyte_are_shared(make_filesystem, make_dedupd, kind):
    filesystem = make_filesystem(kind, "3G")
    tree = pathlib.Path(filesystem.mount_point)
    size = 1100 * MIB
    piece = noise(1, 100 * MIB)
    for name in ("one", "two"):
        with open(tree / name, "wb") as file:
            for number in range(11):
                file.write(number.to_bytes(BLOCK, "big") + piece[BLOCK:])

    done = harness.check_pass(make_dedupd(filesystem))

    assert done.freed_bytes >= size


@pytest.mark.parametrize("kind", ["xfs"])
def test_new_duplicates_are_found_against_what_is_known(tree, dedupd):
    data = noise(1, 4 * MIB)
    write(tree / "old", data)
    harness.check_pass(dedupd)
    write(tree / "new", noise(2, BLOCK) + data)

    done = harness.check_pass(dedupd)

    assert done.freed_bytes == 4 * MIB
    assert done.first.files["read"] == 1
    assert done.first.read["finding_bytes"] <= 4 * MIB + BLOCK


def test_every_order_of_writing_gives_the_same_yield(make_filesystem, make_dedupd, kind):
    freed = set()
    parts = [noise(number, MIB) for number in range(4)]
    files = {f"file-{number}": b"".join(parts[:number + 1]) for number in range(4)}
    for order in (list(files), list(files)[::-1]):
        filesystem = make_filesystem(kind)
        for name in order:
            write(pathlib.Path(filesystem.mount_point) / name, files[name], piece=MIB)
        freed.add(harness.check_pass(make_dedupd(filesystem, state=order[0])).freed_bytes)

    assert freed == {6 * MIB}


@pytest.mark.parametrize("kind", ["xfs"])
def test_files_of_a_large_group_share_with_each_other_what_the_first_lacks(tree, dedupd):
    for group in range(12):
        common = noise(100000 + group, 24 * BLOCK)
        tail = noise(200000 + group, 4 * BLOCK)
        for number in range(12):
            unique = [noise(1000 * group + 20 * number + end, 30 * BLOCK) for end in range(2)]
            write(tree / f"{group}-{number}",
                  unique[0] + common + (tail if number else b"") + unique[1])

    done = harness.check_pass(dedupd)

    assert done.first.shared["capped"] == 0
    assert done.freed_bytes == 12 * (11 * 24 + 10 * 4) * BLOCK
