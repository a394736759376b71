# SPDX-License-Identifier: GPL-2.0-or-later
"""Snapshots are sent, whatever passes do meanwhile.

The kernel refuses to send a subvolume at the moment in which one of its files is shared onto, and to share onto a file
of one that is being sent.
"""

import hashlib
import json
import pathlib
import subprocess
import time

import pytest

import content
import harness
import ioctls
from content import MIB, noise
from hindrances import being_sent
from service import wait_until
from subvolumes import btrfs, delete_subvolumes, make_subvolume, snapshot

pytestmark = pytest.mark.true_clock

PAIRS = 24
PAIR_BYTES = 2 * MIB
REFUSED = "Resource temporarily unavailable"
TRIES = 50


@pytest.fixture
def kind():
    return "btrfs"


@pytest.fixture(name="sent")
def sent_fixture(tree, filesystem):
    """A snapshot of which each file has a twin in it, and one beside it."""
    make_subvolume(tree / "sub")
    for number in range(PAIRS):
        data = noise(number, PAIR_BYTES)
        content.write(tree / f"sub/{number}-one", data)
        content.write(tree / f"sub/{number}-two", data)
        content.write(tree / f"{number}-three", data)
    snapshot(tree / "sub", tree / "snapshot")
    delete_subvolumes(tree, "sub")
    harness.settle(filesystem)
    filesystem.forget_data()
    return tree / "snapshot"


def send(subvolume, *options):
    return subprocess.run(["btrfs", "send", "-q", *map(str, options), str(subvolume)], check=False,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def send_until_ended(process, subvolume):
    """Send it again and again, as fast as can be without its data; what each attempt said."""
    said = []
    while process.poll() is None:
        said.append(send(subvolume, "--no-data").stderr)
        # Else nothing in it could ever be shared onto.
        time.sleep(0.02)
    return said


def addresses(directory):
    """Where the data of its files lies."""
    found = {}
    for path in sorted(directory.iterdir()):
        with path.open("rb") as file:
            found[path.name] = [(extent.logical, extent.physical) for extent in ioctls.extents(file.fileno())]
    return found


def digests(directory):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in directory.iterdir()}


@pytest.mark.parametrize("policy, freed_bytes", [("source", PAIRS * PAIR_BYTES), ("skip", 0)])
@pytest.mark.parametrize("find", ["checksums", "read"])
def test_no_send_fails_where_snapshots_are_not_shared_onto(sent, dedupd, policy, freed_bytes, find):
    before = addresses(sent)
    process = dedupd.start(find=find, read_only_snapshots=policy, limit_rate="32M")
    said = send_until_ended(process, sent)
    run = dedupd.finish(process)
    assert run.status == 0, run.stderr
    assert run.freed_bytes == freed_bytes
    assert "busy" not in run.skipped
    assert len(said) > 1
    assert not any(said)
    # The kernel is never asked to share onto any of its files.
    assert addresses(sent) == before


@pytest.mark.parametrize("find", ["checksums", "read"])
def test_a_send_that_is_refused_succeeds_a_moment_later_and_the_pass_goes_on(sent, dedupd, find):
    before = digests(sent)
    process = dedupd.start(find=find, read_only_snapshots="share", limit_rate="32M")
    said = send_until_ended(process, sent)
    run = dedupd.finish(process)
    print(f"{len(said)} sends, of which {len([text for text in said if text])} were refused")
    assert run.status == 0, run.stderr
    assert run.report["outcome"] == "complete"
    assert set(run.skipped) <= {"busy"}
    for text in said:
        assert text == "" or REFUSED in text
    # Two in a row are chance, as many as these are not.
    assert all(any(text == "" for text in said[at:at + TRIES]) for at in range(max(1, len(said) - TRIES)))
    assert send(sent).stderr == ""
    # What was left to a later pass is shared by that.
    assert dedupd.run(find=find).status == 0
    assert dedupd.run(find=find, dry_run=True).freed_bytes == 0
    assert digests(sent) == before


def test_a_pass_that_begins_during_a_send_leaves_it_to_the_next(sent, service, tree):
    service.configure(tree, WakeBytes="1T", WakeInterval="30d")
    with being_sent(sent):
        service.start()
        shown = service.wait_for_passes(str(tree), 1)
        assert shown["last_outcome"] == "complete"
        # Of the three the one beside it can be shared.
        assert shown["last_freed_bytes"] <= PAIRS * PAIR_BYTES
        (row,) = json.loads(service.tell("status", "--json", tree))["filesystems"]
        assert row["trouble"] is None
        assert "busy" in [skip["reason"] for skip in row["skipped"]]
    freed_bytes = shown["last_freed_bytes"]
    service.tell("start", "--wait", tree)
    assert freed_bytes + service.shows(str(tree))["last_freed_bytes"] == 2 * PAIRS * PAIR_BYTES


def is_sharing(service, tree):
    return service.shows(str(tree))["stage"] == "sharing"


def test_a_send_that_is_held_never_fails(sent, service, tree, make_filesystem, tmp_path):
    before = digests(sent)
    service.configure(tree, LimitRate="4M", WakeBytes="1T", WakeInterval="30d")
    service.start()
    stream = tmp_path / "stream"
    for _ in range(5):
        wait_until(lambda: is_sharing(service, tree), service.log)
        done = service.ask("hold", tree, "--", "btrfs", "send", "-q", "-f", stream, sent)
        assert done.returncode == 0, done.stderr
    # And what was sent is right.
    other = make_filesystem("btrfs")
    btrfs("receive", "-q", "-f", stream, other.mount_point)
    assert digests(pathlib.Path(other.mount_point) / "snapshot") == before
    service.configure(tree, WakeBytes="1T", WakeInterval="30d")
    service.tell("reload")
    service.tell("stop", tree)
    wait_until(lambda: service.shows(str(tree))["state"] == "waiting", service.log)
    service.tell("start", "--wait", tree)
    assert digests(sent) == before
