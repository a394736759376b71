#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What an ideal deduplicator of 4 KiB blocks could save on a tree.

It keeps one copy of every distinct block: of the last block of a file, which may be short, one per
content and length.  Blocks of zeros become holes unless they are to be kept.  Compared with the
blocks that the files refer to now, this is the most that can be freed where space is counted by
the block, as on XFS; on btrfs whole extents have to go, so that it cannot be reached in full.

Nothing here shares code with what it judges.  Memory is bounded: digests of 16 bytes go to 256
files by their first byte, and are counted one file at a time.
"""

import argparse
import hashlib
import os
import sys
import tempfile
import typing

from extent_map import EXTENT_ENCODED, Ranges, extents_of, regular_files

BLOCK_BYTES = 4096
READ_BYTES = 1 << 20
DIGEST_BYTES = 16
BUCKET_BUFFER_BYTES = 64 << 10
_ZERO_BLOCK = bytes(BLOCK_BYTES)


class Estimate(typing.NamedTuple):
    """The answer, in bytes."""

    files: int
    logical_bytes: int
    physical_bytes: int
    zero_bytes: int
    distinct_bytes: int

    @property
    def ideal_bytes(self):
        """What remains when zeros are holes."""
        return self.distinct_bytes

    @property
    def saving_bytes(self):
        """What can be freed."""
        return self.physical_bytes - self.distinct_bytes

    @property
    def saving_keeping_zeros_bytes(self):
        """What can be freed when no block of zeros becomes a hole or is shared."""
        return self.saving_bytes - self.zero_bytes


class DigestCounter:
    """Counts distinct digests, most of them on disk."""

    def __init__(self, directory):
        self._files = [open(os.path.join(directory, f"{first:02x}"), "w+b", buffering=0)
                       for first in range(256)]
        self._buffers = [bytearray() for _ in self._files]

    def add(self, digest):
        """Add one digest."""
        buffer = self._buffers[digest[0]]
        buffer += digest
        if len(buffer) >= BUCKET_BUFFER_BYTES:
            self._files[digest[0]].write(buffer)
            buffer.clear()

    def distinct(self):
        """How many different digests were added."""
        total = 0
        for file, buffer in zip(self._files, self._buffers):
            file.write(buffer)
            buffer.clear()
            file.seek(0)
            data = file.read()
            total += len({data[start:start + DIGEST_BYTES]
                          for start in range(0, len(data), DIGEST_BYTES)})
        return total

    def close(self):
        """Forget everything."""
        for file in self._files:
            file.close()


class Oracle:
    """One look at one tree."""

    def __init__(self, tree, scratch=None):
        self._tree = tree
        self._scratch = scratch
        self._physical = Ranges()
        self._reserved = Ranges()
        self._zeros = Ranges()
        self._files = 0
        self._logical_bytes = 0

    def estimate(self):
        """Look at every block of the tree."""
        with tempfile.TemporaryDirectory(prefix="oracle-", dir=self._scratch) as directory:
            counter = DigestCounter(directory)
            try:
                for path in regular_files(self._tree):
                    self._look_at(path, counter)
                distinct_bytes = counter.distinct() * BLOCK_BYTES
            finally:
                counter.close()
        return Estimate(self._files, self._logical_bytes, self._physical.total_bytes(),
                        self._zeros.total_bytes(),
                        distinct_bytes + self._reserved.total_bytes())

    def _look_at(self, path, counter):
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
        try:
            size = os.fstat(fd).st_size
            self._files += 1
            self._logical_bytes += size
            for extent in extents_of(fd, size):
                if not extent.is_placed():
                    continue
                self._physical.add(extent.physical, extent.length)
                if extent.is_written():
                    self._hash(fd, extent, size, counter)
                else:
                    self._reserved.add(extent.physical, extent.length)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(fd)

    def _hash(self, fd, extent, size, counter):
        end = min(extent.logical + extent.length, size)
        for start in range(extent.logical, end, READ_BYTES):
            data = os.pread(fd, min(READ_BYTES, end - start), start)
            for offset in range(0, len(data), BLOCK_BYTES):
                block = data[offset:offset + BLOCK_BYTES]
                if block == _ZERO_BLOCK:
                    if not extent.flags & EXTENT_ENCODED:
                        place = extent.physical + start + offset - extent.logical
                        self._zeros.add(place, BLOCK_BYTES)
                    continue
                # The length is part of it: a short last block is not a block of the same bytes.
                counter.add(hashlib.blake2b(block, digest_size=DIGEST_BYTES,
                                            salt=len(block).to_bytes(8, "little")).digest())


def ideal(tree, scratch=None):
    """The Estimate for @tree; temporary files go to @scratch."""
    return Oracle(tree, scratch).estimate()


def main():
    """Print what an ideal deduplicator could save."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("tree")
    parser.add_argument("--keep-zeros", action="store_true",
                        help="blocks of zeros stay as they are")
    parser.add_argument("--scratch", help="where temporary files go")
    arguments = parser.parse_args()
    answer = ideal(arguments.tree, arguments.scratch)
    saving = (answer.saving_keeping_zeros_bytes if arguments.keep_zeros
              else answer.saving_bytes)
    for label, value in (("files", answer.files), ("logical bytes", answer.logical_bytes),
                         ("physical bytes", answer.physical_bytes),
                         ("  of them zeros", answer.zero_bytes),
                         ("ideal bytes", answer.physical_bytes - saving),
                         ("can be freed", saving)):
        print(f"{label:16} {value:>18}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
