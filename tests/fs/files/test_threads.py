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
from filesystem import FilesystemUnavailable, LoopFilesystem

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


class Scene:
    """A filesystem that was looked at but not changed, as a file, and the store of that look."""

    def __init__(self, filesystem, state, find):
        self.filesystem = filesystem
        self.state = state
        self.find = find
        self.image = os.path.join(filesystem.directory, "kept")
        self.dry = harness.Dedupd(os.environ["DEDUPD"], state, filesystem).run(find=find, dry_run=True)
        filesystem.unmount()
        copy_sparse(filesystem.image, self.image)
        filesystem.mount()

    def run(self, threads):
        """Report and sharing after one pass over a copy of it."""
        image = os.path.join(self.filesystem.directory, f"copy-{threads}")
        state = self.state.parent / f"{self.state.name}-{threads}"
        copy_sparse(self.image, image)
        shutil.copytree(self.state, state)
        os.unlink(self.filesystem.move_to(image))
        dedupd = harness.Dedupd(os.environ["DEDUPD"], state, self.filesystem)
        passed = harness.check_pass(dedupd, find=self.find, may_note=True, has_clones=True,
                                    threads=threads)
        return passed.first, sharing_of(self.filesystem.mount_point)


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


@pytest.mark.parametrize("kind, find", [("btrfs", "checksums"), ("btrfs", "read"), ("xfs", "read")])
def test_the_number_of_threads_does_not_change_what_is_shared(kind, find, tmp_path):
    if "DEDUPD" not in os.environ:
        pytest.skip("DEDUPD does not name the program to test")
    try:
        with LoopFilesystem(kind, 6 * CORPUS_BYTES) as filesystem:
            fill(filesystem, find)
            scene = Scene(filesystem, tmp_path / "state", find)
            one, sharing = scene.run(THREADS[0])
            assert one.freed_bytes > CORPUS_BYTES / 10
            for threads in THREADS[1:]:
                other, other_sharing = scene.run(threads)
                assert other.freed_bytes == one.freed_bytes, f"{threads} threads"
                assert shared_by(other) == shared_by(one)
                assert other_sharing == sharing
            filesystem.check()
    except FilesystemUnavailable as unavailable:
        pytest.skip(str(unavailable))
