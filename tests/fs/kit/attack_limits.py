# SPDX-License-Identifier: GPL-2.0-or-later
"""What a pass may cost at most, whatever users did to their files, and what it did cost.

Each limit follows from what the tree takes on the disk and from what the pass gained, never from
what files map or how many names they have.
"""

import contextlib
import dataclasses
import os
import pathlib
import resource
import threading

from content import BLOCK, KIB, MIB
from stopping import STOP_SECONDS

# Names, inodes, extents and checksums are read, and trees are written; whatever a tree is like.
READ_CONSTANT_BYTES = 256 * MIB
# MaxCompare= on disks that do not rotate.
READS_PER_FREED_BYTE = 16
STORE_SHARE = 500
STORE_CONSTANT_BYTES = MIB
# --store-limit by default; half of it is for clones where the store does not know that they are.
STORE_DEFAULT_BYTES = 64 * MIB
STORE_DEFAULT_SHARE = 32
# Names of directories come to this.
STORE_BYTES_PER_INODE = 150
# Readers and sorting have bounds of their own; 64 MiB of them is --memory.
RESIDENT_BYTES = 256 * MIB
SERVICE_RESIDENT_BYTES = 64 * MIB
# A call ends where an extent of either file ends; what is freed block by block is shared block by block; on XFS
# the first block of a file is a call of its own.
CALLS_CONSTANT = 1000
CALLS_PER_EXTENT = 3
CALLS_PER_FREED_BLOCK = 2
CALLS_PER_FREED_BLOCK = 2
# Of this program and, in its name, of the kernel.
CPU_CONSTANT_SECONDS = 10
CPU_SECONDS_PER_NAME = 100e-6
CPU_SECONDS_PER_EXTENT = 300e-6
CPU_SECONDS_PER_BYTE = 1 / (50 * MIB)
POLL_SECONDS = 0.02


@dataclasses.dataclass
class Cost:
    """One thing that a pass used, beside the most that it may use."""
    what: str
    used: float
    most: float

    @property
    def is_met(self):
        return self.used <= self.most

    def __str__(self):
        return f"{self.what}: {self.used:.6g} of {self.most:.6g} ({100 * self.used / self.most:.0f} %)"


class Costs(list):
    """Those of one arrangement, or the worst of many."""

    def add(self, what, used, most):
        self.append(Cost(what, used, most))

    def missed(self):
        return [str(cost) for cost in self if not cost.is_met]

    def worst(self):
        """Of each thing the one that came nearest to its limit."""
        found = {}
        for cost in self:
            if cost.what not in found or cost.used / cost.most > found[cost.what].used / found[cost.what].most:
                found[cost.what] = cost
        return list(found.values())


def stop_seconds():
    # On a machine with more work than CPUs it takes its turn.
    return STOP_SECONDS * max(1, os.getloadavg()[0] / os.cpu_count())


class MemoryWatch:
    """The most memory that a process had, while the context lasts, in .bytes."""

    def __init__(self, pid):
        self.bytes = 0
        self._path = pathlib.Path(f"/proc/{pid}/status")
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *exception):
        self._ended.set()
        self._thread.join()

    def _watch(self):
        while not self._ended.wait(POLL_SECONDS):
            with contextlib.suppress(OSError):
                for line in self._path.read_text(encoding="ascii").splitlines():
                    if line.startswith("VmHWM:"):
                        self.bytes = max(self.bytes, int(line.split()[1]) * KIB)


class CpuWatch:
    """CPU time of the processes that were waited for while the context lasted, in .seconds."""

    def __enter__(self):
        self._before = self._used()
        return self

    def __exit__(self, *exception):
        self.seconds = self._used() - self._before

    @staticmethod
    def _used():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime


def directory_bytes(path):
    return sum(entry.stat().st_size for entry in os.scandir(path) if entry.is_file())


def add_costs_of_pass(costs, run, before, freed_bytes, cpu_seconds, resident_bytes):
    """Hold a complete pass over @before, a tree_inodes.Tree, to all limits."""
    physical = before.physical_bytes()
    reads_data = run.found["by"] == "reading"
    most_read = (physical if reads_data else 0) + READS_PER_FREED_BYTE * freed_bytes + READ_CONSTANT_BYTES
    names, extents = len(before.names), before.extent_count()
    costs.add("device reads", run.device_bytes, most_read)
    # Both sides count, and what the page cache has is compared again without a read.
    costs.add("compared", run.read["compare_bytes"], 2 * READS_PER_FREED_BYTE * freed_bytes + READ_CONSTANT_BYTES)
    costs.add("read to find", run.read["finding_bytes"], 2 * physical + READ_CONSTANT_BYTES)
    costs.add("calls", run.shared["calls"], CALLS_CONSTANT + CALLS_PER_EXTENT * extents
              + CALLS_PER_FREED_BLOCK * freed_bytes / BLOCK)
    costs.add("CPU seconds", cpu_seconds,
              CPU_CONSTANT_SECONDS + CPU_SECONDS_PER_NAME * names + CPU_SECONDS_PER_EXTENT * extents
              + CPU_SECONDS_PER_BYTE * physical)
    costs.add("memory", resident_bytes, RESIDENT_BYTES)


def add_cost_of_store(costs, directory, before, filesystem_bytes=0):
    """@filesystem_bytes: of one on which every clone has anchors of its own."""
    clones = (STORE_DEFAULT_BYTES + filesystem_bytes / STORE_DEFAULT_SHARE) / 2 if filesystem_bytes else 0
    costs.add("store", directory_bytes(directory),
              before.physical_bytes() / STORE_SHARE + STORE_CONSTANT_BYTES + clones
              + STORE_BYTES_PER_INODE * len(before.inodes) + before.directory_name_bytes())
