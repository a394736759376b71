# SPDX-License-Identifier: GPL-2.0-or-later
"""Quotas of subvolumes of a btrfs, also the simple ones, which old programs of btrfs do not know."""

import fcntl
import os
import struct

import ioctls

BTRFS_IOC_QUOTA_CTL = 0xC0109428
ENABLE_SIMPLE = 4
BTRFS_IOC_QGROUP_LIMIT = 0x8030942B
LIMIT_REFERENCED = 1
QUOTA_TREE = 8
QGROUP_INFO = 242
TOP_LEVEL = 5


def _ioctl(path, request, argument):
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        return fcntl.ioctl(fd, request, argument)
    finally:
        os.close(fd)


def enable_simple(tree):
    """Charge what is written from here on to the subvolume that it is written in."""
    _ioctl(tree, BTRFS_IOC_QUOTA_CTL, bytearray(struct.pack("=QQ", ENABLE_SIMPLE, 0)))


def limit(tree, subvolume, size):
    """What the subvolume may refer to; with simple quotas, what it may be charged.

    The top level is asked, since a subvolume at its limit has no room for the change.
    """
    _ioctl(tree, BTRFS_IOC_QGROUP_LIMIT,
           bytearray(struct.pack("=QQQQQQ", subvolume_id(subvolume), LIMIT_REFERENCED, size,
                                 0, 0, 0)))


def subvolume_id(path):
    """The id of the subvolume that a directory lies in."""
    argument = bytearray(4096)
    struct.pack_into("=QQ", argument, 0, 0, 256)
    _ioctl(path, 0xD0009412, argument)  # BTRFS_IOC_INO_LOOKUP
    return struct.unpack_from("=Q", argument, 0)[0]


def usage(tree):
    """The bytes that each subvolume is charged, by its id."""
    fd = os.open(tree, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.ioctl(fd, ioctls.BTRFS_IOC_SYNC)
        return {item_offset: struct.unpack_from("=QQ", data, 0)[1]
                for _, kind, item_offset, data in
                ioctls.btrfs_tree_items(fd, QUOTA_TREE, 0, ioctls.U64_MAX)
                if kind == QGROUP_INFO}
    finally:
        os.close(fd)
