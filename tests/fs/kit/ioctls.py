# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel's calls that Python lacks: extent maps, cloning, sharing and inode flags.

They are written anew here, so that what the tests measure does not rest on the code under test.
"""

import ctypes
import errno
import fcntl
import os
import struct
from typing import NamedTuple

FS_IOC_FIEMAP = 0xC020660B
FS_IOC_GETFLAGS = 0x80086601
FS_IOC_SETFLAGS = 0x40086602
FS_IOC_FSGETXATTR = 0x801C581F
FS_IOC_FSSETXATTR = 0x401C5820
FICLONERANGE = 0x4020940D
FIDEDUPERANGE = 0xC0189436
BTRFS_IOC_SYNC = 0x9408
BTRFS_IOC_SCRUB = 0xC400941B
BTRFS_IOC_TREE_SEARCH_V2 = 0xC0709411

FIEMAP_FLAG_SYNC = 0x1
FIEMAP_EXTENT_LAST = 0x1
EXTENT_UNKNOWN = 0x2
EXTENT_DELALLOC = 0x4
EXTENT_ENCODED = 0x8
EXTENT_INLINE = 0x200
EXTENT_UNWRITTEN = 0x800
EXTENT_SHARED = 0x2000
NO_ADDRESS = EXTENT_UNKNOWN | EXTENT_DELALLOC | EXTENT_INLINE

FS_IMMUTABLE = 0x10
FS_APPEND_ONLY = 0x20
FS_NO_COW = 0x00800000

XFLAG_EXTSIZE = 0x800
XFLAG_EXTSIZE_INHERIT = 0x1000
XFLAG_COWEXTSIZE = 0x10000
XFLAG_PROJECT_INHERIT = 0x200

BTRFS_EXTENT_DATA = 108
BTRFS_SCRUB_READONLY = 1
BTRFS_SCRUB_BYTES = 1024
# Of struct btrfs_scrub_progress, by position; the rest counts what was read.
BTRFS_SCRUB_ERRORS = {4: "read", 5: "checksum", 6: "verify", 9: "super block", 10: "memory",
                      11: "uncorrectable", 12: "corrected", 14: "unverified"}

SYS_CACHESTAT = 451

SAME = 0
DIFFERS = 1

EXTENTS_PER_CALL = 512
EXTENT_FORMAT = "=QQQQQLLLL"
EXTENT_BYTES = struct.calcsize(EXTENT_FORMAT)
U64_MAX = (1 << 64) - 1


class TreeItem(NamedTuple):
    """An item of one of btrfs's trees."""
    objectid: int
    type: int
    offset: int
    data: bytes


class Extent(NamedTuple):
    logical: int
    physical: int
    length: int
    flags: int

    @property
    def is_data(self):
        """Written, and with an address that two files can be compared by."""
        return not self.flags & (NO_ADDRESS | EXTENT_UNWRITTEN)


def sync(path):
    """Write out all of the filesystem that a path is on, and no other."""
    libc = ctypes.CDLL(None, use_errno=True)
    fd = os.open(path, os.O_RDONLY)
    try:
        if libc.syncfs(fd) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), os.fspath(path))
    finally:
        os.close(fd)


def extents(fd):
    """All extents of an open file in file order, dirty data flushed first."""
    found = []
    start = 0
    while True:
        header = struct.pack("=QQLLLL", start, U64_MAX - start, FIEMAP_FLAG_SYNC, 0,
                             EXTENTS_PER_CALL, 0)
        buffer = bytearray(header + bytes(EXTENTS_PER_CALL * EXTENT_BYTES))
        fcntl.ioctl(fd, FS_IOC_FIEMAP, buffer)
        mapped = struct.unpack_from("=L", buffer, 20)[0]
        for index in range(mapped):
            fields = struct.unpack_from(EXTENT_FORMAT, buffer, 32 + index * EXTENT_BYTES)
            found.append(Extent(fields[0], fields[1], fields[2], fields[5]))
        if mapped == 0 or found[-1].flags & FIEMAP_EXTENT_LAST:
            return found
        start = found[-1].logical + found[-1].length


def clone_range(source_fd, source_offset, length, target_fd, target_offset):
    fcntl.ioctl(target_fd, FICLONERANGE,
                struct.pack("=qQQQ", source_fd, source_offset, length, target_offset))


def dedupe_range(source_fd, source_offset, length, target_fd, target_offset):
    """Share one range; returns SAME, DIFFERS or a negative errno value."""
    request = bytearray(struct.pack("=QQHHL", source_offset, length, 1, 0, 0) +
                        struct.pack("=qQQlL", target_fd, target_offset, 0, 0, 0))
    fcntl.ioctl(source_fd, FIDEDUPERANGE, request)
    return struct.unpack_from("=l", request, 24 + 24)[0]


class FsXattr(NamedTuple):
    """What FS_IOC_FSGETXATTR says of an inode, save how many extents it has."""
    xflags: int
    extsize: int
    projid: int
    cowextsize: int


FSXATTR_FORMAT = "=LLLLL8x"


def fsxattr(fd):
    xflags, extsize, _, projid, cowextsize = struct.unpack(
        FSXATTR_FORMAT, fcntl.ioctl(fd, FS_IOC_FSGETXATTR, bytes(struct.calcsize(FSXATTR_FORMAT))))
    return FsXattr(xflags, extsize, projid, cowextsize)


def fsxattr_of(path):
    return _with_file(path, fsxattr)


def set_fsxattr(path, **changed):
    """Change some of it, such as cowextsize=1 << 28; flags that say so are to be given, too."""
    def change(fd):
        new = fsxattr(fd)._replace(**changed)
        fcntl.ioctl(fd, FS_IOC_FSSETXATTR, struct.pack(
            FSXATTR_FORMAT, new.xflags, new.extsize, 0, new.projid, new.cowextsize))
    _with_file(path, change)


def set_cow_extent_size(path, size):
    """Give a file or directory of XFS a CoW extent size hint."""
    set_fsxattr(path, xflags=fsxattr_of(path).xflags | XFLAG_COWEXTSIZE, cowextsize=size)


def inode_flags(fd):
    return struct.unpack("=L", fcntl.ioctl(fd, FS_IOC_GETFLAGS, bytes(8))[:4])[0]


def flags(path):
    return _with_file(path, inode_flags)


def set_flags(path, new_flags):
    _with_file(path, lambda fd: fcntl.ioctl(fd, FS_IOC_SETFLAGS, struct.pack("=Q", new_flags)))


def add_flags(path, more):
    set_flags(path, flags(path) | more)


def remove_flags(path, fewer):
    set_flags(path, flags(path) & ~fewer)


def set_project(path, project):
    set_fsxattr(path, projid=project)


def _with_file(path, action):
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        return action(fd)
    finally:
        os.close(fd)


def btrfs_extent_bytes(fd, address):
    """The bytes on disk of the btrfs data extent that starts at a logical address."""
    fcntl.ioctl(fd, BTRFS_IOC_SYNC)
    extent_tree, extent_item = 2, 168
    key = struct.pack("=QQQQQQQLLLLQQQQ", extent_tree, address, address, 0, U64_MAX, 0, U64_MAX,
                      extent_item, extent_item, 1, 0, 0, 0, 0, 0)
    buffer = bytearray(key + struct.pack("=Q", 4096) + bytes(4096))
    fcntl.ioctl(fd, BTRFS_IOC_TREE_SEARCH_V2, buffer)
    if struct.unpack_from("=L", buffer, 64)[0] != 1:
        raise LookupError(f"no data extent starts at {address}")
    header = struct.unpack_from("=QQQLL", buffer, 112)
    return header[2]


def btrfs_tree_items(fd, tree, first_objectid, last_objectid):
    """The items of a btrfs tree, in the order of their keys; what is not written out is not there."""
    position = (first_objectid, 0, 0)
    while True:
        key = struct.pack("=QQQQQQQLLLLQQQQ", tree, position[0], last_objectid, position[2],
                          U64_MAX, 0, U64_MAX, position[1], 255, (1 << 32) - 1, 0, 0, 0, 0, 0)
        buffer = bytearray(key + struct.pack("=Q", 1 << 16) + bytes(1 << 16))
        fcntl.ioctl(fd, BTRFS_IOC_TREE_SEARCH_V2, buffer)
        count = struct.unpack_from("=L", buffer, 64)[0]
        at = 112
        for _ in range(count):
            _, objectid, offset, kind, length = struct.unpack_from("=QQQLL", buffer, at)
            at += 32
            yield TreeItem(objectid, kind, offset, bytes(buffer[at:at + length]))
            at += length
        if not count:
            return
        position = (objectid, kind, offset + 1)


def btrfs_scrub(mount_point):
    """Read all there is on the only device of a btrfs, and return kind -> number of errors.

    Nothing is corrected.  `btrfs scrub` would leave a file behind for each filesystem.
    """
    arguments = bytearray(struct.pack("=QQQQ", 1, 0, U64_MAX, BTRFS_SCRUB_READONLY))
    arguments.extend(bytes(BTRFS_SCRUB_BYTES - len(arguments)))
    fd = os.open(mount_point, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.ioctl(fd, BTRFS_IOC_SCRUB, arguments)
    finally:
        os.close(fd)
    counters = struct.unpack_from("=15Q", arguments, 32)
    return {name: counters[at] for at, name in BTRFS_SCRUB_ERRORS.items() if counters[at]}


def resident_bytes(path):
    """How much of the file is in the page cache, by cachestat(2); None where that is missing."""
    libc = ctypes.CDLL(None, use_errno=True)
    whole = (ctypes.c_uint64 * 2)(0, 0)
    counts = (ctypes.c_uint64 * 5)()
    fd = os.open(path, os.O_RDONLY)
    try:
        if libc.syscall(SYS_CACHESTAT, fd, whole, counts, 0) == 0:
            return counts[0] * os.sysconf("SC_PAGESIZE")
    finally:
        os.close(fd)
    if ctypes.get_errno() == errno.ENOSYS:
        return None
    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), path)
