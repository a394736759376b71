# SPDX-License-Identifier: GPL-2.0-or-later
"""A corpus on btrfs of several editions of one tree, as trees, archives and disk images.

All of it has to do with all the rest, as on a machine that builds or serves releases: what is equal
lies in small files and inside of large ones, at block bounds and beside them.

    editions   the tree in several editions, each the former with files edited, renamed, removed and added
    installed  the second edition once more, a part of its files under two names (hard links)
    archives   tar archives of three editions, one more whose members begin at block bounds, a cpio archive
    images     ext4 images of three editions, and a copy of one with blocks overwritten
    late       what was written after the snapshot: one edition more, and the tar archive of it

All lies in one subvolume.  A read-only snapshot of it is taken before the last changes: these write
parts of files and of images anew, delete an archive, and write the last edition.

The same seed over the same source files gives the same contents; the kernel decides about extents.
"""

import io
import os
import random
import shutil
import subprocess
import tarfile

from corpus import SourceFiles, write_file
from extent_corpus import ExtentCorpus, btrfs, overwrite

BLOCK_BYTES = 4096
MIB = 1 << 20
SOURCES = ("/usr/lib/python3", "/usr/lib/python3.11", "/usr/share/perl", "/usr/share/vim",
           "/usr/include", "/usr/share/man", "/usr/lib/gcc")
PARTS = ("editions", "installed", "archives", "images", "late")
# Blocks of an image that are overwritten: few, as the places that show an extent are no subject here.
IN_PLACE = 12
EDITIONS = 4
# How many times the tree is stored besides, in whatever shape.
OTHER_TREES = 12.5
MAX_FILE_BYTES = 24 * MIB
MAX_NAME_BYTES = 90
ONE_TIME = 1_600_000_000


def evolve(tree, spare, chance):
    """The next edition of @tree, new files being taken from @spare."""
    edition = {}
    for name, data in tree.items():
        kind = chance.random()
        if kind < 0.01:
            continue
        if kind < 0.03:
            name = os.path.join(os.path.dirname(name), f"{chance.randrange(1000)}-" +
                                os.path.basename(name))
        if kind < 0.10:
            data = edit(data, chance)
        edition[name] = data
    for _ in range(min(len(spare), len(tree) // 60)):
        name, data = spare.popitem()
        edition[name] = data
    return edition


def edit(data, chance):
    """@data with some lines changed, or, if it is no text, with bytes changed and a part rebuilt."""
    if b"\0" in data[:1024]:
        edited = bytearray(data)
        for _ in range(chance.randrange(1, 8)):
            place = chance.randrange(len(data))
            edited[place:place + 16] = chance.randbytes(len(edited[place:place + 16]))
        if chance.random() < 0.3:
            place = chance.randrange(len(data))
            edited[place:place] = chance.randbytes(chance.randrange(1, 3000))
        return bytes(edited)
    lines = data.split(b"\n")
    for _ in range(1 + int(chance.expovariate(1 / 3))):
        place = chance.randrange(len(lines))
        kind = chance.random()
        if kind < 0.4:
            lines[place] = b"%016x" % chance.getrandbits(64)
        elif kind < 0.8:
            lines.insert(place, b"%016x" % chance.getrandbits(64))
        else:
            # The same length: what lies behind stays where it was.
            lines[place] = lines[place].swapcase()
    return b"\n".join(lines)


class EditionsCorpus:
    """Writes one corpus to a mounted btrfs that is a LoopFilesystem."""

    def __init__(self, filesystem, want_bytes, seed=1, sources=SOURCES, editions=EDITIONS):
        self.filesystem = filesystem
        self.want_bytes = want_bytes
        self.seed = seed
        self.sources = sources
        self.editions = max(editions, 4)
        self.tree_bytes = want_bytes / (self.editions + OTHER_TREES)

    def make(self):
        """Make all parts."""
        btrfs("subvolume", "create", self._path())
        chance = random.Random(f"{self.seed}")
        trees = self._trees(chance)
        for number, tree in enumerate(trees[:-1], 1):
            self._write_tree(f"editions/{number}", tree)
        self._write_installed(trees[1], chance)
        self._write_archives(trees)
        self._write_images(chance)
        self._sync()
        btrfs("subvolume", "snapshot", "-r", self._path(),
              os.path.join(self.filesystem.mount_point, "before"))
        self._change(trees, chance)
        self._sync()

    def _path(self, *names):
        return os.path.join(self.filesystem.mount_point, "data", *names)

    def _sync(self):
        subprocess.run(["sync", "-f", self.filesystem.mount_point], check=True)

    def _trees(self, chance):
        """Contents by name of all editions."""
        tree, want = {}, self.tree_bytes
        spare, want_spare = {}, want / 8
        # Of each source a part, as different for each seed as that is.
        entries = [(source, name, size) for source in map(lambda root: SourceFiles(root, self.seed),
                                                          self.sources)
                   for name, size in source.entries
                   if size <= MAX_FILE_BYTES and len(name) < MAX_NAME_BYTES - 20]
        chance.shuffle(entries)
        for source, name, size in entries:
            into = tree if want > 0 else spare
            if want <= 0 and want_spare <= 0:
                break
            data = source.read(name)
            if not data:
                continue
            into[f"{os.path.basename(source.root)}/{name}"] = data
            if into is tree:
                want -= size
            else:
                want_spare -= size
        trees = [dict(sorted(tree.items()))]
        for _ in range(self.editions):
            trees.append(dict(sorted(evolve(trees[-1], spare, chance).items())))
        return trees

    def _write_tree(self, where, tree):
        for name, data in tree.items():
            path = self._path(where, name)
            write_file(path, data)
            os.utime(path, (ONE_TIME, ONE_TIME))
        self._sync()

    def _write_installed(self, tree, chance):
        for name, data in tree.items():
            path = self._path("installed", name)
            write_file(path, data)
            if chance.random() < 0.15:
                linked = self._path("installed", "linked", name)
                os.makedirs(os.path.dirname(linked), exist_ok=True)
                os.link(path, linked)
        self._sync()

    def _write_archives(self, trees):
        for number in (0, 1, 3):
            self._write_tar(f"archives/{number + 1}.tar", trees[number])
        aligned = ExtentCorpus.archive(trees[2].items(), True)
        write_file(self._path("archives/3-aligned.tar"), aligned)
        write_file(self._path("archives/2.cpio"), cpio(trees[1]))
        self._sync()

    def _write_tar(self, where, tree):
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as archive:
            for name, data in tree.items():
                member = tarfile.TarInfo(name)
                member.size, member.mtime = len(data), ONE_TIME
                archive.addfile(member, io.BytesIO(data))
        write_file(self._path(where), buffer.getbuffer())

    def _write_images(self, chance):
        os.makedirs(self._path("images"))
        for number in (1, 2, 4):
            self._make_image(f"images/{number}", f"editions/{number}")
        with open(self._path("images/1"), "rb") as original:
            # Plain writes, with holes where there are some.
            self._copy_sparse(original, self._path("images/1-used"))
        self._overwrite(self._path("images/1-used"), IN_PLACE, chance)
        self._sync()

    def _make_image(self, image, tree):
        path = self._path(image)
        size = int(1.6 * self.tree_bytes) + 64 * MIB
        with open(path, "wb") as file:
            file.truncate(size)
        subprocess.run(["mkfs.ext4", "-q", "-F", "-b", "4096", "-i", "8192", "-U",
                        f"00000000-0000-4000-8000-{self.seed:012x}", "-E",
                        "hash_seed=00000000-0000-4000-8000-000000000000,root_owner=0:0",
                        "-d", self._path(tree), path],
                       check=True, env={**os.environ, "E2FSPROGS_FAKE_TIME": str(ONE_TIME)})

    @staticmethod
    def _copy_sparse(original, path):
        with open(path, "wb", buffering=0) as copy:
            while piece := original.read(MIB):
                if piece.count(0) == len(piece):
                    copy.seek(len(piece), os.SEEK_CUR)
                else:
                    copy.write(piece)
            copy.truncate(original.tell())

    @staticmethod
    def _overwrite(path, count, chance):
        blocks = os.path.getsize(path) // BLOCK_BYTES
        overwrite(path, [(chance.randrange(blocks), chance.randbytes(BLOCK_BYTES))
                         for _ in range(count)])

    def _change(self, trees, chance):
        for name, data in trees[3].items():
            if chance.random() > 0.04:
                continue
            path = self._path("editions/4", name)
            if chance.random() < 0.5:
                # As an editor does it.
                write_file(path + ".new", edit(data, chance))
                os.rename(path + ".new", path)
            else:
                place = chance.randrange(-(-len(data) // BLOCK_BYTES))
                overwrite(path, [(place, chance.randbytes(min(BLOCK_BYTES, len(data))))])
        self._overwrite(self._path("images/2"), IN_PLACE, chance)
        os.unlink(self._path("archives/1.tar"))
        self._write_tree("late/last", trees[-1])
        self._write_tar("late/last.tar", trees[-1])
        shutil.rmtree(self._path("installed/linked"))


def cpio(tree):
    """A cpio archive ("newc"), of which contents begin at multiples of four bytes."""
    parts = []
    for number, (name, data) in enumerate(list(tree.items()) + [("TRAILER!!!", b"")], 1):
        encoded = name.encode("utf-8", "surrogateescape") + b"\0"
        fields = (number, 0o100644, 0, 0, 1, ONE_TIME, len(data), 0, 0, 0, 0, len(encoded), 0)
        header = b"070701" + b"".join(b"%08x" % field for field in fields) + encoded
        parts += [header, bytes(-len(header) % 4), data, bytes(-len(data) % 4)]
    return b"".join(parts)
