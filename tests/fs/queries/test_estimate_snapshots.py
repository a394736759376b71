# SPDX-License-Identifier: GPL-2.0-or-later
"""dedupctl estimate beside snapshots: it looks at each piece of data once, and misses none."""

import json
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
# Times those without snapshots.
MOST_CALLS = 1.25


@pytest.fixture
def kind():
    return "btrfs"


def estimate(*words):
    # It runs with the lowest priority, which takes long where others are busy.
    done = harness.dedupctl("estimate", "--config=none", "--json", *words, timeout=300)
    (row,) = json.loads(done.stdout)["estimates"]
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
    for seed, name in enumerate(("cache/large", "large", "one.part")):
        write_extent(live / name, noise(10 + seed, MIB))
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
        (live / f"file-{number}").write_bytes(noise(number // 2, (1 + number // 2 % 7) * 4 * KIB))
    subvolume_histories.sync(live)


def take_snapshots(live):
    """After each of them another file is deleted, or changed."""
    for number in range(COUNT):
        subvolumes.snapshot(live, live.parent / f"kept-{number}")
        if number % 2:
            (live / f"file-{number}").unlink()
        else:
            content.overwrite(live / f"file-{number}", 0, noise(9000 + number, 4 * KIB))
    subvolume_histories.sync(live)


def count_calls(tree, counts):
    """Those of dedupctl itself; a dry run is made by dedupd."""
    subprocess.run(["strace", "-c", "-o", counts, harness.dedupctl_program(), "estimate", "--config=none",
                    "--json", tree], check=True, stdout=subprocess.DEVNULL)
    return int(re.search(r"^100\.00 +\S+ +\S+ +(\d+)", counts.read_text(), re.M)[1])


def measure(filesystem, tree):
    """The estimate, and what it and its dry run read from the device."""
    harness.settle(filesystem)
    filesystem.drop_caches()
    before = filesystem.read_bytes()
    row = estimate(tree)
    return row, filesystem.read_bytes() - before


@pytest.mark.alone
def test_snapshots_hardly_cost_anything(filesystem, tree):
    """Each file that changed is looked at once more, and each block of metadata is read once."""
    fill(tree / "live")
    alone, read = measure(filesystem, tree)
    metadata = harness.used_metadata_bytes(filesystem)
    take_snapshots(tree / "live")
    metadata = harness.used_metadata_bytes(filesystem) - metadata

    row, read_beside = measure(filesystem, tree)

    assert alone["files"] == FILES
    assert row["files"] == FILES - COUNT // 2 + COUNT
    assert read_beside - read < 1.25 * metadata + MIB
    check_figures(tree)


def test_snapshots_hardly_add_calls(tree, tmp_path):
    if not shutil.which("strace"):
        pytest.skip("there is no strace")
    fill(tree / "live")
    calls = count_calls(tree, tmp_path / "counts")
    take_snapshots(tree / "live")
    assert count_calls(tree, tmp_path / "counts") < MOST_CALLS * calls
