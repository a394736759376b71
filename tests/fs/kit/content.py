# SPDX-License-Identifier: GPL-2.0-or-later
"""Test data, the same in every run, and ways to lay it out on the disk."""

import contextlib
import functools
import os
import pathlib
import random
import subprocess

import ioctls

KIB = 1 << 10
MIB = 1 << 20
BLOCK = 4 * KIB
POOL_BYTES = MIB


@functools.cache
def _pool():
    return random.Random("pool").randbytes(POOL_BYTES)


def noise(seed, size):
    """Bytes that neither repeat nor compress.

    Each MiB is the same pool with its byte values exchanged, which takes a third of the time of new bytes.
    """
    values = random.Random(seed)
    return b"".join(_pool()[:size - at].translate(_other_values(values)) for at in range(0, size, POOL_BYTES))


def _other_values(values):
    """A value for each byte value, all of them different.  It takes a tenth of the time of random.sample()."""
    return bytes(sorted(range(256), key=values.randbytes(256).__getitem__))


def text(seed, size):
    """Bytes that compress well, yet whose blocks all differ."""
    line = f"{seed:>10} ".encode()
    lines = (line + f"{number:>20}\n".encode() * 3 for number in range(size // 64 + 1))
    return b"".join(lines)[:size]


def write(path, data, piece=None, order=None):
    """Write a file; with @piece in pieces of that size, each on disk before the next is written.

    @order, a random.Random, shuffles the pieces.  Pieces make extents of their own.
    """
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    try:
        offsets = list(range(0, len(data), piece or max(len(data), 1)))
        if order:
            order.shuffle(offsets)
        for offset in offsets:
            part = data[offset:offset + piece] if piece else data
            os.pwrite(fd, part, offset)
            if piece:
                os.fdatasync(fd)
    finally:
        os.close(fd)
    return path


def write_extent(path, data):
    """A file whose data is on the disk, uncompressed data in one extent of its own."""
    for _ in range(30):
        write(path, data, piece=len(data))
        with open(path, "rb") as file:
            extents = ioctls.extents(file.fileno())
        # A busy machine may write out the first of it before the rest is there.
        if len(extents) <= 1 or extents[0].flags & ioctls.EXTENT_ENCODED:
            return path
    raise AssertionError(f"{path} comes to lie in several extents")


def write_no_cow(path, data):
    """A file of a btrfs that is overwritten in place, and so has no checksums."""
    path.touch()
    ioctls.add_flags(path, ioctls.FS_NO_COW)
    overwrite(path, 0, data)
    return path


def clone(path, name):
    """A file that shares all its data with another."""
    subprocess.run(["cp", "--reflink=always", path, name], check=True)
    return name


def write_sparse(path, size, pieces):
    """A file of @size bytes with holes around @pieces, which maps offsets to data."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    try:
        os.ftruncate(fd, size)
        for offset, data in pieces.items():
            os.pwrite(fd, data, offset)
    finally:
        os.close(fd)
    return path


def overwrite(path, offset, data):
    fd = os.open(path, os.O_WRONLY)
    try:
        os.pwrite(fd, data, offset)
    finally:
        os.close(fd)


def preallocate(path, offset, length):
    """Reserve space that reads as zeros."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
    try:
        os.posix_fallocate(fd, offset, length)
    finally:
        os.close(fd)
    return path


def write_deep(tree, name, data):
    """Write a file whose path is longer than PATH_MAX."""
    above = os.open(tree, os.O_RDONLY | os.O_DIRECTORY)
    for _ in range(20):
        with contextlib.suppress(FileExistsError):
            os.mkdir("d" * 250, dir_fd=above)
        below = os.open("d" * 250, os.O_RDONLY | os.O_DIRECTORY, dir_fd=above)
        os.close(above)
        above = below
    with open(os.open(name, os.O_WRONLY | os.O_CREAT, dir_fd=above), "wb") as file:
        file.write(data)
        os.fsync(file.fileno())
    os.close(above)


def write_twins(directory, size, seed=1, names=("one", "two")):
    """Equal files that share nothing yet."""
    data = noise(seed, size)
    return [write(directory / name, data) for name in names]


def cache_pages(path, every_other_mib=False):
    """Have a file in the page cache, without what the kernel would read ahead."""
    with open(path, "rb") as file:
        fd = file.fileno()
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
        for offset in range(0, os.fstat(fd).st_size, (1 + every_other_mib) * MIB):
            os.pread(fd, MIB, offset)


def forget_pages(tree):
    """Put all files out of the page cache."""
    for path in pathlib.Path(tree).rglob("*"):
        if path.is_file():
            with open(path, "rb") as file:
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
