#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A corpus to deduplicate, made from real files of this machine.

The same seed over the same source files gives the same corpus, byte for byte.  What it holds, as
shares of the bytes stored:

    trees/original          a sample of the source tree
    trees/edited-*          copies of it with edited, grown, shrunk, new and missing files
    images/original         a disk image: file contents at block boundaries, zeros between
    images/edited-1-in-*    copies with one 4 KiB block in 200 and in 50 rewritten
    images/shifted-*        copies behind 64 KiB and behind 4 KiB of other data
    tars/                   archives of nearly equal trees
    databases/              pages, and the same pages written in random order
    logs/                   logs and what rotation kept of them
    media/                  data that has no equal

Everything is written with plain writes: cp and cat share blocks without being asked.
"""

import argparse
import hashlib
import io
import os
import random
import stat
import sys
import tarfile

BLOCK_BYTES = 4096
PAGE_BYTES = 16384
WRITE_BYTES = 1 << 20
MAX_FILE_BYTES = 48 << 20
# A corpus that is one file, however small, is of no use to anybody.
MIN_BYTES = 32 << 20

TREE_EDITIONS = 2
SHARES = {
    "tree": 0.110,
    "image": 0.055,
    "tar": 0.040,
    "database": 0.025,
    "log": 0.012,
    "media": 0.060,
}


def parse_size(text):
    """Bytes of "4096", "512M" or "4G"."""
    shift = {"K": 10, "M": 20, "G": 30, "T": 40}.get(text[-1:].upper())
    return int(float(text[:-1]) * (1 << shift)) if shift else int(text)


class SourceFiles:
    """The files of a tree in an order that depends on the seed and their names alone."""

    def __init__(self, root, seed):
        self.root = os.path.abspath(root)
        self.seed = seed
        self.entries = self._list()

    def _list(self):
        found = []
        for directory, names, files in os.walk(self.root):
            names.sort()
            for name in files:
                path = os.path.join(directory, name)
                try:
                    status = os.lstat(path)
                except OSError:
                    continue
                if stat.S_ISREG(status.st_mode) and 0 < status.st_size <= MAX_FILE_BYTES:
                    relative = os.path.relpath(path, self.root)
                    found.append((self._rank(relative), relative, status.st_size))
        found.sort()
        return [(relative, size) for _, relative, size in found]

    def _rank(self, relative):
        key = f"{self.seed}\0{relative}".encode("utf-8", "surrogateescape")
        return hashlib.blake2b(key, digest_size=8).digest()

    def read(self, relative):
        """The content of a file; empty when it cannot be read any more."""
        try:
            with open(os.path.join(self.root, relative), "rb") as source:
                return source.read()
        except OSError:
            return b""

    def take(self, want_bytes, start):
        """Names from entry @start on that make up @want_bytes, and where to go on."""
        names, got = [], 0
        for index in range(start, len(self.entries)):
            if got >= want_bytes:
                return names, index
            names.append(self.entries[index][0])
            got += self.entries[index][1]
        return names, len(self.entries)


def write_file(path, data):
    """Write @data to @path, making directories as needed; returns the bytes written."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb", buffering=0) as target:
        view = memoryview(data)
        for start in range(0, len(view), WRITE_BYTES):
            target.write(view[start:start + WRITE_BYTES])
    return len(data)


class Corpus:
    """Writes one corpus below a directory."""

    def __init__(self, directory, want_bytes, seed=1, source="/usr"):
        self.directory = directory
        self.want_bytes = max(want_bytes, MIN_BYTES)
        self.seed = seed
        self.source = SourceFiles(source, seed)
        self.position = 0
        self.stored_bytes = 0

    def make(self):
        """Make it all; returns the bytes stored."""
        budget = {name: int(share * self.want_bytes) for name, share in SHARES.items()}
        # The images stand for other machines: files that the trees do not hold.
        image_names = self._take(budget["image"])
        tree_names = self._take(budget["tree"])
        self._make_trees(tree_names)
        self._make_images(image_names)
        self._make_tars(tree_names, budget["tar"])
        self._make_databases(budget["database"])
        self._make_logs(budget["log"])
        self._make_media(budget["media"])
        self._fill()
        return self.stored_bytes

    def _take(self, want_bytes):
        names, self.position = self.source.take(want_bytes, self.position)
        return names

    def _random(self, *words):
        return random.Random("\0".join([str(self.seed), *map(str, words)]))

    def _store(self, path, data):
        self.stored_bytes += write_file(os.path.join(self.directory, path), data)

    def _make_trees(self, names):
        for name in names:
            self._store(f"trees/original/{name}", self.source.read(name))
        for edition in range(1, TREE_EDITIONS + 1):
            chance = self._random("tree", edition)
            for name in names:
                data = edit_file(self.source.read(name), chance)
                if data is not None:
                    self._store(f"trees/edited-{edition}/{name}", data)

    def _make_images(self, names):
        image = self._assemble_image(names)
        self._store("images/original", image)
        for rarity in (200, 50):
            edited = bytearray(image)
            chance = self._random("image", rarity)
            for block in range(len(image) // BLOCK_BYTES):
                if chance.randrange(rarity) == 0:
                    start = block * BLOCK_BYTES
                    edited[start:start + BLOCK_BYTES] = chance.randbytes(BLOCK_BYTES)
            self._store(f"images/edited-1-in-{rarity}", edited)
        for shift in (64 << 10, BLOCK_BYTES):
            head = self._random("shift", shift).randbytes(shift)
            self._store(f"images/shifted-{shift >> 10}k", head + image)

    def _assemble_image(self, names):
        """Contents at block boundaries, with zeros up to them and now and then a free area."""
        chance = self._random("image")
        image = bytearray(chance.randbytes(BLOCK_BYTES))
        for name in names:
            data = self.source.read(name)
            image += data + bytes(-len(data) % BLOCK_BYTES)
            if chance.randrange(400) == 0:
                image += bytes(chance.randrange(1, 256) * BLOCK_BYTES)
        return image

    def _make_tars(self, names, want_bytes):
        """Three archives of a tree, a few of whose files differ from day to day."""
        chosen, got = [], 0
        for name in names:
            if got >= want_bytes:
                break
            data = self.source.read(name)
            chosen.append(name)
            got += len(data)
        for day in range(3):
            self._store(f"tars/backup-{day}.tar", self._make_tar(chosen, day))

    def _make_tar(self, names, day):
        chance = self._random("tar", day)
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as archive:
            for name in names:
                data = self.source.read(name)
                if day and chance.randrange(100) == 0:
                    data = edit_file(data, chance, always=True) or b""
                member = tarfile.TarInfo("backup/" + name)
                member.size = len(data)
                # A file keeps its time unless it was edited.
                member.mtime = 1_600_000_000
                archive.addfile(member, io.BytesIO(data))
        return buffer.getbuffer()

    def _make_databases(self, want_bytes):
        """The same pages in order of their keys, and rewritten in random order by a vacuum."""
        chance = self._random("database")
        pages = [self._page(chance, number) for number in range(want_bytes // PAGE_BYTES)]
        self._store("databases/table", b"".join(pages))
        shuffled = pages[:]
        chance.shuffle(shuffled)
        self._store("databases/table-rewritten", b"".join(shuffled))
        for number in range(0, len(pages), 97):
            pages[number] = self._page(chance, number)
        self._store("databases/table-replica", b"".join(pages))

    @staticmethod
    def _page(chance, number):
        """A page of rows: header, random keys, and some text that repeats."""
        rows = bytearray(number.to_bytes(8, "little") + chance.randbytes(56))
        while len(rows) < PAGE_BYTES - 128:
            rows += chance.randbytes(40) + b"|status=active|region=north|price=%08d|" % (
                chance.randrange(10 ** 8))
        return bytes(rows) + bytes(PAGE_BYTES - len(rows))

    def _make_logs(self, want_bytes):
        """A log, yesterday's copy of its beginning, and one that another host wrote too."""
        chance = self._random("log")
        lines, got, when = [], 0, 1_700_000_000
        while got < max(want_bytes, 1 << 20):
            when += chance.randrange(3)
            line = b"%d host%d service[%d]: request %016x took %d ms\n" % (
                when, chance.randrange(8), chance.randrange(400, 9000), chance.getrandbits(64),
                chance.randrange(2000))
            lines.append(line)
            got += len(line)
        log = b"".join(lines)
        self._store("logs/service.log", log)
        self._store("logs/service.log.yesterday", log[:len(log) * 3 // 4])
        self._store("logs/service.log.elsewhere", b"".join(lines[1000:]))

    def _make_media(self, want_bytes):
        chance = self._random("media")
        number = 0
        while want_bytes > 0:
            size = min(want_bytes, chance.randrange(1 << 20, 12 << 20))
            self._store(f"media/{number:05}", chance.randbytes(size))
            want_bytes -= size
            number += 1

    def _fill(self):
        """What is missing, in new files from the source and, where that ends, of random data."""
        missing = self.want_bytes - self.stored_bytes
        while missing > 0 and self.position < len(self.source.entries):
            for name in self._take(min(missing, 64 << 20)):
                self._store(f"more/{name}", self.source.read(name))
            missing = self.want_bytes - self.stored_bytes
        chance = self._random("fill")
        number = 0
        while missing > 0:
            size = min(missing, chance.randrange(1 << 16, 16 << 20))
            self._store(f"fill/{number // 100}/{number:06}", chance.randbytes(size))
            missing -= size
            number += 1


def edit_file(data, chance, always=False):
    """@data as a later version of it might be; None for a file that is gone."""
    kind = chance.randrange(6) if always else chance.randrange(100)
    if kind == 0 and not always:
        return None
    if kind in (0, 1):
        return data + chance.randbytes(chance.randrange(1, 2000))
    if kind == 2:
        return data[:max(1, len(data) * chance.randrange(50, 100) // 100)]
    if kind == 3:
        place = chance.randrange(len(data) + 1)
        return data[:place] + chance.randbytes(chance.randrange(1, 200)) + data[place:]
    if kind in (4, 5):
        edited = bytearray(data)
        for _ in range(1 + len(data) // (256 << 10)):
            place = chance.randrange(len(data)) if data else 0
            edited[place:place + 64] = chance.randbytes(len(edited[place:place + 64]))
        return edited
    return data


def main():
    """Write a corpus and say how much it holds."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("directory", help="where to write it; made when missing")
    parser.add_argument("--bytes", default="4G", help="bytes to store (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--source", default="/usr", help="tree to draw from (default: %(default)s)")
    arguments = parser.parse_args()
    corpus = Corpus(arguments.directory, parse_size(arguments.bytes), arguments.seed,
                    arguments.source)
    print(f"{corpus.make()} bytes stored in {arguments.directory}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
