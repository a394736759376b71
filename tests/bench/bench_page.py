# SPDX-License-Identifier: GPL-2.0-or-later
"""What the benchmarks print: the machine, tables in columns, and results beside targets."""

import argparse
import contextlib
import datetime
import math
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile

MIB = 1 << 20
GIB = 1 << 30


def mib(value, digits=0):
    """Bytes as MiB."""
    return f"{value / MIB:.{digits}f}"


def _version(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return (done.stdout + done.stderr).split("\n")[0].split()[-1].lstrip("v")


def _processor():
    with open("/proc/cpuinfo", encoding="utf-8") as cpuinfo:
        for line in cpuinfo:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.machine()


def print_machine(*programs):
    """Say where the figures come from."""
    with open("/proc/meminfo", encoding="ascii") as meminfo:
        memory_kib = int(meminfo.readline().split()[1])
    print(f"date     {datetime.date.today()}")
    print(f"machine  {os.cpu_count()} CPUs ({_processor()}), {memory_kib / MIB:.0f} GiB of memory, "
          f"load {os.getloadavg()[0]:.1f} at the start")
    print(f"kernel   {platform.release()}")
    print(f"tools    xfsprogs {_version('mkfs.xfs', '-V')}, "
          f"btrfs-progs {_version('mkfs.btrfs', '--version')}, Python {platform.python_version()}")
    for program in programs:
        print(f"         {program.name} {program.version()} ({program.verifies})")
    print(f"command  {os.path.basename(sys.argv[0])} {' '.join(sys.argv[1:])}".rstrip())
    print(flush=True)


def exponent(before, after, times):
    """1 where the cost grew as much as the number did, 2 where it grew by the square."""
    return math.log(after / before) / math.log(times)


def print_table(title, head, rows):
    """Columns as wide as they have to be: the first to the left, the others to the right."""
    table = [[str(cell) for cell in row] for row in [head, *rows]]
    widths = [max(len(row[column]) for row in table) for column in range(len(head))]

    def line(row):
        cells = [cell.ljust(width) if column == 0 else cell.rjust(width)
                 for column, (cell, width) in enumerate(zip(row, widths))]
        return "  ".join(cells).rstrip()

    print(title)
    print(line(table[0]))
    print("  ".join("-" * width for width in widths))
    for row in table[1:]:
        print(line(row))
    print(flush=True)


class Verdicts:
    """Targets beside results."""

    def __init__(self):
        self._rows = []

    def add(self, what, target, result, met, disturbed=0):
        """One target; @met says whether it was reached.

        A target that was missed while others were in the way, @disturbed times, is neither.
        """
        verdict = "met" if met else f"disturbed ({disturbed})" if disturbed else "MISSED"
        self._rows.append((what, target, result, verdict))

    def end(self):
        """Print them; the exit status."""
        if not self._rows:
            return 0
        print_table("targets", ("what", "target", "result", ""), self._rows)
        return 1 if any(row[3] != "met" for row in self._rows) else 0


def arguments(description, *, kinds=("xfs",), runs=None, unit="runs"):
    """A parser with what all the benchmarks know."""
    parser = argparse.ArgumentParser(description=description.split("\n", maxsplit=1)[0])
    parser.add_argument("--quick", action="store_true", help="small sizes: does it work at all?")
    parser.add_argument("--dir", default="/var/tmp",
                        help="where images are made (default: %(default)s)")
    parser.add_argument("--dedupd", metavar="PATH",
                        help="the dedupd to measure (default: that of build-bench)")
    if len(kinds) > 1:
        parser.add_argument("--kind", choices=(*kinds, "all"), default="all",
                            help="kind of filesystem (default: all)")
    if runs:
        parser.add_argument(f"--{unit}", type=int, default=runs, dest="runs", metavar="N",
                            help="how often (default: %(default)s)")
    return parser


def chosen_kinds(options, kinds=("xfs", "btrfs")):
    """The kinds of filesystem that were asked for."""
    return kinds if options.kind == "all" else (options.kind,)


def _stop(number, _frame):
    # From here on nothing may disturb the cleaning up.
    for other in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(other, signal.SIG_IGN)
    raise SystemExit(128 + number)


@contextlib.contextmanager
def workshop(options, need_bytes):
    """A directory for one benchmark, gone afterwards whatever happens.

    Signals that end the program end it through the exits of all contexts.
    """
    if os.geteuid() != 0:
        raise SystemExit("mounting needs root")
    free_bytes = shutil.disk_usage(options.dir).free
    if free_bytes < need_bytes:
        raise SystemExit(f"{options.dir} has {free_bytes / GIB:.0f} GiB free, and "
                         f"{need_bytes / GIB:.0f} GiB are needed")
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _stop)
    # All temporary files, those of the filesystems among them, go where we were told.
    tempfile.tempdir = os.path.abspath(options.dir)
    with tempfile.TemporaryDirectory(prefix="dedupd-bench-") as directory:
        yield directory
