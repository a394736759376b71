# SPDX-License-Identifier: GPL-2.0-or-later
"""What a service that runs for long uses, day by day, and whether it grows."""

import contextlib
import os
import pathlib
import sqlite3
import statistics
import time
import typing

from content import KIB, MIB

# What a thread or descriptor of a call may need to end.
SETTLE_SECONDS = 5
# The allocator keeps what it got once, and gets more for a pass that has more to do than any before.  On btrfs, a
# store forgets extents that are gone once a week.  So there is no trend before a service has seen all that.
JUDGED_DAYS = 14
MOST_GROWTH = 1.25
MEMORY_MARGIN_BYTES = MIB
STORE_MARGIN_BYTES = 256 * KIB
# What each of 24 passes leaves behind shows in the line that fits the second half best.  Memory of a day differs by half
# a MiB from that of others, so the slope of ten days is uncertain by 50 KiB.
SLOPE_DAYS = 20
MOST_MEMORY_SLOPE_BYTES = 128 * KIB
MOST_STORE_SLOPE_BYTES = 16 * KIB


class Sample(typing.NamedTuple):
    """What was in use at the end of a day, when no pass ran."""
    day: int
    life: int              # which process
    resident_bytes: int    # median of the hours, as is the next one
    own_bytes: int         # that lie in no file
    descriptors: int
    threads: int
    store_bytes: int       # files of the store
    history_bytes: int     # of that, for earlier passes: one more with each
    objects: int           # files or extents that it knows
    complete: int          # passes since the day before
    interrupted: int
    failed: int
    freed_bytes: int


class Memory(typing.NamedTuple):
    """Of a process."""
    resident_bytes: int
    own_bytes: int  # that lie in no file


def memory_of(pid):
    """At this moment."""
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as rollup:
        lines = [line.split() for line in rollup][1:]
    bytes_of = {words[0].rstrip(":"): int(words[1]) * KIB for words in lines}
    return Memory(bytes_of["Rss"], bytes_of["Anonymous"])


class Counts(typing.NamedTuple):
    """Of a process."""
    descriptors: int
    threads: int


def counts_of(pid):
    """At rest: who asked before may still be hung up on."""
    process = pathlib.Path("/proc", str(pid))
    end = time.monotonic() + SETTLE_SECONDS
    before = None
    while True:
        counts = Counts(len(os.listdir(process / "fd")), len(os.listdir(process / "task")))
        if counts == before or time.monotonic() > end:
            return counts
        before = counts
        time.sleep(0.2)


class StoreSize(typing.NamedTuple):
    """Of the only store in a directory."""
    bytes: int
    history_bytes: int
    objects: int


def store_size(directory):
    """Of its files, and what is in them."""
    (path,) = pathlib.Path(directory).glob("*.sqlite")
    files = [path, path.with_name(path.name + "-wal")]
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as store:
        history = store.execute("SELECT sum(pgsize) FROM dbstat WHERE name = 'pass'").fetchone()[0]
        objects = store.execute("SELECT count(*) FROM object").fetchone()[0]
    return StoreSize(sum(file.stat().st_size for file in files if file.exists()), history or 0, objects)


class Target(typing.NamedTuple):
    """One thing that has to be so."""
    what: str
    target: str
    result: str
    is_met: bool


def _counts_of(samples, field):
    """Each process needs as many, from its first day on."""
    values = [getattr(sample, field) for sample in samples]
    more = max(values) - min(values)
    return Target(f"{field}, more than on another day", "0", str(more), more == 0)


def _longest_life(samples):
    lives = [sample.life for sample in samples]
    longest = max(dict.fromkeys(lives), key=lives.count)
    return [sample for sample in samples if sample.life == longest]


def _growth(what, values, margin):
    """The last third beside the first half."""
    most = max(values[:len(values) // 2]) * MOST_GROWTH + margin
    last = statistics.median(values[-(len(values) // 3):])
    return Target(f"{what} in the last third, MiB", f"<= {most / MIB:.2f}", f"{last / MIB:.2f}", last <= most)


def _slope(what, values, most):
    half = values[len(values) // 2:]
    more = statistics.linear_regression(range(len(half)), half).slope
    return Target(f"{what} in the second half, KiB a day", f"<= {most // KIB}", f"{more / KIB:.1f}", more <= most)


def _trend(what, values, margin, most_slope):
    targets = [_growth(what, values, margin)] if len(values) >= JUDGED_DAYS else []
    return targets + ([_slope(what, values, most_slope)] if len(values) >= SLOPE_DAYS else [])


def judge(samples):
    """The Targets of all samples, in order of days; none of none."""
    if not samples:
        return []
    targets = [_counts_of(samples, "descriptors"), _counts_of(samples, "threads")]
    # What the pages of files take is up to the kernel.
    targets += _trend("own memory of a process", [sample.own_bytes for sample in _longest_life(samples)],
                      MEMORY_MARGIN_BYTES, MOST_MEMORY_SLOPE_BYTES)
    # One more row with each pass is what a history is.
    targets += _trend("store without history", [sample.store_bytes - sample.history_bytes for sample in samples],
                      STORE_MARGIN_BYTES, MOST_STORE_SLOPE_BYTES)
    failed = sum(sample.failed for sample in samples)
    targets.append(Target("failed passes", "0", str(failed), failed == 0))
    return targets
