# SPDX-License-Identifier: GPL-2.0-or-later
"""dedupctl estimate beside snapshots: it looks at each piece of data once, and misses none."""

import json
import pathlib
import random
import re
import shutil
import subprocess

import pytest

import content
import harness
import ioctls
import subvolume_histories
import subvolumes
from content import BLOCK, KIB, MIB, noise, write_extent

COUNT = 60
FILES = 600
# Of the calls, and the reads, of an estimate without snapshots.
MOST = 1.5


@pytest.fixture
def kind():
    return "btrfs"


def estimate(*words):
    (row,) = json.loads(harness.dedupctl("estimate", "--config=none", "--json", *words).stdout)["estimates"]
    return row


def blocks_of(tree):
    """{address: content} of each block that a file shows, whatever its subvolume."""
    found = {}
    for path in tree.rglob("*"):
        if not path.is_file() or path.is_symlink():
            continue
        with open(path, "rb") as file:
            for extent in ioctls.extents(file.fileno()):
                if not extent.is_data:
                    continue
                file.seek(extent.logical)
                data = file.read(extent.length)
                for at in range(0, len(data), BLOCK):
                    found[extent.physical + at] = data[at:at + BLOCK].ljust(BLOCK, b"\0")
    return found


def check_figures(tree, *words):
    blocks = blocks_of(tree)
    row = estimate(tree, *words)
    assert row["unreadable"] == 0
    assert row["data_bytes"] == len(blocks) * BLOCK
    freed = {point["block_bytes"]: point["bytes"] for point in row["blocks"]}[BLOCK]
    assert freed == (len(blocks) - len(set(blocks.values()))) * BLOCK
    return row


def set_read_only(subvolume, value=True):
    subvolumes.btrfs("property", "set", "-f", subvolume, "ro", "true" if value else "false")


@pytest.mark.parametrize("seed", harness.seeds(1))
@pytest.mark.parametrize("history", sorted(subvolume_histories.ALL))
def test_every_block_counts_once_whatever_the_snapshots_are_of(tree, history, seed):
    """As they were made; and again when any of them were made read-only, or writable, and changed."""
    chance = random.Random(seed)
    subvolume_histories.ALL[history](tree, chance)
    content.write_twins(tree, 64 * KIB, names=("twin-1", "twin-2"))
    subvolume_histories.sync(tree)
    check_figures(tree)

    ways = sorted(path for path in tree.rglob("*") if path.is_dir() and path.stat().st_ino == 256)
    for number, way in enumerate(ways):
        if chance.randrange(3) > 0:
            set_read_only(way, False)
            write_extent(way / f"file-later-{number}", noise(number, 32 * KIB))
            subvolume_histories.churn(way, chance, count=5)
        set_read_only(way, chance.randrange(3) > 0)
    subvolume_histories.sync(tree)
    check_figures(tree)


def test_what_only_snapshots_show_is_seen(tree):
    live = subvolumes.make_subvolume(tree / "live")
    write_extent(live / "kept", noise(1, MIB))
    write_extent(live / "gone", noise(1, MIB))
    write_extent(live / "changed", noise(2, MIB))
    write_extent(live / "twin", noise(2, MIB))
    subvolumes.snapshot(live, tree / "first")
    (live / "gone").unlink()
    content.overwrite(live / "changed", 0, noise(3, 256 * KIB))
    # What one snapshot alone shows.
    write_extent(live / "passing", noise(3, 256 * KIB))
    subvolumes.snapshot(live, tree / "second")
    (live / "passing").unlink()
    content.overwrite(live / "changed", 0, noise(4, 64 * KIB))
    subvolumes.snapshot(live, tree / "third")
    content.overwrite(live / "changed", 0, noise(5, 256 * KIB))
    subvolume_histories.sync(tree)

    row = check_figures(tree)
    # "gone" equals "kept"; of "changed", which was equal to "twin", the subvolume still shows a part.
    assert row["identical_bytes"] == MIB
    assert row["data_bytes"] == 4 * MIB + 3 * 256 * KIB + 64 * KIB
    # Each version that has data of its own is looked at, and no other.
    assert row["files"] == 3 + 2 + 2 + 1


def test_files_of_snapshots_are_left_out_as_others_are(tree):
    live = subvolumes.make_subvolume(tree / "live")
    (live / "cache").mkdir()
    for name in ("cache/large", "large", "one.part"):
        write_extent(live / name, noise(hash(name) % 1000, MIB))
    write_extent(live / "small", noise(2, 16 * KIB))
    for number in range(3):
        subvolumes.snapshot(live, tree / f"kept-{number}")
    for name in ("cache/large", "large", "one.part", "small"):
        (live / name).unlink()
    subvolume_histories.sync(tree)
    assert estimate(tree)["data_bytes"] == 3 * MIB + 16 * KIB
    row = estimate(tree, "--exclude=cache", "--exclude=*.part", "--min-size=64K")
    assert (row["files"], row["data_bytes"]) == (1, MIB)
    assert row["left_out"] >= 3
    # What is in an excluded snapshot counts where another one shows it.
    assert estimate(tree, "--exclude=kept-0")["data_bytes"] == 3 * MIB + 16 * KIB
    assert estimate(tree, "--exclude=kept-*")["data_bytes"] == 0
    assert estimate(tree / "kept-1")["data_bytes"] == 3 * MIB + 16 * KIB
    assert estimate(tree / "kept-1" / "cache")["data_bytes"] == MIB


def fill(live):
    subvolumes.make_subvolume(live)
    for number in range(FILES):
        directory = live / f"directory-{number % 20}"
        directory.mkdir(exist_ok=True)
        content.write(directory / f"file-{number}", noise(number // 2, 4 * KIB + number % 7 * 4 * KIB))


def take_snapshots(live):
    """Of which each lacks a file that the one before has, and has another changed."""
    for number in range(COUNT):
        subvolumes.snapshot(live, live.parent / f"kept-{number}")
        names = live / "directory-0"
        if number % 2:
            content.overwrite(names / f"file-{number // 2 * 20 + 100}" if (names / f"file-{number // 2 * 20 + 100}").exists()
                              else live / "directory-1" / "file-1", 0, noise(9000 + number, 4 * KIB))
        elif (names / f"file-{number * 10}").exists():
            (names / f"file-{number * 10}").unlink()
    subvolume_histories.sync(live.parent)


def calls_of_estimate(tree, counts):
    """Openings, reads and ioctls of dedupctl itself; a dry run is made by dedupd."""
    subprocess.run(["strace", "-c", "-e", "trace=openat,open_by_handle_at,ioctl,pread64,read,getdents64",
                    "-o", counts, harness.dedupctl_program(), "estimate", "--config=none", "--json", tree],
                   check=True, stdout=subprocess.DEVNULL)
    return int(re.search(r"^100\.00 +\S+ +\S+ +(\d+)", counts.read_text(), re.M)[1])


def read_by_estimate(filesystem, tree):
    harness.settle(filesystem)
    filesystem.drop_caches()
    before = filesystem.read_bytes()
    row = estimate(tree)
    return filesystem.read_bytes() - before, row


def test_snapshots_hardly_cost_anything(filesystem, tree, tmp_path):
    if not shutil.which("strace"):
        pytest.skip("there is no strace")
    fill(tree / "live")
    subvolume_histories.sync(tree)
    read, alone = read_by_estimate(filesystem, tree)
    calls = calls_of_estimate(tree, tmp_path / "counts")
    take_snapshots(tree / "live")

    more_read, row = read_by_estimate(filesystem, tree)

    assert alone["files"] == FILES
    assert FILES < row["files"] < FILES + 2 * COUNT
    assert calls_of_estimate(tree, tmp_path / "counts") < MOST * calls
    print(read, more_read)
    check_figures(tree)
