#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""bus_flooder.py SOCKET FLOOD SECONDS SEED USER [OBJECT]

Become USER and do to SOCKET what no peer should, for so long; "begun" is printed when the first round is over, and at
the end how often the peers were hung up on.  OBJECT is the path of a filesystem's object.  A FLOOD is the name of a
function below; those of a system bus begin with bus_.
"""

import array
import contextlib
import itertools
import os
import random
import socket
import struct
import sys
import time

import bus_messages as messages
from private_peer import call, string

NAME, MANAGER, MANAGER_PATH = "org.dedupd1", "org.dedupd1.Manager", "/org/dedupd1"
FILESYSTEM, PROPERTIES = "org.dedupd1.Filesystem", "org.freedesktop.DBus.Properties"
OBJECTS = "org.freedesktop.DBus.ObjectManager"
GREETING = b"\0AUTH EXTERNAL " + b"%s" + b"\r\nNEGOTIATE_UNIX_FD\r\nBEGIN\r\n"
MIB = 1 << 20
CALLERS = 32
PIECE = b"\0" * 65536
# One of these is said to be longer than any may be.
MESSAGE_MAX = 128 * MIB


class Caller:
    """A connection that sends what is asked for without waiting for anybody."""

    def __init__(self, flood, greeting=True):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(0.5)
        self.socket.connect(flood.path)
        self.socket.setblocking(False)
        self.n_sent = 0
        self.serials = itertools.count(1)
        self.state = None
        self.rest = b""
        if greeting:
            self.send(GREETING % str(os.getuid()).encode().hex().encode())

    def send(self, data):
        """False: nothing more goes out at the moment.  What was begun is sent to its end first."""
        if not self._send_rest():
            return False
        self.rest = data
        return self._send_rest()

    def _send_rest(self):
        while self.rest:
            try:
                n_sent = self.socket.send(self.rest)
            except BlockingIOError:
                return False
            self.n_sent += n_sent
            self.rest = self.rest[n_sent:]
        return True

    def send_on(self, data, total):
        """Send @data again and again, up to so much in all."""
        while self.n_sent < total and self.send(data):
            pass

    def drain(self):
        with contextlib.suppress(BlockingIOError):
            while data := self.socket.recv(65536):
                del data
                continue
            raise ConnectionResetError

    def close(self):
        self.socket.close()


class Flood:
    """Many callers, who do @act again and again; who was hung up on calls anew."""

    def __init__(self, path, act, seconds, seed, target):
        self.path, self.act, self.seconds = path, act, seconds
        self.random = random.Random(seed)
        self.target = target
        self.n_hung_up = 0

    def run(self):
        end, callers = None, []
        while not end or time.monotonic() < end:
            with contextlib.suppress(OSError):
                if len(callers) < self.act.callers:
                    callers.append(Caller(self, self.act.greets))
            for caller in list(callers):
                try:
                    self.act(self, caller)
                except OSError:
                    self.n_hung_up += 1
                    caller.close()
                    callers.remove(caller)
            if not end and max(len(callers), self.n_hung_up) >= self.act.callers:
                print("begun", flush=True)
                end = time.monotonic() + self.seconds
        print(self.n_hung_up, flush=True)


def flood(greets=True, callers=CALLERS):
    def decorate(function):
        function.greets, function.callers = greets, callers
        return function
    return decorate


def header(body_bytes, fields_bytes, order="<", kind=1):
    return struct.pack(order + "cBBBIII", b"l" if order == "<" else b"B", kind, 0, 1, body_bytes, 1,
                       fields_bytes)


@flood()
def halves_of_long_messages(_, caller):
    """All but the end of a message of 128 MiB."""
    if caller.state is None:
        caller.send(header(MESSAGE_MAX - 4096, 64))
        caller.state = True
    caller.send_on(PIECE, MESSAGE_MAX - 8192)


@flood()
def halves_of_long_headers(_, caller):
    if caller.state is None:
        caller.send(header(0, MESSAGE_MAX - 4096, ">"))
        caller.state = True
    caller.send_on(PIECE, MESSAGE_MAX - 8192)


@flood()
def halves_of_short_messages(_, caller):
    """As long as they may be, and never finished."""
    if caller.state is None:
        caller.send(header(60 << 10, 64))
        caller.state = True
    caller.send_on(b"\0" * 1024, 60 << 10)


@flood(greets=False)
def silence(_, caller):
    caller.drain()
    time.sleep(0.001)


@flood(greets=False)
def endless_line(_, caller):
    caller.send(b"\0AUTH" if caller.n_sent == 0 else b"A" * 65536)


@flood(greets=False)
def endless_lines(_, caller):
    caller.send(b"\0AUTH\r\n" if caller.n_sent == 0 else b"AUTH NONE\r\nERROR\r\n" * 1000)


@flood(greets=False)
def lines_that_hide_a_message(flood, caller):
    """BEGIN where it counts for nothing, then what has to be no message yet; or the other way round."""
    if caller.n_sent == 0:
        uid = str(os.getuid()).encode().hex().encode()
        caller.send(flood.random.choice([
            b"\0BEGIN\r\n", b"\0AUTH\r\nBEGIN\r\n", b"\0AUTH EXTERNAL zz\r\nBEGIN\r\n",
            b"\0AUTH EXTERNAL " + uid + b"\r\nBEGIN\r\r\n", b"\0\r\nBEGIN\r\n", b"BEGIN\r\n",
            b"\0AUTH EXTERNAL " + uid + b"\r\nCANCEL\r\nBEGIN\r\n",
            b"\0AUTH EXTERNAL " + uid + b"\r\n" + b"NEGOTIATE_UNIX_FD\r\n" * 14 + b"BEGIN\r\n"]))
        # As messages these are a harmless call with a long body.
        inner = b"AUTH EXTERNAL " + uid + b"\r\nBEGIN\r\n" + header(MESSAGE_MAX - 4096, 64)
        caller.send(header(len(inner) + 4096, 0) + inner)
    caller.send_on(PIECE, MESSAGE_MAX - 8192)


@flood()
def small_calls(_, caller):
    for _ in range(32):
        if not caller.send(call(next(caller.serials), "ListDisks")):
            break
    caller.drain()


@flood()
def calls_without_reading(flood, caller):
    """Of what has the longest answers."""
    member, interface, path = flood.random.choice([
        ("Introspect", "org.freedesktop.DBus.Introspectable", flood.target),
        ("GetManagedObjects", OBJECTS, MANAGER_PATH), ("GetAll", PROPERTIES, flood.target)])
    arguments = ("s", string(FILESYSTEM)) if member == "GetAll" else ()
    caller.send_on(call(next(caller.serials), member, path, interface, *arguments), 1 << 40)


@flood()
def queries_without_reading(flood, caller):
    member = flood.random.choice(["GetHistory", "GetSkippedTotals"])
    caller.send_on(call(next(caller.serials), member, flood.target, FILESYSTEM), 1 << 40)


@flood()
def descriptors(_, caller):
    """As many as one message takes, with each piece of a call, which may have none."""
    if caller.state is None:
        caller.state = os.open("/dev/null", os.O_RDONLY)
    passed = array.array("i", [caller.state] * 250)
    with contextlib.suppress(BlockingIOError):
        for byte in call(next(caller.serials), "ListDisks"):
            caller.socket.sendmsg([bytes([byte])], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, passed)])
    caller.drain()


@flood()
def long_paths(_, caller):
    """Each prefix of which is looked up."""
    caller.send(call(next(caller.serials), "ListDisks", "/a" * 16000))
    caller.send(call(next(caller.serials), "ListDisks", "/a" * 900))
    caller.drain()


@flood()
def many_fields(flood, caller):
    fields = [(flood.random.randrange(10, 256), "s", "x")] * flood.random.choice([90, 5000])
    caller.send(messages.Message(messages.CALL, fields=fields).bytes())
    caller.drain()


def hold(flood, caller, why):
    return call(next(caller.serials), "Hold", flood.target, FILESYSTEM, "s", string(why))


def receive(caller):
    """Take what came with its descriptors; those are the leases."""
    with contextlib.suppress(BlockingIOError):
        while True:
            data, fds, _, _ = socket.recv_fds(caller.socket, 65536, 250)
            if not data:
                raise ConnectionResetError
            yield from fds


@flood(callers=8)
def holds_that_are_dropped(flood, caller):
    """Thousands one after another: each is given back as soon as it is had."""
    for _ in range(8):
        if not caller.send(hold(flood, caller, "x" * 256)):
            break
    for lease in receive(caller):
        os.close(lease)


@flood(callers=8)
def holds_that_are_kept(flood, caller):
    """As many as there may be, and more are asked for."""
    if caller.state is None:
        caller.state = []
    for _ in range(8):
        if not caller.send(hold(flood, caller, "x" * 256)):
            break
    caller.state.extend(receive(caller))


@flood(callers=8)
def holds_without_reading(flood, caller):
    caller.send_on(hold(flood, caller, "x" * 256), 1 << 40)


@flood(callers=8)
def holds_of_who_hangs_up(flood, caller):
    for _ in range(8):
        caller.send(hold(flood, caller, "x" * 256))
    raise ConnectionResetError


@flood(greets=False)
def calls_that_end_at_once(_, caller):
    caller.send(b"\0")
    raise ConnectionResetError


@flood(greets=False, callers=1)
def connections(flood, _):
    """As many as can be made, each of which is closed at once."""
    for _ in range(100):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(flood.path)


@flood()
def mutations(flood, caller):
    """Of all calls that there are."""
    for _ in range(8):
        caller.send(messages.mutated(flood.random, next(caller.serials), flood.target))
    caller.drain()


def bus_call(caller, member, path=MANAGER_PATH, interface=MANAGER, signature="", body=b""):
    return call(next(caller.serials), member, path, interface, signature, body, NAME)


def join_bus(caller):
    if caller.state is None:
        caller.state = []
        hello = "org.freedesktop.DBus"
        caller.send(call(next(caller.serials), "Hello", "/org/freedesktop/DBus", hello, destination=hello))


def send_all(caller, data):
    """The whole of a long message, while what the bus says is read."""
    caller.send(data)
    while not caller.send(b""):
        caller.drain()
        time.sleep(0.001)


@flood(callers=4)
def bus_long_calls(flood, caller):
    """The bus takes 32 MiB; what is sent back may be longer than what came."""
    join_bus(caller)
    caller.drain()
    size = 31 * MIB
    text = "x" * size
    path = b"".join(struct.pack("<I", 4096) + b"/" * 4096 for _ in range(size // 4100))
    member, arguments = flood.random.choice([
        ("Run", (flood.target, FILESYSTEM, "aayas", struct.pack("<I", len(path)) + path + struct.pack("<I", 0))),
        ("Run", (flood.target, FILESYSTEM, "aayas", struct.pack("<I", size) + b"\0" * size + struct.pack("<I", 0))),
        ("SetBudget", (MANAGER_PATH, MANAGER, "stt", messages.aligned(string(text), 8) + b"\0" * 16)),
        ("FindFilesystem", (MANAGER_PATH, MANAGER, "s", string("x" * (32 * MIB - 300)))),
        ("GetAll", (flood.target, PROPERTIES, "s", string(text))),
        ("ListDisks", ("/" + text, MANAGER)),
    ])
    send_all(caller, bus_call(caller, member, *arguments))


@flood()
def bus_calls_without_reading(flood, caller):
    join_bus(caller)
    calls_without_reading_of_bus = [
        bus_call(caller, "Introspect", flood.target, "org.freedesktop.DBus.Introspectable"),
        bus_call(caller, "GetManagedObjects", interface=OBJECTS),
        bus_call(caller, "GetAll", flood.target, PROPERTIES, "s", string(FILESYSTEM))]
    caller.send_on(flood.random.choice(calls_without_reading_of_bus), 1 << 40)


@flood(callers=8)
def bus_questions(flood, caller):
    """Which polkit has to answer, as long as they may be."""
    join_bus(caller)
    body = struct.pack("<I", 200 << 10) + b"/" * (200 << 10)
    body = struct.pack("<I", len(body)) + body + struct.pack("<I", 0)
    send_all(caller, bus_call(caller, "Run", flood.target, FILESYSTEM, "aayas", body))
    caller.drain()


@flood()
def bus_mutations(flood, caller):
    join_bus(caller)
    for _ in range(8):
        send_all(caller, messages.mutated(flood.random, next(caller.serials), flood.target, NAME))
    caller.drain()


def main():
    path, name, seconds, seed, user = sys.argv[1:6]
    user = int(user)
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    target = sys.argv[6] if len(sys.argv) > 6 else MANAGER_PATH
    Flood(path, globals()[name], float(seconds), seed, target).run()


if __name__ == "__main__":
    main()
