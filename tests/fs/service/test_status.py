# SPDX-License-Identifier: GPL-2.0-or-later
"""What dedupctl shows of the service and of the filesystems that it works on."""

import json
import os
import re
import subprocess

import pytest

from content import forget_pages, noise, write, write_twins
from harness import settle
from service import wait_until

MIB = 1 << 20
USER = 65533
HOSTILE = "m\nn\x1b[31m"
ESCAPED = r"m\nn\e[31m"


def begin_slowly(service, filesystem, tree, **settings):
    """Begin a pass that reads 2 MiB a second, and wait until it is in the middle."""
    for number in range(8):
        write(tree / f"file-{number}", noise(number // 2, 8 * MIB))
    settle(filesystem)
    forget_pages(tree)
    service.configure(tree, Find="read", LimitRate="2M", **settings)
    service.start()
    wait_until(lambda: (row_of(service, tree)["stage_bytes"] or 0) > 0, service.log)


def row_of(service, name):
    (row,) = json.loads(service.tell("status", "--json", name))["filesystems"]
    return row


def block_of(service, name):
    """The lines of the block, by their names; of several of a name the first."""
    lines = [line.partition(": ") for line in service.tell("status", name).splitlines()]
    return {name.strip(): value for name, _, value in reversed(lines)}


def test_status_shows_the_pass_that_runs(filesystem, tree, service):
    begin_slowly(service, filesystem, tree, RunFor="2h")
    wait_until(lambda: row_of(service, tree)["stage_rate_bytes"], service.log)
    row, block = row_of(service, tree), block_of(service, tree)

    assert (row["state"], row["stage"], row["next_pass"]) == ("running", "reading", None)
    assert 0 < row["stage_bytes"] < row["stage_total_bytes"] == 64 * MIB
    left = (row["stage_total_bytes"] - row["stage_bytes"]) / row["stage_rate_bytes"]
    assert row["stage_left_seconds"] == pytest.approx(left, rel=0.01)
    assert row["deadline"] > row["pass_started"]
    assert len(row["disks"]) == 1
    assert row["trouble"] is None

    assert block["Mount"] == str(tree)
    assert block["State"].startswith("running since ")
    assert re.fullmatch(r"reading, .* of 64 MiB \(\d+ %\)", block["Stage"])
    assert re.fullmatch(r"\S+ \SiB/s since the stage began", block["Rate"])
    assert block["Left"].endswith("of this stage, at that rate")
    assert block["Ends"].endswith("at the latest")
    assert block["Trouble"] == "-"
    heading, *rows = service.tell("status").splitlines()
    assert heading.split()[:5] == ["MOUNT", "STATE", "NOW", "RATE", "LEFT"]
    assert any(line.startswith(str(tree)) and "reading" in line for line in rows)


def test_status_shows_what_the_disk_may_be_asked_for(filesystem, tree, service):
    service.configure(tree)
    service.start()
    (disk,) = [each["disk"] for each in row_of(service, tree)["disks"]]
    assert row_of(service, tree)["disks"][0]["rate_bytes"] is None
    service.tell("budget", "--rate=30M", "--iops=200", disk)
    (shown,) = row_of(service, tree)["disks"]
    assert (shown["rate_bytes"], shown["iops"], shown["from"]) == (30 * MIB, 200, "set")
    assert block_of(service, tree)["Disks"].startswith(f"{disk}, 30 MiB/s, 200 requests/s (set)")


def test_status_joins_what_the_service_and_the_store_know(filesystem, tree, service):
    write_twins(tree, 8 * MIB)
    settle(filesystem)
    service.configure(tree)
    service.start()
    service.wait_for_passes(str(tree), 1)
    row = row_of(service, tree)
    assert (row["state"], row["freed_total_bytes"]) == ("waiting", 8 * MIB)
    assert row["service_freed_bytes"] == 8 * MIB
    assert row["store_path"].startswith(str(service.state_directory))
    assert row["objects"] > 0

    # The store outlives the service, and of what came before only that knows.
    service.end()
    service.start()
    row = row_of(service, tree)
    assert (row["freed_total_bytes"], row["service_freed_bytes"]) == (8 * MIB, 0)
    assert row["freed_bytes"] in (8 * MIB, 0)


def test_status_says_what_is_in_the_way(filesystem, tree, service):
    write_twins(tree, MIB)
    settle(filesystem)
    service.configure(tree)
    service.start()
    service.wait_for_passes(str(tree), 1)
    assert row_of(service, tree)["trouble"] is None
    service.tell("pause", tree)
    wait_until(lambda: row_of(service, tree)["wait_reason"] == "paused", service.log)
    assert row_of(service, tree)["trouble"] == "paused: 'dedupctl resume' ends the pause"
    service.tell("resume", tree)

    (service.state_directory / f"{row_of(service, tree)['uuid']}.sqlite").write_bytes(b"x" * 8192)
    for name in service.state_directory.glob("*-wal"):
        name.unlink()
    service.tell("start", tree)
    wait_until(lambda: json.loads(service.ask("status", "--json", tree).stdout)
               ["filesystems"][0]["wait_reason"] == "retry", service.log)
    told = service.ask("status", "--json", tree)
    assert told.returncode == 1
    assert "sqlite" in told.stderr
    (row,) = json.loads(told.stdout)["filesystems"]
    assert row["trouble"].startswith("the last pass failed: ")
    assert row["freed_total_bytes"] is None
    assert row["next_pass"] > row["last_pass"]


def test_status_leaves_out_what_nobody_named(filesystem, tree, service):
    service.configure()
    service.start()
    uuid = service.shows(str(tree))["uuid"]
    assert uuid not in service.tell("status", "--json")
    assert row_of(service, tree)["state"] == "disabled"
    assert row_of(service, uuid.upper())["uuid"] == uuid
    told = service.ask("status", "/nowhere")
    assert told.returncode == 1
    assert "/nowhere" in told.stderr


def test_others_see_what_the_service_tells_them(filesystem, tree, service):
    write_twins(tree, MIB)
    settle(filesystem)
    service.configure(tree)
    service.state_directory.mkdir(mode=0o700)
    service.start()
    service.wait_for_passes(str(tree), 1)
    told = service.ask("status", "--json", row_of(service, tree)["uuid"], user=USER)
    assert (told.returncode, told.stderr) == (0, "")
    (row,) = json.loads(told.stdout)["filesystems"]
    assert (row["state"], row["service_freed_bytes"]) == ("waiting", MIB)
    assert row["freed_total_bytes"] is None


@pytest.mark.parametrize("name, escaped", [(HOSTILE, ESCAPED), ("no\udcffutf-8", r"no\xffutf-8")])
def test_a_hostile_mount_point_is_shown_escaped(filesystem, tree, service, tmp_path, name, escaped):
    mount_point = tmp_path / name
    mount_point.mkdir()
    subprocess.run(["mount", "--bind", tree, mount_point], check=True)
    try:
        subprocess.run(["umount", tree], check=True)
        service.configure(service_uuid(mount_point))
        service.start()
        for verb in ("status", "list"):
            text = service.tell(verb)
            assert escaped in text
            assert "\x1b" not in text
        assert escaped in service.tell("status", mount_point)
        assert row_of(service, mount_point)["mount_point"].endswith(escaped)
        # By each name that leads there.
        (tmp_path / "link").symlink_to(mount_point)
        for called in (mount_point, tmp_path / "link", os.path.relpath(mount_point)):
            assert "complete" in service.tell("start", "--wait", called)
            (row,) = json.loads(service.tell("list", "--json", called))["filesystems"]
            assert row["state"] == "waiting"
    finally:
        service.close()
        subprocess.run(["mount", "--bind", mount_point, tree], check=True)
        subprocess.run(["umount", mount_point], check=True)


def service_uuid(mount_point):
    return subprocess.run(["findmnt", "--noheadings", "--output=UUID", "--mountpoint",
                           os.fsencode(mount_point)], check=True, capture_output=True,
                          text=True).stdout.strip()


def test_without_a_service_the_stores_speak(filesystem, tree, service):
    write_twins(tree, MIB)
    settle(filesystem)
    service.configure(tree)
    service.start()
    service.wait_for_passes(str(tree), 1)
    service.end()
    told = service.ask("status", f"--state-dir={service.state_directory}", "--json", tree)
    assert (told.returncode, told.stderr) == (0, "")
    (row,) = json.loads(told.stdout)["filesystems"]
    assert (row["state"], row["freed_total_bytes"]) == (None, MIB)
    told = service.ask("status")
    assert "does not run" in told.stderr


# What there is.


def listed(service, name, *options, status=0):
    told = service.ask("list", "--json", *options, name)
    assert told.returncode == status, told.stderr
    (row,) = json.loads(told.stdout)["filesystems"]
    return row


def test_list_shows_the_disks_and_their_limits(filesystem, tree, service):
    service.configure(tree)
    service.start()
    (disk,) = listed(service, tree)["disks"]
    assert (disk["rate_bytes"], disk["iops"]) == (None, None)
    assert listed(service, tree)["disk_limits"] == disk["disk"]
    service.tell("budget", "--rate=30M", "--iops=200", disk["disk"])
    assert listed(service, tree)["disk_limits"] == f"{disk['disk']} 30 MiB/s 200/s"
    assert disk["disk"] in service.tell("list", "-o", "mount_point,disk_limits", tree)


def test_list_says_what_would_have_a_filesystem_worked_on(filesystem, tree, service):
    service.configure()
    service.start()
    row = listed(service, tree)
    assert (row["state"], row["eligible"], row["enabled"]) == ("disabled", "yes", "no")
    assert row["why"] == f"not enabled: 'dedupctl enable {tree}' enables it"
    # Though nothing is done with it.
    assert len(row["disks"]) == 1
    subprocess.run(["mount", "-o", "remount,ro", tree], check=True)
    service.tell("reload")
    wait_until(lambda: listed(service, tree)["eligible"] == "no", service.log)
    row = listed(service, tree)
    assert row["enabled"] == "no"
    assert "read-only" in row["why"]


def test_list_without_a_service_shows_what_is_mounted(filesystem, tree, service):
    service.configure()
    without = listed(service, tree, f"--config={service.config_path}", status=3)
    assert (without["state"], without["eligible"], without["enabled"]) == (None, "yes", "no")
    assert without["why"] == f"not enabled: 'dedupctl enable {tree}' enables it"
    (disk,) = without["disks"]

    service.configure(without["uuid"])
    with service.config_path.open("a") as config:
        config.write(f"[Disk {disk['disk']}]\nReadRate=40M\nPressure=off\n")
    named = listed(service, without["uuid"], f"--config={service.config_path}", status=3)
    assert (named["enabled"], named["why"]) == ("yes", None)
    assert named["disk_limits"] == f"{disk['disk']} 40 MiB/s"
    assert named["disks"][0]["pressure"] == "off"

    subprocess.run(["mount", "-o", "remount,ro", tree], check=True)
    refused = listed(service, tree, f"--config={service.config_path}", status=3)
    assert (refused["eligible"], refused["enabled"]) == ("no", "yes")
    assert "read-only" in refused["why"]
    told = service.ask("list", f"--config={service.config_path}")
    assert "does not run" in told.stderr
    assert told.stdout.splitlines()[0].split() == ["MOUNT", "KIND", "ELIGIBLE", "ENABLED", "WHY",
                                                   "DISKS", "UUID"]
    assert service.ask("list", "/nowhere").returncode == 1


def test_list_says_what_is_wrong_with_the_configuration(filesystem, tree, service):
    service.config_path.write_text("[Dedupd]\nFrobnicate=1\n")
    told = service.ask("list", f"--config={service.config_path}", tree)
    assert told.returncode == 1
    assert "Frobnicate" in told.stderr
    assert str(tree) in told.stdout
    row = listed(service, tree, f"--config={service.config_path}", status=1)
    assert row["enabled"] is None
    assert row["why"] == "unknown: the configuration is wrong ('dedupctl config --check')"


def test_where_the_service_holds_to_an_older_configuration_that_is_said(filesystem, tree, service):
    service.configure()
    service.start()
    service.config_path.write_text("[Dedupd]\nFrobnicate=1\n")
    row = listed(service, tree, f"--config={service.config_path}")
    assert row["why"] == "not enabled: the configuration is wrong ('dedupctl config --check')"
    told = service.tell("status", f"--config={service.config_path}", tree)
    assert "Trouble: the configuration is wrong, and the service keeps the previous one: " \
        "'dedupctl config --check'\n" in told


def test_status_says_that_no_pass_can_begin_with_a_wrong_configuration(filesystem, tree, service):
    service.configure(tree)
    service.start()
    service.wait_for_passes(str(tree), 1)
    service.end()
    service.config_path.write_text("[Dedupd]\nFrobnicate=1\n")
    words = ["status", f"--state-dir={service.state_directory}"]
    config = f"--config={service.config_path}"

    told = service.ask(*words, config, tree)
    assert "Trouble: the configuration is wrong, no pass can begin: 'dedupctl config --check'\n" \
        in told.stdout
    told = service.ask(*words, config)
    assert "dedupctl: the configuration is wrong: 'dedupctl config --check' says where\n" \
        in told.stderr
    told = service.ask(*words, config, "--json", tree)
    assert "no pass can begin" in json.loads(told.stdout)["filesystems"][0]["trouble"]
    told = service.ask(*words, "--config=none", tree)
    assert "Trouble: -" in told.stdout


def test_others_may_list_too(filesystem, tree, service):
    told = service.ask("list", "--json", "--config=none", user=USER)
    assert told.returncode == 3
    assert str(tree) in told.stdout
    service.configure(tree)
    service.start()
    told = service.ask("list", "--json", user=USER)
    assert told.returncode == 0
    assert [row["state"] for row in json.loads(told.stdout)["filesystems"]
            if row["mount_point"] == str(tree)][0] in ("waiting", "running")
