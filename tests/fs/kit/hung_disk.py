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
import socket
import struct
import subprocess
import sys
import tempfile
import threading

from nbd_file import nbd_file

# The protocol of network block devices, newstyle.
MAGIC, OPTION_MAGIC, REPLY_MAGIC = b"NBDMAGIC", b"IHAVEOPT", 0x3E889045565A9
REQUEST_MAGIC, ANSWER_MAGIC = 0x25609513, 0x67446698
FIXED_NEWSTYLE, NO_ZEROES = 1, 2
EXPORT_NAME, ABORT, GO = 1, 2, 7
ACKNOWLEDGED, INFORMATION, UNSUPPORTED = 1, 3, (1 << 31) | 1
HAS_FLAGS, SENDS_FLUSH = 1, 4
READ, WRITE, DISCONNECT, FLUSH = 0, 1, 2, 3
KINDS = {READ: "read", WRITE: "write", FLUSH: "flush"}


class _Disk:
    """What serves the image to one that connects, in a process of its own."""

    def __init__(self, image, listener):
        self._fd = os.open(image, os.O_RDWR)
        self._size = os.fstat(self._fd).st_size
        self._listener = listener
        self._connection = None
        self._sending = threading.Lock()
        self._holds = set()
        self._changed = threading.Condition()

    def obey(self, commands):
        """Hold what each line names, until the commands end."""
        for line in commands:
            with self._changed:
                self._holds = set(line.split())
                self._changed.notify_all()
            print("held", flush=True)

    def serve(self):
        with contextlib.suppress(EOFError):
            self._serve()

    def _serve(self):
        self._connection, _ = self._listener.accept()
        self._greet()
        while True:
            _, _, command, handle, offset, length = struct.unpack(">IHHQQI", self._take(28))
            if command == DISCONNECT:
                return
            data = self._take(length) if command == WRITE else None
            threading.Thread(target=self._answer, daemon=True,
                             args=[command, handle, offset, length, data]).start()

    def _take(self, length):
        taken = b""
        while len(taken) < length:
            more = self._connection.recv(length - len(taken))
            if not more:
                raise EOFError
            taken += more
        return taken

    def _greet(self):
        self._connection.sendall(MAGIC + OPTION_MAGIC + struct.pack(">H", FIXED_NEWSTYLE | NO_ZEROES))
        self._take(4)
        flags = HAS_FLAGS | SENDS_FLUSH
        while True:
            _, option, length = struct.unpack(">8sII", self._take(16))
            self._take(length)
            if option == EXPORT_NAME:
                self._connection.sendall(struct.pack(">QH", self._size, flags))
                return
            if option == GO:
                self._reply(option, INFORMATION, struct.pack(">HQH", 0, self._size, flags))
            self._reply(option, ACKNOWLEDGED if option in (GO, ABORT) else UNSUPPORTED)
            if option == GO:
                return

    def _reply(self, option, kind, data=b""):
        self._connection.sendall(struct.pack(">QIII", REPLY_MAGIC, option, kind, len(data)) + data)

    def _answer(self, command, handle, offset, length, data):
        with self._changed:
            self._changed.wait_for(lambda: KINDS.get(command) not in self._holds)
        found = b""
        if command == READ:
            found = os.pread(self._fd, length, offset)
        elif command == WRITE:
            os.pwrite(self._fd, data, offset)
        with self._sending:
            self._connection.sendall(struct.pack(">IIQ", ANSWER_MAGIC, 0, handle) + found)


def _serve(image, path):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        disk = _Disk(image, listener)
        serving = threading.Thread(target=disk.serve, daemon=True)
        serving.start()
        print("ready", flush=True)
        disk.obey(sys.stdin)
    # Who still waits is hung up on.
    os._exit(0)


class HungDisk:
    """What the test has of it."""

    def __init__(self, server):
        self._server = server

    def hang(self, *kinds):
        """From now on nothing of these kinds is answered: "read", "write", "flush"."""
        self._server.stdin.write(" ".join(kinds) + "\n")
        self._server.stdin.flush()
        assert self._server.stdout.readline() == "held\n"

    def let_go(self):
        self.hang()


@contextlib.contextmanager
def _server(image, path):
    with subprocess.Popen([sys.executable, __file__, image, path], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True, start_new_session=True) as server:
        try:
            assert server.stdout.readline() == "ready\n"
            yield server
        finally:
            server.stdin.close()


@contextlib.contextmanager
def hung_disk(filesystem):
    """Have the mounted @filesystem, a LoopFilesystem, lie on such a disk."""
    with tempfile.TemporaryDirectory(prefix="dedupd-hung-") as directory:
        path, shows = os.path.join(directory, "socket"), os.path.join(directory, "mount")
        os.mkdir(shows)
        with _server(filesystem.image, path) as server, nbd_file(shows, "--unix", path) as shown:
            disk = HungDisk(server)
            image = filesystem.move_to(shown)
            try:
                yield disk
            finally:
                disk.let_go()
                filesystem.move_to(image)


if __name__ == "__main__":
    _serve(*sys.argv[1:])
