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
    assert row_of(service, tree)["trouble"] == "paused: 'dedupctl resume' has it go on"
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


def test_a_hostile_mount_point_is_shown_escaped(filesystem, tree, service, tmp_path):
    mount_point = tmp_path / HOSTILE
    mount_point.mkdir()
    subprocess.run(["mount", "--bind", tree, mount_point], check=True)
    try:
        subprocess.run(["umount", tree], check=True)
        service.configure(service_uuid(mount_point))
        service.start()
        for verb in ("status", "list"):
            text = service.tell(verb)
            assert ESCAPED in text
            assert "\x1b" not in text
        assert ESCAPED in service.tell("status", mount_point)
        assert row_of(service, mount_point)["mount_point"].endswith(ESCAPED)
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
