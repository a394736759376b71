# SPDX-License-Identifier: GPL-2.0-or-later
"""The units that are shipped, under a real systemd: what they have done, and what they keep from it."""

import contextlib
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import time

import pytest

import oracle
import schemas
from content import forget_pages, noise, write, write_twins
from harness import RACY_SECONDS, assert_unchanged
from machine import Machine, MachineUnavailable, wait_until
from service import END_SECONDS

MIB = 1 << 20
NOBODY = 65534
SERVICE = "dedupd.service"
ONCE = "dedupd-once.service"
HOME_MOUNT = "/".join(("", "home", "people"))
CONFIGURATION = "/etc/dedupd/dedupd.conf.d"


@pytest.fixture(scope="module")
def booted():
    for name in ("DEDUPD", "DEDUPCTL"):
        if name not in os.environ:
            pytest.skip(f"{name} does not name the program to test")
    try:
        with Machine(pathlib.Path(os.environ["DEDUPD"]).parents[1]) as machine:
            yield machine
    except MachineUnavailable as unavailable:
        pytest.skip(str(unavailable))


@pytest.fixture
def machine(booted):
    """As it was after it booted, save for filesystems that are unmounted."""
    booted.turn_page()
    yield booted
    booted.run("systemctl", "stop", "dedupd.timer", ONCE, SERVICE)
    booted.run("systemctl", "reset-failed")
    booted.tell("bash", "-c", f"rm -rf {CONFIGURATION}/* /var/lib/dedupd/* /var/data "
                "/run/systemd/system/dedupd*; umount /srv/* /home/* 2>/dev/null; true")
    booted.tell("systemctl", "daemon-reload")


class Place:
    """A directory there with files, and the mount point that shows it."""

    def __init__(self, machine, mount_point, tree):
        self.machine = machine
        self.mount_point = mount_point
        self.tree = machine.path(tree)

    def settle(self):
        subprocess.run(["sync", "-f", self.tree], check=True)
        time.sleep(RACY_SECONDS)

    def shows(self):
        """What `dedupctl list` says of it."""
        rows = json.loads(self.machine.tell("dedupctl", "list", "--json"))["filesystems"]
        return next(row for row in rows if row["mount_point"] == self.mount_point)

    def wait_for_pass(self, count=1):
        wait_until(lambda: self.shows()["passes"] >= count and self.shows()["state"] == "waiting",
                   self.machine.journal_text)
        return self.shows()

    def wait_until_running(self):
        wait_until(lambda: (self.shows()["stage_bytes"] or 0) > 0, self.machine.journal_text)


def with_twins(machine, kind, mount_point):
    """A place with 8 MiB twice, on a filesystem of its own; or on the root, without a kind."""
    if kind:
        machine.add_filesystem(kind, mount_point)
        place = Place(machine, mount_point, mount_point)
    else:
        machine.tell("mkdir", "/var/data")
        place = Place(machine, mount_point, "/var/data")
    write_twins(place.tree, 8 * MIB)
    place.settle()
    return place


def slow(machine, kind="xfs", mount_point="/srv/slow"):
    """A place over which a pass takes half a minute, as it is throttled."""
    machine.add_filesystem(kind, mount_point)
    place = Place(machine, mount_point, mount_point)
    for number in range(8):
        write(place.tree / f"file-{number}", noise(number // 2, 8 * MIB))
    place.settle()
    forget_pages(place.tree)
    return place


def run_slowly(place):
    place.machine.tell("systemctl", "start", SERVICE)
    place.machine.tell("dedupctl", "enable", place.mount_point, "Find=read", "LimitRate=2M")
    place.wait_until_running()


def test_nothing_is_worked_on_until_it_is_named(machine):
    machine.tell("systemctl", "start", SERVICE)
    assert machine.show(SERVICE, "Type") == "notify"
    assert machine.show(SERVICE, "ActiveState") == "active"
    assert machine.show(SERVICE, "StatusText") == "no filesystem waits for a pass"
    assert Place(machine, "/", "/").shows()["state"] == "disabled"
    assert machine.tell("dedupctl", "status", "--json").count("uuid") == 0


@pytest.mark.parametrize("kind, mount_point", [("btrfs", "/srv/data"), ("xfs", "/srv/data"),
                                               ("btrfs", HOME_MOUNT), ("xfs", HOME_MOUNT),
                                               (None, "/")])
def test_hardening_leaves_open_what_a_pass_needs(machine, kind, mount_point, tmp_path):
    place = with_twins(machine, kind, mount_point)
    before, used = oracle.snapshot(place.tree), oracle.physical_bytes(place.tree)
    machine.tell("systemctl", "start", SERVICE)

    machine.tell("dedupctl", "enable", mount_point)
    shown = place.wait_for_pass()

    assert shown["last_outcome"] == "complete"
    assert used - oracle.physical_bytes(place.tree) == 8 * MIB
    # On the root there is more than what was put there.
    assert shown["last_freed_bytes"] == 8 * MIB or (not kind and shown["last_freed_bytes"] > 8 * MIB)
    assert_unchanged(before, place.tree)
    assert not machine.journal(f"_SYSTEMD_UNIT={SERVICE}", "PRIORITY=4", "PRIORITY=3")
    # The kernel tells it when a filesystem was mounted.
    shutil.copytree(machine.path("/var/lib/dedupd"), tmp_path / "state")
    (store,) = (tmp_path / "state").glob("*.sqlite")
    with contextlib.closing(sqlite3.connect(store)) as database:
        assert database.execute("SELECT text FROM note WHERE name = 'mount-instance'").fetchone()


def test_a_pass_has_the_lowest_priority(machine):
    run_slowly(slow(machine))
    pid = machine.show(SERVICE, "MainPID")
    # Behind the name in brackets, the 17th field is the nice value.
    tasks = machine.tell("sh", "-c", f"cat /proc/{pid}/task/*/stat").splitlines()
    assert "19" in {task.rpartition(")")[2].split()[16] for task in tasks}, tasks


# What a line of the journal has for programs, of a pass over 8 MiB twice.
PASS_ENDED = "36cf098f0dd247118d19c4275891ad92"
CONFIG_REFUSED = "78dfecae1f2f495798a75f2c127198a3"


# journald looks up the unit of a process after the message came, so it has none if the process has ended by then.
BY_DEDUPD = "SYSLOG_IDENTIFIER=dedupd"


def assert_pass_is_told(machine, place, unit):
    uuid = machine.tell("findmnt", "-no", "UUID", place.mount_point).strip()
    (entry,) = machine.journal(BY_DEDUPD, f"DEDUPD_UUID={uuid}")
    assert entry.get("_SYSTEMD_UNIT", unit) == unit
    wanted = {"MESSAGE_ID": PASS_ENDED, "PRIORITY": "5", "DEDUPD_OUTCOME": "complete",
              "DEDUPD_MOUNT_POINT": place.mount_point, "DEDUPD_FREED_BYTES": str(8 * MIB),
              "DEDUPD_SHARED_BYTES": str(8 * MIB), "SYSLOG_IDENTIFIER": "dedupd"}
    assert wanted.items() <= entry.items()
    assert float(entry["DEDUPD_SECONDS"]) > 0
    assert entry["MESSAGE"].startswith(f"freed 8 MiB of {place.mount_point}: complete in ")
    # What files are called is nobody's business there.
    assert not any("one" in str(value) or "two" in str(value)
                   for name, value in entry.items() if name.startswith(("DEDUPD", "MESSAGE")))


def test_a_pass_is_a_line_of_the_journal_with_fields(machine):
    place = with_twins(machine, "xfs", "/srv/data")
    machine.tell("systemctl", "start", SERVICE)
    machine.tell("dedupctl", "enable", place.mount_point)
    place.wait_for_pass()
    # Which found nothing, so nothing is said of it.
    machine.tell("dedupctl", "start", place.mount_point)
    place.wait_for_pass(2)
    assert_pass_is_told(machine, place, SERVICE)

    machine.tell("journalctl", "--update-catalog")
    explained = machine.tell("journalctl", "--catalog", "--quiet", f"MESSAGE_ID={PASS_ENDED}")
    assert f"It freed {8 * MIB} bytes on the disk" in explained
    assert f"dedupctl history {place.mount_point}" in explained


def test_a_pass_of_the_timer_is_the_same_line(machine):
    place = with_twins(machine, "xfs", "/srv/data")
    machine.tell("dedupctl", "enable", place.mount_point)
    for _ in range(2):
        machine.tell("systemctl", "start", ONCE)
    assert_pass_is_told(machine, place, ONCE)
    assert len(machine.journal(f"_SYSTEMD_UNIT={ONCE}", "_COMM=dedupd",
                               "_UID=0")) == len(machine.journal(f"_SYSTEMD_UNIT={ONCE}",
                                                                 f"MESSAGE_ID={PASS_ENDED}"))


EXAMPLES = pathlib.Path(__file__).resolve().parents[3] / "docs" / "examples"
UNIT = """[Service]
Type=oneshot
ExecStart=/bin/sh -c 'touch /run/begun; while ! test -e /run/done; do sleep 0.1; done'
"""


def add_backup(machine, name, *replaced):
    """A unit that somebody else ships, with what docs/examples adds to it."""
    added = EXAMPLES / f"{name}.service.d/dedupd.conf"
    text = added.read_text(encoding="utf-8")
    for old, new in replaced:
        assert old in text
        text = text.replace(old, new)
    machine.tell("mkdir", "-p", f"/run/systemd/system/dedupd-{name}.service.d")
    machine.write(f"/run/systemd/system/dedupd-{name}.service", UNIT)
    machine.write(f"/run/systemd/system/dedupd-{name}.service.d/dedupd.conf", text)
    machine.tell("systemctl", "daemon-reload")
    return f"dedupd-{name}.service"


def assert_holds_off(machine, place, unit):
    """Passes end before what the unit does begins, and go on after it."""
    machine.tell("rm", "-f", "/run/begun", "/run/done")
    run_slowly(place)
    machine.tell("systemctl", "start", "--no-block", unit)
    wait_until(machine.path("/run/begun").exists, machine.journal_text)
    assert place.shows()["why"].startswith("on hold by process ")
    time.sleep(2)
    assert place.shows()["state"] == "waiting"
    machine.tell("touch", "/run/done")
    wait_until(lambda: place.shows()["state"] == "running", machine.journal_text)
    wait_until(lambda: machine.show(unit, "ActiveState") == "inactive", machine.journal_text)
    assert machine.show(unit, "Result") == "success"


@pytest.mark.parametrize("name", ["borg", "btrbk"])
def test_units_that_want_it_are_held_off_for(machine, name):
    place = slow(machine)
    unit = add_backup(machine, name, ("@srv.service", "@srv-slow.service"))
    assert_holds_off(machine, place, unit)
    hold = "dedupd-hold@srv-slow.service"
    wait_until(lambda: machine.show(hold, "ActiveState") == "inactive", machine.journal_text)
    assert machine.show(hold, "Result") == "success"


def test_a_unit_may_hold_its_command(machine):
    place = slow(machine)
    command = UNIT.partition("ExecStart=")[2].strip()
    unit = add_backup(machine, "restic", (" /srv -- /usr/bin/restic backup /srv", f" /srv/slow -- {command}"))
    assert_holds_off(machine, place, unit)


def test_what_changed_is_shared_before_a_unit_begins(machine):
    place = with_twins(machine, "xfs", "/srv/data")
    machine.tell("systemctl", "start", SERVICE)
    machine.tell("dedupctl", "enable", place.mount_point, "WakeBytes=1T", "WakeInterval=30d")
    place.wait_for_pass()
    write_twins(place.tree, 4 * MIB, seed=9, names=("new-1", "new-2"))
    place.settle()
    machine.tell("touch", "/run/done")
    unit = add_backup(machine, "snapper-timeline", (" /srv\n", " /srv/data\n"))
    machine.tell("systemctl", "start", unit)
    assert place.shows()["last_freed_bytes"] == 4 * MIB


def test_metrics_are_where_collectors_find_them(machine):
    place = with_twins(machine, "xfs", "/srv/data")
    path = machine.path("/var/lib/prometheus/node-exporter/dedupd.prom")
    machine.tell("mkdir", "-p", "/var/lib/prometheus/node-exporter")
    machine.write(f"{CONFIGURATION}/metrics.conf",
                  "[Dedupd]\nMetricsFile=/var/lib/prometheus/node-exporter/dedupd.prom\n")
    machine.tell("systemctl", "start", SERVICE)
    machine.tell("dedupctl", "enable", place.mount_point)
    place.wait_for_pass()
    wait_until(lambda: path.exists() and f' {8 * MIB}\n' in path.read_text(), machine.journal_text)
    # By whoever collects.
    assert machine.run("setpriv", f"--reuid={NOBODY}", "--clear-groups", "cat",
                       "/var/lib/prometheus/node-exporter/dedupd.prom").returncode == 0
    assert "dedupd_service_running 1\n" in path.read_text()
    machine.tell("systemctl", "stop", SERVICE)
    assert "dedupd_service_running 0\n" in path.read_text()


def test_a_failed_pass_of_the_timer_is_reported(machine):
    """By the example of OnFailure=, which writes to the journal where nothing sends mail."""
    for name in ("dedupd-failed@.service", "dedupd-once.service.d/dedupd.conf"):
        machine.write(f"/etc/systemd/system/{name}", (EXAMPLES / name).read_text())
    machine.tell("systemctl", "daemon-reload")
    machine.write(f"{CONFIGURATION}/wrong.conf", "[Dedupd]\nMemory=none\n")
    assert machine.run("systemctl", "start", "dedupd-once.service").returncode != 0
    wait_until(lambda: machine.journal("SYSLOG_IDENTIFIER=dedupd-failed"), machine.journal_text)
    said = machine.journal("SYSLOG_IDENTIFIER=dedupd-failed")
    assert {entry["PRIORITY"] for entry in said} == {"3"}
    text = "\n".join(entry["MESSAGE"] for entry in said)
    assert "dedupd-once.service" in text
    assert "wrong.conf:2" in text
    wait_until(lambda: machine.show("dedupd-failed@dedupd-once.service.service", "Result") == "success",
               machine.journal_text)


def test_a_configuration_is_read_anew(machine):
    place = with_twins(machine, "xfs", "/srv/data")
    machine.tell("systemctl", "start", SERVICE)
    assert place.shows()["state"] == "disabled"

    machine.write(f"{CONFIGURATION}/by-hand.conf", f"[Filesystem {place.mount_point}]\n")
    machine.tell("systemctl", "reload", SERVICE)
    place.wait_for_pass()

    machine.write(f"{CONFIGURATION}/by-hand.conf", "[Filesystem /srv/data]\nZeroes=keep\n")
    refused = machine.run("systemctl", "reload", SERVICE)
    assert refused.returncode != 0
    assert "journalctl" in refused.stderr
    wait_until(lambda: machine.journal(f"MESSAGE_ID={CONFIG_REFUSED}"), machine.journal_text)
    assert "by-hand.conf:2" in machine.journal(f"MESSAGE_ID={CONFIG_REFUSED}")[0]["MESSAGE"]
    assert machine.show(SERVICE, "ActiveState") == "active"
    assert place.shows()["state"] == "waiting"

    machine.write(f"{CONFIGURATION}/by-hand.conf", "")
    machine.tell("systemctl", "reload", SERVICE)
    assert place.shows()["state"] == "disabled"


def test_a_main_loop_that_stands_still_is_replaced(machine):
    machine.write("/run/systemd/system/dedupd.service.d/soon.conf",
                  "[Service]\nWatchdogSec=3s\nRestartSec=100ms\n")
    machine.tell("systemctl", "daemon-reload")
    machine.tell("systemctl", "start", SERVICE)
    pid = machine.show(SERVICE, "MainPID")
    # With a loop that goes round nothing happens, though nobody asks it anything.
    time.sleep(4)
    assert machine.show(SERVICE, "MainPID") == pid

    machine.tell("kill", "-STOP", pid)

    wait_until(lambda: machine.show(SERVICE, "MainPID") not in (pid, "0")
               and machine.show(SERVICE, "ActiveState") == "active", machine.journal_text)
    assert int(machine.show(SERVICE, "NRestarts")) >= 1
    assert "Watchdog timeout" in machine.journal_text()
    machine.tell("dedupctl", "list")


def fire_often(machine):
    """Have the timer elapse every other second."""
    machine.write("/run/systemd/system/dedupd.timer.d/often.conf",
                  "[Timer]\nOnCalendar=\nOnCalendar=*:*:0/2\nRandomizedDelaySec=0\nAccuracySec=1ms\n")
    machine.tell("systemctl", "daemon-reload")


def test_the_timer_has_all_that_is_named_worked_on(machine):
    one, other = (with_twins(machine, kind, f"/srv/{kind}") for kind in ("btrfs", "xfs"))
    used = [oracle.physical_bytes(place.tree) for place in (one, other)]
    for place in (one, other):
        told = machine.tell("dedupctl", "enable", place.mount_point)
        assert "dedupd.timer" in told
        assert "The next 'dedupd --once' heeds this." in told
    fire_often(machine)

    machine.tell("systemctl", "start", "dedupd.timer")
    wait_until(lambda: machine.journal(f"UNIT={ONCE}", "JOB_RESULT=done"), machine.journal_text)
    machine.tell("systemctl", "stop", "dedupd.timer")
    wait_until(lambda: machine.show(ONCE, "ActiveState") == "inactive", machine.journal_text)

    freed = [before - oracle.physical_bytes(place.tree)
             for before, place in zip(used, (one, other))]
    assert freed == [8 * MIB, 8 * MIB], machine.journal_text()
    assert machine.show(ONCE, "Result") == "success"
    # Nothing stays running.
    assert machine.show(SERVICE, "ActiveState") == "inactive"


def test_one_that_cannot_be_worked_on_keeps_no_other(machine):
    one, other = (with_twins(machine, "xfs", f"/srv/{name}") for name in ("one", "other"))
    used = oracle.physical_bytes(other.tree)
    for place in (one, other):
        machine.tell("dedupctl", "enable", place.mount_point)
    machine.tell("mount", "-o", "remount,ro", one.mount_point)

    assert machine.run("systemctl", "start", ONCE).returncode != 0

    assert machine.show(ONCE, "ExecMainStatus") == "1"
    assert used - oracle.physical_bytes(other.tree) == 8 * MIB
    assert "mounted read-only" in machine.journal_text()


def test_with_mode_timer_the_service_waits_until_it_is_asked(machine):
    place = with_twins(machine, "xfs", "/srv/data")
    used = oracle.physical_bytes(place.tree)
    machine.write(f"{CONFIGURATION}/mode.conf", "[Dedupd]\nMode=timer\n")
    machine.tell("systemctl", "start", SERVICE)
    machine.tell("dedupctl", "enable", place.mount_point)
    wait_until(lambda: place.shows()["why"] == "until a pass is requested", machine.journal_text)

    # What the timer begins and what the service does are not in each other's way.
    machine.tell("systemctl", "start", ONCE)
    assert used - oracle.physical_bytes(place.tree) == 8 * MIB
    assert place.shows()["passes"] == 0
    machine.tell("dedupctl", "start", place.mount_point)
    assert place.wait_for_pass()["last_outcome"] == "complete"


def test_what_the_service_works_on_the_timer_leaves_to_it(machine):
    place = slow(machine)
    run_slowly(place)
    # To which it is no failure.
    machine.tell("systemctl", "start", ONCE)
    assert machine.show(ONCE, "Result") == "success"
    wait_until(lambda: any("holds the store" in entry["MESSAGE"] for entry in machine.journal(BY_DEDUPD)),
               machine.journal_text)
    assert place.shows()["state"] == "running"


def test_a_filesystem_comes_and_goes_during_a_pass(machine):
    place = slow(machine)
    later = with_twins(machine, "btrfs", "/srv/later")
    device = machine.tell("findmnt", "-no", "SOURCE", later.mount_point).strip()
    machine.tell("dedupctl", "enable", later.mount_point)
    machine.tell("umount", later.mount_point)
    run_slowly(place)
    assert machine.show(SERVICE, "StatusText") == f"a pass over {place.mount_point}"

    machine.tell("mount", device, later.mount_point)
    later.wait_for_pass()
    machine.tell("umount", later.mount_point)
    wait_until(lambda: later.shows()["state"] == "unmounted", machine.journal_text)
    assert place.shows()["state"] == "running"
    assert "busy" in machine.run("umount", place.mount_point).stderr

    machine.tell("dedupctl", "disable", place.mount_point)
    wait_until(lambda: machine.run("umount", place.mount_point).returncode == 0,
               machine.journal_text)


def test_it_ends_soon_in_the_middle_of_a_pass(machine):
    place = slow(machine)
    run_slowly(place)
    before = oracle.snapshot(place.tree)
    begun = time.monotonic()
    machine.tell("systemctl", "stop", SERVICE)
    assert time.monotonic() - begun < END_SECONDS
    assert machine.show(SERVICE, "Result") == "success"
    assert machine.show(SERVICE, "ExecMainStatus") == "0"
    assert_unchanged(before, place.tree)


def test_on_the_bus_polkit_is_asked(machine):
    place = with_twins(machine, "xfs", "/srv/data")
    machine.tell("systemctl", "start", SERVICE)
    machine.tell("dedupctl", "enable", place.mount_point)
    uuid = place.wait_for_pass()["uuid"]
    path = "/org/dedupd1/filesystem/" + uuid.replace("-", "_")

    def pause():
        return machine.run("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups",
                           "busctl", "call", "org.dedupd1", path, "org.dedupd1.Filesystem", "Pause")

    refused = pause()
    assert refused.returncode != 0
    assert "authorization is required" in refused.stderr
    machine.write("/etc/polkit-1/rules.d/10-nobody.rules", """polkit.addRule(function(action, subject) {
    if (action.id == "org.dedupd1.control" && subject.user == "nobody")
        return polkit.Result.YES;
});
""")
    wait_until(lambda: pause().returncode == 0, machine.journal_text)
    assert place.shows()["why"] == "paused"


@pytest.mark.parametrize("user", [0, NOBODY])
def test_who_asks_on_the_bus_does_not_start_what_was_stopped(machine, user):
    machine.tell("systemctl", "enable", "--now", SERVICE)
    call = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", "busctl", "call",
            "org.dedupd1", "/org/dedupd1", "org.dedupd1.Manager", "ListFilesystems"]
    machine.tell(*call)
    machine.tell("systemctl", "stop", SERVICE)

    refused = machine.run(*call)

    assert refused.returncode != 0
    assert "org.dedupd1" in refused.stderr
    assert machine.show(SERVICE, "ActiveState") == "inactive"
    assert machine.run("dedupctl", "list").returncode == 3
    assert machine.show(SERVICE, "ActiveState") == "inactive"
    machine.tell("systemctl", "disable", SERVICE)


# dedupctl log.


def log(machine, *options):
    return json.loads(machine.tell("dedupctl", "log", "--json", *options))["messages"]


def test_log_shows_what_was_said_of_a_filesystem(machine):
    place = with_twins(machine, "xfs", "/srv/data")
    machine.tell("systemctl", "start", SERVICE)
    machine.tell("dedupctl", "enable", place.mount_point)
    uuid = place.wait_for_pass()["uuid"]

    for name in (place.mount_point, uuid, uuid.upper()):
        row = log(machine, name)[-1]
        assert (row["uuid"], row["mount_point"], row["unit"]) == (uuid, place.mount_point, SERVICE)
        assert (row["outcome"], row["priority"], row["message_id"]) == ("complete", "notice", PASS_ENDED)
        assert (row["freed_bytes"], row["shared_bytes"]) == (8 * MIB, 8 * MIB)
        assert row["message"].startswith(f"freed 8 MiB of {place.mount_point}: complete in ")
        assert row["seconds"] > 0
    assert log(machine, "/srv") == []
    assert machine.run("dedupctl", "log", "frob").returncode == 2

    # What systemd says of the unit, too.
    assert any(row["unit"] == "init.scope" and "Started" in row["message"] for row in log(machine))
    heading, *lines = machine.tell("dedupctl", "log", "-n", "3").splitlines()
    assert heading.split() == ["TIME", "PRIORITY", "MESSAGE"]
    assert len(lines) == 3
    everything = log(machine, "--lines=0")
    assert len(everything) >= 3
    assert log(machine, "-n", "2") == everything[-2:]
    assert log(machine, "--since=1h")[-1] == everything[-1]
    assert log(machine, "--since=2999-01-01") == []
    assert log(machine, "-n", "2", "--since=2999-01-01") == []

    (directory,) = machine.tell("sh", "-c", "ls -d /run/log/journal/* /var/log/journal/* 2>/dev/null; "
                                "true").split()
    assert log(machine, f"--directory={directory}", "-n", "1") == everything[-1:]
    empty = machine.run("dedupctl", "log", "--directory=/srv")
    assert (empty.returncode, empty.stdout) == (3, "")
    assert "no journal" in empty.stderr
    refused = machine.run("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups",
                          "dedupctl", "log")
    assert (refused.returncode, refused.stdout) == (3, "")


def test_log_escapes_what_a_mount_point_is_called(machine):
    place = with_twins(machine, "xfs", "/srv/a\nb\x1b[31m")
    machine.tell("systemctl", "start", SERVICE)
    uuid = machine.tell("findmnt", "-no", "UUID", place.mount_point).strip()
    machine.tell("dedupctl", "enable", uuid)
    wait_until(lambda: log(machine, uuid), machine.journal_text)
    assert log(machine, place.mount_point)[0]["mount_point"] == r"/srv/a\nb\e[31m"
    text = machine.tell("dedupctl", "log", uuid)
    assert r"freed 8 MiB of /srv/a\nb\e[31m" in text
    assert "\x1b" not in text
    machine.tell("umount", place.mount_point)


@pytest.mark.parametrize("options, is_json", [("", False), ("--json", True)])
def test_log_follows_what_is_said(machine, options, is_json):
    machine.tell("systemctl", "start", SERVICE)
    machine.tell("sh", "-c", f"rm -f /run/followed; dedupctl log -f -n 1 {options} "
                 ">/run/followed 2>&1 </dev/null & echo $! >/run/follower")
    followed = machine.path("/run/followed")
    try:
        # One that was there, and then each that comes.
        wait_until(lambda: len(followed.read_text().splitlines()) == 1)
        for count in range(2):
            machine.tell("dedupctl", "reload")
            wait_until(lambda count=count: followed.read_text().count("configuration anew") > count,
                       machine.journal_text)
    finally:
        machine.run("sh", "-c", "kill $(cat /run/follower)")
    lines = followed.read_text().splitlines()
    if is_json:
        documents = [json.loads(line) for line in lines]
        for document in documents:
            schemas.check(document, "log")
        lines = [document["messages"][0]["message"] for document in documents]
    assert lines[-1].endswith("read the configuration anew")
