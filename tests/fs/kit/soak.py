# SPDX-License-Identifier: GPL-2.0-or-later
"""The service over one filesystem for virtual days: what people do to it, and what it must be like afterwards.

    soak = Soak(service, filesystem, seed)
    for hour in soak.hours(hours):
        pass
    soak.end()
    soak.close()
    assert not soak.complaints and all(target.is_met for target in judge(soak.samples))

The clock of the service runs ahead (FeignedClock), so an hour takes a second.
"""

import collections
import os
import pathlib
import random
import shutil
import signal
import statistics
import subprocess
import time

import harness
import ioctls
from content import forget_pages
from harness import clock, dedupctl_rows
from service import wait_until
from soak_samples import Memory, Sample, counts_of, memory_of, store_size
from soak_tree import SoakTree

HOUR_SECONDS = 3600
TICKS = 2
# What a service that was woken up needs to begin a pass, if it does.
TICK_SECONDS = 0.05
HELD_HOURS = 3
ASLEEP_HOURS = 8
# Bytes a second of a pass that shall not end.
SLOW_RATE = "16K"
# Settings that hold until the next reload, and whether a pass is due each hour with them.
SETTINGS = (
    ({}, True),
    ({"WakeInterval": "30min", "ReadRate": "256M"}, True),
    ({"WakeBytes": "1M", "ReadIOPS": "50000", "Threads": "2"}, True),
    ({"Window": "22:00-06:00"}, False),
    ({"Mode": "timer", "LimitRate": "128M"}, False),
)
# The first shares, the second sees what became of that.
LAST_PASSES = 2
# What a service without --verbose says when nothing is wrong.
HARMLESS = ("dedupd: freed ", "dedupd: read the configuration anew")
# What comes up where something is not as it must be.
HARMS = (AssertionError, OSError, subprocess.SubprocessError)
QUERIES = (["status"], ["list"], ["budget"], ["duplicates"], ["waste"], ["history"])


class Soak:
    """One filesystem and its service.

    Something happens to it each @event_hours.  A day of the samples has @sample_hours.
    """

    def __init__(self, service, filesystem, seed, event_hours=5, sample_hours=24):
        self.samples = []
        self.complaints = []
        self.events = collections.Counter()
        self.met_passes = 0  # that ran when the machine was suspended, or the service ended
        self._service = service
        self._filesystem = filesystem
        self._chance = random.Random(seed)
        self._event_hours = event_hours
        self._sample_hours = sample_hours
        self._root = pathlib.Path(filesystem.mount_point)
        self._tree = SoakTree(filesystem, self._root, seed)
        self._program = service.program
        self._hour = 0
        self._last_hour = 0
        self._life = 0
        self._settings = SETTINGS[0]
        self._hold = None
        self._hold_ends = 0
        self._n_counted = 0
        self._memory = []
        self._to_come = []

    def hours(self, hours):
        """Let so many pass, one after the other."""
        self._last_hour = hours
        clock.feign_waits()
        self._service.says_all = False
        self._configure()
        self._service.start()
        self._service.wait_for_passes(str(self._root), 1)
        for self._hour in range(1, hours + 1):
            self._go_on()
            if self._hour % self._sample_hours == 0 or self._hour == hours:
                self._end_day()
            yield self._hour

    def end(self):
        """Compare all with what it must be, and end the service."""
        self._let_go()
        self._settings = SETTINGS[0]
        self._reload()
        self._mount_again()
        self.complaints += self._tree.differences()
        self._expect_nothing_left()
        self._service.end()
        self.complaints += self._tree.differences()
        self.complaints += [f"the log says: {line}" for line in self._service.log().splitlines()
                            if not line.startswith(HARMLESS)]

    def close(self):
        """End what was started for it, however far it got."""
        if self._hold:
            self._hold.communicate("\n")

    # An hour

    def _go_on(self):
        if self._hour % self._event_hours == 0:
            self._let_happen()
        self._tree.go_on()
        passes = self._passes()
        for _ in range(TICKS):
            clock.elapse(HOUR_SECONDS // TICKS)
            time.sleep(TICK_SECONDS)
            self._wait_for_rest()
        if self._settings[1] and not self._hold:
            wait_until(lambda: self._passes() > passes, self._describe)
            self._wait_for_rest()
        elif "Mode" in self._settings[0] and not self._hold:
            self._service.tell("start", "--wait", self._root)
        if self._hold and self._hour >= self._hold_ends:
            self._let_go()
        self._memory.append(memory_of(self._service.pid))

    def _describe(self):
        return f"hour {self._hour}, {self._settings}: {self._shown()}\n{self._service.log()[-2000:]}"

    def _shown(self):
        return self._service.shows(str(self._root))

    def _passes(self):
        return self._shown()["passes"] or 0

    def _wait_for_rest(self):
        wait_until(lambda: self._shown()["state"] == "waiting", self._describe)

    def _end_day(self):
        if self._hold:
            self._let_go()
        self._wait_for_rest()
        for words in QUERIES:
            self._service.tell(*words)
        self.complaints += [f"day {self._day()}: {difference}" for difference in self._tree.differences(only_live=True)]
        rows = dedupctl_rows("history", dedupd=self._service)
        new = rows[:len(rows) - self._n_counted]
        self._n_counted = len(rows)
        outcomes = collections.Counter(row["outcome"] for row in new)
        memory = Memory(*(round(statistics.median(values)) for values in zip(*self._memory)))
        self._memory = []
        self.samples.append(Sample(
            self._day(), self._life, *memory, *counts_of(self._service.pid),
            *store_size(self._service.state_directory), outcomes["complete"], outcomes["interrupted"],
            outcomes["failed"], sum(row["freed_bytes"] for row in new)))

    def _day(self):
        return -(-self._hour // self._sample_hours)

    # What happens to it

    def _let_happen(self):
        """Each thing as often as the others, in any order."""
        if not self._to_come:
            self._to_come = [self._reload_others, self._begin_hold, self._sleep, self._delete_many, self._run_by_hand,
                             self._mount_again, self._pause, self._upgrade]
            self._chance.shuffle(self._to_come)
        event = self._to_come.pop()
        # After the first sixth, one process lives on until the last day, so that it has time to grow.
        if event == self._upgrade and self._last_hour > 48 and \
                self._last_hour // 6 < self._hour <= self._last_hour - 24:
            event = self._reload_others
        if self._hold:
            self._let_go()
        event()
        self.events[event.__name__.strip("_")] += 1

    def _configure(self):
        self._service.configure(self._root, **self._settings[0])

    def _reload(self):
        self._configure()
        said = self._service.log().count("read the configuration anew")
        self._service.reload()
        wait_until(lambda: self._service.log().count("read the configuration anew") > said, self._describe)

    def _reload_others(self):
        self._settings = self._chance.choice([settings for settings in SETTINGS if settings != self._settings])
        self._reload()

    def _begin_hold(self):
        self._hold = subprocess.Popen(
            [harness.dedupctl_program(), "hold", self._root, "--", "sh", "-c", "echo held; read line"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=self._service.environment())
        self._expect(self._hold.stdout.readline() == "held\n", f"hour {self._hour}: no hold")
        self._hold_ends = self._hour + HELD_HOURS

    def _let_go(self):
        if not self._hold:
            return
        hold, self._hold = self._hold, None
        with hold:
            hold.communicate("\n")
        self._expect(hold.returncode == 0, f"hour {self._hour}: the hold ended with {hold.returncode}")
        # It may have kept off passes for hours.
        wait_until(lambda: "hold" not in (self._shown()["why"] or ""), self._describe)
        self._wait_for_rest()

    def _begin_slow_pass(self):
        """Mostly it still runs afterwards.  The next reload makes it as fast as others."""
        settings, self._settings = self._settings, ({"ReadRate": SLOW_RATE}, False)
        self._reload()
        self._settings = settings
        self._tree.go_on()
        forget_pages(self._tree.live)
        passes = self._passes()
        self._service.tell("start", self._root)
        wait_until(lambda: self._shown()["state"] == "running" or self._passes() > passes, self._describe)
        self.met_passes += self._shown()["state"] == "running"

    def _sleep(self):
        """The machine is suspended in a pass."""
        self._begin_slow_pass()
        os.kill(self._service.pid, signal.SIGSTOP)
        clock.suspend(ASLEEP_HOURS * HOUR_SECONDS)
        os.kill(self._service.pid, signal.SIGCONT)
        self._reload()
        self._wait_for_rest()

    def _delete_many(self):
        self._tree.delete_many()

    def _run_by_hand(self):
        self._service.tell("run", self._tree.live)

    def _mount_again(self):
        self._filesystem.unmount()
        wait_until(lambda: not self._shown() or self._shown()["state"] == "unmounted", self._service.log)
        self._filesystem.mount()
        wait_until(lambda: (self._shown() or {}).get("state") in ("waiting", "running"), self._service.log)
        self._wait_for_rest()

    def _pause(self):
        """It ends by itself."""
        self._service.tell("pause", self._root, "1h")
        clock.elapse(HOUR_SECONDS)
        wait_until(lambda: self._shown()["why"] != "paused", self._describe)
        self._wait_for_rest()

    def _upgrade(self):
        """Another program file takes over what the one before left in the midst of a pass."""
        self._life += 1
        self._memory = []
        program = pathlib.Path(self._service.directory, f"dedupd-{self._life}")
        shutil.copy(self._program, program)
        self._begin_slow_pass()
        self._service.end()
        self._configure()
        store = self._store_path()
        before = os.stat(store)
        self._service.program = program
        self._service.start()
        self._expect((before.st_ino, store) == (os.stat(self._store_path()).st_ino, self._store_path()),
                     f"hour {self._hour}: another store after an upgrade")
        self._wait_for_rest()

    def _store_path(self):
        (path,) = self._service.state_directory.glob("*.sqlite")
        return path

    # What must be so

    def _expect(self, true, otherwise):
        if not true:
            self.complaints.append(otherwise)

    def _expect_nothing_left(self):
        """Without snapshots, passes with the old store free all, and one with a new store frees nothing more.

        What snapshots hold is freed or not by what the store knows of earlier deletions.
        """
        self._tree.delete_snapshots()
        ioctls.sync(self._root)
        clock.elapse(HOUR_SECONDS)
        for _ in range(LAST_PASSES):
            self._service.tell("start", "--wait", self._root)
        self._service.tell("pause", self._root)
        state = pathlib.Path(self._service.directory, "new-state")
        state.mkdir(mode=0o700)
        run = harness.Dedupd(self._program, state, self._filesystem).run(find="auto")
        self._expect(run.status == 0, f"a pass with a new store ended with {run.status}: {run.stderr}")
        self._expect(run.status != 0 or run.freed_bytes == 0,
                     f"a pass with a new store frees {run.freed_bytes} bytes more")
