# SPDX-License-Identifier: GPL-2.0-or-later
"""Who may ask the service for what, and what it answers, over the system bus and its socket."""

import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import time
import xml.etree.ElementTree

import pytest

from content import write_twins
from harness import settle
from service import Service, wait_until
from system_bus import SystemBus

MIB = 1 << 20
# Of whom the bus wants to find a name.
USER = 65534
NAME = "org.dedupd1"
PATH = "/org/dedupd1"
CONTRACT = pathlib.Path(__file__).resolve().parents[2] / "docs" / "org.dedupd1.xml"
CONTROLS = ["Start", "Stop", "Pause", "Resume", "Forget"]


@pytest.fixture
def kind():
    """What is said on the bus is the same of both."""
    return "xfs"


@pytest.fixture
def bus(tmp_path):
    if not shutil.which("dbus-daemon"):
        pytest.skip("there is no dbus-daemon")
    # A socket's path is short, and another user has to reach it.
    directory = pathlib.Path(f"/run/dedupd-bus-{os.getpid()}")
    bus = SystemBus(directory)
    try:
        yield bus.start()
    finally:
        bus.close()
        shutil.rmtree(directory)


@pytest.fixture
def service(program, tmp_path, tree, filesystem, bus):
    if "DEDUPCTL" not in os.environ:
        pytest.skip("DEDUPCTL does not name dedupctl")
    write_twins(tree, 8 * MIB)
    settle(filesystem)
    service = Service(program, os.environ["DEDUPCTL"], tmp_path, bus.address)
    service.configure(tree)
    service.start()
    service.wait_for_passes(str(tree), 1)
    wait_until(lambda: bus.call(NAME, PATH, "org.freedesktop.DBus.Peer", "Ping").returncode == 0,
               service.log)
    yield service
    service.close()


@pytest.fixture
def path(service, tree):
    """The object of the filesystem."""
    return f"{PATH}/filesystem/" + service.shows(str(tree))["uuid"].replace("-", "_")


def call(bus, path, method, user=None):
    return bus.call(NAME, path, f"{NAME}.Filesystem", method, user=user)


def set_budget(bus, user=None):
    return bus.call(NAME, PATH, f"{NAME}.Manager", "SetBudget", "stt", "nosuchdisk", "1", "1",
                    user=user)


def test_root_may_do_all(bus, path):
    for method in CONTROLS:
        done = call(bus, path, method)
        assert done.returncode == 0, f"{method}: {done.stderr}"
    assert call(bus, path, "GetReport").returncode == 0
    assert bus.call(NAME, PATH, f"{NAME}.Manager", "Reload").returncode == 0


def test_without_polkit_others_may_only_look(bus, path):
    for method in [*CONTROLS, "GetReport"]:
        done = call(bus, path, method, user=USER)
        assert done.returncode != 0, method
        assert "Access denied" in done.stderr
    assert bus.call(NAME, PATH, f"{NAME}.Manager", "Reload", user=USER).returncode != 0
    assert set_budget(bus, user=USER).returncode != 0
    assert bus.call(NAME, PATH, f"{NAME}.Manager", "ListDisks", user=USER).returncode == 0
    assert bus.call(NAME, PATH, f"{NAME}.Manager", "ListFilesystems", user=USER).returncode == 0
    done = bus.run("busctl", "--system", "get-property", NAME, path, f"{NAME}.Filesystem",
                   "FreedBytes", user=USER)
    assert done.stdout.split() == ["t", str(8 * MIB)]


@pytest.mark.parametrize("allowed, may_inspect, may_control", [
    ((), False, False),
    (("org.dedupd1.inspect",), True, False),
    (("org.dedupd1.control",), False, True),
    (("org.dedupd1.inspect", "org.dedupd1.control"), True, True),
])
def test_polkit_decides_for_others(bus, path, allowed, may_inspect, may_control):
    bus.start_polkit(*allowed)
    assert (call(bus, path, "GetReport", user=USER).returncode == 0) == may_inspect
    for method in CONTROLS:
        assert (call(bus, path, method, user=USER).returncode == 0) == may_control, method
    reloaded = bus.call(NAME, PATH, f"{NAME}.Manager", "Reload", user=USER)
    assert (reloaded.returncode == 0) == may_control
    budgeted = set_budget(bus, user=USER)
    # It is not said either which disks there are.
    assert ("no disk of a filesystem" in budgeted.stderr) == may_control


def test_dedupctl_of_others_goes_over_the_bus(bus, service, path, tree):
    bus.start_polkit("org.dedupd1.control")
    assert service.ask("pause", tree, user=USER).returncode == 0
    assert service.shows(str(tree))["why"] == "paused"


def test_the_report_comes_by_a_descriptor(service, path, tree):
    """Which busctl only shows that it got, so it is read by one that takes it."""
    client = pytest.importorskip("dbus")
    connection = client.bus.BusConnection(service.environment()["DBUS_SYSTEM_BUS_ADDRESS"])
    descriptor = connection.get_object(NAME, path).GetReport(dbus_interface=f"{NAME}.Filesystem")
    with os.fdopen(descriptor.take(), "rb") as file:
        report = json.load(file)
    connection.close()
    assert report["schema"] == "dedupd-report"
    assert report["filesystems"][0]["mount_point"] == str(tree)


def test_changes_are_told(bus, service, path, tree):
    watcher = subprocess.Popen(
        ["busctl", "--system", "--json=short", "monitor", NAME], stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True, env=bus.environment())
    try:
        # What it says when it listens; calls before that are missed.
        for _ in range(200):
            service.tell("pause", tree)
            service.tell("resume", tree)
            line = watcher.stdout.readline()
            if "PropertiesChanged" in line:
                break
        assert "PropertiesChanged" in line
    finally:
        watcher.kill()
        watcher.wait()


def test_a_name_that_is_none_is_refused_by_name(bus, service):
    done = bus.call(NAME, PATH, f"{NAME}.Manager", "FindFilesystem", "s", "/nowhere")
    assert done.returncode != 0
    assert "/nowhere" in done.stderr
    gone = f"{PATH}/filesystem/00000000_0000_0000_0000_000000000000"
    assert call(bus, gone, "Start").returncode != 0


def interfaces(text):
    """Each interface as sets of what it has, without what every object has."""
    root = xml.etree.ElementTree.fromstring(text)
    found = {}
    for interface in root.iter("interface"):
        if not interface.get("name").startswith(NAME):
            continue
        members = set()
        for member in interface:
            arguments = tuple((a.get("direction", "out"), a.get("type"))
                              for a in member.iter("arg"))
            members.add((member.tag, member.get("name"), member.get("type"),
                         member.get("access"), arguments))
        found[interface.get("name")] = members
    return found


def test_the_contract_is_what_is_offered(bus, path):
    offered = {}
    for each in (PATH, path):
        done = bus.call(NAME, each, "org.freedesktop.DBus.Introspectable", "Introspect")
        text = json.loads(bus.run("busctl", "--system", "--json=short", "call", NAME, each,
                                  "org.freedesktop.DBus.Introspectable", "Introspect").stdout)
        assert done.returncode == 0
        offered |= interfaces(text["data"][0])
    assert interfaces(CONTRACT.read_text()) == offered


def test_callers_that_say_nothing_are_hung_up_on_beyond_the_cap(service):
    callers = []
    for _ in range(40):
        caller = socket.socket(socket.AF_UNIX)
        caller.connect(str(service.socket_path))
        callers.append(caller)
        # One after another: what waits to be served has a bound of its own.
        time.sleep(0.02)
    hung_up = 0
    for caller in callers:
        caller.setblocking(False)
        try:
            hung_up += caller.recv(1) == b""
        except BlockingIOError:
            pass
        caller.close()
    assert hung_up == len(callers) - 32
    wait_until(lambda: service.ask("list").returncode == 0, service.log)


def test_nonsense_on_the_socket_is_survived(service, tree):
    for nonsense in (b"\0", b"\xff" * 4096, b"\0AUTH EXTERNAL 30\r\nBEGIN\r\n" + b"l" * 4096):
        with socket.socket(socket.AF_UNIX) as caller:
            caller.connect(str(service.socket_path))
            caller.sendall(nonsense)
    assert service.ask("list").returncode == 0
    assert re.search("waiting", service.tell("list"))
