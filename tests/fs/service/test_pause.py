# SPDX-License-Identifier: GPL-2.0-or-later
"""A pause holds until its time is over or somebody ends it, whoever asks for passes meanwhile."""

import datetime
import json
import pathlib
import time

import pytest

import ioctls
from content import MIB, write_twins
from harness import settle
from service import wait_until


@pytest.fixture
def kind():
    """A pause concerns the schedule, which does not ask what it is."""
    return "xfs"


@pytest.fixture
def tree(make_filesystem, kind):
    filesystem = make_filesystem(kind)
    write_twins(pathlib.Path(filesystem.mount_point), MIB)
    settle(filesystem)
    return pathlib.Path(filesystem.mount_point)


@pytest.fixture
def paused(tree, service):
    """A service that has made a pass and was told to pause."""
    service.configure(tree, WakeBytes="1T", WakeInterval="30d")
    service.start()
    service.wait_for_passes(str(tree), 1)
    service.tell("pause", tree)
    return service


def seconds_of(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def status_of(service, tree):
    rows = json.loads(service.tell("status", "--json", tree))["filesystems"]
    (row,) = rows
    return row


@pytest.mark.parametrize("words", [("start",), ("start", "--wait"), ("run",), ("run", "--queue")])
def test_no_pass_begins_during_a_pause_unless_that_is_wanted(tree, paused, words):
    refused = paused.ask(*words, tree)
    assert refused.returncode == 1
    assert refused.stdout == ""
    assert refused.stderr == (f"dedupctl: {tree} is paused: 'dedupctl resume' ends the pause, "
                              "and --resume does so first\n")
    time.sleep(0.5)
    assert paused.shows(str(tree))["why"] == "paused"
    assert paused.shows(str(tree))["passes"] == 1

    wanted = [word for word in words if word != "--queue"]
    assert paused.ask(*wanted, "--resume", tree).returncode == 0
    paused.wait_for_passes(str(tree), 2)
    assert paused.shows(str(tree))["why"] != "paused"


def test_run_does_not_evade_a_pause_of_what_is_not_enabled(tree, paused):
    paused.configure()
    paused.tell("reload")
    refused = paused.ask("run", tree)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "is paused" in refused.stderr


def test_a_pause_ends_when_its_time_is_over(tree, paused):
    begun = time.time()
    paused.tell("pause", tree, "1h")
    row = status_of(paused, tree)
    assert row["wait_reason"] == "paused"
    assert "paused until 2" in row["trouble"]
    assert "'dedupctl resume' ends the pause earlier" in row["trouble"]
    assert begun + 3598 < seconds_of(row["next_pass"]) < time.time() + 3602

    begun = time.time()
    paused.tell("pause", tree, "3s")
    wait_until(lambda: status_of(paused, tree)["wait_reason"] != "paused", paused.log)
    assert time.time() >= begun + 3
    assert status_of(paused, tree)["trouble"] is None
    paused.tell("start", "--wait", tree)


def test_a_pass_that_is_due_is_made_when_a_pause_is_over(tree, paused):
    paused.configure(tree, WakeBytes="1", WakeInterval="1s")
    paused.tell("reload")
    paused.tell("pause", tree, "1h")
    write_twins(tree, MIB, seed=7, names=("three", "four"))
    ioctls.sync(tree)
    passes = paused.shows(str(tree))["passes"]
    time.sleep(1.5)
    assert paused.shows(str(tree))["passes"] == passes
    paused.tell("pause", tree, "1s")
    paused.wait_for_passes(str(tree), passes + 1)


def test_a_later_word_on_a_pause_counts(tree, paused):
    paused.tell("pause", tree, "1s")
    paused.tell("pause", tree)
    time.sleep(1.5)
    assert paused.shows(str(tree))["why"] == "paused"
    assert status_of(paused, tree)["next_pass"] is None
    paused.tell("pause", tree, "1h")
    paused.tell("resume", tree)
    assert paused.shows(str(tree))["why"] != "paused"


def test_all_filesystems_are_paused_and_resumed_at_once(tree, make_filesystem, kind, service):
    other = make_filesystem(kind).mount_point
    service.configure(tree, other, WakeBytes="1T", WakeInterval="30d")
    service.start()
    for name in (str(tree), str(other)):
        service.wait_for_passes(name, 1)

    service.tell("pause", "--all", "1h")
    for name in (str(tree), str(other)):
        assert status_of(service, name)["wait_reason"] == "paused"
        assert seconds_of(status_of(service, name)["next_pass"]) > time.time()
    service.tell("resume", "--all")
    for name in (str(tree), str(other)):
        assert service.shows(name)["why"] != "paused"


@pytest.mark.parametrize("words, said", [
    (("pause", "--all", "0s"), "the pause has no length"),
    (("pause", "--all", "3"), "a unit is none of s, min, h, d, w"),
    (("pause", "--all", "TREE"), "--all takes no names"),
    (("pause", "--all", "TREE", "3h"), "--all takes no names"),
    (("resume", "--all", "TREE"), "--all takes no names"),
    (("pause",), "no filesystem: give a mount point or a UUID"),
    (("pause", "TREE", "3 years"), "a unit is none of s, min, h, d, w"),
])
def test_what_is_no_pause_is_refused(tree, paused, words, said):
    paused.tell("resume", tree)
    refused = paused.ask(*[str(tree) if word == "TREE" else word for word in words])
    assert refused.returncode in (1, 2)
    assert said in refused.stderr
    assert paused.shows(str(tree))["why"] != "paused"
