# SPDX-License-Identifier: GPL-2.0-or-later
"""All data extents of a btrfs, what shows them, and what they hold.

File extents are read from the trees of all subvolumes (BTRFS_IOC_TREE_SEARCH_V2), contents through
the files: nothing here shares code with what it judges.  It holds a number for each block and a
digest for each distinct one in memory, some 150 bytes.
"""

import array
import collections
import fcntl
import hashlib
import os
import stat
import struct
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "fs/kit"))
import ioctls  # noqa: E402 (the path is set above)

BLOCK_BYTES = 4096
BTRFS_IOC_INO_LOOKUP = 0xD0009412
FIRST_INODE, LAST_INODE = 256, (1 << 64) - 257
EXTENT_DATA = 108
REGULAR = 1
RESERVED = 2
# generation, ram_bytes, compression, encryption, other encoding, type; then address, bytes on disk,
# where in the extent, bytes of the file.
ITEM = struct.Struct("<QQBBHBQQQQ")
HIDDEN = -1
ZEROS = 0


class Numbers:
    """A number for each distinct block, the same for equal blocks in all censuses that share it.

    A last block that is short is not the same as a longer one that begins with it: btrfs shares
    such blocks only with each other.
    """

    def __init__(self):
        self._known = {self._digest(bytes(BLOCK_BYTES)): ZEROS}

    @staticmethod
    def _digest(block):
        return hashlib.blake2b(block, digest_size=16,
                               salt=len(block).to_bytes(8, "little")).digest()

    def of(self, block):
        """The number of @block."""
        return self._known.setdefault(self._digest(block), len(self._known))


class Extent:
    """One extent; @shown has the number of each block of its data, or HIDDEN: nothing shows it."""

    def __init__(self, address, disk_bytes, generation, is_compressed, ram_bytes):
        self.address = address
        self.disk_bytes = disk_bytes
        self.generation = generation
        self.is_compressed = is_compressed
        self.shown = array.array("q", [HIDDEN]) * -(-ram_bytes // BLOCK_BYTES)
        self.part = None   # the first directory on the way to a file that shows it
        self.path = None   # of such a file, and where it does
        self.offset = 0
        self.places = 0
        self.is_reserved = False  # a file keeps part of it for what is not written yet

    @property
    def key(self):
        """What tells it from all others, those that once lay at its address among them."""
        return self.address, self.generation

    def distinct(self):
        """The numbers of the blocks that must be somewhere if it goes."""
        return set(self.shown) - {HIDDEN, ZEROS}


def take_census(mount_point, numbers):
    """All data extents of the btrfs at @mount_point that files show, by address."""
    extents, reserved = {}, set()
    for tree, files in _subvolumes(mount_point).items():
        fd = os.open(mount_point, os.O_RDONLY)
        try:
            items = [(item.objectid, item.offset, ITEM.unpack_from(item.data))
                     for item in ioctls.btrfs_tree_items(fd, tree, FIRST_INODE, LAST_INODE)
                     if item.type == EXTENT_DATA and len(item.data) >= ITEM.size]
        finally:
            os.close(fd)
        _add(extents, items, files, mount_point, numbers, reserved)
    for address in reserved & extents.keys():
        extents[address].is_reserved = True
    return [extents[address] for address in sorted(extents)]


def by_part(extents, former=()):
    """Lists of @extents by the part that they belong to.

    One that is among @former belongs to the part it belonged to there, whoever shows it now.
    """
    belonged = {extent.key: extent.part for extent in former}
    parts = collections.defaultdict(list)
    for extent in extents:
        parts[belonged.get(extent.key, extent.part)].append(extent)
    return parts


def _subvolumes(mount_point):
    """For each subvolume's tree, the path of each of its files by inode."""
    found = {}
    for directory, names, files in os.walk(mount_point):
        names.sort()
        fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            answer = bytearray(struct.pack("=QQ", 0, FIRST_INODE) + bytes(4080))
            fcntl.ioctl(fd, BTRFS_IOC_INO_LOOKUP, answer)
            tree = struct.unpack_from("=Q", answer)[0]
        finally:
            os.close(fd)
        inodes = found.setdefault(tree, {})
        for name in files:
            path = os.path.join(directory, name)
            status = os.lstat(path)
            if stat.S_ISREG(status.st_mode):
                inodes[status.st_ino] = path
    return found


def _add(extents, items, files, mount_point, numbers, reserved):
    """Add the file extents @items of one subvolume, reading the blocks that none before showed.

    Addresses of extents that are kept for what is not written yet go to @reserved.
    """
    opened, fd = None, -1
    try:
        for inode, offset, item in items:
            kind, (address, disk_bytes, first, length) = item[5], item[6:]
            if kind == RESERVED:
                reserved.add(address)
            if kind != REGULAR or not address:
                continue
            if address not in extents:
                generation, ram_bytes, compression = item[:3]
                extents[address] = Extent(address, disk_bytes, generation, compression != 0,
                                          ram_bytes)
            extent = extents[address]
            extent.places += 1
            if not extent.path:
                extent.path = os.path.relpath(files[inode], mount_point)
                extent.part = extent.path.split(os.sep)[0]
                extent.offset = offset
            begin, end = first // BLOCK_BYTES, -(-(first + length) // BLOCK_BYTES)
            if HIDDEN not in extent.shown[begin:end]:
                continue
            if opened != inode:
                if fd >= 0:
                    os.close(fd)
                opened, fd = inode, os.open(files[inode], os.O_RDONLY | os.O_NOATIME)
            _read(extent, fd, offset, begin, length, numbers)
    finally:
        if fd >= 0:
            os.close(fd)


def _read(extent, fd, offset, block, length, numbers):
    data = memoryview(os.pread(fd, length, offset))
    for start in range(0, len(data), BLOCK_BYTES):
        if extent.shown[block] == HIDDEN:
            extent.shown[block] = numbers.of(data[start:start + BLOCK_BYTES])
        block += 1
