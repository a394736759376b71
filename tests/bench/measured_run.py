# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs a program and tells what it cost."""

import os
import shutil
import statistics
import subprocess
import tempfile
import time
import typing


class Cost(typing.NamedTuple):
    """What one run took.  Bytes are the device's own count.

    @drops: how often somebody else dropped the machine's caches meanwhile, so that what had been
    read had to be read again.
    """

    wall: float
    user: float
    system: float
    rss_bytes: int
    read_bytes: int
    written_bytes: int
    drops: int
    status: int
    output: str

    @property
    def cpu(self):
        """Seconds of processor time."""
        return self.user + self.system


def measure(command, filesystem, log=None, is_cold=True):
    """Run @command with cold caches, unless they are to be as they are; its messages go to the file @log.

    GNU time starts it: the peak of a program started from here would be at least Python's.
    """
    timer = shutil.which("time")
    if not timer:
        raise SystemExit("GNU time is not installed")
    if is_cold:
        filesystem.drop_caches()
    with tempfile.NamedTemporaryFile(mode="r", prefix="dedupd-time-") as usage, \
            tempfile.TemporaryFile(mode="w+", prefix="dedupd-output-") as output, \
            open(log or os.devnull, "ab") as messages:
        drops_before = cache_drops()
        read_before, written_before = filesystem.read_bytes(), filesystem.written_bytes()
        begin = time.perf_counter()
        status = run_to_end([timer, "--quiet", "--format=%U %S %M", "--output", usage.name,
                             *command], output, messages)
        wall = time.perf_counter() - begin
        read_bytes = filesystem.read_bytes() - read_before
        drops = cache_drops() - drops_before
        subprocess.run(["sync", "-f", filesystem.mount_point], check=True)
        written_bytes = filesystem.written_bytes() - written_before
        user, system, rss_kib = usage.read().split()[-3:]
        output.seek(0)
        return Cost(wall, float(user), float(system), int(rss_kib) << 10, read_bytes,
                    written_bytes, drops, status, output.read())


def cache_drops():
    """How often the caches of this machine were dropped on demand since it started."""
    with open("/proc/vmstat", encoding="ascii") as counters:
        return sum(int(line.split()[1]) for line in counters if line.startswith("drop_pagecache"))


def run_to_end(command, output, messages):
    """The exit status of @command, which does not outlive an interruption of ours."""
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=messages,
                          start_new_session=True) as process:
        try:
            return process.wait()
        except BaseException:
            os.killpg(process.pid, 15)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, 9)
            raise


def median(costs, field):
    """The median of one field."""
    return statistics.median(getattr(cost, field) for cost in costs)


def spread(costs, field, scale=1.0, digits=2):
    """"median (min-max)" of one field."""
    values = [getattr(cost, field) / scale for cost in costs]
    middle = statistics.median(values)
    return f"{middle:.{digits}f} ({min(values):.{digits}f}-{max(values):.{digits}f})"
