# SPDX-License-Identifier: GPL-2.0-or-later
"""Making an XFS of which every inode knows its names, which mkfs.xfs does from version 6.10 on.

Where mkfs cannot, one that is still empty is made such by its superblock: the top directory has no
name, so that there is nothing to add.  Only the first superblock is changed, which is the one that is
mounted.
"""

import os
import struct

SECTOR_BYTES = 512
MAGIC = b"XFSB"
VERSION_PLACE = 100
INCOMPATIBLE_PLACE = 216
CHECKSUM_PLACE = 224
VERSION_ATTRIBUTES = 0x10   # some file may have extended attributes
INCOMPATIBLE_PARENTS = 0x80
POLYNOMIAL = 0x82f63b78


def crc32c(data):
    """As XFS keeps it of its blocks."""
    value = 0xffffffff
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (POLYNOMIAL if value & 1 else 0)
    return value ^ 0xffffffff


def _checksum(block):
    return crc32c(block[:CHECKSUM_PLACE] + bytes(4) + block[CHECKSUM_PLACE + 4:])


def enable(device):
    """Have the empty, unmounted XFS keep the names of inodes with them."""
    with open(device, "r+b", buffering=0) as file:
        block = bytearray(file.read(SECTOR_BYTES))
        assert block[:len(MAGIC)] == MAGIC
        assert struct.unpack_from("<I", block, CHECKSUM_PLACE)[0] == _checksum(block)
        version, = struct.unpack_from(">H", block, VERSION_PLACE)
        features, = struct.unpack_from(">I", block, INCOMPATIBLE_PLACE)
        struct.pack_into(">H", block, VERSION_PLACE, version | VERSION_ATTRIBUTES)
        struct.pack_into(">I", block, INCOMPATIBLE_PLACE, features | INCOMPATIBLE_PARENTS)
        struct.pack_into("<I", block, CHECKSUM_PLACE, _checksum(block))
        file.seek(0)
        file.write(block)
        os.fsync(file.fileno())
