# SPDX-License-Identifier: GPL-2.0-or-later
"""A corpus on btrfs whose equal data lies in extents that were cut in different ways.

The same seed over the same source files gives the same bytes, and the same extents as long as the
kernel writes nothing out before it is asked to.  Every part has contents of its own, so that what
is freed of one says nothing of another.  Its parts, as shares of the bytes written:

    edited-in-place  an image, and two copies of which 1 block in 200 and in 50 was overwritten
                     after they were written: what was overwritten is hidden, and still there
    edited-before    an image, and three copies that were edited before they were written, 1 block
                     in 400, 1 in 100 and a few areas of up to 256: blocks without equal inside
                     large extents
    cut              an image of extents of 804 and 220 blocks in turn, one of 300 and 724, and one
                     of 16 to 2048
    shifted          an image, one behind 3 more blocks, one with blocks inserted at two places
    snapshots        an image and small files, with four read-only snapshots between which the
                     image is edited and a writable one that is edited too, and a copy of its last
                     state
    archives         files, an archive of them whose members begin at block bounds, an ordinary
                     one, and an ordinary one of an edition of them
    compressed       files written with zstd, a copy, and an edited copy
    trees            files, a copy, and an edited copy
    small            files of 1 to 16 KiB, two of three of them twice
    media            data that has no equal

Images are contents of files at block bounds, and as much noise; free areas in them are holes.
What stands for files is drawn from a tree of this machine, and where that ends, made.
"""

import hashlib
import io
import itertools
import os
import random
import subprocess
import tarfile

from corpus import SourceFiles, edit_file, write_file

BLOCK_BYTES = 4096
MIB = 1 << 20
HOLE_BYTES = 64 << 10
MAX_FILE_BYTES = 8 * MIB
MOST_MADE_BYTES = MIB
ARCHIVED_LEAST_BYTES = 16 << 10
SMALL_MEAN_BYTES = 9 << 10
SNAPSHOTS = 4
ONE_TIME = 1_600_000_000

SHARES = {
    "edited-in-place": 0.12,
    "edited-before": 0.14,
    "cut": 0.11,
    "shifted": 0.11,
    "snapshots": 0.16,
    "archives": 0.12,
    "compressed": 0.06,
    "trees": 0.11,
    "small": 0.04,
    "media": 0.03,
}


def btrfs(*words):
    """Run btrfs(8)."""
    subprocess.run(["btrfs", *words], check=True, stdout=subprocess.DEVNULL)


def write_cut(path, data, cuts=None):
    """Write @data to @path, areas of zeros as holes, each piece on disk before the next.

    @cuts yields the pieces' lengths in blocks; without it there is one piece.
    """
    os.makedirs(os.path.dirname(path), exist_ok=True)
    view, position = memoryview(data), 0
    with open(path, "wb", buffering=0) as target:
        while position < len(view):
            length = next(cuts) * BLOCK_BYTES if cuts else len(view)
            _write_data(target, view[position:position + length], position)
            os.fdatasync(target.fileno())
            position += length
        target.truncate(len(view))
        os.fsync(target.fileno())


def _write_data(target, view, position):
    """Write what is not zeros; neighbours by one call, so that they become one extent."""
    begin = None
    for start in range(0, len(view) + HOLE_BYTES, HOLE_BYTES):
        piece = bytes(view[start:start + HOLE_BYTES])
        if piece.count(0) != len(piece):
            begin = start if begin is None else begin
        elif begin is not None:
            os.pwrite(target.fileno(), view[begin:start], position + begin)
            begin = None


def overwrite(path, edits):
    """Write @edits, pairs of a block and its bytes, into a file that is there."""
    with open(path, "rb+", buffering=0) as target:
        for block, data in edits:
            os.pwrite(target.fileno(), data, block * BLOCK_BYTES)
        os.fsync(target.fileno())


def edited(image, edits):
    """A copy of @image with @edits in it."""
    copy = bytearray(image)
    for block, data in edits:
        copy[block * BLOCK_BYTES:block * BLOCK_BYTES + len(data)] = data
    return copy


def scattered(chance, image, rarity, most_blocks=8):
    """Edits of about one block of @image in @rarity, in stretches of 1 to @most_blocks blocks."""
    blocks = len(image) // BLOCK_BYTES
    found = []
    for _ in range(max(1, 2 * blocks // (rarity * (1 + most_blocks)))):
        length = chance.randint(1, most_blocks)
        first = chance.randrange(max(1, blocks - length))
        found.append((first, chance.randbytes(min(length, blocks) * BLOCK_BYTES)))
    return found


def lines(chance, size):
    """Text that compresses well, of @size bytes."""
    count = size // 40 + 1
    return "".join(f"{number:8} {chance.getrandbits(32):08x} request took {number % 97:8} ms ok\n"
                   for number in range(count)).encode()[:size] or b"."


class ExtentCorpus:
    """Writes one corpus to a mounted btrfs that is a LoopFilesystem.

    Files come from the tree @source; without one all are made, and so the same on every machine.
    """

    def __init__(self, filesystem, want_bytes, seed=1, source="/usr"):
        self.filesystem = filesystem
        self.want_bytes = want_bytes
        self.seed = seed
        self.source = SourceFiles(source, seed) if source else None
        self.position = 0
        self.known = set()

    def make(self):
        """Make all parts."""
        for part in SHARES:
            make = getattr(self, "_make_" + part.replace("-", "_"))
            make(self._path(part), self._random(part), int(SHARES[part] * self.want_bytes))
            subprocess.run(["sync", "-f", self.filesystem.mount_point], check=True)

    def _path(self, *names):
        return os.path.join(self.filesystem.mount_point, *names)

    def _random(self, *words):
        return random.Random("\0".join([str(self.seed), *words]))

    def _files(self, chance, want_bytes, least_bytes=1, make=None):
        """Names and contents that make up @want_bytes, none of which was given before.

        Where the source tree ends @make, or else noise, stands for files.
        """
        while want_bytes > 0:
            if self.source and self.position < len(self.source.entries):
                name, size = self.source.entries[self.position]
                self.position += 1
                if not least_bytes <= size <= MAX_FILE_BYTES:
                    continue
                data = self.source.read(name)
            else:
                name = f"made/{chance.getrandbits(64):016x}"
                size = int(least_bytes * (MOST_MADE_BYTES / least_bytes) ** chance.random())
                data = make(chance, size) if make else chance.randbytes(size)
            digest = hashlib.blake2b(data, digest_size=16).digest()
            if data and digest not in self.known:
                self.known.add(digest)
                want_bytes -= len(data)
                yield name, data

    def _image(self, chance, want_bytes):
        image = bytearray()
        for number, (_, data) in enumerate(self._files(chance, want_bytes // 2)):
            image += data + bytes(-len(data) % BLOCK_BYTES)
            image += chance.randbytes(-(-len(data) // BLOCK_BYTES) * BLOCK_BYTES)
            if number % 200 == 199:
                image += bytes(chance.randrange(16, 256) * BLOCK_BYTES)
        return image

    def _make_edited_in_place(self, path, chance, want_bytes):
        image = self._image(chance, want_bytes // 3)
        write_cut(f"{path}/original", image)
        for rarity in (200, 50):
            write_cut(f"{path}/edited-1-in-{rarity}", image)
            overwrite(f"{path}/edited-1-in-{rarity}", scattered(chance, image, rarity))

    def _make_edited_before(self, path, chance, want_bytes):
        image = self._image(chance, want_bytes // 4)
        write_cut(f"{path}/original", image)
        for rarity in (400, 100):
            write_cut(f"{path}/edited-1-in-{rarity}",
                      edited(image, scattered(chance, image, rarity)))
        areas = scattered(chance, image, 50, most_blocks=256)
        write_cut(f"{path}/edited-areas", edited(image, areas))

    def _make_cut(self, path, chance, want_bytes):
        image = self._image(chance, want_bytes // 3)
        for pieces in ((804, 220), (300, 724)):
            write_cut(f"{path}/cut-{pieces[0]}-{pieces[1]}", image, itertools.cycle(pieces))
        write_cut(f"{path}/cut-anywhere", image, iter(lambda: chance.randint(16, 2048), None))

    def _make_shifted(self, path, chance, want_bytes):
        image = self._image(chance, want_bytes // 3)
        write_cut(f"{path}/original", image)
        write_cut(f"{path}/front", chance.randbytes(3 * BLOCK_BYTES) + image)
        quarter = len(image) // BLOCK_BYTES // 4 * BLOCK_BYTES
        write_cut(f"{path}/middle",
                  image[:quarter] + chance.randbytes(5 * BLOCK_BYTES) +
                  image[quarter:3 * quarter] + chance.randbytes(2 * BLOCK_BYTES) +
                  image[3 * quarter:])

    def _make_snapshots(self, path, chance, want_bytes):
        image = self._image(chance, int(want_bytes * 0.42))
        os.mkdir(path)
        btrfs("subvolume", "create", f"{path}/current")
        write_cut(f"{path}/current/image", image)
        for number in range(int(want_bytes * 0.08) // SMALL_MEAN_BYTES):
            data = chance.randbytes(chance.randrange(4 << 10, 2 * SMALL_MEAN_BYTES - (4 << 10)))
            for edition in ("current", "copy"):
                write_file(f"{path}/{edition}/files/{number // 500}/{number}", data)
        for day in range(SNAPSHOTS):
            btrfs("subvolume", "snapshot", "-r", f"{path}/current", f"{path}/day-{day}")
            if day % 2 == 0:
                edits = scattered(chance, image, 100)
                overwrite(f"{path}/current/image", edits)
                image = edited(image, edits)
        btrfs("subvolume", "snapshot", f"{path}/current", f"{path}/other")
        overwrite(f"{path}/other/image", scattered(chance, image, 200))
        write_cut(f"{path}/copy/image", image)

    def _make_archives(self, path, chance, want_bytes):
        files = list(self._files(chance, want_bytes // 4, ARCHIVED_LEAST_BYTES))
        edition = [(name, edit_file(data, chance)) for name, data in files]
        for name, data in files:
            write_file(f"{path}/files/{name}", data)
        for name, members, is_aligned in (("aligned", files, True), ("ordinary", files, False),
                                          ("edition", edition, False)):
            write_cut(f"{path}/{name}.tar", self.archive(members, is_aligned))

    @staticmethod
    def archive(files, is_aligned):
        """A tar; @is_aligned pads headers, by comments, so that contents begin at block bounds."""
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
            for name, data in files:
                if data is None:
                    continue
                member = tarfile.TarInfo("backup/" + name[-90:])
                member.size, member.mtime = len(data), ONE_TIME
                if is_aligned:
                    # Two headers of 512 bytes, and a record between them of what is missing.
                    missing = -(archive.offset + 1024) % BLOCK_BYTES
                    while missing < 512:
                        missing += BLOCK_BYTES
                    member.pax_headers = {"comment": "." * (missing - 100)}
                archive.addfile(member, io.BytesIO(data))
        return buffer.getbuffer()

    def _make_compressed(self, path, chance, want_bytes):
        files = list(self._files(chance, want_bytes // 2, make=lines))
        self.filesystem.remount("compress-force=zstd")
        try:
            for name, data in files:
                for edition in ("original", "copy"):
                    write_file(f"{path}/{edition}/{name}", data)
                later = edit_file(data, chance)
                if later:
                    write_file(f"{path}/edited/{name}", later)
            subprocess.run(["sync", "-f", self.filesystem.mount_point], check=True)
        finally:
            self.filesystem.remount("compress=no")

    def _make_trees(self, path, chance, want_bytes):
        for name, data in self._files(chance, want_bytes // 3):
            for edition in ("original", "copy"):
                write_file(f"{path}/{edition}/{name}", data)
            later = edit_file(data, chance)
            if later:
                write_file(f"{path}/edited/{name}", later)

    def _make_small(self, path, chance, want_bytes):
        number = 0
        while want_bytes > 0:
            data = chance.randbytes(chance.randrange(1 << 10, 16 << 10))
            for edition in ("one", "other") if number % 3 else ("one",):
                want_bytes -= write_file(f"{path}/{edition}/{number // 500}/{number}", data)
            number += 1

    def _make_media(self, path, chance, want_bytes):
        for number in range(max(1, want_bytes // (8 * MIB))):
            write_cut(f"{path}/{number}", chance.randbytes(min(want_bytes, 8 * MIB)))
