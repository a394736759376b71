# SPDX-License-Identifier: GPL-2.0-or-later
"""What a disk does from moment to moment, by its own counters.

    with DiskSamples("/dev/loop3") as disk:
        subprocess.run(program)
    print(max(disk.window_rates()))
"""

import os
import pathlib
import threading
import time

SAMPLE_SECONDS = 0.02
SECTOR_BYTES = 512
# A sample that took longer says little of the moment.
CLEAN_SECONDS = 0.005


class DiskSamples:
    """What a block device did at moments while the context lasts: bytes, and requests."""

    def __init__(self, device):
        self._path = pathlib.Path("/sys/block", os.path.basename(device), "stat")
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.samples = []
        self.requests = []

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *exception):
        self._ended.set()
        self._thread.join()

    def _run(self):
        ended = False
        while not ended:
            ended = self._ended.wait(SAMPLE_SECONDS)
            begun = time.monotonic()
            fields = [int(field) for field in self._path.read_text(encoding="ascii").split()]
            if time.monotonic() - begun > CLEAN_SECONDS:
                continue
            self.samples.append((begun, (fields[2] + fields[6]) * SECTOR_BYTES))
            self.requests.append(fields[0] + fields[4])

    def window_rates(self):
        """Bytes per second of every stretch of a second, from every sample on."""
        rates, end = [], 0
        for seconds, done in self.samples:
            while end < len(self.samples) and self.samples[end][0] - seconds < 1:
                end += 1
            if end == len(self.samples):
                break
            rates.append((self.samples[end][1] - done) / (self.samples[end][0] - seconds))
        return rates

    def mean_rate(self):
        """From the first sample at which anything was done until all but a hundredth was: what is
        shared from the cache asks a disk for next to nothing, however long that takes."""
        begun, ended = self.samples[0][1], self.samples[-1][1]
        first = max(sample for sample in self.samples if sample[1] == begun)
        last = min(sample for sample in self.samples if sample[1] >= ended - (ended - begun) / 100)
        return (last[1] - first[1]) / (last[0] - first[0])
