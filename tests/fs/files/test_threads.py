# SPDX-License-Identifier: GPL-2.0-or-later
"""A pass with more threads does the same as with one, over the same filesystem and with the same store."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

import harness
import oracle

sys.path.append(str(pathlib.Path(__file__).parents[2] / "bench"))
import corpus  # noqa: E402 (the path is set above)
from extent_corpus import ExtentCorpus  # noqa: E402

MIB = 1 << 20
CORPUS_BYTES = 96 * MIB
THREADS = (1, 2, 8)


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
