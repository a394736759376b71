# SPDX-License-Identifier: GPL-2.0-or-later
"""Damaging a loop filesystem: a file, so that reading it answers EIO, or what holds all files."""

import os
import re
import subprocess

import forger
import oracle
from filesystem import SECTOR_BYTES

XFS_SECTOR_SIZE_OFFSET = 102  # in the superblock
XFS_INODE_MAGIC = 0x494e
# Of a leaf of btrfs, and of an item in its head.
LEAF_SUM_BYTES = 32
LEAF_COUNT_OFFSET = 96
LEAF_HEAD_BYTES = 101
ITEM_BYTES = 25
KEY_OFFSET = 9


def device_offset(filesystem, path):
    """Where a file's first extent lies on the only device."""
    physical = oracle.file_extents(path)[0].physical
    return _btrfs_device_offset(filesystem.device, physical) if filesystem.kind == "btrfs" else physical


def make_unreadable(filesystem, path):
    """Damage the last extent of a file; on XFS the file must lie behind all else on the disk.

    On btrfs the bytes on the disk are changed, so that their checksum is wrong.  On XFS the image
    ends where the extent begins: the loop device answers EIO behind that.
    """
    last = oracle.file_extents(path)[-1]
    filesystem.forget_data()
    if filesystem.kind == "btrfs":
        place = _btrfs_device_offset(filesystem.device, last.physical)
        filesystem.unmount()
        _overwrite(filesystem.device, place)
        filesystem.mount()
    else:
        os.truncate(filesystem.image, last.physical)
        filesystem.forget_data()


def spoil_checksums(filesystem, paths):
    """Change a byte under each file of a btrfs: reading answers EIO, and no device had an error."""
    filesystem.forget_data()
    addresses = [oracle.file_extents(path)[-1].physical for path in paths]
    places = [_btrfs_device_offset(filesystem.device, address) for address in addresses]
    filesystem.unmount()
    for place in places:
        _overwrite(filesystem.device, place)
    filesystem.mount()


def repair(filesystem):
    """Make an XFS image whole again, so that it can be unmounted in order."""
    os.truncate(filesystem.image, filesystem.size_bytes)


def damage_metadata(filesystem):
    """Unmount it and damage a leaf of the tree of files of btrfs, or what XFS notes of free space."""
    filesystem.unmount()
    if filesystem.kind == "btrfs":
        leaf = int(re.search(r"^leaf (\d+)", _btrfs_tree(filesystem.device, "fs"), re.M)[1])
        _overwrite(filesystem.device, _btrfs_device_offset(filesystem.device, leaf))
    else:
        with open(filesystem.device, "rb") as device:
            sector = device.read(SECTOR_BYTES)
        _overwrite(filesystem.device,
                   int.from_bytes(sector[XFS_SECTOR_SIZE_OFFSET:][:2], "big"))


def move_checksums(filesystem):
    """Unmount a small btrfs made with -m single, and have its checksums be of other addresses.

    Doing so again undoes that.
    """
    filesystem.unmount()
    address = int(re.search(r"^leaf (\d+)", _btrfs_tree(filesystem.device, "csum"), re.M)[1])
    info = subprocess.run(["btrfs", "inspect-internal", "dump-super", filesystem.device],
                          check=True, capture_output=True, text=True).stdout
    size = int(re.search(r"^nodesize\s+(\d+)", info, re.M)[1])
    place = _btrfs_device_offset(filesystem.device, address)
    with open(filesystem.device, "r+b") as device:
        device.seek(place)
        leaf = bytearray(device.read(size))
        for number in range(int.from_bytes(leaf[LEAF_COUNT_OFFSET:][:4], "little")):
            at = LEAF_HEAD_BYTES + number * ITEM_BYTES + KEY_OFFSET
            leaf[at + 5] ^= 1  # a TiB further
        leaf[:4] = forger.checksum(leaf[LEAF_SUM_BYTES:]).to_bytes(4, "little")
        device.seek(place)
        device.write(leaf)
        device.flush()
        os.fsync(device.fileno())
    filesystem.mount()


def set_inode_magic(filesystem, inode, magic):
    """Damage an inode of an XFS, with those that lie in one buffer with it, by its first two bytes.

    XFS_INODE_MAGIC undoes that.
    """
    filesystem.unmount()
    subprocess.run(["xfs_db", "-x", "-c", f"inode {inode}",
                    "-c", f"write -d core.magic {magic}", filesystem.device],
                   check=True, capture_output=True)
    filesystem.mount()


def _overwrite(device, place):
    fd = os.open(device, os.O_WRONLY)
    os.pwrite(fd, b"damage" * 100, place)
    os.fsync(fd)
    os.close(fd)


def _btrfs_tree(device, tree):
    return subprocess.run(["btrfs", "inspect-internal", "dump-tree", "-t", tree, device],
                          check=True, capture_output=True, text=True).stdout


def _btrfs_device_offset(device, address):
    """Where a logical address lies on the only device, by the chunk tree."""
    chunks = _btrfs_tree(device, "chunk")
    pattern = (r"FIRST_CHUNK_TREE CHUNK_ITEM (\d+)\).*?length (\d+)"
               r".*?stripe 0 devid \d+ offset (\d+)")
    for match in re.finditer(pattern, chunks, re.S):
        start, length, place = map(int, match.groups())
        if start <= address < start + length:
            return address - start + place
    raise LookupError(f"no chunk holds {address}")
