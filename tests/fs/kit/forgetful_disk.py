# SPDX-License-Identifier: GPL-2.0-or-later
"""A disk with a volatile write cache, whose power can be cut.

    with forgetful_disk(filesystem, seed) as disk:
        ...
        disk.cut()

A write stays in the cache until the disk is told to flush.  A cut loses a random half of the blocks in the cache, so
later writes may survive earlier ones.  Then the disk answers nothing; cut() mounts the filesystem again from what is left.
"""

import array
import contextlib
import fcntl
import os
import random
import re
import sys
import tempfile
import threading

import nbd_server
from nbd_file import nbd_file
from nbd_server import FLUSH, READ, WRITE, NbdServer

BLOCK_BYTES = 4096
XFS_IOC_GOINGDOWN = 0x8004587D
XFS_NO_FLUSH = 2


class _Disk(NbdServer):
    """Keeps what is written in memory, by blocks; all requests begin and end with a sector."""

    def __init__(self, image, seed, must_flush):
        super().__init__(image)
        self._chance = random.Random(int(seed))
        self._flushes = must_flush == "flushes"
        self._cached = {}
        self._busy = threading.Lock()

    def answer(self, command, offset, length, data):
        with self._busy:
            if command == READ:
                return self._read(offset, length)
            if command == WRITE:
                self._write(offset, data)
            elif command == FLUSH and self._flushes:
                self._keep(self._cached)
            return b""

    def obey(self, _line):
        """Lose power."""
        self._busy.acquire()  # for ever
        kept = [block for block in self._cached if self._chance.random() < 0.5]
        n_cached = len(self._cached)
        self._keep(kept)
        print(f"{len(kept)} of {n_cached}", flush=True)
        os._exit(0)

    def _read(self, offset, length):
        blocks = range(offset // BLOCK_BYTES, -(-(offset + length) // BLOCK_BYTES))
        found = os.pread(self.fd, length, offset)
        if not any(block in self._cached for block in blocks):
            return found
        return b"".join(map(self._block, blocks))[offset % BLOCK_BYTES:][:length]

    def _block(self, block):
        return self._cached.get(block) or os.pread(self.fd, BLOCK_BYTES, block * BLOCK_BYTES)

    def _write(self, offset, data):
        left = memoryview(data)
        while left:
            block, begin = divmod(offset, BLOCK_BYTES)
            part = bytes(left[:BLOCK_BYTES - begin])
            left, offset = left[len(part):], offset + len(part)
            if len(part) < BLOCK_BYTES:
                whole = self._block(block)
                part = whole[:begin] + part + whole[begin + len(part):]
            self._cached[block] = part

    def _keep(self, blocks):
        for block in list(blocks):
            os.pwrite(self.fd, self._cached.pop(block), block * BLOCK_BYTES)


class ForgetfulDisk:
    """What the test has of it."""

    def __init__(self, filesystem, seed, flushes):
        self._filesystem = filesystem
        self._image = filesystem.image
        self._seed = seed
        self._flushes = flushes
        self._power = contextlib.ExitStack()
        self._server = None
        self.lost_blocks = 0
        self.kept_blocks = 0
        self._switch_on()

    def _switch_on(self):
        """Serve the image anew, and have the filesystem lie there."""
        before, self._power = self._power, contextlib.ExitStack()
        with before:
            directory = self._power.enter_context(tempfile.TemporaryDirectory(prefix="dedupd-forgetful-"))
            path, shows = os.path.join(directory, "socket"), os.path.join(directory, "mount")
            os.mkdir(shows)
            self._server = self._power.enter_context(nbd_server.running(
                __file__, self._image, path, self._seed, "flushes" if self._flushes else "lies"))
            shown = self._power.enter_context(nbd_file(shows, "--unix", path))
            self._filesystem.move_to(shown)
        self._seed += 1

    def cut(self, end_users):
        """Lose power, and what was not flushed; return when the filesystem is mounted again.

        Nothing may have a file open by then: @end_users() is called when the disk is gone.
        """
        kept, cached = map(int, re.fullmatch(r"(\d+) of (\d+)", self._server.tell("cut")).groups())
        self.kept_blocks += kept
        self.lost_blocks += cached - kept
        end_users()
        self._shut_down()
        self._switch_on()

    def _shut_down(self):
        """Have XFS, which would try for long to write to the disk, give up."""
        with contextlib.suppress(OSError):
            root = os.open(self._filesystem.mount_point, os.O_RDONLY)
            try:
                fcntl.ioctl(root, XFS_IOC_GOINGDOWN, array.array("I", [XFS_NO_FLUSH]))
            finally:
                os.close(root)

    def close(self):
        with self._power:
            self._filesystem.move_to(self._image)


@contextlib.contextmanager
def forgetful_disk(filesystem, seed, flushes=True):
    """Have the mounted @filesystem, a LoopFilesystem, lie on such a disk; unless it @flushes, flushing is a lie."""
    disk = ForgetfulDisk(filesystem, seed, flushes)
    try:
        yield disk
    finally:
        disk.close()


if __name__ == "__main__":
    nbd_server.serve(_Disk(sys.argv[1], *sys.argv[3:]), sys.argv[2])
