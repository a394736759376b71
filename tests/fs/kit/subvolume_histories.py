# SPDX-License-Identifier: GPL-2.0-or-later
"""Ways in which subvolumes of a btrfs come to share data and blocks of trees.

Each history is a function that works on a tree, with a random.Random of its own; what it leaves are subvolumes
anywhere in the tree.  Extents are of 16 KiB and more, so that what deleting them takes from the trees of extents and
checksums is little.
"""

import os
import subprocess

import content
import ioctls
import subvolumes
from content import KIB

FILES = 300


def fill(directory, random, count=FILES, prefix="file"):
    for number in range(count):
        content.write(directory / f"{prefix}-{number}", random.randbytes(random.choice([16, 16, 32, 64]) * KIB))


def sync(tree):
    subvolumes.btrfs("filesystem", "sync", tree)


def churn(directory, random, count=30):
    """Overwrite files and parts of them, delete some, and write new ones."""
    names = sorted(name for name in os.listdir(directory) if name.startswith("file"))
    for name in random.sample(names, min(count, len(names))):
        path = directory / name
        act = random.randrange(4)
        if act == 0:
            path.unlink()
        elif act == 1:
            content.write(path, random.randbytes(32 * KIB))
        elif act == 2:
            content.overwrite(path, 4 * KIB, random.randbytes(4 * KIB))
        else:
            content.write(directory / f"{name}-more", random.randbytes(48 * KIB))


def plain(tree, random):
    """A subvolume that changes, and snapshots of it."""
    live = subvolumes.make_subvolume(tree / "live")
    fill(live, random)
    for number in range(6):
        subvolumes.snapshot(live, tree / f"snapshot-{number}")
        churn(live, random)


def rotating(tree, random):
    """The same, and some are gone again."""
    plain(tree, random)
    subvolumes.delete_subvolumes(tree, "snapshot-0", "snapshot-3")
    churn(tree / "live", random)
    subvolumes.snapshot(tree / "live", tree / "snapshot-6")


def clones(tree, random):
    """Writable snapshots, snapshots of these, and all of them change."""
    ways = [subvolumes.make_subvolume(tree / "live")]
    fill(ways[0], random)
    for number in range(8):
        ways.append(subvolumes.snapshot(random.choice(ways), tree / f"clone-{number}", read_only=False))
        for way in random.sample(ways, min(3, len(ways))):
            churn(way, random, count=20)
        sync(tree)


def nested(tree, random):
    """Subvolumes in subvolumes, of which snapshots show empty directories."""
    outer = subvolumes.make_subvolume(tree / "outer")
    inner = subvolumes.make_subvolume(outer / "inner")
    fill(outer, random, 150)
    fill(inner, random, 150)
    subvolumes.snapshot(outer, tree / "of-outer")
    subvolumes.snapshot(inner, outer / "of-inner")
    churn(outer, random)
    churn(inner, random)


def reflinks(tree, random):
    """Subvolumes that share data by cloned files, whole and in part, and with the top level."""
    one = subvolumes.make_subvolume(tree / "one")
    other = subvolumes.make_subvolume(tree / "other")
    fill(one, random, 200)
    sync(tree)
    for number in range(0, 60):
        content.clone(one / f"file-{number}", other / f"clone-{number}")
    for number in range(40, 50):
        content.clone(one / f"file-{number}", tree / f"clone-{number}")
    with open(one / "file-100", "rb") as source, open(other / "parts", "w+b") as target:
        for piece in range(8):
            # A file that begins with the middle of an extent.
            ioctls.clone_range(source.fileno(), 8 * KIB, 4 * KIB, target.fileno(), piece * 8 * KIB)
    subvolumes.snapshot(one, tree / "of-one")
    subvolumes.snapshot(other, tree / "of-other")
    churn(one, random)


def images(tree, random, piece=16 * KIB):
    """Large extents that are overwritten in place, so that many leaves show pieces of each."""
    live = subvolumes.make_subvolume(tree / "live")
    image = content.write_extent(live / "image", random.randbytes(1536 * piece))
    content.clone(image, live / "copy")
    for number in range(4):
        subvolumes.snapshot(live, tree / f"snapshot-{number}")
        for name in ("image", "copy"):
            with open(live / name, "r+b") as file:
                for block in random.sample(range(1536), 300):
                    os.pwrite(file.fileno(), random.randbytes(piece), block * piece)
                    if block % 3 == 0:
                        os.fdatasync(file.fileno())
    churn_clone = subvolumes.snapshot(tree / "snapshot-1", tree / "clone", read_only=False)
    content.overwrite(churn_clone / "image", 64 * KIB, random.randbytes(512 * KIB))


def tiny_pieces(tree, random):
    """The same in blocks, of which each costs the trees of extents and checksums as much as a large extent."""
    images(tree, random, piece=4 * KIB)


def relocated(tree, random):
    """Blocks that a balance moved: they refer to others by their own addresses."""
    clones(tree, random)
    sync(tree)
    subvolumes.btrfs("balance", "start", "-m", tree)
    for name in ("live", "clone-2"):
        churn(tree / name, random, count=20)
    sync(tree)
    subvolumes.btrfs("balance", "start", "--full-balance", tree)
    churn(tree / "clone-1", random, count=20)
    subvolumes.snapshot(tree / "clone-1", tree / "last")


def received(tree, random):
    """What 'btrfs receive' makes of snapshots, one after another."""
    live = subvolumes.make_subvolume(tree / "live")
    target = subvolumes.make_subvolume(tree / "target")
    fill(live, random, 150)
    before = []
    for number in range(4):
        snapshot = subvolumes.snapshot(live, tree / f"snapshot-{number}")
        sync(tree)
        stream = subprocess.run(["btrfs", "send", "-q", *before, str(snapshot)], check=True, stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL).stdout
        subprocess.run(["btrfs", "receive", "-q", str(target)], check=True, input=stream, stderr=subprocess.DEVNULL)
        before = ["-p", str(snapshot)]
        churn(live, random)


def tiny(tree, random):
    """Trees of one leaf."""
    live = subvolumes.make_subvolume(tree / "live")
    for number in range(3):
        content.write_extent(live / f"file-{number}", random.randbytes(256 * KIB))
        subvolumes.snapshot(live, tree / f"snapshot-{number}")
    content.write_extent(live / "file-0", random.randbytes(64 * KIB))
    subvolumes.make_subvolume(tree / "empty")


ALL = {history.__name__: history for history in (
    plain, rotating, clones, nested, reflinks, images, tiny_pieces, relocated, received, tiny)}
