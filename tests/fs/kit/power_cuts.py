# SPDX-License-Identifier: GPL-2.0-or-later
"""Passes in whose midst the power is cut, over files that a program writes at the same time.

What was written out before a cut is there afterwards, byte by byte, and so is what the program had flushed.  The
filesystem is sound.  The store opens, and a pass with it leaves nothing that a pass with a new store would free.
"""

import contextlib
import dataclasses
import os
import pathlib
import random
import shutil
import sqlite3
import subprocess
import threading
import time

import content
import harness
import ioctls
import oracle
from content import BLOCK, KIB

PIECES = 24
PIECE_BYTES = 64 * KIB
WRITTEN_BLOCKS = 16
PAUSE_SECONDS = 0.1
# So many of these seconds after its start, a pass is at its end at the latest.
FIRST_PASS_SECONDS = 1.0


class CutHarmed(Exception):
    """Something is not as it must be after a cut; the message says what."""


@dataclasses.dataclass
class Cuts:
    """What all cuts came to."""
    made: int = 0
    during_passes: int = 0
    flushed_writes: int = 0
    freed_bytes: int = 0


class FlushingWriter:
    """A thread that overwrites blocks of one file, and flushes each before the next one."""

    def __init__(self, path, seed):
        self._path = path
        self._chance = random.Random(seed)
        self._may_have = [{bytes(BLOCK)} for _ in range(WRITTEN_BLOCKS)]
        self.n_flushed = 0
        content.write(path, bytes(WRITTEN_BLOCKS * BLOCK))
        self._fd = os.open(path, os.O_RDWR)
        os.fsync(self._fd)
        self._thread = threading.Thread(target=self._write)
        self._thread.start()

    def _write(self):
        # Until the disk is gone.
        with contextlib.suppress(OSError):
            while True:
                block = self._chance.randrange(WRITTEN_BLOCKS)
                # Equal to what others have, so that passes want it.
                data = content.noise(self._chance.randrange(4), BLOCK)
                self._may_have[block].add(data)
                os.pwrite(self._fd, data, block * BLOCK)
                os.fsync(self._fd)
                self._may_have[block] = {data}
                self.n_flushed += 1
                # A flush empties the cache of the disk, also of what the pass wrote.
                time.sleep(self._chance.uniform(0, PAUSE_SECONDS))

    def join(self):
        """Wait for the error that a cut ends it with."""
        self._thread.join()
        os.close(self._fd)

    def check(self):
        """Raise CutHarmed unless each block has what was flushed, or what was being written."""
        data = self._path.read_bytes()
        for block, allowed in enumerate(self._may_have):
            if data[block * BLOCK:][:BLOCK] not in allowed:
                raise CutHarmed(f"block {block} of {self._path.name} lacks what was flushed")


class CarelessWriter:
    """A thread that writes files which nobody will miss, so that the disk has much in its cache."""

    def __init__(self, directory, seed):
        self._directory = directory
        self._chance = random.Random(seed)
        self._is_done = threading.Event()
        directory.mkdir()
        self._thread = threading.Thread(target=self._write)
        self._thread.start()

    def _write(self):
        # The disk may be gone.
        with contextlib.suppress(OSError):
            while not self._is_done.wait(self._chance.uniform(0, PAUSE_SECONDS)):
                name = self._directory / str(self._chance.randrange(8))
                data = content.noise(self._chance.randrange(PIECES), PIECE_BYTES)
                with open(name, "wb") as file:
                    file.write(data * self._chance.randrange(1, 8))
                    file.flush()
                    # The disk receives it, and is not told to flush.
                    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

    def join(self):
        self._is_done.set()
        self._thread.join()


class PowerCuts:
    """Cuts of one filesystem on a ForgetfulDisk.

    The store lies on the same disk if @dedupd has its state directory there; otherwise it outlives what the
    filesystem loses.
    """

    def __init__(self, disk, dedupd, find, seed):
        self._disk = disk
        self._dedupd = dedupd
        self._find = find
        self._seed = seed
        self._chance = random.Random(seed)
        self._filesystem = dedupd.filesystem
        self._root = pathlib.Path(self._filesystem.mount_point)
        self._files = self._root / "files"
        self._pass_seconds = FIRST_PASS_SECONDS
        self.cuts = Cuts()
        self._files.mkdir()
        dedupd.state_directory.mkdir(mode=0o700, parents=True, exist_ok=True)

    def cut(self):
        """Add files, cut the power at any moment of a pass, and see that nothing is lost."""
        self._write_files()
        harness.settle(self._filesystem)
        before = oracle.snapshot(self._files)
        writer = FlushingWriter(self._root / "written", self._chance.random())
        careless = CarelessWriter(self._root / "careless", self._chance.random())
        process = self._dedupd.start(find=self._find)
        time.sleep(self._chance.uniform(0, self._pass_seconds))
        self.cuts.during_passes += process.poll() is None
        self._disk.cut(lambda: self._end(process, writer, careless))
        self.cuts.made += 1
        self.cuts.flushed_writes += writer.n_flushed
        writer.check()
        (self._root / "written").unlink()
        shutil.rmtree(self._root / "careless", ignore_errors=True)
        self._expect_nothing_lost(before)
        self._filesystem.check()
        self._filesystem.mount()
        self._expect_sound_stores()
        self._expect_nothing_left(before)

    @staticmethod
    def _end(process, *writers):
        """Have who uses the disk end, which has no power any more."""
        process.kill()
        process.communicate()
        for writer in writers:
            writer.join()

    def _write_files(self):
        """Files of pieces, many of which lie in other files; some files go.

        Of parts of extents, a pass with checksums may leave more than one that begins anew.  So it gets equal extents.
        """
        for path in sorted(self._files.iterdir()):
            if self._chance.random() < 0.3:
                path.unlink()
        for number in range(40):
            if self._find == "checksums":
                seed = self._chance.randrange(PIECES)
                data = content.noise(seed, PIECE_BYTES + seed * BLOCK)
            else:
                data = b"".join(content.noise(self._chance.randrange(PIECES), PIECE_BYTES)
                                for _ in range(self._chance.randrange(1, 12)))
            content.write(self._files / f"{self.cuts.made}-{number}", data)

    def _expect_nothing_lost(self, before):
        changes = oracle.differences(before, oracle.snapshot(self._files))
        if changes:
            raise CutHarmed("after the cut: " + "\n".join(changes))

    def _expect_sound_stores(self):
        for path in self._dedupd.state_directory.glob("*.sqlite"):
            with contextlib.closing(sqlite3.connect(path)) as store:
                answer = store.execute("PRAGMA integrity_check").fetchone()[0]
            if answer != "ok":
                raise CutHarmed(f"the store: {answer}")

    def _expect_nothing_left(self, before):
        """A pass with the store frees all; one with a new store finds nothing more."""
        begun = time.monotonic()
        harness.settle(self._filesystem)
        self.cuts.freed_bytes += self._run(self._dedupd)
        self._pass_seconds = time.monotonic() - begun
        self._expect_nothing_lost(before)
        state = pathlib.Path(self._filesystem.directory, "new-state")
        state.mkdir(mode=0o700)
        left = self._run(harness.Dedupd(self._dedupd.program, state, self._filesystem))
        shutil.rmtree(state)
        if left:
            raise CutHarmed(f"the store that survived leaves {left} bytes")

    def _run(self, dedupd):
        """Bytes that a pass frees."""
        run = dedupd.run(find=self._find, exclude="state")
        if run.status != 0:
            raise CutHarmed(f"the next pass ended with {run.status}: {run.stderr}")
        return run.freed_bytes


HARMS = (CutHarmed, AssertionError, OSError, subprocess.SubprocessError)
