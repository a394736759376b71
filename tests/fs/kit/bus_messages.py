# SPDX-License-Identifier: GPL-2.0-or-later
"""Messages of D-Bus that are made from their parts, so that any part can be wrong."""

import dataclasses
import struct

CALL = 1
PATH, INTERFACE, MEMBER, ERROR, REPLY, DESTINATION, SENDER, SIGNATURE, DESCRIPTORS = range(1, 10)
TYPES = "ybnqiuxtdsogahv(){}z\0"


def aligned(data, grain):
    return data + b"\0" * (-len(data) % grain)


@dataclasses.dataclass
class Message:
    """A field is a code, a type and a value; what is None is as it has to be."""

    kind: int = CALL
    fields: list = dataclasses.field(default_factory=list)
    body: bytes = b""
    serial: int = 1
    order: str = "<"
    flags: int = 0
    version: int = 1
    body_bytes: int | None = None
    fields_bytes: int | None = None

    def _text(self, text):
        data = text if isinstance(text, bytes) else text.encode()
        return struct.pack(self.order + "I", len(data)) + data + b"\0"

    def _field(self, code, kind, value):
        name = kind.encode()
        begun = bytes([code, len(name) & 255]) + name + b"\0"
        if kind == "g":
            data = value if isinstance(value, bytes) else value.encode()
            return begun + bytes([len(data) & 255]) + data + b"\0"
        if kind in ("s", "o"):
            return aligned(begun, 4) + self._text(value)
        return aligned(begun, 4) + struct.pack(self.order + "I", value)

    def bytes(self):
        fields = b""
        for field in self.fields:
            fields = aligned(fields, 8) + self._field(*field)
        body_bytes = len(self.body) if self.body_bytes is None else self.body_bytes
        fields_bytes = len(fields) if self.fields_bytes is None else self.fields_bytes
        head = struct.pack(self.order + "cBBBIII", b"l" if self.order == "<" else b"B", self.kind, self.flags,
                           self.version, body_bytes, self.serial, fields_bytes)
        return aligned(head + fields, 8) + self.body


def _text(order, text):
    return struct.pack(order + "I", len(text)) + text.encode() + b"\0"


def _base(random, serial, target, destination):
    """A call that is right."""
    order = random.choice("<>")
    manager, filesystem = "org.dedupd1.Manager", "org.dedupd1.Filesystem"
    properties = "org.freedesktop.DBus.Properties"
    path = struct.pack(order + "I", 6) + b"/proc/"
    two = aligned(_text(order, filesystem), 4)
    where, interface, member, signature, body = random.choice([
        ("/org/dedupd1", manager, "ListFilesystems", "", b""),
        ("/org/dedupd1", manager, "ListDisks", "", b""),
        ("/org/dedupd1", "org.freedesktop.DBus.ObjectManager", "GetManagedObjects", "", b""),
        ("/org/dedupd1", manager, "FindFilesystem", "s", _text(order, "/")),
        ("/org/dedupd1", manager, "SetBudget", "stt", aligned(_text(order, "sda"), 8) + b"\0" * 16),
        (target, filesystem, "GetHistory", "", b""),
        (target, filesystem, "GetSkippedTotals", "", b""),
        (target, filesystem, "GetReport", "", b""),
        (target, filesystem, "Pause", "", b""),
        (target, filesystem, "Run", "aayas",
         aligned(struct.pack(order + "I", len(path)) + path, 4) + struct.pack(order + "I", 0)),
        (target, properties, "GetAll", "s", _text(order, filesystem)),
        (target, properties, "Get", "ss", two + _text(order, "LastError")),
        (target, properties, "Set", "ssv", two + _text(order, "State") + b"\x01s\0" + b"\0" * 8),
        (target, "org.freedesktop.DBus.Introspectable", "Introspect", "", b""),
        ("/", "org.freedesktop.DBus.Peer", "Ping", "", b""),
    ])
    fields = [(PATH, "o", where), (INTERFACE, "s", interface), (MEMBER, "s", member)]
    if destination:
        fields.append((DESTINATION, "s", destination))
    if signature:
        fields.append((SIGNATURE, "g", signature))
    return Message(CALL, fields, body, serial, order)


def _set_signature(message, signature, body):
    message.fields = [field for field in message.fields if field[0] != SIGNATURE]
    message.fields.append((SIGNATURE, "g", signature))
    message.body = body


def _nest_variants(random, message):
    depth = random.choice([1, 9, 62, 64, 65, 200])
    body = b"\x01v\0" * depth + b"\x01y\0" + b"\x07"
    _set_signature(message, "v", body)


def _nest_arrays(random, message):
    depth = random.choice([5, 31, 32, 33, 120])
    _set_signature(message, "a" * depth + "y", struct.pack(message.order + "I", 0) * depth)


def _nest_structs(random, message):
    depth = random.choice([5, 31, 32, 33, 100])
    _set_signature(message, "(" * depth + "y" + ")" * depth, b"\x07")


def _many_empty_arrays(random, message):
    count = random.choice([100, 10000, 50000])
    _set_signature(message, "aayas", struct.pack(message.order + "I", 4 * count) + b"\0" * 4 * count
                   + struct.pack(message.order + "I", 0))


def _say_wrong_length(random, message):
    length = random.choice([0, 1, 7, 8, 65535, (1 << 26) + 1, (1 << 27) - 20, 1 << 31, (1 << 32) - 1,
                            (1 << 32) - 16])
    setattr(message, random.choice(["body_bytes", "fields_bytes"]), length)


def _invent_signature(random, message):
    signature = "".join(random.choice(TYPES) for _ in range(random.choice([1, 3, 20, 255])))
    _set_signature(message, signature.encode(), random.randbytes(random.choice([0, 8, 64, 1024])))


def _change_field(random, message):
    index = random.randrange(len(message.fields))
    code, kind, value = message.fields[index]
    message.fields[index] = random.choice([
        (random.randrange(256), kind, value), (code, random.choice("sogux"), 7 if kind != "u" else value),
        (code, kind, b"\xff\xfe"), (code, kind, ""), (code, kind, "/a" * random.choice([10, 100, 900])),
        (DESCRIPTORS, "u", random.choice([1, 253, 1 << 31]))])
    code, kind, value = message.fields[index]
    if kind in "sog" and isinstance(value, int):
        message.fields[index] = (code, kind, "x")
    elif kind not in "sog" and not isinstance(value, int):
        message.fields[index] = (code, kind, 7)


def _repeat_field(random, message):
    message.fields += [random.choice(message.fields)] * random.choice([1, 5, 20])


def _change_head(random, message):
    message.kind = random.choice([0, 1, 2, 3, 4, 5, 255])
    message.flags = random.randrange(256)
    message.version = random.choice([0, 1, 2, 255])
    message.serial = random.choice([0, 1, (1 << 32) - 1])


def _cut_body(random, message):
    message.body = message.body[:random.randrange(len(message.body) + 1)]


def _swap_order(_, message):
    message.order = "<" if message.order == ">" else ">"


MUTATIONS = [_nest_variants, _nest_arrays, _nest_structs, _many_empty_arrays, _say_wrong_length,
             _invent_signature, _change_field, _repeat_field, _change_head, _cut_body, _swap_order]


def mutated(random, serial, target, destination=None):
    """The bytes of a call with at most three things wrong with it."""
    message = _base(random, serial, target, destination)
    for _ in range(random.choice([0, 1, 1, 2, 3])):
        random.choice(MUTATIONS)(random, message)
    data = bytearray(message.bytes())
    if random.random() < 0.2:
        data[random.randrange(len(data))] = random.randrange(256)
    return bytes(data)
