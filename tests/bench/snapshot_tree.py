# SPDX-License-Identifier: GPL-2.0-or-later
"""A subvolume of btrfs that changes and is snapshotted, and what its extents do, seen from outside.

Extents are taken from the extent tree (BTRFS_IOC_TREE_SEARCH_V2), and what shows them from FIEMAP:
nothing here shares code with what it judges.
"""

import bisect
import os
import random
import subprocess
import sys
import time

from extent_map import extents_of, regular_files

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "fs/kit"))
import ioctls  # noqa: E402 (the path is set above)

BLOCK_BYTES = 4096
PIECE_BYTES = 64 << 10
EXTENT_TREE = 2
EXTENT_ITEM = 168
IS_DATA = 1
WAIT_SECONDS = 0.02


def btrfs(*words):
    """Run btrfs-progs."""
    subprocess.run(["btrfs", *map(str, words)], check=True, stdout=subprocess.DEVNULL)


class SnapshotTree:
    """The subvolume live, and read-only snapshots of it."""

    def __init__(self, filesystem):
        self.filesystem = filesystem
        self.live = os.path.join(filesystem.mount_point, "live")
        self._snapshots = os.path.join(filesystem.mount_point, "snapshots")

    def make(self):
        """Make the subvolume, which is empty."""
        btrfs("subvolume", "create", self.live)
        os.mkdir(self._snapshots)

    def take(self, number):
        """A snapshot of what there is now."""
        btrfs("subvolume", "snapshot", "-r", self.live, self.path_of(number))

    def path_of(self, number):
        """Where a snapshot lies."""
        return os.path.join(self._snapshots, f"{number:05}")

    def numbers(self):
        """All snapshots that there are, by age."""
        return sorted(int(name) for name in os.listdir(self._snapshots))

    def delete(self, *numbers):
        """Delete snapshots, and wait until what only they showed is free."""
        if numbers:
            btrfs("subvolume", "delete", *(self.path_of(number) for number in numbers))
            self._wait_for_deleted()

    def _wait_for_deleted(self):
        # "subvolume sync" looks once a second.
        listing = ["btrfs", "subvolume", "list", "-d", self.filesystem.mount_point]
        btrfs("filesystem", "sync", self.filesystem.mount_point)
        while subprocess.run(listing, check=True, stdout=subprocess.PIPE).stdout:
            time.sleep(WAIT_SECONDS)
        btrfs("filesystem", "sync", self.filesystem.mount_point)


class Churn:
    """Changes to the files of a tree; the same seed over the same tree makes the same changes."""

    def __init__(self, tree, seed):
        self._tree = tree
        self._chance = random.Random(f"churn {seed}")
        self._paths = list(regular_files(tree))
        self._number = 0

    def change(self, want_bytes):
        """Write @want_bytes: half of it is new, half equals what another file holds.

        A quarter goes to new files, the rest is written in place.  The bytes written.
        """
        done = 0
        while done < want_bytes:
            piece = min(PIECE_BYTES, want_bytes - done)
            data = self._data(piece)
            if self._chance.randrange(4) == 0:
                self._number += 1
                path = os.path.join(self._tree, f"new-{self._number:06}")
                self._paths.append(path)
                offset = 0
            else:
                path = self._chance.choice(self._paths)
                blocks = os.path.getsize(path) // BLOCK_BYTES
                offset = self._chance.randrange(blocks + 1) * BLOCK_BYTES
            self._write(path, offset, data)
            done += piece
        return done

    def _data(self, length):
        if self._chance.randrange(2):
            return self._chance.randbytes(length)
        data = b""
        while len(data) < length:
            with open(self._chance.choice(self._paths), "rb") as file:
                size = os.fstat(file.fileno()).st_size
                file.seek(self._chance.randrange(size // BLOCK_BYTES + 1) * BLOCK_BYTES)
                piece = file.read(length - len(data))
            # What follows begins at the bound of a block again.
            data += piece + bytes(-len(piece) % BLOCK_BYTES)
        return data[:length]

    @staticmethod
    def _write(path, offset, data):
        fd = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
        try:
            os.pwrite(fd, data, offset)
        finally:
            os.close(fd)


class DataExtents:
    """All data extents of a btrfs, as its extent tree has them on the disk."""

    def __init__(self, filesystem):
        # (address, generation) -> bytes on the disk
        self.bytes_of = {}
        btrfs("filesystem", "sync", filesystem.mount_point)
        fd = os.open(filesystem.mount_point, os.O_RDONLY | os.O_DIRECTORY)
        try:
            for item in ioctls.btrfs_tree_items(fd, EXTENT_TREE, 0, ioctls.U64_MAX):
                if item.type == EXTENT_ITEM and item.data[16] & IS_DATA:
                    generation = int.from_bytes(item.data[8:16], "little")
                    self.bytes_of[item.objectid, generation] = item.offset
        finally:
            os.close(fd)
        self._keys = sorted(self.bytes_of)
        self._starts = [address for address, _ in self._keys]

    def shown_by(self, tree):
        """Keys of those that files below @tree show any part of."""
        shown = set()
        for path in regular_files(tree):
            fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
            try:
                for extent in extents_of(fd, os.fstat(fd).st_size):
                    if extent.is_placed():
                        shown.update(self._between(extent.physical, extent.length))
            finally:
                os.close(fd)
        return shown

    def _between(self, physical, length):
        """Keys of those there: FIEMAP joins extents that follow each other in the file and on the disk."""
        first = bisect.bisect_right(self._starts, physical) - 1
        return self._keys[first:bisect.bisect_left(self._starts, physical + length)]

    def hidden_from(self, tree):
        """Keys of those that no file below @tree shows any part of."""
        return self.bytes_of.keys() - self.shown_by(tree)
