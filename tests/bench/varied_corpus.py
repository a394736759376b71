# SPDX-License-Identifier: GPL-2.0-or-later
"""Kinds of data that people keep, each in a shape of its own, made up from a seed.

Every kind is a function of a directory, a source of chance and about how many bytes to write.  Nothing
is taken from the machine, so a seed gives the same bytes everywhere.
"""

import io
import os
import tarfile

BLOCK = 4096
KIB, MIB = 1 << 10, 1 << 20


def write(directory, name, data):
    """A file of @data below @directory, with the directories that it needs."""
    path = os.path.join(directory, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)
    return path


def blocks(chance, count):
    """Bytes of @count blocks that are nowhere else."""
    return chance.randbytes(count * BLOCK)


def tree(chance, total_bytes, most_bytes=512 * KIB):
    """Name -> content of files of all sizes up to @most_bytes, small ones far more often."""
    files = {}
    while total_bytes > 0:
        size = min(int(100 * (most_bytes / 100) ** chance.random()), total_bytes)
        files[f"{chance.randrange(40)}/{len(files)}"] = chance.randbytes(size)
        total_bytes -= size
    return files


def write_tree(directory, files):
    """All of @files below @directory."""
    for name, data in files.items():
        write(directory, name, data)


def edition(chance, files, share):
    """@files, of which @share have other contents, as long as before."""
    return {name: chance.randbytes(len(data)) if chance.random() < share else data
            for name, data in files.items()}


def layers(root, chance, total_bytes):
    """Images of containers, unpacked: each has most files of the one before."""
    files = tree(chance, total_bytes // 5)
    for number in range(5):
        write_tree(f"{root}/layer-{number}", files)
        files = edition(chance, files, 0.15)


def logs(root, chance, total_bytes):
    """Logs of several hosts, of which each day's backup has all lines until then."""
    hosts, days = 4, 6
    step = total_bytes // hosts // (days * (days + 1) // 2)
    for host in range(hosts):
        log = b""
        for day in range(days):
            log += chance.randbytes(step + chance.randrange(BLOCK))
            write(root, f"day-{day}/host-{host}.log", log)


def dumps(root, chance, total_bytes):
    """Dumps of a database: the next one lacks some lines and has new ones, so all behind is moved."""
    lines = [chance.randbytes(chance.randrange(40, 400)) for _ in range(total_bytes // 4 // 220)]
    for day in range(4):
        write(root, f"dump-{day}.sql", b"".join(lines))
        for _ in range(4):
            lines.insert(chance.randrange(len(lines)), chance.randbytes(chance.randrange(40, 400)))
        del lines[chance.randrange(len(lines))]


def archives(root, chance, total_bytes):
    """A tree, and archives of it and of its next edition, in which files begin at 512 bytes."""
    files = tree(chance, total_bytes // 4, 4 * MIB)
    write_tree(f"{root}/tree", files)
    for number in range(3):
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w") as tar:
            for name, data in files.items():
                member = tarfile.TarInfo(name)
                member.size = len(data)
                tar.addfile(member, io.BytesIO(data))
        write(root, f"{number}.tar", archive.getvalue())
        files = edition(chance, files, 0.05)


def pages(root, chance, total_bytes):
    """Copies of a database file of 8 KiB pages, of which some were written later."""
    size = total_bytes // 5 // (2 * BLOCK) * 2 * BLOCK
    data = bytearray(chance.randbytes(size))
    for number, share in enumerate((0, 0.001, 0.01, 0.05, 0.2)):
        for _ in range(int(size // (2 * BLOCK) * share)):
            at = chance.randrange(size // (2 * BLOCK)) * 2 * BLOCK
            data[at:at + 2 * BLOCK] = blocks(chance, 2)
        write(root, f"backup-{number}.db", data)


def runs(root, chance, total_bytes, longest=64):
    """Two files that have runs of 1 to @longest blocks in common, in another order, between others."""
    files = [bytearray(), bytearray()]
    while sum(map(len, files)) < total_bytes:
        common = [blocks(chance, chance.randrange(1, longest + 1)) for _ in range(32)]
        for data in files:
            for run in chance.sample(common, len(common)):
                data += run + blocks(chance, chance.randrange(1, 17))
    for number, data in enumerate(files):
        write(root, f"{number}.bin", data)


def short_runs(root, chance, total_bytes):
    """The same, with runs of 1 to 8 blocks."""
    runs(root, chance, total_bytes, 8)


def repeats(root, chance, total_bytes):
    """Files that repeat themselves: a block, a stretch, zeros, and a pattern."""
    stretch, block = blocks(chance, 300), blocks(chance, 1)
    number = 0
    while total_bytes > 0:
        parts = [stretch, block * 64, bytes(64 * BLOCK), b"\xff" * (96 * BLOCK), blocks(chance, 100)]
        data = b"".join(chance.choice(parts) for _ in range(24))
        write(root, f"{number}.bin", data)
        total_bytes -= len(data)
        number += 1


def inside(root, chance, total_bytes):
    """Images that each hold several editions of one thing, which no other file has."""
    for number in range(3):
        things = [blocks(chance, chance.randrange(8, 120)) for _ in range(total_bytes // 15 // (64 * BLOCK))]
        with open(f"{root}/{number}.img", "wb") as image:
            for _ in range(5):
                for data in things:
                    image.write(data if chance.random() < 0.9 else blocks(chance, len(data) // BLOCK))


def cuts(root, chance, total_bytes):
    """Films: the original, its parts, and joined parts, all cut at blocks."""
    film = blocks(chance, total_bytes // 4 // BLOCK)
    third = len(film) // BLOCK // 3 * BLOCK
    write(root, "film.mov", film)
    write(root, "begin-cut.mov", film[17 * BLOCK:])
    write(root, "first.mov", film[:third])
    write(root, "middle.mov", film[third:2 * third])
    write(root, "joined.mov", film[2 * third:] + blocks(chance, 5) + film[:third])
    write(root, "without-middle.mov", film[:third] + film[2 * third:])


def mail(root, chance, total_bytes):
    """Small files, of which a third are in several folders, and some with one attachment."""
    attachments = [chance.randbytes(chance.randrange(20 * KIB, 400 * KIB)) for _ in range(12)]
    number = 0
    while total_bytes > 0:
        body = chance.randbytes(chance.randrange(500, 30 * KIB))
        if chance.random() < 0.1:
            body = body[:len(body) // BLOCK * BLOCK] + chance.choice(attachments)
        for _ in range(1 if chance.random() < 0.67 else chance.randrange(2, 5)):
            write(root, f"{chance.randrange(30)}/cur/{number}", body)
            total_bytes -= len(body)
            number += 1


def sparse(root, chance, total_bytes):
    """Images with islands of data between holes, copied with holes of other sizes."""
    island = [blocks(chance, chance.randrange(1, 200)) for _ in range(total_bytes // 4 // (100 * BLOCK))]
    for number in range(4):
        with open(f"{root}/{number}.img", "wb") as image:
            for data in island:
                image.seek(chance.randrange(1, 300) * BLOCK, os.SEEK_CUR)
                image.write(data)


def edited(root, chance, total_bytes):
    """Copies that were written out, and then changed in place by writes of any length."""
    original = chance.randbytes(total_bytes // 4)
    for number, writes in enumerate((0, 5, 50, 500)):
        path = write(root, f"{number}.bin", original)
        fd = os.open(path, os.O_WRONLY)
        os.fsync(fd)
        for _ in range(writes):
            data = chance.randbytes(chance.randrange(1, 64 * KIB))
            os.pwrite(fd, data, chance.randrange(len(original) - len(data)))
        os.fsync(fd)
        os.close(fd)


def fragmented(root, chance, total_bytes):
    """Disk images that guests wrote in small pieces, flushed now and then, and copies of them in one piece."""
    size_bytes = total_bytes // 4 // MIB * MIB
    for piece_bytes in (8 * KIB, 32 * KIB):
        data = chance.randbytes(size_bytes)
        write(root, f"{piece_bytes}.copy", data)
        with open(os.path.join(root, f"{piece_bytes}.image"), "wb", buffering=0) as image:
            image.truncate(size_bytes)
            places = range(0, size_bytes, piece_bytes)
            for number, place in enumerate(chance.sample(places, len(places))):
                os.pwrite(image.fileno(), data[place:place + piece_bytes], place)
                if number % 64 == 63:
                    os.fdatasync(image.fileno())


KINDS = {kind.__name__.replace("_", "-"): kind
         for kind in (layers, logs, dumps, archives, pages, runs, short_runs, repeats, inside, cuts, mail, sparse, edited,
                      fragmented)}
