# SPDX-License-Identifier: GPL-2.0-or-later
"""What happens to a filesystem in the course of time, by chance: the same for each filesystem of its kind.

    history = RandomHistory(tree, seed, kind)
    history.go_on()

Nothing that is done depends on where data lies, so histories with one seed leave the same names and contents.
"""

import os
import random

import content
import ioctls
import subvolumes
from content import BLOCK, KIB, MIB, noise

MATERIALS = 6
# Shorter equal stretches are found by chance only, so that it would be chance which pass finds them.
PART_BLOCKS = 32


class RandomHistory:
    """Files that come, change and go; on btrfs they are in a subvolume of which snapshots come and go."""

    def __init__(self, tree, seed, kind):
        self.tree = tree
        self.random = random.Random(seed)
        self.seed = seed << 32
        self.names = 0
        self.is_btrfs = kind == "btrfs"
        self.live = tree / "live"
        self.files = []
        self.snapshots = []
        self.materials = [self._noise(self.random.choice([256, 512, 1024, 2048]) * KIB) for _ in range(MATERIALS)]
        if self.is_btrfs:
            subvolumes.make_subvolume(self.live)
        else:
            self.live.mkdir()

    def _noise(self, size):
        self.seed += 1
        return noise(self.seed, size)

    def _new_path(self, directory=None):
        self.names += 1
        return (directory or self.live) / f"file-{self.names}"

    def _part_of(self, data):
        blocks = len(data) // BLOCK
        if self.random.random() < 0.4 or blocks <= PART_BLOCKS:
            return data
        first = self.random.randrange(blocks - PART_BLOCKS)
        return data[first * BLOCK:self.random.randrange(first + PART_BLOCKS, blocks + 1) * BLOCK]

    def _piece(self):
        choice = self.random.random()
        if choice < 0.2:
            return self._noise(self.random.choice([64, 128, 256, 1024]) * KIB)
        if choice < 0.6 or not self.files:
            return self._part_of(self.random.choice(self.materials))
        if choice < 0.65:
            return bytes(self.random.choice([16, 64, 256]) * KIB)
        return self._part_of(self.random.choice(self.files).read_bytes())

    def _data(self):
        pieces = [self._piece() for _ in range(self.random.choice([1, 1, 1, 2, 3]))]
        data = b"".join(pieces)[:4 * MIB]
        return data[:-self.random.randrange(BLOCK)] if self.random.random() < 0.2 else data

    def write(self):
        path = self._new_path()
        piece = self.random.choice([None, None, 2 * MIB, 512 * KIB, 128 * KIB, 32 * KIB])
        content.write(path, self._data(), piece)
        self.files.append(path)

    def _any(self):
        return self.random.choice(self.files) if self.files else None

    def overwrite(self):
        if path := self._any():
            blocks = path.stat().st_size // BLOCK + 1
            offset = self.random.randrange(blocks) * BLOCK
            data = self._data()[:self.random.choice([128, 256, 1024]) * KIB]
            content.overwrite(path, offset, data)

    def scatter(self):
        """Overwrite blocks here and there, as databases do."""
        if path := self._any():
            blocks = path.stat().st_size // BLOCK
            for block in self.random.sample(range(blocks), min(blocks, self.random.randrange(1, 8))):
                content.overwrite(path, block * BLOCK, self._noise(BLOCK))

    def remove(self):
        if len(self.files) > 2:
            path = self._any()
            self.files.remove(path)
            path.unlink()

    def rename(self):
        if path := self._any():
            self.files.remove(path)
            self.files.append(path.rename(self._new_path()))

    def link(self):
        if path := self._any():
            name = self._new_path()
            os.link(path, name)
            self.files.append(name)

    def clone(self):
        if path := self._any():
            self.files.append(content.clone(path, self._new_path()))

    def clone_part(self):
        source_path, target_path = self._any(), self._any()
        if not source_path or os.path.samefile(source_path, target_path):
            return
        blocks = source_path.stat().st_size // BLOCK
        if blocks < 2:
            return
        first = self.random.randrange(blocks - 1)
        length = self.random.randrange(1, blocks - first) * BLOCK
        place = self.random.randrange(target_path.stat().st_size // BLOCK + 1) * BLOCK
        with open(source_path, "rb") as source, open(target_path, "r+b") as target:
            ioctls.clone_range(source.fileno(), first * BLOCK, length, target.fileno(), place)

    def truncate(self):
        if path := self._any():
            os.truncate(path, self.random.randrange(path.stat().st_size + 1))

    def append(self):
        if path := self._any():
            with open(path, "ab") as file:
                file.write(self._data()[:512 * KIB])

    def copy(self):
        if path := self._any():
            self.files.append(content.write(self._new_path(), path.read_bytes(),
                                            self.random.choice([None, 512 * KIB])))

    def snapshot(self):
        self.names += 1
        name = self.tree / f"snapshot-{self.names}"
        self.snapshots.append(subvolumes.snapshot(self.live, name, read_only=self.random.random() < 0.7))

    def remove_snapshot(self):
        if self.snapshots:
            name = self.random.choice(self.snapshots)
            self.snapshots.remove(name)
            subvolumes.delete_subvolumes(self.tree, name.name)

    def go_on(self, count=25):
        """Let so many things happen."""
        acts = [self.write] * 6 + [self.copy] * 3 + [self.overwrite] * 3 + [
            self.scatter, self.remove, self.remove, self.rename, self.link, self.clone, self.clone_part,
            self.truncate, self.append]
        if self.is_btrfs:
            acts += [self.snapshot] * 2 + [self.remove_snapshot] * 2
        for _ in range(count):
            self.random.choice(acts)()
