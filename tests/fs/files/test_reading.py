# SPDX-License-Identifier: GPL-2.0-or-later
"""How the data of files is read: in which order, how often, and by how many."""

import os
import random

import pytest

import block_trace
import content
import harness
import ioctls
from content import KIB, MIB

ROTATING = ("yes", "no")


@pytest.fixture(params=ROTATING, name="rotating")
def rotating_fixture(request):
    return request.param


def write_scattered(path, size, piece, seed):
    """Noise whose pieces lie on the disk in another order than in the file."""
    order = list(range(0, size, piece))
    random.Random(seed).shuffle(order)
    content.write_sparse(path, size, {})
    for offset in order:
        content.overwrite(path, offset, content.noise(seed + offset, piece))
        with open(path, "rb+") as file:
            os.fdatasync(file.fileno())


def distinct_bytes(paths):
    """Bytes of disk that the files show, each once."""
    ranges = []
    for path in paths:
        with open(path, "rb") as file:
            ranges += [(e.physical, e.physical + e.length) for e in ioctls.extents(file.fileno())]
    total, last = 0, 0
    for start, end in sorted(ranges):
        total += max(end, last) - max(start, last)
        last = max(end, last)
    return total


def clone_part(source, target, offset, length, target_offset=0):
    target.touch()
    with open(source, "rb") as from_file, open(target, "rb+") as to_file:
        ioctls.clone_range(from_file.fileno(), offset, length, to_file.fileno(), target_offset)


@pytest.mark.parametrize("kind", ["xfs"], indirect=True)
def test_what_files_show_in_common_is_read_once(tree, dedupd, rotating):
    size = 6 * MIB
    content.write(tree / "a", content.noise(1, size))
    content.write(tree / "other", content.noise(2, size))
    for number in range(20):
        content.clone(tree / "a", tree / f"clone{number}")
    # Parts that overlap others only in part, and begin anywhere.
    for number in range(12):
        offset = (300 + 52 * number) * KIB
        clone_part(tree / "a", tree / f"part{number}", offset, 1500 * KIB)
        clone_part(tree / "other", tree / f"part{number}", offset, 900 * KIB, 1500 * KIB)
    paths = sorted(tree.iterdir())
    harness.settle(dedupd.filesystem)

    run = dedupd.run(rotating=rotating)

    assert run.status == 0, run.stderr
    assert run.read["finding_bytes"] == distinct_bytes(paths)
    assert run.files["read"] == len(paths)


def test_it_does_not_matter_how_many_read(tree, make_dedupd, filesystem):
    """Scattered, sparse, small and large files are known alike, and from store to store."""
    write_scattered(tree / "scattered", 8 * MIB, 64 * KIB, seed=1)
    content.write(tree / "copy", (tree / "scattered").read_bytes())
    content.write_sparse(tree / "sparse", 200 * MIB, {number * 5 * MIB: content.noise(3, 8 * KIB)
                                                      for number in range(40)})
    content.write(tree / "large", content.noise(1, 40 * MIB))
    for number in range(300):
        content.write(tree / f"small{number:03}", content.noise(number % 100, 3000 + 40 * number))
    harness.settle(filesystem)
    runs = [make_dedupd(filesystem, f"state-{rotating}").run(rotating=rotating, dry_run=True)
            for rotating in ROTATING]

    for run in runs:
        assert run.status == 0, run.stderr
        assert run.files["read"] == 304
    assert runs[0].read["finding_bytes"] == runs[1].read["finding_bytes"]
    assert runs[0].read["finding_bytes"] >= 56 * MIB
    for run in runs:
        assert run.shared["bytes"] >= 8 * MIB


@pytest.mark.alone
@pytest.mark.parametrize("policy", ["all", "same-size"])
def test_what_readers_had_the_disk_read_is_reported(tree, dedupd, rotating, policy):
    """Also of heads: of eight of these files with one size each is another."""
    for number in range(8):
        content.write(tree / f"noise{number}", content.noise(number, 2 * MIB))
    content.write_twins(tree, 4 * MIB, seed=10)
    harness.settle(dedupd.filesystem)
    dedupd.filesystem.drop_caches()
    drops = harness.cache_drops()

    run = dedupd.run(rotating=rotating, read=policy, dry_run=True)

    assert run.status == 0, run.stderr
    if harness.cache_drops() != drops:
        pytest.skip("somebody else emptied the page cache meanwhile")
    finding = {"all": 24 * MIB, "same-size": 8 * MIB + 10 * 4 * KIB}[policy]
    assert run.read["finding_bytes"] == finding
    metadata = harness.metadata_bytes(dedupd.filesystem, tree)
    margin = metadata + harness.METADATA_MARGIN_BYTES
    assert finding <= run.read["disk_bytes"] <= 1.05 * finding + margin


@pytest.mark.parametrize("kind", ["xfs"], indirect=True)
def test_a_pass_with_readers_shares_all(tree, dedupd, rotating):
    write_scattered(tree / "one", 4 * MIB, 64 * KIB, seed=1)
    content.write(tree / "two", (tree / "one").read_bytes())
    for number in range(40):
        content.write_twins(tree, 20 * KIB, seed=10 + number, names=(f"a{number}", f"b{number}"))

    done = harness.check_pass(dedupd, tree, rotating=rotating)

    assert done.freed_bytes == 4 * MIB + 40 * 20 * KIB


@pytest.mark.alone
@pytest.mark.parametrize("kind", ["xfs"], indirect=True)
def test_the_head_goes_a_tenth_of_the_way(tree, dedupd):
    """A rotating disk: scattered files, and names in another order than they lie in."""
    names = list(range(400))
    random.Random(1).shuffle(names)
    for number in names:
        content.write(tree / f"{number:03}", content.noise(number, 48 * KIB))
    for number in range(4):
        write_scattered(tree / f"scattered{number}", 8 * MIB, 16 * KIB, seed=100 + number)
    harness.settle(dedupd.filesystem)

    try:
        dedupd.filesystem.drop_caches()
        with block_trace.BlockTrace(dedupd.filesystem.device) as by_name:
            for path in sorted(tree.iterdir()):
                path.read_bytes()
        dedupd.filesystem.drop_caches()
        drops = harness.cache_drops()
        with block_trace.BlockTrace(dedupd.filesystem.device) as by_pass:
            run = dedupd.run(rotating="yes", dry_run=True)
    except block_trace.TraceUnavailable as reason:
        pytest.skip(str(reason))
    if harness.cache_drops() != drops:
        pytest.skip("somebody else emptied the page cache meanwhile")

    data = [read for read in by_pass.reads if read.thread == "reader"]
    assert run.read["finding_bytes"] == 51 * MIB - 256 * KIB
    # Save a few pages that were in use when the cache was emptied.
    assert block_trace.read_bytes(data) >= 0.99 * run.read["finding_bytes"]
    # One stream: nobody but the one reader asks for data.
    others = [read for read in by_pass.reads if read.thread != "reader"]
    assert block_trace.read_bytes(others) < 4 * MIB
    # What went before were inodes, in the order of the inventory.
    seeks = block_trace.seek_bytes(block_trace.of_data(by_pass.reads))
    assert seeks * 10 <= block_trace.seek_bytes(by_name.reads)
    assert block_trace.seek_bytes(by_pass.reads) * 8 <= block_trace.seek_bytes(by_name.reads)


@pytest.mark.parametrize("kind", ["xfs"], indirect=True)
def test_heads_are_read_by_one_where_a_disk_rotates(tree, dedupd, rotating):
    for number in range(600):
        content.write(tree / f"{number:03}", content.noise(number, 64 * KIB))
    harness.settle(dedupd.filesystem)
    dedupd.filesystem.forget_data()

    try:
        with block_trace.BlockTrace(dedupd.filesystem.device) as by_pass:
            run = dedupd.run(rotating=rotating, read="same-size", dry_run=True)
    except block_trace.TraceUnavailable as reason:
        pytest.skip(str(reason))

    assert run.status == 0, run.stderr
    assert run.read["finding_bytes"] == 600 * 4 * KIB
    readers = {read.task for read in by_pass.reads if read.thread == "heads"}
    assert len(readers) == 1 if rotating == "yes" else 1 < len(readers) <= 8


@pytest.mark.alone
def test_with_nothing_to_do_a_pass_reads_what_a_walk_reads(tree, filesystem, kind, dedupd):
    for number in range(6000):
        content.write(tree / str(number), content.noise(number, 8 * KIB))
    harness.settle(filesystem)
    find = harness.FIND[kind]
    assert dedupd.run(find=find).status == 0
    allowed = harness.metadata_bytes(filesystem, tree) + harness.METADATA_MARGIN_BYTES
    filesystem.drop_caches()

    run = dedupd.run(find=find)

    assert run.read["finding_bytes"] == 0
    assert 0 < run.device_bytes <= allowed
