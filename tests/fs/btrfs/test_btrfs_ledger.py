# SPDX-License-Identifier: GPL-2.0-or-later
"""What a pass over a btrfs says that it did to space, beside what the filesystem counts."""

import contextlib
import json
import os
import pathlib
import sqlite3

import pytest

import content
import harness
from content import KIB, MIB, clone, noise, text, write
from subvolumes import btrfs, make_subvolume, snapshot

# Whether somebody wrote in a pass is seen by the clock.
pytestmark = pytest.mark.true_clock

SIZE = 16 * MIB


@pytest.fixture(params=["btrfs"])
def kind(request):
    return request.param


def check(dedupd, **options):
    """A checked pass whose ledger was held against the filesystem's count, and is exact."""
    run = harness.check_btrfs_pass(dedupd, **options)
    ledger = run.first.ledger
    assert ledger["checked"] and ledger["unchecked_reason"] is None, ledger
    assert ledger["drift_bytes"] == 0, ledger
    assert ledger["freed_bytes"] == run.freed_bytes
    assert ledger["compared_bytes"] == run.first.read["compare_bytes"]
    assert ledger["shared_bytes"] == run.first.shared["bytes"]
    # The second pass shares nothing, so there is nothing to check.
    assert not run.second.ledger["checked"]
    assert run.second.ledger["unchecked_reason"] is None
    return run


def test_what_is_claimed_is_what_the_filesystem_counts(tree, filesystem, dedupd):
    content.write_twins(tree, 8 * MIB)
    harness.settle(filesystem)
    metadata = harness.used_metadata_bytes(filesystem)

    run = check(dedupd)

    assert run.freed_bytes == 8 * MIB
    growth = harness.used_metadata_bytes(filesystem) - metadata
    assert run.first.ledger["metadata_delta_bytes"] == growth


def test_compressed_data_counts_as_it_lies_on_the_disk(compressing, make_dedupd):
    tree = pathlib.Path(compressing.mount_point)
    data = text(1, 4 * MIB)
    write(tree / "one", data)
    write(tree / "two", data)
    harness.settle(compressing)
    used = harness.used_data_bytes(compressing)

    run = check(make_dedupd(compressing))

    assert run.first.ledger["shared_bytes"] == len(data)
    assert run.freed_bytes == used // 2 < len(data) // 2


def test_what_snapshots_show_is_counted_once(tree, filesystem, dedupd):
    make_subvolume(tree / "sub")
    content.write_twins(tree / "sub", 2 * MIB)
    harness.settle(filesystem)
    for name in "abc":
        snapshot(tree / "sub", tree / name)

    run = check(dedupd, has_clones=True)

    assert run.freed_bytes == 2 * MIB
    assert run.first.ledger["shared_bytes"] == 4 * 2 * MIB


def test_what_is_pinned_is_in_the_ledger(tree, filesystem, dedupd):
    data = noise(1, 4 * MIB)
    write(tree / "one", data, piece=len(data))
    write(tree / "two", data[:-2 * MIB] + noise(2, 2 * MIB), piece=len(data))
    content.write_twins(tree, MIB, seed=3, names=("three", "four"))
    harness.settle(filesystem)

    run = check(dedupd)

    assert run.freed_bytes == MIB
    assert run.first.ledger["pinned_bytes"] == run.first.skip_of("pinned")["bytes"] > 0


def test_a_dry_run_counts_what_a_pass_would_pin(tree, filesystem, dedupd):
    """The store has none of these extents yet, and does not get them from a dry run."""
    data = noise(1, 4 * MIB)
    write(tree / "one", data, piece=len(data))
    write(tree / "two", data[:-2 * MIB] + noise(2, 2 * MIB), piece=len(data))
    harness.settle(filesystem)

    dry = [dedupd.run(find="checksums", dry_run=True) for _ in range(2)]
    run = dedupd.run(find="checksums")

    assert run.status == 0, run.stderr
    assert run.ledger["pinned_bytes"] == run.skip_of("pinned")["bytes"] > 0
    assert [one.ledger["pinned_bytes"] for one in dry] == [run.ledger["pinned_bytes"]] * 2


def start_sharing(dedupd):
    """Start a pass over twins of SIZE, so slow that others come to it, and wait until it shares."""
    # What is cached is not held back.
    dedupd.filesystem.forget_data()
    process = dedupd.start(find="checksums", limit_rate="16M")
    for line in iter(process.stderr.readline, b""):
        if b": sharing" in line:
            return process
    pytest.fail("it ended before it shared anything")


WRITERS = {
    "written": lambda tree: content.overwrite(tree / "other", 0, noise(6, 64 * KIB)),
    "added": lambda tree: write(tree / "new", noise(6, 64 * KIB)),
    "removed": lambda tree: (tree / "old").unlink(),
    "truncated": lambda tree: os.truncate(tree / "old", 4 * KIB),
    "cloned": lambda tree: clone(tree / "other", tree / "clone"),
}


@pytest.mark.parametrize("writer", WRITERS)
def test_where_others_write_meanwhile_nothing_is_checked(tree, filesystem, dedupd, writer):
    content.write_twins(tree, SIZE)
    write(tree / "other", noise(5, MIB))
    write(tree / "old", noise(100, 64 * KIB))
    harness.settle(filesystem)

    process = start_sharing(dedupd)
    WRITERS[writer](tree)
    run = dedupd.finish(process)

    assert run.status == 0, run.stderr
    assert run.freed_bytes == SIZE
    assert not run.ledger["checked"]
    assert run.ledger["unchecked_reason"] == "others wrote to it meanwhile"
    assert run.ledger["drift_bytes"] == 0


def test_another_subvolume_is_looked_at_too(tree, filesystem, dedupd):
    make_subvolume(tree / "sub")
    make_subvolume(tree / "sub/inner")
    content.write_twins(tree, SIZE)
    harness.settle(filesystem)

    process = start_sharing(dedupd)
    write(tree / "sub/inner/new", noise(5, MIB))
    run = dedupd.finish(process)

    assert run.freed_bytes == SIZE
    assert run.ledger["unchecked_reason"] == "others wrote to it meanwhile"


def test_reading_and_sharing_are_no_writing(tree, filesystem, dedupd):
    """Who only reads changes no more than times of access."""
    one, _ = content.write_twins(tree, SIZE)
    os.utime(one, (1, 1))
    harness.settle(filesystem)
    filesystem.remount("strictatime")

    process = start_sharing(dedupd)
    one.read_bytes()
    run = dedupd.finish(process)

    assert run.freed_bytes == SIZE
    assert run.ledger["checked"], run.ledger


def test_a_store_on_the_filesystem_leaves_nothing_to_check(tree, filesystem, dedupd):
    content.write_twins(tree, 4 * MIB)
    (tree / "state").mkdir(mode=0o700)
    harness.settle(filesystem)

    run = dedupd.run(find="checksums", state_dir=tree / "state")

    assert run.status == 0, run.stderr
    assert run.freed_bytes == 4 * MIB
    assert run.ledger["unchecked_reason"] == "the store lies on it"


def test_a_subvolume_that_is_being_given_back_leaves_nothing_to_check(tree, filesystem, dedupd):
    content.write_twins(tree, SIZE)
    make_subvolume(tree / "sub")
    write(tree / "sub" / "file", noise(3, 8 * MIB))
    harness.settle(filesystem)
    # An open file keeps it.
    with open(tree / "sub" / "file", "rb"):
        btrfs("subvolume", "delete", tree / "sub")
        harness.settle(filesystem)

        run = dedupd.run(find="checksums")

    assert run.status == 0, run.stderr
    assert run.freed_bytes == SIZE
    assert not run.ledger["checked"]
    assert run.ledger["unchecked_reason"] == "a deleted subvolume is being given back"


def test_what_was_miscounted_is_told_as_drift(tree, filesystem, dedupd):
    """The last close of a file that is gone gives space back and leaves no trace."""
    content.write_twins(tree, SIZE)
    gone = os.open(write(tree / "gone", noise(3, MIB)), os.O_RDONLY)
    (tree / "gone").unlink()
    harness.settle(filesystem)

    process = start_sharing(dedupd)
    os.close(gone)
    run = dedupd.finish(process)

    assert run.freed_bytes == SIZE
    assert run.ledger["checked"]
    assert run.ledger["drift_bytes"] == MIB
    with contextlib.closing(sqlite3.connect(dedupd.store_path)) as database:
        assert database.execute("SELECT is_checked, drift_bytes, freed_bytes FROM pass").fetchall() \
            == [(1, MIB, SIZE)]


def test_people_see_the_figures_side_by_side(tree, filesystem, dedupd):
    content.write_twins(tree, 8 * MIB)
    harness.settle(filesystem)

    run = dedupd.run(find="checksums", json=False)

    lines = run.stdout.splitlines()
    [at] = [i for i, line in enumerate(lines) if line.startswith("  ledger")]
    words = dict(zip(lines[at].split()[1:], [" ".join(pair) for pair in zip(
        lines[at + 1].split()[0::2], lines[at + 1].split()[1::2])]))
    assert words.pop("metadata")
    assert words == {"compared": "16 MiB", "shared": "8 MiB", "freed": "8 MiB", "pinned": "0 B",
                     "rewritten": "0 B", "drift": "0 B"}
    with contextlib.suppress(json.JSONDecodeError):
        assert not json.loads(run.stdout)
