# SPDX-License-Identifier: GPL-2.0-or-later
"""What a device is asked to read, in order, by the kernel's own trace of its block layer.

    with BlockTrace("/dev/loop3") as trace:
        subprocess.run(program)
    print(seek_bytes(trace.reads))

The trace has an instance of its own in tracefs, so that nobody else's is touched; where that is not
mounted it has a mount of its own as well.
"""

import os
import re
import subprocess
import tempfile
import typing

TRACEFS = "/sys/kernel/tracing"
EVENT = "block/block_bio_queue"
SECTOR_BYTES = 512
BUFFER_KIB = 8192

# such as "reader-123 [001] ..... 12.345: block_bio_queue: 7,3 RA 2048 + 256 [reader]"
LINE = re.compile(r"-(\d+) +\[.* block_bio_queue: \d+,\d+ (\w+) (\d+) \+ (\d+) \[(.*)\]")


class TraceUnavailable(Exception):
    """This machine does not let itself be traced; the message says why."""


class Read(typing.NamedTuple):
    """A request, as bytes of the device, and the thread that made it: its number, and name."""

    start: int
    end: int
    task: int
    thread: str


class BlockTrace:
    """All reads of one device while the context lasts, in .reads afterwards."""

    def __init__(self, device):
        self.reads = []
        self._device = device
        self._mount = None
        self._instance = None

    def __enter__(self):
        number = os.stat(self._device).st_rdev
        try:
            self._instance = tempfile.mkdtemp(prefix="dedupd-", dir=f"{self._tracefs()}/instances")
            self._write("buffer_size_kb", str(BUFFER_KIB))
            device = os.major(number) << 20 | os.minor(number)
            self._write(f"events/{EVENT}/filter", f"dev == {device}")
            self._write(f"events/{EVENT}/enable", "1")
        except (OSError, subprocess.CalledProcessError) as error:
            self._remove()
            raise TraceUnavailable(f"no trace of block devices: {error}") from error
        return self

    def __exit__(self, *exception):
        try:
            self._write("tracing_on", "0")
            self._parse()
        finally:
            self._remove()

    def _tracefs(self):
        if os.path.isdir(f"{TRACEFS}/instances"):
            return TRACEFS
        self._mount = tempfile.mkdtemp(prefix="dedupd-tracefs-")
        subprocess.run(["mount", "-t", "tracefs", "nodev", self._mount], check=True,
                       stderr=subprocess.DEVNULL)
        return self._mount

    def _write(self, name, text):
        with open(os.path.join(self._instance, name), "w", encoding="ascii") as file:
            file.write(text)

    def _remove(self):
        if self._instance:
            os.rmdir(self._instance)
            self._instance = None
        if self._mount:
            subprocess.run(["umount", "--quiet", self._mount], check=False)
            os.rmdir(self._mount)
            self._mount = None

    def _parse(self):
        with open(os.path.join(self._instance, "trace"), encoding="utf-8",
                  errors="replace") as lines:
            for line in lines:
                if "LOST" in line:
                    raise RuntimeError(f"the trace is not whole: {line}")
                match = LINE.search(line)
                if match and "R" in match[2]:
                    start = int(match[3]) * SECTOR_BYTES
                    end = start + int(match[4]) * SECTOR_BYTES
                    self.reads.append(Read(start, end, int(match[1]), match[5]))


def of_data(reads):
    """From the first read of a pass's readers to the last, whoever made those between.

    All, where there is none of these.
    """
    places = [place for place, read in enumerate(reads) if read.thread == "reader"]
    return reads[places[0]:places[-1] + 1] if places else reads


def seek_bytes(reads):
    """How far a head would go between reads, all together."""
    return sum(abs(after.start - before.end) for before, after in zip(reads, reads[1:]))


def read_bytes(reads):
    """What was read."""
    return sum(read.end - read.start for read in reads)
