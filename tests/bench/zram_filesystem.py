# SPDX-License-Identifier: GPL-2.0-or-later
"""Filesystems larger than the disk: on a device in memory that keeps 16 bytes of a block.

zram compresses a block, except if its words are all equal.  It keeps only the word of such a block, in the entry
that every block has.  So a filesystem takes 4 GiB of memory for a TiB of such data, and what its metadata takes.
"""

import os
import subprocess
import tempfile
import time

from bench_page import GIB, MIB
from image import BenchFilesystem

CONTROL = "/sys/class/zram-control"
BLOCK_BYTES = 4096
ENTRY_BYTES = 16
# Metadata, compressed, of a byte of data: on btrfs two copies of checksums, which do not compress.
METADATA_SHARE = {"btrfs": 1 / 256, "xfs": 1 / 1024}
LEAST_METADATA_BYTES = 256 * MIB
# Of the data: for metadata and what the allocation of btrfs leaves over.
SPARE_SHARE = 0.08
SPARE_BYTES = 4 * GIB
RELEASE_SECONDS = 30


def _write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def _available_bytes():
    with open("/proc/meminfo", encoding="ascii") as meminfo:
        for line in meminfo:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) << 10
    return 0


class ZramFilesystem(BenchFilesystem):
    """A BenchFilesystem of so much data on a zram device of its own."""

    def __init__(self, kind, data_bytes):
        super().__init__(kind, data_bytes)
        self.size_bytes = int(data_bytes * (1 + SPARE_SHARE)) // MIB * MIB + SPARE_BYTES
        self._metadata_bytes = LEAST_METADATA_BYTES + int(data_bytes * METADATA_SHARE[kind])
        self._number = None
        if kind == "btrfs":
            self.mkfs_options = ["-m", "dup"]

    def _make(self):
        self._require()
        self.directory = tempfile.mkdtemp(prefix="dedupd-fs-")
        self.mount_point = os.path.join(self.directory, "mount")
        os.mkdir(self.mount_point)
        self.device = self._attach()
        subprocess.run(self._mkfs_command(), check=True, stdout=subprocess.DEVNULL)
        self.mount()

    def _require(self):
        if not os.path.exists(CONTROL):
            subprocess.run(["modprobe", "zram"], check=False, stderr=subprocess.DEVNULL)
        if not os.path.exists(CONTROL):
            raise SystemExit("this kernel has no zram (CONFIG_ZRAM)")
        need_bytes = self.table_bytes() + self._metadata_bytes + 2 * GIB
        if _available_bytes() < need_bytes:
            raise SystemExit(f"{need_bytes / GIB:.0f} GiB of memory are needed, and {_available_bytes() / GIB:.0f} GiB "
                             "are available: try a smaller --tib")

    def _attach(self):
        with open(f"{CONTROL}/hot_add", encoding="ascii") as adding:
            self._number = int(adding.read())
        _write(self._attribute("disksize"), str(self.size_bytes))
        # A mistake must not take all memory of the machine.
        _write(self._attribute("mem_limit"), str(2 * self._metadata_bytes))
        return f"/dev/zram{self._number}"

    def _detach(self):
        if self._number is None:
            return
        end = time.monotonic() + RELEASE_SECONDS
        while True:
            try:
                _write(self._attribute("reset"), "1")
                break
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.1)
        _write(f"{CONTROL}/hot_remove", str(self._number))
        self._number = None

    def _attribute(self, name):
        return f"/sys/block/zram{self._number}/{name}"

    def table_bytes(self):
        """Memory for the entries of all blocks, be they in use or not."""
        return self.size_bytes // BLOCK_BYTES * ENTRY_BYTES

    def metadata_memory_bytes(self):
        """Memory for the blocks whose words are not equal."""
        return self._statistics()[2]

    def generated_share(self):
        """The share of blocks in use that are one repeated word."""
        statistics = self._statistics()
        return statistics[5] * BLOCK_BYTES / statistics[0]

    def _statistics(self):
        with open(self._attribute("mm_stat"), encoding="ascii") as statistics:
            return [int(word) for word in statistics.read().split()]
