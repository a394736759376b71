# SPDX-License-Identifier: GPL-2.0-or-later
"""Filesystems for measuring: on a loop device over an image that can be copied."""

import os
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "fs/kit"))
from filesystem import SECTOR_BYTES, LoopFilesystem  # noqa: E402 (the path is set above)

# Room for metadata, and for what the first writes of a tool need.
SPARE_BYTES = 2 << 30


class BenchFilesystem(LoopFilesystem):
    """A LoopFilesystem that also counts what is written, and that may start as a copy.

    A copy has the UUID of its original: only one of them may be mounted, or on btrfs even
    attached, at a time; so park() the original first.
    """

    def __init__(self, kind, data_bytes, copy_of=None):
        super().__init__(kind, data_bytes + data_bytes // 4 + SPARE_BYTES)
        self._copy_of = copy_of

    def _make(self):
        if not self._copy_of:
            super()._make()
            return
        self.directory = tempfile.mkdtemp(prefix="dedupd-fs-")
        self.image = os.path.join(self.directory, "image")
        self.mount_point = os.path.join(self.directory, "mount")
        os.mkdir(self.mount_point)
        subprocess.run(["cp", "--sparse=always", self._copy_of, self.image], check=True)
        with open(self.image, "rb+") as image:
            os.fsync(image.fileno())
            os.posix_fadvise(image.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        self.device = self._attach()
        self.mount()

    def park(self):
        """Unmount and detach, and return the image, of which copies can be made."""
        self.unmount()
        self._detach()
        return self.image

    def settle(self):
        """Mount again, so that all that was put off has been done."""
        self.unmount()
        self.mount()
        self.sync()

    def sync(self):
        """Have all of it on the disk."""
        subprocess.run(["sync", "-f", self.mount_point], check=True)

    def written_bytes(self):
        """Bytes written to the device since it was attached."""
        with open(f"/sys/block/{os.path.basename(self.device)}/stat", encoding="ascii") as counters:
            return int(counters.read().split()[6]) * SECTOR_BYTES

    def used_bytes(self):
        """Bytes in use as the filesystem itself counts them: on btrfs those of data alone."""
        if self.kind == "xfs":
            status = os.statvfs(self.mount_point)
            return (status.f_blocks - status.f_bfree) * status.f_frsize
        return self._used_by("data")

    def metadata_bytes(self):
        """Bytes in use by btrfs's trees, as it counts them itself."""
        return self._used_by("metadata")

    def _used_by(self, what):
        uuid = subprocess.run(["blkid", "-p", "-s", "UUID", "-o", "value", self.device],
                              check=True, capture_output=True, text=True).stdout.strip()
        with open(f"/sys/fs/btrfs/{uuid}/allocation/{what}/bytes_used", encoding="ascii") as used:
            return int(used.read())
