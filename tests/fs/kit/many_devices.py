# SPDX-License-Identifier: GPL-2.0-or-later
"""A btrfs on several loop devices, to which more can be added."""

import os
import subprocess

from filesystem import SECTOR_BYTES, FilesystemDamaged, FilesystemUnavailable, LoopFilesystem


class ManyDevices(LoopFilesystem):
    """A btrfs on @count devices with the profiles @data and @metadata."""

    def __init__(self, count=1, data="single", metadata="single", size="512M", mount_options=()):
        super().__init__("btrfs", size, ["-d", data, "-m", metadata], mount_options)
        self._count = count
        self._more = []  # devices beside the one of the image

    def attach(self):
        """One more device of the same size, which is not part of the filesystem yet."""
        image = os.path.join(self.image_directory, f"image-{len(self._more)}")
        with open(image, "wb") as file:
            file.truncate(self.size_bytes)
        done = subprocess.run(["losetup", "--find", "--show", image], check=False, capture_output=True,
                              text=True)
        if done.returncode != 0:
            raise FilesystemUnavailable(done.stderr)
        self._more.append(done.stdout.strip())
        return self._more[-1]

    def _mkfs_command(self):
        return [*super()._mkfs_command(), *(self.attach() for _ in range(self._count - 1))]

    def lose_last(self):
        """Have the last device be missing from now on."""
        self.unmount()
        device = self._more.pop()
        subprocess.run(["btrfs", "device", "scan", "--forget", device], check=True)
        subprocess.run(["losetup", "--detach", device], check=True)
        self.mount_options.append("degraded")
        self.mount()

    def sprout(self):
        """Become a seed, which nothing is written to, with one more device for what is."""
        self.unmount()
        subprocess.run(["btrfstune", "-f", "-S", "1", self.device], check=True)
        self.mount_options.append("ro")
        self.mount()
        self.mount_options.remove("ro")
        subprocess.run(["btrfs", "device", "add", "-f", self.attach(), self.mount_point], check=True)
        self.remount("rw")

    def read_bytes(self):
        """Bytes read from all of its devices since they were attached."""
        total = 0
        for device in (self.device, *self._more):
            with open(f"/sys/block/{os.path.basename(device)}/stat", encoding="ascii") as stat:
                total += int(stat.read().split()[2]) * SECTOR_BYTES
        return total

    def check(self):
        """Unmount it for good, and raise FilesystemDamaged unless metadata and all data are sound."""
        source = subprocess.run(["findmnt", "-no", "SOURCE", self.mount_point], check=True,
                                capture_output=True, text=True).stdout.strip()
        self.unmount()
        done = subprocess.run(["btrfs", "check", "--readonly", "--check-data-csum", source],
                              check=False, capture_output=True, text=True)
        if done.returncode != 0:
            raise FilesystemDamaged(done.stderr + done.stdout)

    def _detach(self):
        super()._detach()
        for device in self._more:
            subprocess.run(["losetup", "--detach", device], check=True)
        self._more.clear()
