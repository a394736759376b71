# SPDX-License-Identifier: GPL-2.0-or-later
"""A stand-in for the service on its private socket, which answers as a test wants, or not at all."""

import socket
import struct
import threading

RETURN, ERROR = 2, 3
GUID = "0123456789abcdef0123456789abcdef"
FILESYSTEM = "org.dedupd1.Filesystem"
OBJECTS = "a{oa{sa{sv}}}"
DISKS = "a(sttbbbt)"


class Body:
    """Values as the bus has them."""

    def __init__(self):
        self.data = bytearray()

    def pad(self, grain):
        self.data += bytes(-len(self.data) % grain)

    def number(self, value, form="I"):
        self.pad(struct.calcsize(form))
        self.data += struct.pack("<" + form, value)

    def string(self, text):
        data = text.encode()
        self.number(len(data))
        self.data += data + b"\0"

    def signature(self, text):
        self.data += struct.pack("<B", len(text)) + text.encode() + b"\0"

    def array(self, items, append, grain=8):
        self.number(0)
        place = len(self.data) - 4
        self.pad(grain)
        begin = len(self.data)
        for item in items:
            self.pad(grain)
            append(item)
        struct.pack_into("<I", self.data, place, len(self.data) - begin)

    def variant(self, kind, value):
        self.signature(kind)
        if kind == "as":
            self.array(value, self.string, 4)
        elif kind == "s":
            self.string(value)
        else:
            self.number(value, {"t": "Q", "b": "I", "u": "I"}[kind])


def objects(all_of_them):
    """The answer with these objects: (path, {interface: {property: (type, value)}})."""
    body = Body()

    def add_property(item):
        name, (kind, value) = item
        body.string(name)
        body.variant(kind, value)

    def add_interface(item):
        name, properties = item
        body.string(name)
        body.array(properties.items(), add_property)

    def add_object(item):
        path, interfaces = item
        body.string(path)
        body.array(interfaces.items(), add_interface)

    body.array(all_of_them, add_object)
    return OBJECTS, bytes(body.data)


def filesystem(uuid, mount_point, **properties):
    """An object as the service describes an enabled filesystem that waits."""
    shown = {"UUID": ("s", uuid), "Kind": ("s", "XFS"), "MountPoint": ("s", mount_point),
             "State": ("s", "waiting"), "StateDirectory": ("s", "/nonexistent"), "Disks": ("as", ["sda"])}
    return (f"/org/dedupd1/filesystem/{uuid.replace('-', '_')}", {FILESYSTEM: shown | properties})


def no_disks():
    return DISKS, struct.pack("<II", 0, 0)


class FeignedService:
    """answers: member -> function of the number of calls so far, which returns (signature, bytes), an error as (name,
    text) in a list, or None to close the connection."""

    def __init__(self, path, answers):
        self.calls = []
        self._answers = answers
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(str(path))
        self._socket.listen()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self):
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join()

    def _serve(self):
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection, connection.makefile("rb") as stream:
                try:
                    self._greet(connection, stream)
                    while self._answer(connection, stream):
                        pass
                except (OSError, EOFError):
                    pass

    @staticmethod
    def _greet(connection, stream):
        while not (line := stream.readline().strip(b"\0\r\n")).startswith(b"BEGIN"):
            if not line:
                raise EOFError
            if line == b"AUTH EXTERNAL":
                connection.sendall(b"DATA\r\n")
            elif line.startswith(b"NEGOTIATE"):
                connection.sendall(b"AGREE_UNIX_FD\r\n")
            else:
                connection.sendall(f"OK {GUID}\r\n".encode())

    def _answer(self, connection, stream):
        head = stream.read(16)
        if len(head) < 16:
            return False
        _, _, _, _, n_body, serial, n_fields = struct.unpack("<cBBBIII", head)
        fields = stream.read(n_fields + -n_fields % 8)
        stream.read(n_body)
        member = _member(fields)
        self.calls.append(member)
        answer = self._answers[member](self.calls.count(member))
        if answer is None:
            return False
        if isinstance(answer, list):
            name, text = answer
            body = Body()
            body.string(text)
            connection.sendall(_message(ERROR, serial, "s", bytes(body.data), name))
        else:
            connection.sendall(_message(RETURN, serial, *answer))
        return True


def _member(fields):
    """The name of the method, from the fields of a header, each a struct of a code and a variant."""
    at = 0
    while at < len(fields):
        at += -at % 8
        code, n_kind = fields[at], fields[at + 1]
        kind = chr(fields[at + 2])
        at += 3 + n_kind
        if kind == "g":
            at += fields[at] + 2
            continue
        at += -at % 4
        (number,) = struct.unpack_from("<I", fields, at)
        if kind != "u" and code == 3:
            return fields[at + 4:at + 4 + number].decode()
        at += 4 if kind == "u" else 4 + number + 1
    raise EOFError


def _message(kind, serial, signature, data, error=None):
    fields = Body()
    added = [(5, "u", serial), (8, "g", signature)] + ([(4, "s", error)] if error else [])

    def add(field):
        code, form, value = field
        fields.data += bytes([code])
        fields.signature(form)
        if form == "g":
            fields.signature(value)
        elif form == "u":
            fields.number(value)
        else:
            fields.string(value)

    fields.data += struct.pack("<cBBBII", b"l", kind, 1, 1, len(data), serial)
    fields.array(added, add)
    fields.pad(8)
    return bytes(fields.data) + data
