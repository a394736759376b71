# SPDX-License-Identifier: GPL-2.0-or-later
"""Days of hourly snapshots, with a pass after each, on a clock that runs ahead.

Three filesystems change in the same way, 1 % each hour: one has snapshots and passes, one snapshots
alone, one passes alone.  Snapshots are kept as a NAS keeps them: the last 24, the last of each of 30
days, and the last of each of 12 months of 30 days.
"""

import contextlib
import os
import statistics
import sys
import tempfile
import typing

from bench_page import MIB, mib, print_table
from corpus import Corpus
from curves import unit_marks, write_curves
from dedupers import report_of
from image import BenchFilesystem
from measured_run import measure
from snapshot_tree import Churn, DataExtents, SnapshotTree

# image.py has made this one known.
from feigned_clock import FeignedClock

HOURS_KEPT = 24
DAYS_KEPT = 30
MONTHS_KEPT = 12
HOUR_SECONDS = 3600
CHURN = 0.01
# A pass that has little to do; before it all is new.
FIRST_HOUR = 1
MOST_READ = 2.0
MOST_SECONDS = 0.100
MOST_GROWTH = 1.25


class Hour(typing.NamedTuple):
    """What the pass of one hour took."""

    seconds: float
    cpu: float
    read_bytes: int      # data, by its own account
    device_bytes: int
    used_bytes: int      # afterwards
    store_bytes: int
    extents: int
    deferred_bytes: int  # in all
    released_bytes: int
    freed_bytes: int


def kept(numbers):
    """Which of the hourly snapshots @numbers, in ascending order, are kept."""
    last_of_day = {number // 24: number for number in numbers}
    last_of_month = {number // (24 * 30): number for number in numbers}
    return ({*numbers[-HOURS_KEPT:]} | {*list(last_of_day.values())[-DAYS_KEPT:]} |
            {*list(last_of_month.values())[-MONTHS_KEPT:]})


class Course:
    """One of the filesystems, hour by hour."""

    def __init__(self, filesystem, options, tool=None, clock=None, takes_snapshots=False):
        self.filesystem = filesystem
        self.hours = []
        self.used = []
        self._tool = tool
        self._clock = clock
        self._takes_snapshots = takes_snapshots
        self._state = tempfile.mkdtemp(prefix="state-")
        self._churn_bytes = int(CHURN * options.bytes)
        self.tree = SnapshotTree(filesystem)
        self.tree.make()
        Corpus(os.path.join(self.tree.live, "corpus"), options.bytes, options.seed).make()
        self._churn = Churn(self.tree.live, options.seed)
        filesystem.settle()

    def go_on(self, hour):
        """One hour: changes, a snapshot, a pass."""
        if hour:
            self._churn.change(self._churn_bytes)
        if self._takes_snapshots:
            self.tree.take(hour)
            numbers = self.tree.numbers()
            self.tree.delete(*sorted({*numbers} - kept(numbers)))
        self.filesystem.sync()
        if self._tool:
            self.hours.append(self._pass())
        self.used.append(self.filesystem.used_bytes())

    def _pass(self):
        command = ["env", *(f"{name}={text}" for name, text in self._clock.environment().items()),
                   *self._tool.command(self._state, self.filesystem.mount_point)]
        cost = measure(command, self.filesystem, os.path.join(self._state, "log"), is_cold=False)
        if cost.status != 0:
            raise SystemExit(f"a pass ended with status {cost.status}: {cost.output}")
        report = report_of(cost)
        self.filesystem.sync()
        stores = [name for name in os.listdir(self._state) if name.endswith(".sqlite")]
        deferred = report.get("deferred", {})
        return Hour(report["seconds"], cost.cpu, sum(report["read"][name] for name in
                                                     ("finding_bytes", "compare_bytes")),
                    cost.read_bytes, self.filesystem.used_bytes(),
                    sum(os.path.getsize(os.path.join(self._state, name)) for name in stores),
                    len(DataExtents(self.filesystem).bytes_of), deferred.get("waiting_bytes", 0),
                    deferred.get("released_bytes", 0), report["freed"]["bytes"])


def print_days(both, snapshots, passes):
    """A row for each day."""
    rows = []
    for day in range(len(both.hours) // 24):
        part = slice(max(FIRST_HOUR, day * 24), day * 24 + 24)
        ours, bare = both.hours[part], passes.hours[part]
        last = ours[-1]
        rows.append((day + 1, mib(snapshots.used[part][-1]), mib(last.used_bytes),
                     f"{1000 * statistics.median(hour.seconds for hour in ours):.0f}",
                     f"{1000 * statistics.median(hour.seconds for hour in bare):.0f}",
                     f"{1000 * statistics.median(hour.cpu for hour in ours):.0f}",
                     f"{1000 * statistics.median(hour.cpu for hour in bare):.0f}",
                     mib(statistics.median(hour.read_bytes for hour in ours), 2),
                     mib(statistics.median(hour.read_bytes for hour in bare), 2),
                     mib(max(hour.read_bytes for hour in ours), 2),
                     mib(last.deferred_bytes, 1), mib(sum(hour.released_bytes for hour in ours), 1),
                     last.extents, last.store_bytes >> 10, bare[-1].extents,
                     bare[-1].store_bytes >> 10))
    print_table("day by day: used without and with passes (MiB), passes beside those of a filesystem "
                "without snapshots (-)",
                ("day", "without", "with", "ms", "ms -", "CPU ms", "CPU ms -", "read", "read -",
                 "most read", "deferred", "released", "extents", "store KiB", "extents -",
                 "store KiB -"), rows)


def judge(both, snapshots, passes, churn_bytes, verdicts):
    """The targets."""
    pairs = list(zip(both.hours, passes.hours))[FIRST_HOUR:]
    # Its own account counts each comparison; the device what of that was not in the page cache, and the store.
    for field, name in (("read_bytes", "read by a pass"), ("device_bytes", "the same, at the device")):
        times = sorted(getattr(ours, field) / churn_bytes for ours, _ in pairs)
        verdicts.add(f"{name}, times what changed: median, 95 %, most", f"<= {MOST_READ}",
                     f"{statistics.median(times):.2f}, {times[len(times) * 95 // 100]:.2f}, "
                     f"{times[-1]:.2f}", times[-1] <= MOST_READ)
    for field, name in (("seconds", "wall"), ("cpu", "CPU")):
        more = sorted(getattr(ours, field) - getattr(bare, field) for ours, bare in pairs)
        middle = statistics.median(more)
        verdicts.add(f"{name} of a pass, more than without snapshots: median, 95 %",
                     f"<= {1000 * MOST_SECONDS:.0f} ms",
                     f"{1000 * middle:.0f}, {1000 * more[len(more) * 95 // 100]:.0f} ms",
                     middle <= MOST_SECONDS)
    first, last = both.hours[min(24, len(both.hours) - 1)], both.hours[-1]
    growth = (last.store_bytes / last.extents) / (first.store_bytes / first.extents)
    verdicts.add("store per extent at the end, times that of the first day", f"<= {MOST_GROWTH}",
                 f"{growth:.2f}", growth <= MOST_GROWTH)
    bare = passes.hours[-1]
    growth = (last.store_bytes / last.extents) / (bare.store_bytes / bare.extents)
    verdicts.add("the same, times that without snapshots", f"<= {MOST_GROWTH}", f"{growth:.2f}",
                 growth <= MOST_GROWTH)
    verdicts.add("used at the end", f"< {mib(snapshots.used[-1])} MiB", mib(both.used[-1]),
                 both.used[-1] < snapshots.used[-1])


def simulate(tool, options, directory, verdicts):
    """All the days."""
    # Of the build that the program is of.
    os.environ.setdefault("FEIGNED_CLOCK", os.path.join(
        os.path.dirname(tool.program), os.pardir, "tests", "fs", "feigned-clock.so"))
    if not os.path.exists(os.environ["FEIGNED_CLOCK"]):
        raise SystemExit(f"no {os.environ['FEIGNED_CLOCK']}: name it by FEIGNED_CLOCK")
    clock = FeignedClock()
    clock.open()
    clock.begin(is_true=False)
    # Each has its changes, which snapshots keep for up to a day, and room for the last of each day.
    room = options.bytes + int(CHURN * options.bytes) * 24 * options.days
    tempfile.tempdir = directory
    with contextlib.ExitStack() as stack, contextlib.closing(clock):
        both, snapshots, passes = (
            Course(stack.enter_context(BenchFilesystem("btrfs", room)), options, *arguments)
            for arguments in ((tool, clock, True), (None, None, True), (tool, clock, False)))
        for hour in range(24 * options.days):
            clock.wait(HOUR_SECONDS)
            for course in (both, snapshots, passes):
                course.go_on(hour)
            if hour % 24 == 23:
                print(f"day {hour // 24 + 1}/{options.days}: {mib(snapshots.used[-1])} MiB used "
                      f"without passes, {mib(both.used[-1])} with", file=sys.stderr, flush=True)
    print_days(both, snapshots, passes)
    if options.plot:
        write_curves(options.plot, "used (MiB) by day", unit_marks(len(both.used), 24),
                     {"snapshots alone": [used / MIB for used in snapshots.used],
                      "snapshots and passes": [used / MIB for used in both.used],
                      "of that deferred": [hour.deferred_bytes / MIB for hour in both.hours],
                      "passes, no snapshots": [used / MIB for used in passes.used]})
    judge(both, snapshots, passes, int(CHURN * options.bytes), verdicts)
