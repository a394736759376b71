# SPDX-License-Identifier: GPL-2.0-or-later
"""What callers who may do nothing can have the service do to itself: its memory, its answers to root, its end."""

import contextlib
import json
import os
import pathlib
import random
import re
import shutil
import socket
import struct
import subprocess
import sys
import time

import pytest

from content import forget_pages, noise, write, write_twins
from harness import KIT, dedupctl_program, settle
from private_peer import PeerError, PrivatePeer, array
from service import Service, wait_until
from system_bus import SystemBus

pytestmark = pytest.mark.true_clock

MIB = 1 << 20
USER, OTHER_USER = 65534, 65533
NAME, PATH = "org.dedupd1", "/org/dedupd1"
FLOODER = KIT / "bus_flooder.py"

# The limits that hold under each flood.
RESIDENT_BYTES_MAX = 64 * MIB
ANSWER_SECONDS_MAX = 2
END_SECONDS_MAX = 2
DESCRIPTORS_MAX = 256
HOLDS_MAX = 32
GREETING_SECONDS = 10
FLOOD_SECONDS = 1
MUTATION_SECONDS = 3

# Measured with two processors: 3 answers while accepting callers comes before the system bus, and 120 in turns.
CONNECTING_SECONDS = 3
ANSWERS_MIN = 15

SOCKET_FLOODS = ["halves_of_long_messages", "halves_of_long_headers", "halves_of_short_messages", "silence",
                 "endless_line", "endless_lines", "lines_that_hide_a_message", "small_calls",
                 "calls_without_reading", "queries_without_reading", "descriptors", "long_paths",
                 "many_fields", "calls_that_end_at_once", "mutations"]
# Of who may hold, as root may.
HOLD_FLOODS = ["holds_that_are_dropped", "holds_that_are_kept", "holds_without_reading", "holds_of_who_hangs_up"]
BUS_FLOODS = ["bus_long_calls", "bus_calls_without_reading", "bus_questions", "bus_mutations"]


@pytest.fixture
def kind():
    """What is said on the bus is the same of both."""
    return "xfs"


# Answers that nobody reads soon fill what the bus keeps of the service's; the other limit is that of system buses.
BUS_LIMITS = {"bus_calls_without_reading": {"max_incoming_bytes": 2 * MIB,
                                            "max_replies_per_connection": 50000}}


@pytest.fixture
def bus(request):
    if not shutil.which("dbus-daemon"):
        pytest.skip("there is no dbus-daemon")
    directory = pathlib.Path(f"/run/dedupd-floods-{os.getpid()}")
    flood = getattr(request.node, "callspec", None) and request.node.callspec.params.get("name")
    bus = SystemBus(directory, **BUS_LIMITS.get(flood, {}))
    try:
        yield bus.start()
    finally:
        bus.close()
        shutil.rmtree(directory)


def start(program, directory, tree, filesystem, *bus_address, **settings):
    write_twins(tree, 8 * MIB)
    settle(filesystem)
    service = Service(program, dedupctl_program(), directory, *bus_address)
    service.says_all = False
    service.configure(tree, **settings)
    service.start()
    service.wait_for_passes(str(tree), 1)
    return service


@pytest.fixture
def service(program, tmp_path, tree, filesystem):
    with contextlib.closing(start(program, tmp_path, tree, filesystem)) as service:
        yield service


@pytest.fixture
def service_on_bus(program, tmp_path, tree, filesystem, bus):
    with contextlib.closing(start(program, tmp_path, tree, filesystem, bus.address)) as service:
        wait_until(lambda: bus.call(NAME, PATH, "org.freedesktop.DBus.Peer", "Ping").returncode == 0,
                   service.log)
        yield service


def object_path(service, tree):
    return f"{PATH}/filesystem/" + service.shows(str(tree))["uuid"].replace("-", "_")


@contextlib.contextmanager
def flooded(socket_path, name, seconds, target, user=USER):
    """While USER does that; it has begun, and ends by itself."""
    seed = random.randrange(1 << 32)
    print(f"{name} with seed {seed}")
    with subprocess.Popen([sys.executable, FLOODER, socket_path, name, str(seconds), str(seed), str(user), target],
                          stdout=subprocess.PIPE, text=True) as flood:
        try:
            assert flood.stdout.readline() == "begun\n"
            yield flood
        finally:
            flood.kill()


class Watch:
    """What a flood does to the service, from now on."""

    def __init__(self, service):
        self.service = service
        self.n_answers = 0
        self.slowest = 0
        self.descriptors = 0
        # From here on the kernel notes the peak.
        pathlib.Path(f"/proc/{service.pid}/clear_refs").write_text("5", encoding="ascii")

    def ask_for(self, seconds):
        """Have root ask again and again."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            begun = time.monotonic()
            peer = PrivatePeer(self.service.socket_path)
            peer.ask("ListFilesystems")
            peer.close()
            self.slowest = max(self.slowest, time.monotonic() - begun)
            self.n_answers += 1
            self.descriptors = max(self.descriptors, len(os.listdir(f"/proc/{self.service.pid}/fd")))

    def peak_bytes(self):
        status = pathlib.Path(f"/proc/{self.service.pid}/status").read_text(encoding="ascii")
        (line,) = [line for line in status.splitlines() if line.startswith("VmHWM:")]
        return int(line.split()[1]) * 1024

    def check(self):
        peak = self.peak_bytes()
        print(f"peak {peak >> 20} MiB, slowest of {self.n_answers} answers {self.slowest:.3f} s, "
              f"{self.descriptors} descriptors")
        assert peak < RESIDENT_BYTES_MAX
        assert self.n_answers > 0
        assert self.slowest < ANSWER_SECONDS_MAX
        assert self.descriptors < DESCRIPTORS_MAX

    def check_end(self):
        """The service ends in the middle of the flood."""
        seconds = self.service.end()
        print(f"ended after {seconds:.3f} s")
        assert seconds < END_SECONDS_MAX


@pytest.mark.parametrize("name", SOCKET_FLOODS)
def test_a_flood_of_the_socket_is_survived(service, tree, name):
    target = object_path(service, tree)
    watch = Watch(service)
    seconds = MUTATION_SECONDS if name == "mutations" else FLOOD_SECONDS
    # They go on longer than what is seen of it, as the service ends meanwhile.
    with flooded(service.socket_path, name, 60, target):
        watch.ask_for(seconds)
        assert service.tell("list")
        watch.check()
        watch.check_end()


def holds_of(service, tree):
    (row,) = json.loads(service.tell("status", "--json", tree))["filesystems"]
    return row["holds"]


@pytest.mark.parametrize("name", HOLD_FLOODS)
def test_a_flood_of_holds_is_survived(service, tree, name):
    """And no more of them are had at a time than there may be; when it is over, a pass is made as before."""
    target = object_path(service, tree)
    watch = Watch(service)
    most = 0
    with flooded(service.socket_path, name, 60, target, user=0) as flood:
        for _ in range(FLOOD_SECONDS * 5):
            watch.ask_for(0.2)
            most = max(most, len(holds_of(service, tree)))
        watch.check()
        flood.kill()
    print(f"at most {most} holds")
    assert most <= HOLDS_MAX
    if name == "holds_that_are_kept":
        assert most == HOLDS_MAX
    wait_until(lambda: holds_of(service, tree) == [], service.log)
    passes = service.shows(str(tree))["passes"]
    service.tell("start", tree)
    service.wait_for_passes(str(tree), passes + 1)


@pytest.mark.parametrize("name", BUS_FLOODS)
def test_a_flood_of_the_system_bus_is_survived(service_on_bus, bus, tree, name):
    target = object_path(service_on_bus, tree)
    bus.start_silent_polkit()
    watch = Watch(service_on_bus)
    seconds = MUTATION_SECONDS if name == "bus_mutations" else FLOOD_SECONDS
    with flooded(str(bus.directory / "bus"), name, seconds, target):
        watch.ask_for(seconds)
        watch.check()
    # The bus has not thrown it out.
    wait_until(lambda: bus.call(NAME, PATH, "org.freedesktop.DBus.Peer", "Ping").returncode == 0,
               service_on_bus.log)
    with flooded(str(bus.directory / "bus"), name, 60, target):
        watch.check_end()


def test_who_only_connects_keeps_nobody_from_the_system_bus(service_on_bus, bus, tree):
    target = object_path(service_on_bus, tree)
    with contextlib.ExitStack() as floods:
        for _ in range(3):
            floods.enter_context(flooded(service_on_bus.socket_path, "connections", 60, target))
        n_answers, end = 0, time.monotonic() + CONNECTING_SECONDS
        while time.monotonic() < end:
            n_answers += bus.call(NAME, PATH, "org.freedesktop.DBus.Peer", "Ping").returncode == 0
    print(f"{n_answers} answers")
    assert n_answers >= ANSWERS_MIN


def test_a_pass_goes_on_while_callers_flood(program, tmp_path, tree, filesystem):
    with contextlib.closing(start(program, tmp_path, tree, filesystem, LimitRate="8M")) as service:
        write(tree / "new", noise(7, 16 * MIB))
        write(tree / "newer", noise(7, 16 * MIB))
        settle(filesystem)
        forget_pages(tree)
        target = object_path(service, tree)
        service.tell("start", tree)
        wait_until(lambda: service.shows(str(tree))["state"] == "running", service.log)
        watch = Watch(service)
        with (flooded(service.socket_path, "halves_of_long_messages", 30, target),
              flooded(service.socket_path, "calls_without_reading", 30, target, OTHER_USER)):
            watch.ask_for(FLOOD_SECONDS)
            assert service.shows(str(tree))["state"] == "running"
        shown = service.wait_for_passes(str(tree), 2)
        assert (shown["last_outcome"], shown["last_freed_bytes"]) == ("complete", 16 * MIB)
        service.end()


def test_who_floods_leaves_room_for_others(service):
    """Connections are limited for each user, and for all of them together."""
    peers = []

    def connected(user, count):
        """How many of so many connections of a user are served."""
        program = ("import os, sys; sys.path.insert(0, sys.argv[1]); from private_peer import *\n"
                   "user = int(sys.argv[3]); os.setgroups([]); os.setresgid(*[user] * 3); os.setresuid(*[user] * 3)\n"
                   "served = []\n"
                   "for _ in range(int(sys.argv[4])):\n"
                   "    try:\n"
                   "        peer = PrivatePeer(sys.argv[2]); peer.ask('ListFilesystems'); served.append(peer)\n"
                   "    except (OSError, PeerError): pass\n"
                   "print(len(served), flush=True); sys.stdin.read()\n")
        process = subprocess.Popen([sys.executable, "-c", program, KIT,
                                    service.socket_path, str(user), str(count)],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        peers.append(process)
        return int(process.stdout.readline())

    try:
        assert [connected(user, 12) for user in (65534, 65533, 65532, 65531)] == [8, 8, 8, 0]
        assert connected(0, 10) == 8
        crowded = service.ask("list")
        assert "as many callers as it can" in crowded.stderr
        # dedupctl waits for a place.
        waiting = service.begin("list")
        time.sleep(1)
    finally:
        for process in peers:
            process.stdin.close()
            process.wait()
            process.stdout.close()
    assert waiting.wait() == 0


def test_a_peer_that_does_not_authenticate_is_hung_up_on(service):
    """And no other, however long it says nothing."""
    watcher = PrivatePeer(service.socket_path)
    with socket.socket(socket.AF_UNIX) as silent:
        silent.connect(str(service.socket_path))
        begun = time.monotonic()
        silent.sendall(b"\0AUTH EXTERNAL 30\r\n")
        silent.settimeout(30)
        while silent.recv(64):
            pass
        assert GREETING_SECONDS - 1 < time.monotonic() - begun < GREETING_SECONDS + 5
    assert watcher.ask("ListFilesystems")
    watcher.close()


def test_root_may_name_as_many_paths_as_there_may_be(service, tree):
    """Of the longest kind, which is longer than what others may send."""


    path = os.fsencode(tree) + b"/" + b"/".join([b"x" * 250] * 15)
    paths = array([struct.pack("<I", len(path)) + path] * 1024)
    peer = PrivatePeer(service.socket_path)
    with pytest.raises(PeerError, match="x/x*: "):
        peer.ask("Run", object_path(service, tree), f"{NAME}.Filesystem", "aayas",
                 paths + b"\0" * (-len(paths) % 4) + array([]))
    peer.close()


@pytest.mark.parametrize("size, said", [(200 << 10, "Access denied|only root"), (300 << 10, "262144 bytes")])
def test_a_long_call_is_refused_before_anybody_is_asked(service_on_bus, bus, tree, size, said):
    pytest.importorskip("dbus")
    program = ("import dbus, os, sys; user = int(sys.argv[1]); os.setresgid(*[user] * 3); os.setresuid(*[user] * 3)\n"
               "bus = dbus.bus.BusConnection(sys.argv[2])\n"
               "try:\n"
               "    bus.call_blocking('org.dedupd1', sys.argv[3], 'org.dedupd1.Filesystem', 'Run', 'aayas',\n"
               "                      ([b'/' * int(sys.argv[4])], []))\n"
               "except dbus.DBusException as error: print(error)\n")
    done = subprocess.run([sys.executable, "-c", program, str(USER), bus.address,
                           object_path(service_on_bus, tree), str(size)],
                          capture_output=True, text=True, check=True)
    assert re.search(said, done.stdout), done.stdout
