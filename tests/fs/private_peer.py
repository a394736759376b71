# SPDX-License-Identifier: GPL-2.0-or-later
"""One who calls on the private socket by hand, and may behave in any way.

    private_peer.py SOCKET SECONDS

is many of these for so long, who call and take no answers; it prints how often they were hung up on.
"""

import contextlib
import os
import socket
import struct
import sys
import time

PEERS = 40
CALL, NO_REPLY = 1, 0


def _field(code, kind, text):
    data = text.encode()
    field = struct.pack("<B", code) + b"\x01" + kind + b"\0" + struct.pack("<I", len(data)) + data + b"\0"
    return field + b"\0" * (-len(field) % 8)


def call(serial, member, path="/org/dedupd1", interface="org.dedupd1.Manager"):
    """The bytes of a call without arguments."""
    fields = b"".join([_field(1, b"o", path), _field(2, b"s", interface), _field(3, b"s", member)])
    # The padding after the last field is no part of the array.
    length = len(fields.rstrip(b"\0")) + 1
    return struct.pack("<cBBBIII", b"l", CALL, NO_REPLY, 1, 0, serial, length) + fields


class PrivatePeer:
    """A connection on which all is said and done but what the caller does with it."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(str(path))
        self.socket.sendall(b"\0AUTH EXTERNAL " + str(os.getuid()).encode().hex().encode()
                            + b"\r\nNEGOTIATE_UNIX_FD\r\nBEGIN\r\n")
        self.socket.setblocking(False)

    def call_without_end(self, seconds):
        """Call and take no answer, until nothing more goes out or that time is over; the calls made."""
        end = time.monotonic() + seconds
        serial = 0
        with contextlib.suppress(BlockingIOError):
            while time.monotonic() < end:
                serial += 1
                self.socket.send(call(serial, "ListFilesystems"))
        return serial

    def close(self):
        self.socket.close()


def main():
    path, seconds = sys.argv[1], float(sys.argv[2])
    end = time.monotonic() + seconds
    peers, hung_up = [], 0
    while time.monotonic() < end:
        if len(peers) < PEERS:
            with contextlib.suppress(OSError):
                peers.append(PrivatePeer(path))
        for peer in list(peers):
            try:
                peer.call_without_end(0.02)
            except OSError:
                hung_up += 1
                peer.close()
                peers.remove(peer)
    print(hung_up)


if __name__ == "__main__":
    main()
