# SPDX-License-Identifier: GPL-2.0-or-later
"""A clock ahead of the true one, believed by the programs that are started with its environment.

Only what they ask for is feigned: what the kernel stamps files with is true, and so are timers.  With feign_waits(),
timers of the monotonic clock go by the feigned one, too.
"""

import contextlib
import mmap
import os
import pathlib
import shutil
import struct
import tempfile
import time


class FeignedClock:
    """Ahead by nothing until somebody waits.

    Without the library that FEIGNED_CLOCK names, and where a test wants the true clock, waits are true.
    """

    def __init__(self):
        self._directory = None
        self._ahead = None
        self._is_true = True
        self._feigns_waits = False

    def open(self):
        if "FEIGNED_CLOCK" not in os.environ or self._directory:
            return
        # Whoever the programs run as reads it: it does not lie where the tests were built.
        self._directory = tempfile.mkdtemp(prefix="dedupd-clock-")
        os.chmod(self._directory, 0o755)
        shutil.copy(os.environ["FEIGNED_CLOCK"], self._library)
        with open(self._file, "w+b") as file:
            file.truncate(mmap.PAGESIZE)
            self._ahead = mmap.mmap(file.fileno(), mmap.PAGESIZE)

    def close(self):
        if self._directory:
            self._ahead.close()
            shutil.rmtree(self._directory)
            self._directory = None

    @property
    def _library(self):
        return pathlib.Path(self._directory, "feigned-clock.so")

    @property
    def _file(self):
        return pathlib.Path(self._directory, "ahead")

    @property
    def can_feign(self):
        return self._directory is not None

    def environment(self):
        if not self.can_feign:
            return {}
        feigned = {"LD_PRELOAD": str(self._library), "FEIGNED_CLOCK_FILE": str(self._file)}
        return feigned | ({"FEIGNED_WAITS": "yes"} if self._feigns_waits else {})

    def begin(self, is_true):
        """What a test begins with; its waits are true if it asks for that."""
        self._is_true = is_true or not self.can_feign
        self._feigns_waits = False
        if self.can_feign:
            self._set(0)
            self._set_monotonic(0)

    def feign_waits(self):
        """Until the next begin(), programs that are started have timers that elapse() makes end."""
        assert self.can_feign
        self._feigns_waits = True

    def elapse(self, seconds):
        """Time that passes for timers and all clocks."""
        self._set_monotonic(self._get_monotonic() + seconds)
        self._set(self._get() + seconds)

    def suspend(self, seconds):
        """Time in which the machine sleeps: the monotonic clock stands still."""
        self._set(self._get() + seconds)

    def wait(self, seconds):
        """As time.sleep(), for what goes by the clock."""
        if self._is_true:
            time.sleep(seconds)
        else:
            self._set(self._get() + seconds)

    @contextlib.contextmanager
    def ahead(self, hours):
        """So many hours from now, inside."""
        assert self.can_feign
        before = self._get()
        self._set(before + hours * 3600)
        yield
        self._set(before)

    def _get(self):
        return struct.unpack_from("=q", self._ahead)[0] / 1e6

    def _set(self, seconds):
        struct.pack_into("=q", self._ahead, 0, round(seconds * 1e6))

    def _get_monotonic(self):
        return struct.unpack_from("=q", self._ahead, 8)[0] / 1e6

    def _set_monotonic(self, seconds):
        struct.pack_into("=q", self._ahead, 8, round(seconds * 1e6))
