# SPDX-License-Identifier: GPL-2.0-or-later
"""A mount namespace for the tests of one process.

dedupd looks at every mounted filesystem.  A test file with mounts of its own shows its services no filesystem of
another file that runs at the same time, and the kernel unmounts everything when its last process ends.
"""

import ctypes
import os

CLONE_NEWNS = 0x00020000
MS_REC = 0x4000
MS_PRIVATE = 1 << 18


def take():
    """Give this process mounts of its own, as far as it may; it must have one thread.

    Returns whether it has them.  Where the root is no mount point, as in a chroot, only mounts below it become private.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if os.geteuid() != 0 or libc.unshare(CLONE_NEWNS) != 0:
        return False
    if libc.mount(None, b"/", None, MS_REC | MS_PRIVATE, None) != 0:
        for mount_point in _mount_points():
            libc.mount(None, mount_point, None, MS_PRIVATE, None)
    return True


def take_memory(directory):
    """Mount a tmpfs of large pages over a directory; this process must have mounts of its own.

    To drop caches, the kernel visits all pages of each tmpfs, though it can free none.  Of large pages there are few.
    Without them, as on kernels that lack them, the directory stays as it is.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    return libc.mount(b"tmpfs", os.fsencode(directory), b"tmpfs", 0, b"huge=always") == 0


def _mount_points():
    with open("/proc/self/mountinfo", "rb") as mountinfo:
        return [line.split()[4].decode("unicode_escape").encode("latin-1") for line in mountinfo]
