# SPDX-License-Identifier: GPL-2.0-or-later
"""Data of all kinds that a pass meets, another one for each seed."""

import os
import random
import subprocess

import content
import subvolumes
from content import BLOCK, KIB, MIB


def fresh_seed():
    """Another one in each run; DEDUPD_SEED repeats one."""
    return int(os.environ.get("DEDUPD_SEED", random.SystemRandom().randrange(1 << 32)))


def edit(chance, data, n):
    """@data with @n stretches of 1 to 8 blocks that are others."""
    edited = bytearray(data)
    for _ in range(n):
        length = chance.randrange(1, 9) * BLOCK
        at = chance.randrange(0, (len(data) - length) // BLOCK) * BLOCK
        edited[at:at + length] = chance.randbytes(length)
    return bytes(edited)


def write_images(tree, chance):
    """Copies of one image that were edited, as a whole and in place, and clones of some."""
    image = chance.randbytes(chance.randrange(4, 9) * MIB)
    content.write(tree / "image", image)
    for number in range(3):
        content.write(tree / f"image-{number}", edit(chance, image, chance.randrange(1, 60)))
    content.clone(tree / "image-0", tree / "image-clone")
    fd = os.open(tree / "image-clone", os.O_WRONLY)
    for _ in range(20):
        os.pwrite(fd, chance.randbytes(BLOCK), chance.randrange(len(image) // BLOCK) * BLOCK)
    os.close(fd)


def write_archives(tree, chance):
    """Archives of files of which some are others, so that what follows is shifted by whole blocks."""
    parts = [chance.randbytes(chance.randrange(1, 60) * BLOCK) for _ in range(60)]
    for number in range(3):
        kept = [part if chance.random() > 0.1 else chance.randbytes(chance.randrange(1, 60) * BLOCK)
                for part in parts]
        content.write(tree / f"archive-{number}", b"".join(kept))


def write_small(tree, chance):
    bodies = [chance.randbytes(chance.randrange(3000, 200 * KIB)) for _ in range(40)]
    for number in range(120):
        content.write(tree / f"small-{number}", chance.choice(bodies))


def write_text(tree, chance):
    """What compresses, in several copies of which one is shifted."""
    data = content.text(chance.randrange(1000), chance.randrange(1, 4) * MIB)
    for number in range(3):
        content.write(tree / f"text-{number}", data)
    content.write(tree / "text-shifted", chance.randbytes(4 * BLOCK) + data)
    content.write(tree / "text-edited", edit(chance, data, 3))


def write_mixture(tree, seed):
    """Fill the directory; what was written is on the disk then."""
    chance = random.Random(seed)
    for part in (write_images, write_archives, write_small, write_text):
        part(tree, chance)
    content.write(tree / "zeros", chance.randbytes(64 * KIB) + bytes(MIB) + chance.randbytes(64 * KIB))
    for number in range(4):
        content.clone(tree / f"archive-{number % 3}", tree / f"clone-{number}")
    subprocess.run(["sync", "-f", tree], check=True)


def write_with_snapshots(tree, seed, count=6):
    """A subvolume with the mixture, edited after each of @count read-only snapshots."""
    chance = random.Random(seed)
    live = tree / "live"
    subvolumes.make_subvolume(live)
    write_mixture(live, seed)
    for number in range(count):
        subvolumes.snapshot(live, tree / f"snapshot-{number}")
        size = (live / "image").stat().st_size // BLOCK
        for _ in range(10):
            content.overwrite(live / "image", chance.randrange(size) * BLOCK, chance.randbytes(BLOCK))
        content.write_twins(live, chance.randrange(1, 64) * 4 * KIB, seed=chance.randrange(1 << 30),
                            names=(f"new-{number}", f"new-twin-{number}"))
    subprocess.run(["sync", "-f", tree], check=True)
