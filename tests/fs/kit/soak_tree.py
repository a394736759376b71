# SPDX-License-Identifier: GPL-2.0-or-later
"""Files that change from hour to hour, their snapshots, and what all of them must hold.

The amount of data stays about the same, so what remembers it may not grow.  On XFS a snapshot is a directory of
reflinks.
"""

import hashlib
import os
import random
import shutil
import subprocess
import typing

import content
import ioctls
import subvolumes
from content import BLOCK, KIB, MIB

FILES = 60
CHANGES = 6
# Smaller parts of a file that is read are found by chance only.
SIZES = [64 * KIB, 96 * KIB, 128 * KIB, 256 * KIB]
# So many different contents are about at a time, and one of them is new each hour.
MATERIALS = 40
DATABASE_BYTES = MIB
HOURS_KEPT = 24
DAYS_KEPT = 7


class Held(typing.NamedTuple):
    """What one file must be."""
    digest: str
    size: int
    mtime_ns: int


def _held(path):
    status = path.stat()
    return Held(hashlib.sha256(path.read_bytes()).hexdigest(), status.st_size, status.st_mtime_ns)


def _snapshot_name(hour):
    return f"snapshot-{hour}"


class SoakTree:
    """A live directory, and snapshots of it that are kept for some time."""

    def __init__(self, filesystem, root, seed):
        self.root = root
        self.live = root / "live"
        self._is_btrfs = filesystem.kind == "btrfs"
        self._chance = random.Random(seed)
        self._seed = seed << 32
        self._hour = 0
        self._n_names = 0
        self._held = {"live": {}}  # directory -> name -> Held
        self.snapshots = []        # hours, in ascending order
        if self._is_btrfs:
            subvolumes.make_subvolume(self.live)
        else:
            self.live.mkdir()
        self._fill()

    def _fill(self):
        self._write("database", content.noise(self._seed, DATABASE_BYTES))
        for _ in range(FILES):
            self._add()
        ioctls.sync(self.root)

    def go_on(self):
        """An hour of changes, and a snapshot at its end."""
        self._hour += 1
        for _ in range(CHANGES):
            self._chance.choice([self._add, self._add, self._replace, self._append, self._rename, self._touch])()
        self._scatter()
        while len(self._held["live"]) > FILES:
            self._remove()
        ioctls.sync(self.root)
        self._take_snapshot()
        self._delete([hour for hour in self.snapshots if hour not in self._kept()])

    def delete_many(self):
        """Delete all snapshots but the last and a few others."""
        last = self.snapshots[-1:]
        kept = self._chance.sample(self.snapshots[:-1], min(3, len(self.snapshots[:-1])))
        self._delete([hour for hour in self.snapshots if hour not in last + kept])

    def delete_snapshots(self):
        """All of them, and wait until that has given back what only they held."""
        self._delete(list(self.snapshots))
        if self._is_btrfs:
            subvolumes.wait_for_deleted(self.root)

    def differences(self, only_live=False):
        """What is not as it must be, in words."""
        found = []
        for directory, held in [("live", self._held["live"])] if only_live else self._held.items():
            names = set(os.listdir(self.root / directory))
            found += [f"{directory}: {sorted(names ^ held.keys())} are there or not"] if names != held.keys() else []
            found += [f"{directory}/{name} is not what it was" for name in sorted(names & held.keys())
                      if _held(self.root / directory / name) != held[name]]
        return found

    # Changes

    def _write(self, name, data):
        """In one extent, where that is possible."""
        content.write(self.live / name, data, piece=len(data))
        self._note(name, data)

    def _note(self, name, data):
        """What was written, which is not read back."""
        path = self.live / name
        self._held["live"][name] = Held(hashlib.sha256(data).hexdigest(), len(data), path.stat().st_mtime_ns)

    def _read(self, name):
        """What it must be, or what is noted next would hide that it is not."""
        path = self.live / name
        assert _held(path) == self._held["live"][name], f"{path} is not what it was"
        return path.read_bytes()

    def _data(self):
        """Mostly what another file has, too."""
        number = self._hour + self._chance.randrange(MATERIALS)
        if self._chance.random() < 0.3:
            number = self._chance.getrandbits(31)
        return content.noise(self._seed + number, random.Random(number).choice(SIZES))

    def _any(self):
        return self._chance.choice(sorted(self._held["live"].keys() - {"database"}))

    def _add(self):
        self._n_names += 1
        self._write(f"file-{self._n_names}", self._data())

    def _replace(self):
        self._write(self._any(), self._data())

    def _append(self):
        name = self._any()
        data = self._read(name)
        more = self._data()
        if len(data) + len(more) <= MIB:
            with open(self.live / name, "ab") as file:
                file.write(more)
            self._note(name, data + more)

    def _rename(self):
        self._n_names += 1
        name, new = self._any(), f"file-{self._n_names}"
        os.rename(self.live / name, self.live / new)
        self._held["live"][new] = self._held["live"].pop(name)

    def _touch(self):
        name = self._any()
        os.utime(self.live / name)
        held = self._held["live"][name]
        self._held["live"][name] = held._replace(mtime_ns=(self.live / name).stat().st_mtime_ns)

    def _scatter(self):
        """Blocks here and there, as a database writes them."""
        data = bytearray(self._read("database"))
        for block in self._chance.sample(range(DATABASE_BYTES // BLOCK), 4):
            piece = self._chance.randbytes(BLOCK)
            content.overwrite(self.live / "database", block * BLOCK, piece)
            data[block * BLOCK:(block + 1) * BLOCK] = piece
        self._note("database", data)

    def _remove(self):
        name = self._any()
        (self.live / name).unlink()
        del self._held["live"][name]

    # Snapshots

    def _take_snapshot(self):
        name = _snapshot_name(self._hour)
        if self._is_btrfs:
            subvolumes.snapshot(self.live, self.root / name)
        else:
            subprocess.run(["cp", "-a", "--reflink=always", self.live, self.root / name], check=True)
        self.snapshots.append(self._hour)
        self._held[name] = dict(self._held["live"])

    def _kept(self):
        last_of_day = {hour // 24: hour for hour in self.snapshots}
        return {*self.snapshots[-HOURS_KEPT:], *list(last_of_day.values())[-DAYS_KEPT:]}

    def _delete(self, hours):
        for hour in hours:
            self.snapshots.remove(hour)
            del self._held[_snapshot_name(hour)]
        paths = [self.root / _snapshot_name(hour) for hour in hours]
        if self._is_btrfs and paths:
            subvolumes.btrfs("subvolume", "delete", *paths)
        for path in [] if self._is_btrfs else paths:
            shutil.rmtree(path)
