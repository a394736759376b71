# SPDX-License-Identifier: GPL-2.0-or-later
"""A user who goes on while a pass runs: writes, truncates, renames, locks and leases.

What only one writer changes has a shadow in memory, and is compared with it in the end.
"""

import contextlib
import fcntl
import mmap
import os
import random
import select
import signal
import struct

import content
import hostile_tree
import ioctls
from content import BLOCK

FILES = 8
BLOCKS = 40
SHADOWS = 2
# The pass shall have some of the CPU, and the user's files shall not grow for ever.
PAUSE_SECONDS = 0.001
ACTS_MAX = 5000
F_OFD_SETLK = 37


class Companion:
    """@function called as a user with a file descriptor that ends when it shall."""

    def __init__(self, user, function):
        self._stop_read, self._stop_write = os.pipe()
        self._process = hostile_tree.begin_as_user(user, self._run, function)
        os.close(self._stop_read)

    def _run(self, function):
        os.close(self._stop_write)
        function(self._stop_read)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        """Have it compare its shadows; ActFailed if one differs."""
        os.close(self._stop_write)
        hostile_tree.end_of(self._process)


def disturb(directory, kind, seed, stop_fd):
    """Change files below @directory until @stop_fd ends."""
    # Whoever breaks a lease is told so by a signal.
    signal.signal(signal.SIGIO, signal.SIG_IGN)
    user = Disturber(directory, kind, seed)
    acts = 0
    while not select.select([stop_fd], [], [], PAUSE_SECONDS if acts < ACTS_MAX else None)[0]:
        user.disturb_once()
        acts += 1
    user.compare_shadows()


class Disturber:
    def __init__(self, directory, kind, seed):
        self._directory = directory
        self._kind = kind
        self._random = random.Random(seed)
        self._data = content.noise(seed, BLOCKS * BLOCK)
        self._held = []
        directory.mkdir(exist_ok=True)
        for number in range(FILES):
            content.write(self._path(number), self._data)
        self._shadows = {self._directory / f"shadow-{number}": bytearray(self._data)
                         for number in range(SHADOWS)}
        for path in self._shadows:
            content.write(path, self._data)
        self._acts = [self._write, self._write, self._truncate, self._rename, self._remove, self._map,
                      self._lock, self._lease, self._clone, self._close_access, self._shadow, self._shadow]

    def _path(self, number=None):
        return self._directory / str(self._random.randrange(FILES) if number is None else number)

    def disturb_once(self):
        # Whatever the pass holds at the moment, or an earlier act took away, is tried again.
        with contextlib.suppress(FileNotFoundError, BlockingIOError, PermissionError):
            self._random.choice(self._acts)()

    @contextlib.contextmanager
    def _open(self):
        fd = os.open(self._path(), os.O_RDWR | os.O_CREAT | os.O_NONBLOCK, 0o644)
        try:
            yield fd
        finally:
            os.close(fd)

    def _piece(self):
        start = self._random.randrange(BLOCKS)
        return start * BLOCK, self._data[start * BLOCK:(start + self._random.randrange(1, 20)) * BLOCK]

    def _write(self):
        with self._open() as fd:
            offset, data = self._piece()
            os.pwrite(fd, data, self._random.choice([offset, 0, offset + 1]))

    def _truncate(self):
        with self._open() as fd:
            os.ftruncate(fd, self._random.choice([0, 1, BLOCK, BLOCKS * BLOCK, 1 << 40]))
            os.pwrite(fd, self._data, 0)
            os.ftruncate(fd, len(self._data))

    def _rename(self):
        os.rename(self._path(), self._path())

    def _remove(self):
        self._path().unlink()
        content.write(self._path(), self._data)

    def _map(self):
        with self._open() as fd:
            if os.fstat(fd).st_size >= BLOCKS * BLOCK:
                with mmap.mmap(fd, BLOCKS * BLOCK) as view:
                    offset, data = self._piece()
                    view[offset:offset + len(data)] = data

    def _lock(self):
        with self._open() as fd:
            fcntl.fcntl(fd, F_OFD_SETLK, struct.pack("=hh4xqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
            self._hold(os.dup(fd))

    def _lease(self):
        with self._open() as fd:
            fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)
            self._hold(os.dup(fd))

    def _hold(self, fd):
        self._held.append(fd)
        if len(self._held) > FILES // 2:
            os.close(self._held.pop(0))

    def _clone(self):
        with self._open() as source, self._open() as target, contextlib.suppress(OSError):
            ioctls.clone_range(source, 0, BLOCKS * BLOCK, target, self._random.randrange(3) * BLOCK)

    def _close_access(self):
        self._path().chmod(self._random.choice([0, 0o200, 0o644, 0o644]))

    def _shadow(self):
        path = self._random.choice(list(self._shadows))
        offset, data = self._piece()
        self._shadows[path][offset:offset + len(data)] = data
        content.overwrite(path, offset, data)

    def compare_shadows(self):
        for path, data in self._shadows.items():
            if path.read_bytes() != data:
                raise AssertionError(f"{path} has not what was written")
