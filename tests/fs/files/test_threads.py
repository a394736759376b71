# SPDX-License-Identifier: GPL-2.0-or-later
"""A pass with more threads does the same as with one, over the same filesystem and with the same store."""

import contextlib
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

import harness
import oracle
import subvolumes
from content import noise, write_extent, write_twins
from slow_disk import DiskUnavailable, little_memory

sys.path.append(str(pathlib.Path(__file__).parents[2] / "bench"))
import corpus  # noqa: E402 (the path is set above)
from extent_corpus import ExtentCorpus  # noqa: E402

MIB = 1 << 20
CORPUS_BYTES = 96 * MIB
THREADS = (1, 2, 8)
SNAPSHOTS = 12
FILES = 40
GENERATIONS = 9
GENERATION_BYTES = 16 * MIB


def copy_sparse(source, target):
    subprocess.run(["cp", "--sparse=always", source, target], check=True)


def sharing_of(tree):
    """For each block of each file the first place, in order of path and offset, that shows the same block."""
    first = {}
    return {path: [first.setdefault(address, (path, offset))
                   for offset, address in enumerate(oracle.block_addresses(path))]
            for path in sorted(os.path.join(directory, name)
                               for directory, _, names in os.walk(tree) for name in names)}


def shared_by(run):
    """What was shared; not in how many pieces, since what others drop from memory cuts them."""
    return {name: number for name, number in run.filesystem["shared"].items()
            if name not in ("runs", "calls", "short_rounds")}


def fill(filesystem, find):
    if find == "checksums":
        ExtentCorpus(filesystem, CORPUS_BYTES, source=None).make()
        return
    tree = os.path.join(filesystem.mount_point, "corpus")
    corpus.Corpus(tree, CORPUS_BYTES, seed=3).make()


@pytest.fixture
def look(make_filesystem, make_dedupd):
    """Fill a filesystem, look at it without a change, and give what runs a pass over a copy of both it and the store."""
    def look(kind, find):
        filesystem = make_filesystem(kind, 6 * CORPUS_BYTES)
        kept = os.path.join(filesystem.directory, "kept")
        fill(filesystem, find)
        looked = make_dedupd(filesystem)
        looked.run(find=find, dry_run=True)
        filesystem.unmount()
        copy_sparse(filesystem.image, kept)
        filesystem.mount()

        def run(threads):
            """Report and sharing after the pass."""
            image = os.path.join(filesystem.directory, f"copy-{threads}")
            copy_sparse(kept, image)
            os.unlink(filesystem.move_to(image))
            dedupd = make_dedupd(filesystem, f"state-{threads}")
            shutil.copytree(looked.state_directory, dedupd.state_directory, dirs_exist_ok=True)
            passed = harness.check_pass(dedupd, find=find, may_note=True, has_clones=True, threads=threads)
            return passed.first, sharing_of(filesystem.mount_point)
        return run
    return look


@pytest.mark.parametrize("kind, find", [("btrfs", "checksums"), ("btrfs", "read"), ("xfs", "read")])
def test_the_number_of_threads_does_not_change_what_is_shared(look, kind, find):
    run = look(kind, find)
    one, sharing = run(THREADS[0])
    assert one.freed_bytes > CORPUS_BYTES / 10
    for threads in THREADS[1:]:
        other, other_sharing = run(threads)
        assert other.freed_bytes == one.freed_bytes, f"{threads} threads"
        assert shared_by(other) == shared_by(one)
        assert other_sharing == sharing


@pytest.fixture
def snapshots(make_filesystem):
    """A filesystem with equal files, which each snapshot has, too."""
    filesystem = make_filesystem("btrfs", 8 * CORPUS_BYTES)
    tree = pathlib.Path(filesystem.mount_point)
    live = subvolumes.make_subvolume(tree / "live")
    for number in range(FILES):
        for name in ("one", "other"):
            write_extent(live / f"{name}-{number:02}", noise(number, MIB))
    for number in range(SNAPSHOTS):
        subvolumes.snapshot(live, tree / f"snapshot-{number}")
    return filesystem


def share_all(dedupd, threads):
    return harness.check_pass(dedupd, find="checksums", may_note=True, threads=threads, max_compare=1000,
                              read_only_snapshots="share").first


@pytest.mark.alone
@pytest.mark.parametrize("threads", THREADS)
def test_all_references_of_snapshots_are_shared(snapshots, make_dedupd, threads):
    snapshots.unmount()
    snapshots.mount()
    run = share_all(make_dedupd(snapshots), threads)
    assert run.freed_bytes == FILES * MIB
    # Whatever the sources of the threads are, nothing is read twice.
    assert run.device_bytes <= 1.05 * (SNAPSHOTS + 2) * FILES * MIB


def sources_that_were_targets(trace):
    """How many calls had a source that was the target of an earlier one."""
    targets = set()
    found = 0
    for line in trace.read_text().splitlines():
        if closed := re.search(r"close\((\d+)", line):
            targets.discard(closed[1])
        elif call := re.search(r"ioctl\((\d+).*FIDEDUPERANGE.*dest_fd=(\d+)", line):
            found += call[1] in targets
            targets.add(call[2])
    return found


@pytest.mark.parametrize("threads", (1, 4))
def test_a_reference_that_was_shared_is_a_source_for_other_threads(snapshots, make_dedupd, tmp_path, threads):
    if not shutil.which("strace"):
        pytest.skip("there is no strace")
    dedupd = make_dedupd(snapshots)
    command = dedupd.command(find="checksums", threads=threads, max_compare=1000, read_only_snapshots="share")
    subprocess.run(["strace", "-f", "-e", "trace=ioctl,close", "-o", tmp_path / "calls", *command], check=True,
                   env=dedupd.environment(), stdout=subprocess.DEVNULL)
    assert (sources_that_were_targets(tmp_path / "calls") > 0) == (threads > 1)


def uses_of_a_source_at_a_time(trace):
    """How often a thread began to read or share a file while another thread did so, from the first call to share on."""
    under_way = {}
    found = 0
    lines = trace.read_text().splitlines()
    first = next(number for number, line in enumerate(lines) if "FIDEDUPERANGE" in line)
    for line in lines[first:]:
        if call := re.search(r"^(\d+) +(?:pread64\((\d+),|ioctl\((\d+),.*FIDEDUPERANGE)", line):
            thread, source = call[1], call[2] or call[3]
            found += any(other != thread and used == source for other, used in under_way.items())
            if "<unfinished" in line:
                under_way[thread] = source
        elif resumed := re.search(r"^(\d+) +<\.\.\. (?:pread64|ioctl) resumed>", line):
            under_way.pop(resumed[1], None)
    return found


@pytest.mark.parametrize("threads", (1, 4))
def test_several_threads_use_one_source_at_a_time(make_filesystem, make_dedupd, tmp_path, threads):
    """Generations of a backup, or images of machines from one template."""
    if not shutil.which("strace"):
        pytest.skip("there is no strace")
    filesystem = make_filesystem("xfs", 24 * GENERATION_BYTES)
    tree = pathlib.Path(filesystem.mount_point)
    for number in range(GENERATIONS):
        # Behind the common part, so that the first one is no larger than the others.
        write_extent(tree / f"generation-{number}", noise(1, GENERATION_BYTES) + noise(number + 2, MIB))
    harness.settle(filesystem)
    dedupd = make_dedupd(filesystem)
    command = dedupd.command(find="read", threads=threads)
    subprocess.run(["strace", "-f", "-e", "trace=ioctl,pread64", "-o", tmp_path / "calls", *command], check=True,
                   env=dedupd.environment(), stdout=subprocess.DEVNULL)
    assert (uses_of_a_source_at_a_time(tmp_path / "calls") > 0) == (threads > 1)
    harness.settle(filesystem)
    addresses = [oracle.block_addresses(str(tree / f"generation-{number}")) for number in range(GENERATIONS)]
    common = GENERATION_BYTES // 4096
    assert all(each[:common] == addresses[0][:common] for each in addresses)
    assert harness.check_pass(dedupd).first.freed_bytes == 0


@pytest.mark.parametrize("memory, at_most", [(None, 4), (300 * MIB, 2), (200 * MIB, 1)])
def test_little_memory_has_few_threads(make_filesystem, make_dedupd, tmp_path, memory, at_most):
    """Several threads would displace each other's pages; one is the worker itself."""
    if not shutil.which("strace"):
        pytest.skip("there is no strace")
    filesystem = make_filesystem("xfs", 6 * CORPUS_BYTES)
    write_twins(pathlib.Path(filesystem.mount_point), MIB, seed=1)
    harness.settle(filesystem)
    dedupd = make_dedupd(filesystem)
    look = dedupd.command(find="read", dry_run=True)
    command = ["strace", "-f", "-e", "trace=prctl", "-o", tmp_path / "calls", *look]
    try:
        with contextlib.nullcontext([]) if memory is None else little_memory(memory) as wrapper:
            subprocess.run([*wrapper, *command], check=True, env=dedupd.environment(), stdout=subprocess.DEVNULL)
    except DiskUnavailable as unavailable:
        pytest.skip(str(unavailable))
    sharers = (tmp_path / "calls").read_text().count('PR_SET_NAME, "sharer"')
    most = min(at_most, len(os.sched_getaffinity(0)) + 1)
    assert sharers == (most if most > 1 else 0)
    assert harness.check_pass(dedupd).first.freed_bytes == MIB
