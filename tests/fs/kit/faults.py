# SPDX-License-Identifier: GPL-2.0-or-later
"""Passes of which one call fails, by its number (failing-calls.c), and what must hold after each.

A pass with a fault ends with a documented exit status.  It changes no file, and its store opens.  The next
pass, without a fault, frees what is left.
"""

import collections
import contextlib
import dataclasses
import os
import pathlib
import shutil
import signal
import sqlite3
import struct
import subprocess
import time

import content
import harness
import ioctls
import oracle
import subvolumes
from content import KIB, MIB

ENDED = (-signal.SIGTRAP, -signal.SIGABRT)
# What is counted -> what a pass may do, other than exit with a documented status.
SETS = {
    "kernel": (),
    "sqlite": (),
    "malloc-sqlite": (),
    # GLib ends the process if it gets no memory, or the C library gets none for it.
    "malloc-glib": ENDED,
    "malloc-other": ENDED,
}
STATUSES = (0, 1, 2, 4, 5, 6, 7)
LOG_BYTES = 4096
# More calls than any pass over these files makes.
MOST_CALLS = 1 << 20
SECONDS = 60


class FaultHarmed(Exception):
    """Something is not as it must be after a fault; the message says what."""


@dataclasses.dataclass
class Fault:
    """What one fault came to."""
    calls: str          # a set, or the name of a function
    number: int
    error_round: int
    place: int = 0      # 0: the number counts the calls of all places
    failed: str = ""    # the call, its error and its callers; "" if the pass made fewer calls
    status: int = 0
    complaint: str = ""

    @property
    def call(self):
        return self.failed.split("(")[0]


class Faults:
    """Passes over one mounted filesystem, which is filled anew for each."""

    def __init__(self, dedupd, library, find):
        self._dedupd = dedupd
        self._library = library
        self._options = {"find": find}
        self._filesystem = dedupd.filesystem
        self._root = pathlib.Path(self._filesystem.mount_point)
        self._log = pathlib.Path(self._filesystem.directory, "failed-call")
        self._kept_bytes = self._after_clean_pass()

    def _after_clean_pass(self):
        """How much data lies on the disk after a pass without a fault, which shows that a pass frees some."""
        self._fill()
        before = self._used_bytes()
        kept = self._used_after_pass()
        assert kept < before, "a pass frees nothing"
        return kept

    def count(self, calls):
        """How many calls of this set a pass makes."""
        return self.places(calls).total()

    def places(self, calls):
        """From which places a pass makes calls of this set, as a Counter."""
        self._fill()
        with self._failing(Fault(calls, 0, 0), MOST_CALLS):
            status = self._dedupd.run(**self._options).status
        assert status == 0, status
        log = self._log.read_bytes()
        n_calls = struct.unpack_from("=Q", log)[0]
        assert n_calls <= MOST_CALLS, n_calls
        return collections.Counter(struct.unpack_from(f"={n_calls}Q", log, LOG_BYTES))

    def inject(self, calls, number, error_round=0, place=0):
        """Have the call of this number fail, and see that nothing is lost; the Fault."""
        return self._inject(Fault(calls, number, error_round, place), self._have_call_fail)

    def pass_seconds(self):
        """How long a pass takes: the median of three."""
        seconds = []
        for _ in range(3):
            self._fill()
            begun = time.monotonic()
            self._clean_pass()
            seconds.append(time.monotonic() - begun)
        return sorted(seconds)[1]

    def kill(self, seconds):
        """Kill a pass after so many seconds, and see that nothing is lost; the Fault."""
        return self._inject(Fault("kill", 0, 0), lambda fault: self._kill(fault, seconds))

    def _inject(self, fault, harm):
        self._fill()
        before = oracle.snapshot(self._root)
        try:
            harm(fault)
            self._expect_nothing_lost(fault, before)
        except (FaultHarmed, AssertionError) as harmed:
            fault.complaint = str(harmed)
        return fault

    def _kill(self, fault, seconds):
        process = self._dedupd.start(**self._options)
        try:
            fault.status = process.wait(seconds)
            if fault.status != 0:
                raise FaultHarmed(f"the pass ended with {fault.status}")
        except subprocess.TimeoutExpired:
            process.kill()
            fault.status = process.wait()
        finally:
            process.communicate()

    def _have_call_fail(self, fault):
        with self._failing(fault):
            process = self._dedupd.start(**self._options)
        fault.status = self._wait(process)
        fault.failed = self._log.read_bytes()[8:].split(b"\0")[0].decode()
        run = self._dedupd.finish(process)
        if fault.status not in (*STATUSES, *SETS.get(fault.calls, ())):
            raise FaultHarmed(f"the pass ended with {fault.status}")
        # The report names files that could not be read, and why the pass ended early.
        if fault.status not in (0, 4, 5, 6, 7) and not run.stderr:
            raise FaultHarmed(f"the pass ended with {fault.status} and says nothing")

    def _expect_nothing_lost(self, fault, before):
        harness.assert_unchanged(before, self._root)
        self._expect_sound_stores()
        # A file that could not be read is skipped until it changes, unless the store begins anew.
        run = self._clean_pass(rebuild=fault.status == 4)
        harness.assert_unchanged(before, self._root)
        self._expect_sound_stores()
        left = self._used_bytes() - self._kept_bytes
        if left > 0:
            raise FaultHarmed(f"the next pass leaves {left} bytes, skipped {run.skipped}, "
                              f"and one more leaves {self._used_after_pass() - self._kept_bytes}")

    @staticmethod
    def _wait(process):
        """Its exit status."""
        try:
            return process.wait(SECONDS)
        except subprocess.TimeoutExpired as expired:
            process.kill()
            process.communicate()
            raise FaultHarmed("the pass does not end") from expired

    def _expect_sound_stores(self):
        for path in self._dedupd.state_directory.glob("*.sqlite"):
            with contextlib.closing(sqlite3.connect(path)) as store:
                answer = store.execute("PRAGMA integrity_check").fetchone()[0]
            if answer != "ok":
                raise FaultHarmed(f"the store: {answer}")

    def _clean_pass(self, rebuild=False):
        run = self._dedupd.run(rebuild=rebuild, **self._options)
        if run.status != 0:
            raise FaultHarmed(f"the next pass ended with {run.status}: {run.stderr}")
        return run

    def _used_after_pass(self):
        self._clean_pass()
        return self._used_bytes()

    @contextlib.contextmanager
    def _failing(self, fault, n_places=0):
        self._log.write_bytes(b"")
        os.truncate(self._log, LOG_BYTES + 8 * n_places)
        self._dedupd.feigned = {"LD_PRELOAD": self._library, "FAIL_SET": fault.calls,
                                "FAIL_AT": str(fault.number), "FAIL_PLACE": f"{fault.place:x}", "FAIL_ROUND": str(fault.error_round),
                                "FAIL_LOG": str(self._log)}
        try:
            yield
        finally:
            self._dedupd.feigned = {}

    def _used_bytes(self):
        if self._filesystem.kind == "btrfs":
            return harness.used_data_bytes(self._filesystem)
        return oracle.physical_bytes(self._root)

    def _fill(self):
        """The same files as ever, and no store."""
        for path in list(self._dedupd.state_directory.iterdir()):
            path.unlink() if path.is_file() else shutil.rmtree(path)
        for path in list(self._root.iterdir()):
            if path.name.startswith("snapshot"):
                subvolumes.delete_subvolumes(self._root, path.name)
            else:
                shutil.rmtree(path)
        if self._filesystem.kind == "btrfs":
            subvolumes.make_subvolume(self._root / "files")
        else:
            (self._root / "files").mkdir()
        fill(self._root / "files", self._filesystem.kind)
        harness.settle(self._filesystem)


def fill(tree, kind):
    """Twins, parts in common, zeros, a hole, small files, attributes; on btrfs also a snapshot."""
    content.write_twins(tree, 256 * KIB, seed=1)
    (tree / "directory").mkdir()
    common = content.noise(2, 192 * KIB)
    content.write(tree / "directory" / "begins", common + content.noise(3, 64 * KIB))
    content.write(tree / "directory" / "ends", content.noise(4, 64 * KIB) + common)
    content.write(tree / "zeros", bytes(128 * KIB))
    content.write_sparse(tree / "sparse", MIB, {512 * KIB: common[:128 * KIB]})
    content.write_twins(tree, 5000, seed=5, names=("small", "little"))
    os.link(tree / "one", tree / "again")
    os.setxattr(tree / "two", "user.name", b"value")
    content.write(tree / "third", content.noise(1, 256 * KIB))
    if kind == "xfs":
        content.clone(tree / "third", tree / "clone")
        return
    content.write_no_cow(tree / "no-cow", content.noise(7, 64 * KIB))
    content.write_no_cow(tree / "no-cow-either", content.noise(7, 64 * KIB))
    ioctls.sync(tree)
    subvolumes.snapshot(tree, tree.parent / "snapshot")
    content.write_twins(tree, 128 * KIB, seed=6, names=("later", "latest"))
