# SPDX-License-Identifier: GPL-2.0-or-later
"""Paths that a user names: nothing but directories and regular files is opened."""

import contextlib
import fcntl
import os
import pathlib
import subprocess
import threading

import pytest

import content
import harness
import oracle
from content import MIB
from service import wait_until

LOCKS = pathlib.Path("/run/dedupd-lock")

REFUSAL = "neither a directory nor a regular file"


class Fifo:
    """A FIFO, and whether anybody has opened it for reading."""

    def __init__(self, path):
        self.path = path
        os.mkfifo(path)
        self._writer = threading.Thread(target=self._open, daemon=True)
        self._writer.start()

    def _open(self):
        os.close(os.open(self.path, os.O_WRONLY))  # which returns when there is a reader

    def was_opened(self):
        self._writer.join(0.2)
        return not self._writer.is_alive()

    def release(self):
        os.close(os.open(self.path, os.O_RDONLY | os.O_NONBLOCK))
        self._writer.join(10)


@pytest.fixture
def fifo(tree):
    fifo = Fifo(tree / "fifo")
    yield fifo
    if not fifo.was_opened():
        fifo.release()


def test_dedupd_opens_no_fifo(fifo, dedupd):
    run = dedupd.run(fifo.path)

    assert run.status == 2
    assert REFUSAL in run.stderr
    assert not fifo.was_opened()


@pytest.mark.parametrize("verb", ["doctor", "run", "file", "shared", "unique", "why", "waste", "verify",
                                  "estimate", "duplicates", "status", "list", "history"])
def test_dedupctl_opens_no_fifo(fifo, dedupd, verb):
    # Two names where two are needed.
    words = [verb, fifo.path] + ([fifo.path] if verb == "shared" else [])

    done = harness.dedupctl(*words, dedupd=dedupd, status=None)

    assert done.returncode != 0 or verb in ("doctor", "status", "list"), done.stdout
    assert not fifo.was_opened()


def test_a_link_to_a_device_is_not_opened(tree, dedupd, tmp_path):
    """Through a loop device that is not attached: who opens it is told so, by ENXIO."""
    device = tmp_path / "device"
    link = tree / "link"
    os.mknod(device, 0o600 | 0o020000, os.makedev(240, 17))
    link.symlink_to(device)

    run = dedupd.run(link)

    assert run.status == 2
    assert REFUSAL in run.stderr


def wait_in_pass(dedupd, *paths):
    """Start a pass that has looked at its paths and waits for its disk; returns it, and what lets it go on."""
    # Which creates the lock of the disk.
    empty = pathlib.Path(dedupd.filesystem.mount_point) / "empty"
    empty.mkdir()
    dedupd.run(empty, rotating="yes")
    empty.rmdir()
    stack = contextlib.ExitStack()
    for lock in LOCKS.glob("disk-*"):
        disk = stack.enter_context(open(lock, "r+b"))
        fcntl.flock(disk, fcntl.LOCK_EX)
    process = dedupd.start(*paths, rotating="yes")
    uuid = subprocess.run(["findmnt", "-no", "UUID", dedupd.filesystem.mount_point], check=True,
                          capture_output=True, text=True).stdout.strip()
    lock = LOCKS / uuid
    wait_until(lambda: lock.exists() and lock.read_text() == f"{process.pid}\n")
    return process, stack.close


@pytest.mark.parametrize("swapped", ["root", "component"])
def test_what_takes_the_place_of_a_named_directory_is_not_worked_on(tree, filesystem, dedupd, swapped):
    for name in ("user/own", "decoy", "decoy/own", "other"):
        (tree / name).mkdir(parents=True)
    content.write_twins(tree / "decoy", MIB, seed=1)
    content.write_twins(tree / "decoy" / "own", MIB, seed=2)
    content.write_twins(tree / "other", MIB, seed=3)
    harness.settle(filesystem)
    process, go_on = wait_in_pass(dedupd, tree / "user" / "own", tree / "other")
    place = tree / "user" if swapped == "component" else tree / "user" / "own"
    place.rename(tree / "moved")
    place.symlink_to(tree / "decoy")
    go_on()
    run = dedupd.finish(process)

    assert run.status == 0, run.stderr
    assert run.freed_bytes == MIB
    assert run.skip_of("changed")["examples"] == [str(tree / "user" / "own")]
    assert not any(oracle.is_shared(directory / "one", directory / "two")
                   for directory in (tree / "decoy", tree / "decoy" / "own"))
    place.unlink()
    (tree / "moved").rename(place)
    harness.check_pass(dedupd, paths=[tree / "user" / "own", tree / "other"])
