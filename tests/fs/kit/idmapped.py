# SPDX-License-Identifier: GPL-2.0-or-later
"""A mount that shows other owners than the filesystem has (mount_setattr(2), MOUNT_ATTR_IDMAP)."""

import contextlib
import ctypes
import os
import pathlib
import signal
import struct
import subprocess

SYS_OPEN_TREE, SYS_MOVE_MOUNT, SYS_MOUNT_SETATTR = 428, 429, 442
AT_FDCWD = -100
AT_EMPTY_PATH = 0x1000
OPEN_TREE_CLONE = 1
MOVE_MOUNT_F_EMPTY_PATH = 4
MOUNT_ATTR_IDMAP = 0x00100000


class IdmapUnavailable(Exception):
    """This kernel has no such mounts; the message says why."""


def _call(number, *arguments):
    libc = ctypes.CDLL(None, use_errno=True)
    result = libc.syscall(number, *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


@contextlib.contextmanager
def _user_namespace(mapping):
    """A descriptor of a user namespace with this mapping of users and groups."""
    with subprocess.Popen(["unshare", "--user", "sleep", "infinity"]) as process:
        try:
            proc = pathlib.Path(f"/proc/{process.pid}")
            while os.readlink(proc / "ns/user") == os.readlink("/proc/self/ns/user"):
                # In a chroot(2), the kernel makes none.
                if process.poll() is not None:
                    raise OSError(f"unshare --user ended with status {process.returncode}")
                os.sched_yield()
            for name in ("uid_map", "gid_map"):
                (proc / name).write_text(mapping, encoding="ascii")
            fd = os.open(proc / "ns/user", os.O_RDONLY)
            try:
                yield fd
            finally:
                os.close(fd)
        finally:
            process.kill()


def mount_idmapped(source, target, first, count=65536):
    """Show @source at @target; its users 0 to @count there are @first and so on."""
    try:
        with _user_namespace(f"0 {first} {count}") as namespace:
            tree = _call(SYS_OPEN_TREE, AT_FDCWD, os.fsencode(source), OPEN_TREE_CLONE | os.O_CLOEXEC)
            try:
                attributes = struct.pack("=QQQQ", MOUNT_ATTR_IDMAP, 0, 0, namespace)
                _call(SYS_MOUNT_SETATTR, tree, b"", AT_EMPTY_PATH, attributes, len(attributes))
                _call(SYS_MOVE_MOUNT, tree, b"", AT_FDCWD, os.fsencode(target), MOVE_MOUNT_F_EMPTY_PATH)
            finally:
                os.close(tree)
    except OSError as error:
        raise IdmapUnavailable(f"no mount with other owners: {error}") from error
