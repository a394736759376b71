# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the blocks of files lie, as the kernel tells it (FIEMAP)."""

import array
import fcntl
import os
import stat
import struct
import typing

FS_IOC_FIEMAP = 0xC020660B
FIEMAP_FLAG_SYNC = 0x1
EXTENT_LAST = 0x1
EXTENT_UNKNOWN = 0x2
EXTENT_DELALLOC = 0x4
EXTENT_ENCODED = 0x8
EXTENT_INLINE = 0x200
EXTENT_UNWRITTEN = 0x800

_HEADER = struct.Struct("=QQLLLL")
_EXTENT = struct.Struct("=QQQQQLLLL")
_EXTENTS_PER_CALL = 1024


class Extent(typing.NamedTuple):
    """A piece of a file that lies in one piece on the disk; all in bytes."""

    logical: int
    physical: int
    length: int
    flags: int

    def is_placed(self):
        """Whether its physical address means anything."""
        return not self.flags & (EXTENT_UNKNOWN | EXTENT_DELALLOC | EXTENT_INLINE)

    def is_written(self):
        """Whether it holds data, not a reservation."""
        return not self.flags & EXTENT_UNWRITTEN


def extents_of(fd, size_bytes):
    """The extents of an open file up to its size, in order of the file."""
    buffer = bytearray(_HEADER.size + _EXTENTS_PER_CALL * _EXTENT.size)
    start = 0
    while start < size_bytes:
        _HEADER.pack_into(buffer, 0, start, size_bytes - start, FIEMAP_FLAG_SYNC, 0,
                          _EXTENTS_PER_CALL, 0)
        fcntl.ioctl(fd, FS_IOC_FIEMAP, buffer, True)
        count = _HEADER.unpack_from(buffer)[3]
        if not count:
            return
        for index in range(count):
            fields = _EXTENT.unpack_from(buffer, _HEADER.size + index * _EXTENT.size)
            yield Extent(fields[0], fields[1], fields[2], fields[5])
        start = fields[0] + fields[2]
        if fields[5] & EXTENT_LAST:
            return


def regular_files(tree):
    """Paths of the regular files below @tree, each inode once, in a fixed order."""
    seen = set()
    for directory, names, files in os.walk(tree):
        names.sort()
        for name in sorted(files):
            path = os.path.join(directory, name)
            status = os.lstat(path)
            if stat.S_ISREG(status.st_mode) and (status.st_dev, status.st_ino) not in seen:
                if status.st_nlink > 1:
                    seen.add((status.st_dev, status.st_ino))
                yield path


class Ranges:
    """A set of byte ranges, kept as pairs of numbers; overlaps are counted once."""

    def __init__(self):
        self._pairs = array.array("Q")
        self._limit = 1 << 20

    def add(self, start, length):
        """Add a range; neighbours that follow each other are joined at once."""
        if self._pairs and self._pairs[-1] == start:
            self._pairs[-1] = start + length
            return
        self._pairs.append(start)
        self._pairs.append(start + length)
        if len(self._pairs) > self._limit:
            self._merge()
            self._limit = max(self._limit, 2 * len(self._pairs))

    def _merge(self):
        pairs = sorted(zip(self._pairs[::2], self._pairs[1::2]))
        self._pairs = array.array("Q")
        for start, end in pairs:
            if self._pairs and start <= self._pairs[-1]:
                self._pairs[-1] = max(self._pairs[-1], end)
            else:
                self._pairs.append(start)
                self._pairs.append(end)

    def total_bytes(self):
        """Bytes that are in at least one of the ranges."""
        self._merge()
        return sum(self._pairs[1::2]) - sum(self._pairs[::2])


def physical_bytes(tree):
    """Bytes of disk that the files below @tree refer to, shared ones once, reservations too."""
    ranges = Ranges()
    for path in regular_files(tree):
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
        try:
            for extent in extents_of(fd, os.fstat(fd).st_size):
                if extent.is_placed():
                    ranges.add(extent.physical, extent.length)
        finally:
            os.close(fd)
    return ranges.total_bytes()
