# SPDX-License-Identifier: GPL-2.0-or-later
"""All inodes of a tree that somebody made to be hard to look at.

oracle.snapshot() reads each file as often as it has names, and all that its clones map.  Here each
inode is looked at once, and each block on the disk is read once, so that the cost follows what the
tree takes, not what it shows.  Directories may be nested as deeply as inodes allow.
"""

import dataclasses
import errno
import os
import stat
import zlib

import hostile_acts
import ioctls
import oracle
from oracle import BLOCK_BYTES, OPEN_FLAGS

PIECE_BYTES = 1 << 20
DIRECTORY_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
# So much of the content is read again through further files that show it.
AGAIN_BYTES = 64 << 20
ATTRIBUTES = ("mode", "owner", "group", "links", "size", "mtime", "ctime", "atime", "device",
              "xattrs or target", "hints", "flags")
LINKS = ATTRIBUTES.index("links")


@dataclasses.dataclass
class Inode:
    """What a pass must leave as it is, and where the data lies, which it may change."""
    name: str        # one of its names
    attributes: tuple
    extents: list    # of regular files
    size: int
    is_file: bool


class Tree:
    """Inodes and names below a directory as they were when it was made.

    @left_out names an entry of the directory that is not looked at.
    """

    def __init__(self, path, left_out=None):
        self.path = os.fspath(path)
        self.names = {}   # (key of the directory, name) -> key of the inode
        self.inodes = {}  # key -> Inode
        self.pieces = {}  # (key, offset, length) -> checksum of the data there
        self._left_out = left_out
        self._subvolumes = {}
        self._walk()

    def _walk(self):
        """Go down and up again by "..", with one directory open at a time."""
        fd = os.open(self.path, DIRECTORY_FLAGS)
        levels = [self._list(fd, "")]
        try:
            while levels:
                key, names = levels[-1]
                if not names:
                    levels.pop()
                    if levels:
                        fd = self._step(fd, "..")
                    continue
                name = names.pop()
                if self._meet(fd, key, name):
                    fd = self._step(fd, name)
                    levels.append(self._list(fd, name))
        finally:
            os.close(fd)

    @staticmethod
    def _step(fd, name):
        flags = DIRECTORY_FLAGS
        there = os.open(name, flags, dir_fd=fd)
        os.close(fd)
        return there

    def _list(self, fd, name):
        names = sorted(os.listdir(fd), reverse=True)
        if not self.names and self._left_out in names:
            names.remove(self._left_out)
        return self._key(os.fstat(fd), name), names

    def _key(self, status, name):
        """The number of a device is given anew to a subvolume now and then: name it by its directory."""
        if status.st_dev not in self._subvolumes:
            self._subvolumes[status.st_dev] = f"{len(self._subvolumes)} {name[:20]}"
        return self._subvolumes[status.st_dev], status.st_ino

    def _meet(self, directory_fd, directory_key, name):
        """Note one name, and its inode if that is new; whether it is a directory."""
        status = os.stat(name, dir_fd=directory_fd, follow_symlinks=False)
        key = self._key(status, name)
        self.names[directory_key, name] = key
        if key not in self.inodes:
            self.inodes[key] = self._inode(directory_fd, name, status)
        return stat.S_ISDIR(status.st_mode)

    @staticmethod
    def _inode(directory_fd, name, status):
        is_file = stat.S_ISREG(status.st_mode)
        attributes = (status.st_mode, status.st_uid, status.st_gid, status.st_nlink, status.st_size,
                      status.st_mtime_ns, status.st_ctime_ns, status.st_atime_ns if is_file else None,
                      status.st_rdev)
        extents = []
        if is_file or stat.S_ISDIR(status.st_mode):
            fd = os.open(name, OPEN_FLAGS, dir_fd=directory_fd)
            try:
                attributes += _xattrs(fd), hostile_acts.get_hints(fd), _flags(fd)
                if is_file:
                    extents = [tuple(extent) for extent in ioctls.extents(fd)]
            finally:
                os.close(fd)
        elif stat.S_ISLNK(status.st_mode):
            attributes += (os.readlink(name, dir_fd=directory_fd),)
        return Inode(name, attributes, extents, status.st_size, is_file)

    # What was measured.

    def data_extents(self):
        for inode in self.inodes.values():
            for logical, physical, length, flags in inode.extents:
                if not flags & (ioctls.NO_ADDRESS | ioctls.EXTENT_UNWRITTEN):
                    yield logical, physical, length, flags

    def physical_bytes(self):
        """As oracle.physical_bytes(); of compressed extents what they show counts."""
        return oracle._union_bytes({(physical, physical + length)
                                    for _, physical, length, _ in self.data_extents()})

    def blocks(self, only_sole=False):
        """As oracle.data_blocks()."""
        unwanted = ioctls.EXTENT_ENCODED | (ioctls.EXTENT_SHARED if only_sole else 0)
        ranges = {(physical, length) for _, physical, length, flags in self.data_extents() if not flags & unwanted}
        return {address for physical, length in ranges
                for address in range(physical, physical + length, BLOCK_BYTES)}

    def freed_bytes(self, after):
        """The least and the most that went between this state and @after.

        What a compressed extent takes on the disk is not told.  One that is shown differently gave back
        no more than it showed, and perhaps nothing.
        """
        least = len(self.blocks(only_sole=True) - after.blocks()) * BLOCK_BYTES
        most = (len(self.blocks()) - len(after.blocks())) * BLOCK_BYTES
        shown_after = after._encoded_lengths()
        most += sum(sum(lengths) for physical, lengths in self._encoded_lengths().items()
                    if shown_after.get(physical) != lengths)
        return least, most

    def _encoded_lengths(self):
        """Of each compressed extent, by its address, what each reference shows."""
        lengths = {}
        for _, physical, length, flags in self.data_extents():
            if flags & ioctls.EXTENT_ENCODED:
                lengths.setdefault(physical, []).append(length)
        return {physical: sorted(shown) for physical, shown in lengths.items()}

    def most_links(self):
        return max(inode.attributes[LINKS] for inode in self.inodes.values() if inode.is_file)

    def directory_name_bytes(self):
        """Bytes of the names of directories, which the filesystem itself keeps, too."""
        return sum(len(os.fsencode(name)) for (_, name), key in self.names.items()
                   if stat.S_ISDIR(self.inodes[key].attributes[0]))

    def extent_count(self):
        return sum(len(inode.extents) for inode in self.inodes.values())

    # What must stay.

    def choose_pieces(self, chance):
        """Choose what is read of the contents: each block on the disk once, and some again."""
        seen = set()
        again = AGAIN_BYTES // PIECE_BYTES
        for key, inode in self.inodes.items():
            for logical, physical, length, flags in inode.extents:
                for at in range(0, length, PIECE_BYTES):
                    piece = min(PIECE_BYTES, length - at)
                    blocks = {physical} if flags & ioctls.EXTENT_ENCODED else range(
                        (physical + at) // BLOCK_BYTES, (physical + at + piece - 1) // BLOCK_BYTES + 1)
                    is_new = bool(flags & ioctls.NO_ADDRESS) or not seen.issuperset(blocks)
                    if is_new or (again and chance.random() < 0.02):
                        again -= 0 if is_new else 1
                        seen.update(blocks)
                        self.pieces[key, logical + at, piece] = None

    def read_pieces(self, like=None):
        """Read the chosen pieces, or those that were chosen of @like."""
        wanted = {}
        for key, offset, length in (like or self).pieces:
            wanted.setdefault(key, []).append((offset, length))
        self.pieces = {}
        for fd, key in self._open_all(wanted):
            for offset, length in wanted[key]:
                self.pieces[key, offset, length] = _checksum(fd, offset, length)

    def _open_all(self, wanted):
        """Each of these inodes, open; by a walk, as paths may be too long for any call."""
        found = set()
        for fd, key, name in self._walk_again():
            if key in wanted and key not in found:
                found.add(key)
                file_fd = os.open(name, OPEN_FLAGS, dir_fd=fd)
                try:
                    yield file_fd, key
                finally:
                    os.close(file_fd)

    def _walk_again(self):
        children = {}
        for (directory, name), key in self.names.items():
            children.setdefault(directory, []).append((name, key))
        fd = os.open(self.path, DIRECTORY_FLAGS)
        levels = [list(children.get(self._key(os.fstat(fd), ""), []))]
        while levels:
            if not levels[-1]:
                levels.pop()
                fd = self._step(fd, "..") if levels else fd
                continue
            name, key = levels[-1].pop()
            if stat.S_ISDIR(self.inodes[key].attributes[0]):
                fd = self._step(fd, name)
                levels.append(list(children.get(key, [])))
            else:
                yield fd, key, name
        os.close(fd)

    def differences(self, after, limit=20):
        """What a pass changed that it must not, in words; @after has read the same pieces."""
        lines = [f"{name!r} is gone" for name in self.names.keys() - after.names.keys()]
        lines += [f"{name!r} is new" for name in after.names.keys() - self.names.keys()]
        for key, inode in self.inodes.items():
            other = after.inodes.get(key)
            if other and other.attributes != inode.attributes:
                changed = [f"{field} {old!r:.60} -> {new!r:.60}" for field, old, new
                           in zip(ATTRIBUTES, inode.attributes, other.attributes) if old != new]
                lines.append(f"{inode.name!r:.60}: " + ", ".join(changed))
        lines += [f"content of {self.inodes[key].name!r} at {offset} has changed"
                  for (key, offset, length), digest in self.pieces.items()
                  if after.pieces.get((key, offset, length)) != digest]
        return lines[:limit]


def _xattrs(fd):
    return tuple((name, os.getxattr(fd, name)) for name in sorted(os.listxattr(fd)))


def _flags(fd):
    """The flags that chattr shows."""
    try:
        return bytes(ioctls.fcntl.ioctl(fd, ioctls.FS_IOC_GETFLAGS, bytes(8)))[:4]
    except OSError as error:
        if error.errno != errno.ENOTTY:
            raise
        return b""


def _checksum(fd, offset, length):
    data = os.pread(fd, min(length, (1 << 63) - 1 - offset), offset)
    return zlib.crc32(data)
