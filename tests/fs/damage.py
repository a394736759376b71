# SPDX-License-Identifier: GPL-2.0-or-later
"""Making a file of a mounted loop filesystem unreadable, so that reading it answers EIO."""

import os
import re
import subprocess

import oracle


def make_unreadable(filesystem, path):
    """Damage the last extent of a file; on XFS the file must lie behind all else on the disk.

    On btrfs the bytes on the disk are changed, so that their checksum is wrong.  On XFS the image
    ends where the extent begins: the loop device answers EIO behind that.
    """
    last = oracle.file_extents(path)[-1]
    filesystem.drop_caches()
    if filesystem.kind == "btrfs":
        place = _btrfs_device_offset(filesystem.device, last.physical)
        filesystem.unmount()
        device = os.open(filesystem.device, os.O_WRONLY)
        os.pwrite(device, b"damage" * 100, place)
        os.fsync(device)
        os.close(device)
        filesystem.mount()
    else:
        os.truncate(filesystem.image, last.physical)
        filesystem.drop_caches()


def repair(filesystem):
    """Make an XFS image whole again, so that it can be unmounted in order."""
    os.truncate(filesystem.image, filesystem.size_bytes)


def _btrfs_device_offset(device, address):
    """Where a logical address lies on the only device, by the chunk tree."""
    chunks = subprocess.run(["btrfs", "inspect-internal", "dump-tree", "-t", "chunk", device],
                            check=True, capture_output=True, text=True).stdout
    pattern = (r"FIRST_CHUNK_TREE CHUNK_ITEM (\d+)\).*?length (\d+)"
               r".*?stripe 0 devid \d+ offset (\d+)")
    for match in re.finditer(pattern, chunks, re.S):
        start, length, place = map(int, match.groups())
        if start <= address < start + length:
            return address - start + place
    raise LookupError(f"no chunk holds {address}")
