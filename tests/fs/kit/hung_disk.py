# SPDX-License-Identifier: GPL-2.0-or-later
"""A disk that can be made to hang: what is asked of it is not answered until it is let go.

    with hung_disk(filesystem) as disk:
        disk.hang("flush")
        ...
        disk.let_go()

Who waits for it is in the kernel, beyond any signal.  What answers is a process of its own, which ends with the
test, however that ends: whoever still waits gets an error then.  nbdfuse shows what it serves as the file that
the loop device is of.
"""

import contextlib
import os
import sys
import tempfile
import threading

import nbd_server
from nbd_file import nbd_file
from nbd_server import FLUSH, READ, WRITE, NbdServer

KINDS = {READ: "read", WRITE: "write", FLUSH: "flush"}


class _Disk(NbdServer):
    """Holds requests of some kinds."""

    def __init__(self, image):
        super().__init__(image)
        self._holds = set()
        self._changed = threading.Condition()

    def obey(self, line):
        """Hold what the line names."""
        with self._changed:
            self._holds = set(line.split())
            self._changed.notify_all()
        return "held"

    def handle(self, *request):
        threading.Thread(target=super().handle, daemon=True, args=request).start()

    def answer(self, command, offset, length, data):
        with self._changed:
            self._changed.wait_for(lambda: KINDS.get(command) not in self._holds)
        return super().answer(command, offset, length, data)


class HungDisk:
    """What the test has of it."""

    def __init__(self, server):
        self._server = server

    def hang(self, *kinds):
        """From now on nothing of these kinds is answered: "read", "write", "flush"."""
        assert self._server.tell(" ".join(kinds)) == "held"

    def let_go(self):
        self.hang()


@contextlib.contextmanager
def hung_disk(filesystem):
    """Have the mounted @filesystem, a LoopFilesystem, lie on such a disk."""
    with tempfile.TemporaryDirectory(prefix="dedupd-hung-") as directory:
        path, shows = os.path.join(directory, "socket"), os.path.join(directory, "mount")
        os.mkdir(shows)
        with nbd_server.running(__file__, filesystem.image, path) as server, \
                nbd_file(shows, "--unix", path) as shown:
            disk = HungDisk(server)
            image = filesystem.move_to(shown)
            try:
                yield disk
            finally:
                disk.let_go()
                filesystem.move_to(image)


if __name__ == "__main__":
    nbd_server.serve(_Disk(sys.argv[1]), sys.argv[2])
