# SPDX-License-Identifier: GPL-2.0-or-later
"""What a tree is like, seen from outside: what must not change, and the space it takes.

Nothing here asks the program under test or shares code with it.
"""

import errno
import os
import re
import stat
from typing import NamedTuple, Optional, Union

import xxhash

import ioctls

BLOCK_BYTES = 4096
PIECE_BYTES = 1 << 16
ZEROS = bytes(PIECE_BYTES)
OPEN_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_NOATIME


class Found(NamedTuple):
    path: str  # relative to the tree; undecodable bytes as surrogates
    name: str
    directory_fd: int
    status: os.stat_result
    is_foreign: bool  # on another mount than the tree's root


class Entry(NamedTuple):
    """Everything about one file that sharing must leave as it is."""
    kind: int
    mode: int
    owner: int
    group: int
    links: int
    size: int
    mtime: int
    ctime: int
    atime: Optional[int]
    xattrs: tuple
    attributes: Optional[tuple]
    content: Union[int, str]  # checksum, or target of a symbolic link


def _mount_id(fd):
    with open(f"/proc/self/fdinfo/{fd}", encoding="ascii") as info:
        return int(re.search(r"^mnt_id:\s*(\d+)$", info.read(), re.M)[1])


def walk(tree):
    """Every entry below a directory, as Found; paths may be longer than PATH_MAX."""
    fd = os.open(tree, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield from _walk(fd, "", _mount_id(fd))
    finally:
        os.close(fd)


def _walk(directory_fd, prefix, root_mount):
    is_foreign = _mount_id(directory_fd) != root_mount
    for name in sorted(os.listdir(directory_fd)):
        status = os.stat(name, dir_fd=directory_fd, follow_symlinks=False)
        yield Found(prefix + name, name, directory_fd, status, is_foreign)
        if stat.S_ISDIR(status.st_mode):
            fd = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=directory_fd)
            try:
                yield from _walk(fd, prefix + name + "/", root_mount)
            finally:
                os.close(fd)


def _regular_files(tree):
    for found in walk(tree):
        if stat.S_ISREG(found.status.st_mode) and not found.is_foreign:
            fd = os.open(found.name, OPEN_FLAGS, dir_fd=found.directory_fd)
            try:
                yield found, fd
            finally:
                os.close(fd)


def _data_pieces(fd):
    """Offsets of all pieces on a fixed grid that hold something other than a hole."""
    size = os.fstat(fd).st_size
    offset = 0
    while offset < size:
        try:
            offset = max(offset, os.lseek(fd, offset, os.SEEK_DATA))
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            return
        yield offset - offset % PIECE_BYTES
        offset += PIECE_BYTES - offset % PIECE_BYTES


def _digest(fd):
    """A checksum of what a file holds, the same whether its zeros are data or holes.

    Nobody forges here, and XXH3 takes a fifth of the time of CRC-32.
    """
    checksum = xxhash.xxh3_64()
    try:
        for offset in _data_pieces(fd):
            piece = os.pread(fd, PIECE_BYTES, offset)
            if piece != ZEROS[:len(piece)]:
                checksum.update(offset.to_bytes(8, "little"))
                checksum.update(piece)
    except OSError as error:
        if error.errno != errno.EIO:
            raise
        return "unreadable"
    return checksum.intdigest()


def _xattrs(fd):
    return tuple((name, os.getxattr(fd, name)) for name in sorted(os.listxattr(fd)))


def _attributes(fd):
    """Inode flags, and what FS_IOC_FSGETXATTR says; None on a filesystem without them."""
    try:
        return ioctls.inode_flags(fd), ioctls.fsxattr(fd)
    except OSError as error:
        if error.errno not in (errno.ENOTTY, errno.EOPNOTSUPP):
            raise
        return None


def _entry(found):
    status = found.status
    is_file = stat.S_ISREG(status.st_mode)
    xattrs, attributes, content = (), None, ""
    if is_file or stat.S_ISDIR(status.st_mode):
        fd = os.open(found.name, OPEN_FLAGS, dir_fd=found.directory_fd)
        try:
            xattrs = _xattrs(fd)
            attributes = _attributes(fd)
            content = _digest(fd) if is_file else ""
        finally:
            os.close(fd)
    elif stat.S_ISLNK(status.st_mode):
        content = os.readlink(found.name, dir_fd=found.directory_fd)
    return Entry(stat.S_IFMT(status.st_mode), stat.S_IMODE(status.st_mode), status.st_uid,
                 status.st_gid, status.st_nlink, status.st_size, status.st_mtime_ns,
                 status.st_ctime_ns, status.st_atime_ns if is_file else None, xattrs, attributes,
                 content)


def snapshot(tree):
    """Path -> Entry for everything below a directory; reading for it moves no atime."""
    return {found.path: _entry(found) for found in walk(tree)}


def differences(before, after):
    """What changed between two snapshots, in words; empty when nothing did."""
    lines = [f"{path!r} is gone" for path in before if path not in after]
    lines += [f"{path!r} is new" for path in after if path not in before]
    for path in before:
        if path in after and before[path] != after[path]:
            changed = [f"{field} {old!r} -> {new!r}" for field, old, new
                       in zip(Entry._fields, before[path], after[path]) if old != new]
            lines.append(f"{path!r}: " + ", ".join(changed))
    return lines


def _union_bytes(ranges):
    total = 0
    reached = 0
    for start, end in sorted(ranges):
        start = max(start, reached)
        if end > start:
            total += end - start
            reached = end
    return total


def physical_bytes(tree):
    """Distinct bytes on disk that hold the data of the files below a directory.

    Written extents with an address count, each byte once however many files use it.  Holes,
    unwritten (preallocated) and inline extents do not count, nor does what btrfs keeps allocated
    only because another part of its extent is in use.  A compressed extent counts with its whole
    size on disk as soon as any part of it is in use.
    """
    ranges = set()
    for _, fd in _regular_files(tree):
        for extent in ioctls.extents(fd):
            if extent.is_data:
                length = extent.length
                if extent.flags & ioctls.EXTENT_ENCODED:
                    length = ioctls.btrfs_extent_bytes(fd, extent.physical)
                ranges.add((extent.physical, extent.physical + length))
    return _union_bytes(ranges)


def data_blocks(tree, only_sole=False):
    """Addresses of uncompressed blocks in use; with @only_sole of those FIEMAP calls unshared."""
    unwanted = ioctls.EXTENT_ENCODED | (ioctls.EXTENT_SHARED if only_sole else 0)
    return {address for _, fd in _regular_files(tree) for extent in ioctls.extents(fd)
            if extent.is_data and not extent.flags & unwanted
            for address in range(extent.physical, extent.physical + extent.length, BLOCK_BYTES)}


def layout(tree):
    """Path -> extents as (logical, physical, length, kind) of every file.

    What XFS sets aside behind the end of a file that grows comes and goes as it likes.
    """
    ignored = ioctls.EXTENT_SHARED | ioctls.FIEMAP_EXTENT_LAST
    return {found.path: [(e.logical, e.physical, e.length, e.flags & ~ignored)
                         for e in ioctls.extents(fd) if e.logical < found.status.st_size]
            for found, fd in _regular_files(tree)}


def file_extents(path):
    fd = os.open(path, OPEN_FLAGS)
    try:
        return ioctls.extents(fd)
    finally:
        os.close(fd)


def disk_bytes(path):
    """What the extents of a file of a btrfs take on the disk, with what other files show of them."""
    fd = os.open(path, OPEN_FLAGS)
    try:
        return sum(ioctls.btrfs_extent_bytes(fd, start)
                   for start in {extent.physical for extent in ioctls.extents(fd)})
    finally:
        os.close(fd)


def block_addresses(path, with_encoded=False):
    """The physical address of each block of a file; None where no data of its own is.

    Blocks of an encoded extent have the address of the extent.
    """
    size = os.stat(path).st_size
    addresses = [None] * -(-size // BLOCK_BYTES)
    for extent in file_extents(path):
        is_encoded = extent.flags & ioctls.EXTENT_ENCODED
        if extent.is_data and (with_encoded or not is_encoded):
            first = extent.logical // BLOCK_BYTES
            blocks = max(min(extent.length // BLOCK_BYTES, len(addresses) - first), 0)
            end = extent.physical + blocks * BLOCK_BYTES
            addresses[first:first + blocks] = ([extent.physical] * blocks if is_encoded
                                               else range(extent.physical, end, BLOCK_BYTES))
    return addresses


def is_shared(one, other):
    """Whether two files have the same bytes on disk under every block.

    Linux 6.1 may show an extent in two pieces.
    """
    return block_addresses(one, with_encoded=True) == block_addresses(other, with_encoded=True)


def ideal_bytes(tree):
    """What sharing equal blocks of 4 KiB, and making holes of zero blocks, could free at most."""
    contents = set()
    addresses = set()
    for _, fd in _regular_files(tree):
        held = [e for e in ioctls.extents(fd) if e.is_data]
        for extent in held:
            for offset in range(0, extent.length, BLOCK_BYTES):
                data = os.pread(fd, BLOCK_BYTES, extent.logical + offset)
                addresses.add(extent.physical + offset)
                if data.count(0) != len(data):
                    contents.add(data)
    return (len(addresses) - len(contents)) * BLOCK_BYTES
