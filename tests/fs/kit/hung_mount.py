# SPDX-License-Identifier: GPL-2.0-or-later
"""A FUSE filesystem that nobody answers for: whoever touches it hangs until it ends."""

import ctypes
import os
import pathlib
import stat

DEVICE = pathlib.Path("/dev/fuse")
MNT_FORCE, MNT_DETACH = 1, 2

_libc = ctypes.CDLL(None, use_errno=True)


class HungMountUnavailable(Exception):
    pass


class HungMount:
    """Mounted on @directory, which is made, while the context lasts."""

    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        self._fd = None

    def __enter__(self):
        try:
            self._fd = os.open(DEVICE, os.O_RDWR | os.O_CLOEXEC)
        except OSError as failure:
            raise HungMountUnavailable(str(failure)) from failure
        self.directory.mkdir()
        options = f"fd={self._fd},rootmode={stat.S_IFDIR:o},user_id=0,group_id=0"
        if _libc.mount(b"hung", os.fsencode(self.directory), b"fuse", 0, options.encode()) != 0:
            os.close(self._fd)
            raise HungMountUnavailable(f"cannot mount: {os.strerror(ctypes.get_errno())}")
        return self

    def __exit__(self, *_):
        # Who hangs in it gets an error then.
        os.close(self._fd)
        if _libc.umount2(os.fsencode(self.directory), MNT_FORCE | MNT_DETACH) != 0:
            raise OSError(ctypes.get_errno(), f"cannot unmount {self.directory}")
        self.directory.rmdir()
