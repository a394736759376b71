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
CALL, RETURN, ERROR = 1, 2, 3
NO_FLAGS = 0
HEADER_BYTES = 16


def _field(code, kind, text):
    data = text.encode()
    field = struct.pack("<B", code) + b"\x01" + kind + b"\0" + struct.pack("<I", len(data)) + data + b"\0"
    return field + b"\0" * (-len(field) % 8)


def _padded(data, grain):
    return data + b"\0" * (-len(data) % grain)


def array(parts, grain=4):
    """The bytes of an array of such, which begin at multiples of @grain, 4 or less."""
    data = b"".join(_padded(part, grain) for part in parts[:-1]) + b"".join(parts[-1:])
    return struct.pack("<I", len(data)) + data


def string(text):
    data = text.encode()
    return struct.pack("<I", len(data)) + data + b"\0"


def call(serial, member, path="/org/dedupd1", interface="org.dedupd1.Manager", signature="", body=b"",
         destination=None):
    """The bytes of a call with arguments of @signature that @body has."""
    fields = [_field(1, b"o", path), _field(2, b"s", interface), _field(3, b"s", member)]
    if destination:
        fields.append(_field(6, b"s", destination))
    if signature:
        fields.append(struct.pack("<B", 8) + b"\x01g\0" + struct.pack("<B", len(signature))
                      + signature.encode() + b"\0")
    # The padding after the last field is no part of the array.
    last = fields[-1] if signature else fields[-1].rstrip(b"\0") + b"\0"
    header = b"".join(fields[:-1]) + last
    return _padded(struct.pack("<cBBBIII", b"l", CALL, NO_FLAGS, 1, len(body), serial, len(header))
                   + header, 8) + body


class PeerError(Exception):
    pass


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

    def say(self, *arguments):
        """Call, as call() does, when the greeting is answered: what comes with that may be left lying."""
        self.socket.settimeout(60)
        stream = self.socket.makefile("rb")
        while not (line := stream.readline()).startswith(b"AGREE_UNIX_FD"):
            if not line:
                raise PeerError("the connection was closed")
        self.socket.sendall(call(1, *arguments))
        return stream

    def ask(self, *arguments):
        """The same; what the body of the answer is, or a PeerError with its text."""
        stream = self.say(*arguments)
        while True:
            header = stream.read(HEADER_BYTES)
            if len(header) < HEADER_BYTES:
                raise PeerError("the connection was closed")
            _, kind, _, _, body_bytes, _, fields_bytes = struct.unpack("<cBBBIII", header)
            fields = stream.read(fields_bytes + -fields_bytes % 8)
            body = stream.read(body_bytes)
            if kind == ERROR:
                raise PeerError((fields + body).decode("utf-8", "replace"))
            if kind == RETURN:
                return body

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
