# SPDX-License-Identifier: GPL-2.0-or-later
"""What serves an image as a network block device to one that connects, in a process of its own.

    class Disk(NbdServer):
        def answer(self, command, offset, length, data): ...

    if __name__ == "__main__":
        serve(Disk(sys.argv[1]), sys.argv[2])

A disk has requests answered, and obeys the lines that arrive on standard input.
"""

import contextlib
import os
import socket
import struct
import subprocess
import sys
import threading

# The protocol of network block devices, newstyle.
MAGIC, OPTION_MAGIC, REPLY_MAGIC = b"NBDMAGIC", b"IHAVEOPT", 0x3E889045565A9
REQUEST_MAGIC, ANSWER_MAGIC = 0x25609513, 0x67446698
FIXED_NEWSTYLE, NO_ZEROES = 1, 2
EXPORT_NAME, ABORT, GO = 1, 2, 7
ACKNOWLEDGED, INFORMATION, UNSUPPORTED = 1, 3, (1 << 31) | 1
HAS_FLAGS, SENDS_FLUSH = 1, 4
READ, WRITE, DISCONNECT, FLUSH = 0, 1, 2, 3


class NbdServer:
    """An image, and the connection over which it is asked for."""

    def __init__(self, image):
        self.fd = os.open(image, os.O_RDWR)
        self._size = os.fstat(self.fd).st_size
        self._connection = None
        self._sending = threading.Lock()

    def answer(self, command, offset, length, data):
        """Do what a request asks for; the bytes that were read."""
        found = b""
        if command == READ:
            found = os.pread(self.fd, length, offset)
        elif command == WRITE:
            os.pwrite(self.fd, data, offset)
        return found

    def handle(self, command, handle, offset, length, data):
        """Answer a request, one after the other unless a disk does that in threads."""
        found = self.answer(command, offset, length, data)
        with self._sending:
            self._connection.sendall(struct.pack(">IIQ", ANSWER_MAGIC, 0, handle) + found)

    def obey(self, line):
        """Do what a line of standard input says."""

    def serve(self, listener):
        """Until who connects goes."""
        with contextlib.suppress(EOFError, OSError):
            self._serve(listener)

    def _serve(self, listener):
        self._connection, _ = listener.accept()
        self._greet()
        while True:
            _, _, command, handle, offset, length = struct.unpack(">IHHQQI", self._take(28))
            if command == DISCONNECT:
                return
            data = self._take(length) if command == WRITE else None
            self.handle(command, handle, offset, length, data)

    def _take(self, length):
        taken = bytearray()
        while len(taken) < length:
            more = self._connection.recv(length - len(taken))
            if not more:
                raise EOFError
            taken += more
        return bytes(taken)

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


def serve(disk, path):
    """Serve @disk at the socket @path, until standard input ends."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        threading.Thread(target=disk.serve, args=[listener], daemon=True).start()
        print("ready", flush=True)
        for line in sys.stdin:
            print(disk.obey(line), flush=True)
    # Who still waits is hung up on.
    os._exit(0)


class Server:
    """What a test has of the process that serves."""

    def __init__(self, process):
        self._process = process

    def tell(self, words):
        """Have it obey, and return its answer."""
        self._process.stdin.write(words + "\n")
        self._process.stdin.flush()
        return self._process.stdout.readline().rstrip("\n")


@contextlib.contextmanager
def running(program, image, path, *words):
    """Run the disk that the Python file @program defines; the Server."""
    with subprocess.Popen([sys.executable, program, image, path, *map(str, words)], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            yield Server(process)
        finally:
            process.stdin.close()
