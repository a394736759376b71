# SPDX-License-Identifier: GPL-2.0-or-later
"""Who may ask the service for what, and what it answers, over the system bus and its socket."""

import contextlib
import datetime
import json
import os
import pathlib
import pty
import re
import select
import shutil
import socket
import subprocess
import sys
import time
import xml.etree.ElementTree

import pytest

import harness
from content import forget_pages, noise, write, write_twins
from harness import as_user, dedupctl_program, settle
from private_peer import PrivatePeer
from service import END_SECONDS, PATIENCE_SECONDS, Service, wait_until
from system_bus import SystemBus

MIB = 1 << 20
# Of whom the bus wants to find a name.
USER = 65534
OTHER_USER = 1
NAME = "org.dedupd1"
PATH = "/org/dedupd1"
CONTRACT = pathlib.Path(__file__).resolve().parents[3] / "docs" / "org.dedupd1.xml"
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
    dedupctl = dedupctl_program()
    write_twins(tree, 8 * MIB)
    settle(filesystem)
    service = Service(program, dedupctl, tmp_path, bus.address)
    service.configure(tree)
    service.start()
    service.wait_for_passes(str(tree), 1)
    wait_until(lambda: bus.call(NAME, PATH, "org.freedesktop.DBus.Peer", "Ping").returncode == 0,
               service.log)
    yield service
    # Whatever was asked of it, and whoever did not wait for the answer.
    if service.is_running():
        service.end()
    service.close()


@pytest.fixture
def path(service, tree):
    """The object of the filesystem."""
    return f"{PATH}/filesystem/" + service.shows(str(tree))["uuid"].replace("-", "_")


def run(bus, path, *arguments, user=None):
    """Have part of the filesystem worked on."""
    return bus.call(NAME, path, f"{NAME}.Filesystem", "Run", "aayas", *map(str, arguments), user=user)


def bytes_of(*paths):
    """An array of arrays of bytes as busctl takes them."""
    words = [len(paths)]
    for path in paths:
        words += [len(os.fsencode(path)), *os.fsencode(path)]
    return words


def call(bus, path, method, user=None):
    return bus.call(NAME, path, f"{NAME}.Filesystem", method, user=user)


def set_budget(bus, user=None):
    return bus.call(NAME, PATH, f"{NAME}.Manager", "SetBudget", "stt", "nosuchdisk", "1", "1",
                    user=user)


def test_root_may_do_all(bus, path):
    for method in CONTROLS:
        # What is not forgotten while a pass ends is so afterwards.
        wait_until(lambda method=method: call(bus, path, method).returncode == 0)
    assert call(bus, path, "GetReport").returncode == 0
    assert bus.call(NAME, PATH, f"{NAME}.Manager", "Reload").returncode == 0


def test_without_polkit_others_may_only_look(bus, path):
    for method in [*CONTROLS, "GetReport"]:
        done = call(bus, path, method, user=USER)
        assert done.returncode != 0, method
        assert "Access denied" in done.stderr
    assert "Access denied" in bus.call(NAME, path, f"{NAME}.Filesystem", "PauseFor", "t", 1,
                                       user=USER).stderr
    assert "Access denied" in run(bus, path, *bytes_of("/"), 0, user=USER).stderr
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
        # A pass that ends may be in the way of what is allowed.
        denied = "Access denied" in call(bus, path, method, user=USER).stderr
        assert denied != may_control, method
    reloaded = bus.call(NAME, PATH, f"{NAME}.Manager", "Reload", user=USER)
    assert (reloaded.returncode == 0) == may_control
    denied = "Access denied" in run(bus, path, *bytes_of("/absent"), 0, user=USER).stderr
    assert denied != may_control
    budgeted = set_budget(bus, user=USER)
    # It is not said either which disks there are.
    assert ("not a disk of an enabled" in budgeted.stderr) == may_control


def test_questions_that_polkit_does_not_answer_are_bounded_for_each_user(bus, path):
    bus.start_silent_polkit()
    asking = [subprocess.Popen(
        ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "busctl", "--system",
         "--timeout=3", "call", NAME, path, f"{NAME}.Filesystem", "Pause"],
        stderr=subprocess.PIPE, text=True, env=bus.environment()) for _ in range(12)]
    # Whom polkit is not asked about waits for nobody.
    assert call(bus, path, "Resume").returncode == 0
    said = [asker.communicate(timeout=60)[1] for asker in asking]
    assert sum("Access denied" in text for text in said) == 12 - 8, said
    assert sum("timed out" in text for text in said) == 8, said


def test_dedupctl_of_others_goes_over_the_bus(bus, service, path, tree):
    bus.start_polkit("org.dedupd1.control")
    assert service.ask("pause", tree, user=USER).returncode == 0
    assert service.shows(str(tree))["why"] == "paused"


AGENT = """#!/bin/sh
echo "$@" > {directory}/words
touch {directory}/allowed
trap 'touch {directory}/ended; exit' TERM
eval "exec $2>&-"
while :; do sleep 0.05; done
"""


@pytest.fixture
def agent(bus):
    """A directory with a pkttyagent whose user gives the password at once, and what it leaves there."""
    directory = bus.directory / "agent"
    directory.mkdir()
    directory.chmod(0o777)
    program = directory / "pkttyagent"
    program.write_text(AGENT.format(directory=directory))
    program.chmod(0o755)
    bus.start_challenging_polkit(directory / "allowed")
    return directory


def ask_on_terminal(service, directory, *words):
    """What dedupctl of an ordinary user exits with, and what it said on a terminal."""
    master, terminal = pty.openpty()
    environment = service.environment() | {"PATH": f"{directory}:{os.environ['PATH']}"}
    done = harness.dedupctl(*words, status=None, user=USER, stdin=terminal, stderr=terminal,
                            env=environment, timeout=30)
    os.close(terminal)
    said = b""
    with contextlib.suppress(OSError):
        while more := os.read(master, 4096):
            said += more
    os.close(master)
    return done.returncode, said.decode()


def test_on_a_terminal_the_user_is_asked_for_a_password(service, agent, tree):
    assert ask_on_terminal(service, agent, "pause", tree) == (0, "")
    assert service.shows(str(tree))["why"] == "paused"
    assert (agent / "words").read_text().split()[::2] == ["--notify-fd", "--fallback"]
    assert (agent / "ended").exists()


def test_who_cannot_be_asked_for_a_password_is_told_to_use_sudo(service, agent, tree):
    said = "dedupctl: interactive authorization is required: use sudo\n"
    refused = service.ask("pause", tree, user=USER)
    assert (refused.returncode, refused.stderr) == (1, said)
    assert not (agent / "words").exists()
    assert service.shows(str(tree))["why"] != "paused"


def test_the_user_is_asked_for_a_password_only_where_it_is_needed(service, agent, tree):
    assert ask_on_terminal(service, agent, "list", tree)[0] == 0
    assert not (agent / "words").exists()


@pytest.fixture
def ask(service, path):
    """Call a method that gives a descriptor, which busctl would only show that it got; what is in it."""
    client = pytest.importorskip("dbus")
    connection = client.bus.BusConnection(service.environment()["DBUS_SYSTEM_BUS_ADDRESS"])

    def ask(method):
        taken = getattr(connection.get_object(NAME, path), method)(dbus_interface=f"{NAME}.Filesystem")
        with os.fdopen(taken.take(), "rb") as file:
            return file.read()
    yield ask
    connection.close()


def test_the_report_comes_by_a_descriptor(ask, tree):
    report = json.loads(ask("GetReport"))
    assert report["schema"] == "dedupd-report"
    assert report["filesystems"][0]["mount_point"] == str(tree)


def lines(text):
    return [json.loads(line) for line in text.splitlines()]


def test_the_history_is_that_of_the_store(ask, service, tree, filesystem):
    (one,) = lines(ask("GetHistory"))
    assert (one["outcome"], one["freed_bytes"], one["mount_point"]) == ("complete", 8 * MIB, str(tree))

    write(tree / "three", (tree / "one").read_bytes())
    settle(filesystem)
    service.tell("start", tree)
    service.wait_for_passes(str(tree), 2)

    # What was said before is not said again.
    now = lines(ask("GetHistory"))
    assert [entry["freed_bytes"] for entry in now] == [8 * MIB, 8 * MIB]
    assert now[1] == one
    shown = json.loads(service.tell("history", "--json", f"--state-dir={service.state_directory}"))
    assert [entry["freed_bytes"] for entry in shown["passes"]] == [8 * MIB, 8 * MIB]


def test_others_see_the_history_that_the_service_tells(service, tree):
    def history(*words, user=None):
        done = service.ask("history", "--json", *words, user=user)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["passes"], done.stderr

    (own, said), (told, said_to_others) = history(f"--state-dir={service.state_directory}"), history(user=USER)
    assert len(own) == 1
    assert (told, said) == (own, "")
    assert "the passes come from the service" in said_to_others
    assert history(tree, user=USER)[0] == own
    assert service.ask("history", "/nowhere", user=USER).returncode == 1


def test_what_was_left_alone_has_names_for_some_only(ask, bus, service, path, tree, filesystem):
    service.configure(tree, Exclude="secret")
    service.tell("reload")
    write(tree / "secret", b"x" * 65536)
    # A pass that did nothing is not remembered.
    write(tree / "three", (tree / "one").read_bytes())
    settle(filesystem)
    service.tell("start", tree)
    service.wait_for_passes(str(tree), 2)

    (skip,) = [skip for skip in lines(ask("GetSkipped")) if skip["reason"] == "excluded"]
    assert skip["examples"] == [str(tree / "secret")]
    (totals,) = [skip for skip in lines(ask("GetSkippedTotals")) if skip["reason"] == "excluded"]
    assert totals == {name: skip[name] for name in ("reason", "count", "bytes")}

    for method, may in (("GetSkipped", False), ("GetSkippedTotals", True), ("GetHistory", True)):
        assert (call(bus, path, method, user=USER).returncode == 0) == may, method


def test_who_keeps_all_answers_keeps_one(service, path):
    """Or the memory of the service would go with how often it is asked."""
    client = pytest.importorskip("dbus")
    connection = client.bus.BusConnection(service.environment()["DBUS_SYSTEM_BUS_ADDRESS"])
    interface = client.Interface(connection.get_object(NAME, path), f"{NAME}.Filesystem")
    # They are read anew in between.
    kept = []
    for _ in range(5):
        kept += [interface.GetHistory().take() for _ in range(20)]
        time.sleep(0.6)
    assert len({os.fstat(fd).st_ino for fd in kept}) == 1
    assert all(os.read(fd, 1) == b"{" for fd in kept)
    for fd in kept:
        os.close(fd)
    connection.close()


def test_many_who_ask_at_once_are_all_answered(service, bus, path):
    asking = [subprocess.Popen(["busctl", "--system", "call", NAME, path, f"{NAME}.Filesystem", method],
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                               env=bus.environment())
              for _ in range(8) for method in ("GetHistory", "GetSkipped", "GetSkippedTotals", "GetReport")]
    assert [asker.communicate(timeout=60)[1] for asker in asking] == [""] * len(asking)


def test_without_a_store_there_is_no_history(service, ask, tree):
    service.tell("pause", tree)
    service.tell("forget", tree)
    assert ask("GetHistory") == b""
    service.configure()
    service.tell("reload")
    with pytest.raises(Exception, match="not enabled"):
        ask("GetHistory")


def test_changes_are_told(bus, service, path, tree):
    watcher = subprocess.Popen(
        ["busctl", "--system", "--json=short", "monitor", NAME], stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, env=bus.environment())
    seen = b""
    try:
        # Until it listens it misses what is called.
        for _ in range(50):
            service.tell("pause", tree)
            service.tell("resume", tree)
            while select.select([watcher.stdout], [], [], 0.2)[0]:
                seen += os.read(watcher.stdout.fileno(), 65536)
            if b"PropertiesChanged" in seen:
                break
        assert b"PropertiesChanged" in seen
    finally:
        watcher.kill()
        watcher.wait()


@pytest.fixture
def receiver(bus):
    """A connection, and a function that takes the signals which have come on it."""
    client = pytest.importorskip("dbus")
    loop = pytest.importorskip("dbus.mainloop.glib").DBusGMainLoop()
    main = pytest.importorskip("gi.repository.GLib").MainContext.default()
    connection = client.bus.BusConnection(bus.address, mainloop=loop)

    def take():
        while main.iteration(False):
            pass
    yield connection, take
    connection.close()


def test_each_stage_of_a_pass_is_told(receiver, service, path, tree, filesystem):
    connection, take = receiver
    service.configure(tree, LimitRate="2M")
    service.tell("reload")
    write(tree / "new", noise(1, 16 * MIB))
    settle(filesystem)
    forget_pages(tree)
    told = []
    connection.add_signal_receiver(lambda interface, changed, gone: told.append(dict(changed)),
                                   "PropertiesChanged", path=path)

    def is_told(condition):
        def look():
            take()
            return any(condition(each) for each in told)
        wait_until(look, service.log)

    service.tell("start", tree)
    is_told(lambda each: each.get("Stage") == "reading")
    (reading, *_) = [each for each in told if each.get("Stage") == "reading"]
    assert reading["State"] == "running"
    assert reading["StageStarted"] >= reading["PassStarted"] > reading["LastEnded"]
    assert reading["StateDirectory"] == str(service.state_directory)
    assert len(reading["Disks"]) == 1

    # The progress is told in between, but not with each read.
    begun, n_told = time.monotonic(), len(told)
    is_told(lambda each: "Stage" not in each and each["StageBytes"] > 4 * MIB)
    assert len(told) - n_told <= time.monotonic() - begun + 2
    (progress, *_) = [each for each in told if "Stage" not in each]
    assert progress.keys() == {"StageFiles", "StageBytes", "StageTotalBytes", "PassFreedBytes"}

    told.clear()
    service.tell("stop", tree)
    is_told(lambda each: each.get("Stage") == "")
    last = told[-1]
    assert (last["PassStarted"], last["StageStarted"]) == (0, 0)
    assert (last["LastOutcome"], last["LastError"]) == ("interrupted", "")


def managed_objects(connection):
    return connection.call_blocking(NAME, PATH, "org.freedesktop.DBus.ObjectManager", "GetManagedObjects", "", ())


def test_objects_are_listed_and_told_when_they_come_and_go(receiver, service, path, make_filesystem):
    connection, take = receiver
    told = {"InterfacesAdded": {}, "InterfacesRemoved": {}}
    for name, seen in told.items():
        connection.add_signal_receiver(seen.__setitem__, name, path=PATH)

    def is_told(seen, path):
        take()
        return path in seen

    objects = managed_objects(connection)
    before = set(objects)
    assert path in before
    shown = objects[path][f"{NAME}.Filesystem"]
    assert (shown["State"], shown["FreedBytes"], shown["LastError"]) == ("waiting", 8 * MIB, "")
    properties = connection.call_blocking(NAME, path, "org.freedesktop.DBus.Properties", "GetAll", "s",
                                          (f"{NAME}.Filesystem",))
    assert shown.keys() == properties.keys()

    other = make_filesystem("xfs", "320M")
    uuid = subprocess.run(["findmnt", "-nro", "UUID", other.mount_point], check=True, capture_output=True,
                          text=True).stdout.strip()
    added = f"{PATH}/filesystem/" + uuid.replace("-", "_")
    wait_until(lambda: is_told(told["InterfacesAdded"], added), service.log)
    assert told["InterfacesAdded"][added][f"{NAME}.Filesystem"]["MountPoint"] == str(other.mount_point)
    assert set(managed_objects(connection)) == before | {added}

    subprocess.run(["umount", other.mount_point], check=True)
    wait_until(lambda: is_told(told["InterfacesRemoved"], added), service.log)
    # All that it had is gone.
    assert set(told["InterfacesRemoved"][added]) == set(told["InterfacesAdded"][added])
    assert set(managed_objects(connection)) == before
    assert set(told["InterfacesAdded"]) == {added}


def test_what_is_told_of_the_last_pass_is_in_its_report(receiver, ask, service, path, tree, filesystem):
    write(tree / "three", (tree / "one").read_bytes())
    settle(filesystem)
    forget_pages(tree)
    service.tell("start", tree)
    service.wait_for_passes(str(tree), 2)

    (last,) = json.loads(ask("GetReport"))["filesystems"]
    connection, _ = receiver
    shown = connection.call_blocking(NAME, path, "org.freedesktop.DBus.Properties", "GetAll", "s",
                                     (f"{NAME}.Filesystem",))
    assert shown["LastFreedBytes"] == last["freed"]["bytes"] == 8 * MIB
    assert shown["LastSharedBytes"] == last["shared"]["bytes"] > 0
    assert shown["LastReadBytes"] == last["read"]["disk_bytes"] > 0
    assert (shown["LastOutcome"], shown["LastExitStatus"]) == (last["outcome"], 0)
    started = datetime.datetime.fromtimestamp(shown["LastStarted"] // 1000000, datetime.timezone.utc)
    assert started.strftime("%Y-%m-%dT%H:%M:%SZ") == last["started"]
    assert shown["LastEnded"] - shown["LastStarted"] == pytest.approx(last["seconds"] * 1e6, abs=2)
    # Of both passes.
    assert (shown["Passes"], shown["FreedBytes"]) == (2, 2 * 8 * MIB)
    assert shown["ReadBytes"] > shown["LastReadBytes"]


def test_a_change_of_the_configuration_is_told(receiver, service, path):
    connection, take = receiver
    states = []
    connection.add_signal_receiver(lambda interface, changed, gone: states.append(changed["State"]),
                                   "PropertiesChanged", path=path)
    service.configure()
    service.tell("reload")

    def is_told():
        take()
        return states[-1:] == ["disabled"]
    wait_until(is_told, service.log)


def test_what_it_waits_for_is_told_as_a_word(bus, service, path, tree):
    def reason():
        return bus.run("busctl", "--system", "get-property", NAME, path, f"{NAME}.Filesystem",
                       "WaitReason").stdout
    service.tell("pause", tree)
    wait_until(lambda: reason() == 's "paused"\n', service.log)
    service.configure()
    service.tell("reload")
    wait_until(lambda: reason() == 's ""\n', service.log)


def test_an_error_names_files_for_those_only_who_may_inspect(bus, service, path, tree, tmp_path):
    """Nor does a signal, which everybody hears; the private socket tells root, and nobody else."""
    (tmp_path / "secret").write_bytes(b"")
    service.configure(tree)
    service.config_path.write_text(service.config_path.read_text().replace(
        f"StateDirectory={service.state_directory}", f"StateDirectory={tmp_path}/secret/state"))
    service.tell("reload")
    service.tell("start", tree)
    wait_until(lambda: b"secret" in private_property(service, path, "LastError"), service.log)

    def shown(name):
        return bus.run("busctl", "--system", "get-property", NAME, path, f"{NAME}.Filesystem", name, user=USER).stdout

    assert shown("LastOutcome") == 's "failed"\n'
    wait_until(lambda: shown("WaitReason") == 's "retry"\n', service.log)
    for name in ("LastError", "WaitsFor"):
        assert "secret" not in shown(name)
        assert len(shown(name)) > len('s ""\n'), name
        assert b"secret" in private_property(service, path, name)
        assert b"secret" not in private_property(service, path, name, USER)


def private_property(service, path, name, user=0):
    """What a user reads of it on the socket."""
    program = ("import os, sys; sys.path.insert(0, sys.argv[1]); from private_peer import *\n"
               "user = int(sys.argv[5]); os.setgroups([]); os.setresgid(*[user] * 3); os.setresuid(*[user] * 3)\n"
               "words = string('org.dedupd1.Filesystem')\n"
               "words += b'\\0' * (-len(words) % 4) + string(sys.argv[4])\n"
               "sys.stdout.buffer.write(PrivatePeer(sys.argv[2]).ask('Get', sys.argv[3],\n"
               "                        'org.freedesktop.DBus.Properties', 'ss', words))\n")
    return subprocess.run([sys.executable, "-c", program, harness.KIT, service.socket_path, path,
                           name, str(user)], capture_output=True, check=True).stdout


def test_who_keeps_all_reports_keeps_one(service, path):
    client = pytest.importorskip("dbus")
    connection = client.bus.BusConnection(service.environment()["DBUS_SYSTEM_BUS_ADDRESS"])
    interface = client.Interface(connection.get_object(NAME, path), f"{NAME}.Filesystem")
    kept = [interface.GetReport().take() for _ in range(20)]
    assert len({os.fstat(fd).st_ino for fd in kept}) == 1
    assert all(os.read(fd, 1) == b"{" for fd in kept)
    for fd in kept:
        os.close(fd)
    connection.close()


def test_devices_and_tags_are_names(bus, path, tree):
    source, uuid = subprocess.run(["findmnt", "-nro", "SOURCE,UUID", tree], check=True, capture_output=True,
                                  text=True).stdout.split()
    for name in (source, f"UUID={uuid.upper()}", f"{tree}/"):
        done = bus.call(NAME, PATH, f"{NAME}.Manager", "FindFilesystem", "s", name)
        assert path in done.stdout, done.stderr


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
        if not interface.get("name").startswith((NAME, "org.freedesktop.DBus.ObjectManager")):
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
    contract = interfaces(CONTRACT.read_text())
    assert contract.keys() == offered.keys()
    for name, members in contract.items():
        assert members ^ offered[name] == set(), name


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


def test_who_calls_and_takes_no_answer_is_in_nobodys_way(service, tree):
    """Nor is who comes back again and again: room is left for root, and memory for the service."""
    program = harness.KIT / "private_peer.py"
    with subprocess.Popen(["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups",
                           sys.executable, "-c", program.read_text(), service.socket_path, "5"],
                          stdout=subprocess.PIPE, text=True) as flood:
        asked = 0
        while flood.poll() is None:
            assert service.ask("list").returncode == 0
            asked += 1
        hung_up = int(flood.stdout.read())
    assert asked > 0
    assert hung_up > 0
    resident = service.resident_bytes()
    assert resident < 64 * MIB, resident
    service.tell("pause", tree)
    assert service.end() < END_SECONDS


def test_what_is_not_taken_is_not_kept(service):
    """Who does not read the answers to calls has no more calls answered."""
    peer = PrivatePeer(service.socket_path)
    resident = service.resident_bytes()
    # Until no more goes out, as the service takes no more.
    wait_until(lambda: peer.call_without_end(0.2) <= 1)
    assert service.resident_bytes() < resident + MIB
    assert service.ask("list").returncode == 0
    peer.close()


def test_nonsense_on_the_socket_is_survived(service, tree):
    for nonsense in (b"\0", b"\xff" * 4096, b"\0AUTH EXTERNAL 30\r\nBEGIN\r\n" + b"l" * 4096):
        with socket.socket(socket.AF_UNIX) as caller:
            caller.connect(str(service.socket_path))
            caller.sendall(nonsense)
    assert service.ask("list").returncode == 0
    assert re.search("waiting", service.tell("list"))


def test_part_of_a_filesystem_is_worked_on_with_wishes(bus, path, tree, service):
    passes = service.shows(str(tree))["passes"]
    done = run(bus, path, *bytes_of(tree / "one"), 2, "dry-run", "exclude=*.iso")
    assert done.returncode == 0, done.stderr
    service.wait_for_passes(str(tree), passes + 1)
    assert service.shows(str(tree))["last_outcome"] == "complete"


@pytest.mark.parametrize("paths, wishes, said", [
    ([], [], "needs one at least"), (["relative"], [], "no absolute path"),
    (["/absent"], [], "/absent"), (["/proc"], [], "/proc"),
    (["/tree"], ["rebuild"], "rebuild cannot be asked for"),
    (["/tree"], ["help"], "help cannot be asked for"),
    (["/tree"], ["state-dir=/x"], "cannot be asked for: dry-run, changed, min-size, min-age, exclude or run-for"),
    (["/tree"], ["dry-run=no"], "cannot be asked for"), (["/tree"], ["min-size"], "cannot be asked"),
    (["/tree"], ["min-size=64KB"], "--min-size"), (["/tree"], ["dry-run"] * 65, "cannot be asked"),
    (["/tree"] * 1025, [], "1024 at most"), ([""], [], "Invalid"),
])
def test_what_cannot_be_worked_on_is_refused_by_name(bus, path, tree, service, paths, wishes, said):
    passes = service.shows(str(tree))["passes"]
    paths = [name.replace("/tree", str(tree)) for name in paths]
    done = run(bus, path, *bytes_of(*paths), len(wishes), *wishes)
    assert done.returncode != 0
    assert said in done.stderr
    assert service.shows(str(tree))["passes"] == passes
    assert service.is_running()


def hold(service, tree, user=None):
    """dedupctl hold with a command that runs until its input ends."""
    command = [dedupctl_program(), "hold", str(tree), "--why=/secret/name", "--", "sh", "-c",
               "echo held; exec cat"]
    return subprocess.Popen(as_user(user, command), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, env=service.environment())


def end_holds(holds):
    for one in holds:
        one.communicate("", timeout=PATIENCE_SECONDS)


def test_who_may_control_may_hold(service, bus, path, tree):
    uuid = service.shows(str(tree))["uuid"]
    denied = hold(service, uuid, user=USER)
    assert denied.wait(PATIENCE_SECONDS) == 125
    assert "polkit does not answer" in denied.communicate()[1]
    bus.start_polkit("org.dedupd1.control")
    holder = hold(service, uuid, user=USER)
    assert holder.stdout.readline() == "held\n"
    holds = json.loads(service.tell("status", "--json", tree))["filesystems"][0]["holds"]
    assert [(one["uid"], one["pid"], one["why"]) for one in holds] == [(USER, None, "/secret/name")]
    shown = bus.run("busctl", "--system", "get-property", NAME, path, f"{NAME}.Filesystem", "Holds",
                    "WaitsFor", user=USER).stdout
    assert shown.startswith(f"a(uuts) 1 {USER} 0 ")
    assert '"on hold"' in shown and "secret" not in shown
    call(bus, path, "Start")
    time.sleep(1)
    assert service.shows(str(tree))["passes"] == 1
    end_holds([holder])
    service.wait_for_passes(str(tree), 2)


def test_one_user_does_not_keep_others_from_holding(service, bus, tree):
    bus.start_polkit("org.dedupd1.control")
    uuid = service.shows(str(tree))["uuid"]
    holds = [hold(service, uuid, user=USER) for _ in range(8)]
    assert [one.stdout.readline() for one in holds] == ["held\n"] * 8
    refused = hold(service, uuid, user=USER)
    assert refused.wait(PATIENCE_SECONDS) == 125
    assert "too many hold" in refused.communicate()[1]
    others = [hold(service, uuid, user=OTHER_USER), hold(service, uuid)]
    assert [one.stdout.readline() for one in others] == ["held\n"] * 2
    end_holds([*holds, *others])
    wait_until(lambda: not json.loads(service.tell("status", "--json", tree))["filesystems"][0]["holds"])


def is_on_the_bus(bus):
    return bus.call(NAME, PATH, "org.freedesktop.DBus.Peer", "Ping").returncode == 0


def test_holds_and_limits_stay_when_the_bus_is_restarted(service, bus, path, tree):
    bus.start_polkit("org.dedupd1.control")
    uuid = service.shows(str(tree))["uuid"]
    disk = service.shows(str(tree))["disks"][0]["disk"]
    assert bus.call(NAME, PATH, f"{NAME}.Manager", "SetBudget", "stt", disk, MIB, "7").returncode == 0
    holder = hold(service, uuid, user=USER)
    assert holder.stdout.readline() == "held\n"

    def state():
        (shown,) = json.loads(service.tell("status", "--json", tree))["filesystems"]
        return [[one["why"] for one in shown["holds"]], shown["state"],
                [(one["rate_bytes"], one["iops"], one["from"]) for one in shown["disks"]]]

    before = state()
    assert before == [["/secret/name"], "waiting", [(MIB, 7, "set")]]
    for n_restarts in (1, 2):
        bus.end_daemon()
        wait_until(lambda n=n_restarts: service.log().count("the system bus is gone") == n, service.log)
        assert state() == before
        bus.start_daemon()
        wait_until(lambda: is_on_the_bus(bus), service.log)
        assert state() == before
    # What changes is told to everybody there again, and who asks there is answered.
    with watched_signals(bus) as said:
        assert call(bus, path, "Pause").returncode == 0
        wait_until(lambda: "PropertiesChanged" in said(), said)
    assert call(bus, path, "Resume").returncode == 0
    end_holds([holder])
    service.tell("start", tree)
    service.wait_for_passes(str(tree), 2)


@contextlib.contextmanager
def watched_signals(bus):
    """What busctl has said so far of the signals of the service."""
    with subprocess.Popen(["busctl", "--system", "monitor", NAME], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, env=bus.environment()) as monitor:
        os.set_blocking(monitor.stdout.fileno(), False)
        text = ""

        def said():
            nonlocal text
            text += (monitor.stdout.read() or b"").decode()
            return text

        try:
            wait_until(lambda: "Monitoring" in said(), said)
            yield said
        finally:
            monitor.terminate()


@pytest.fixture
def set_rate(service, bus, tree):
    """Limits what a pass reads in a second; 0: no limit."""
    disk = service.shows(str(tree))["disks"][0]["disk"]

    def set_rate(rate_bytes):
        assert bus.call(NAME, PATH, f"{NAME}.Manager", "SetBudget", "stt", disk, rate_bytes, 0).returncode == 0

    return set_rate


@pytest.fixture
def slow_pass(service, bus, path, tree, filesystem, set_rate):
    """A pass runs, for a minute if nobody ends it or sets another rate.  Calling it tells its state, and when it began."""
    def pass_of():
        (shown,) = json.loads(service.tell("status", "--json", tree))["filesystems"]
        return shown["state"], shown["pass_started"]

    set_rate(MIB)
    for name in ("more", "again"):
        write(tree / name, noise(7, 32 * MIB))
    settle(filesystem)
    assert call(bus, path, "Start").returncode == 0
    wait_until(lambda: pass_of()[0] == "running", service.log)
    return pass_of


def test_what_is_started_while_a_stopped_pass_ends_begins_after_it(service, bus, path, tree, set_rate, slow_pass):
    assert slow_pass()[0] == "running"
    assert call(bus, path, "Stop").returncode == 0
    assert call(bus, path, "Start").returncode == 0
    set_rate(0)
    assert service.wait_for_passes(str(tree), 3)["last_outcome"] == "complete"


def test_a_pass_goes_on_when_the_bus_is_restarted(service, bus, path, tree, set_rate, slow_pass):
    """And questions to polkit are forgotten, whose answers cannot come any more."""
    before = slow_pass()
    bus.start_silent_polkit()
    asking = subprocess.Popen(["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "busctl",
                               "--system", "call", NAME, path, f"{NAME}.Filesystem", "Stop"],
                              stderr=subprocess.PIPE, env=bus.environment())
    time.sleep(0.5)
    bus.end_daemon()
    assert asking.wait(PATIENCE_SECONDS) != 0
    asking.stderr.close()
    bus.start_daemon()
    wait_until(lambda: is_on_the_bus(bus), service.log)
    assert slow_pass() == before
    assert service.is_running()
    set_rate(0)
    service.wait_for_passes(str(tree), 2)
