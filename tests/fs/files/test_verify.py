# SPDX-License-Identifier: GPL-2.0-or-later
"""dedupctl verify: what a store says of files and extents, held against them."""

import pathlib
import sqlite3
import subprocess
import time

import pytest

import content
import harness
import ioctls

MIB = 1 << 20


@pytest.fixture
def verify(dedupd):
    """Run it over everything, unless told otherwise, and give the only row."""
    def verify(*arguments, status=0, sample="100%"):
        (row,) = harness.dedupctl_rows("verify", f"--sample={sample}", *arguments, dedupd=dedupd,
                                       status=status)
        assert row["checked"] == row["right"] + row["stale"] + row["unreadable"] + row["wrong"]
        return row
    return verify


def write_files(tree):
    """Files of all kinds: sparse, cut off within a block, of zeros, equal to others, small."""
    content.write_twins(tree, 2 * MIB)
    content.write(tree / "tail", content.noise(2, 100_001))
    content.write(tree / "zeros", bytes(MIB))
    content.write(tree / "text", content.text(3, 300_000))
    content.write_sparse(tree / "sparse", 4 * MIB, {MIB: content.noise(4, 8192)})
    content.write(tree / "some-zeros", content.noise(5, 65536) + bytes(65536) + content.noise(6, 5000))
    ioctls.sync(tree)


@pytest.mark.parametrize("find", ["read", "auto"])
def test_what_a_pass_stored_is_right(dedupd, tree, verify, find):
    write_files(tree)
    harness.clock.wait(harness.RACY_SECONDS)
    assert dedupd.run(find=find).status == 0
    row = verify()
    assert row["wrong"] == row["stale"] == row["unreadable"] == 0
    assert row["checked"] == row["objects"] > 0
    if find == "read" or dedupd.filesystem.kind == "xfs":
        assert row["objects"] >= 7
        # The twins and a little more, but no holes; zeros may have become such.
        assert 4 * MIB <= row["read_bytes"] < 7 * MIB
    else:
        assert row["read_bytes"] == 0


def test_same_size_objects_are_known_as_wholes(dedupd, tree, verify):
    write_files(tree)
    harness.clock.wait(harness.RACY_SECONDS)
    assert dedupd.run(read="same-size").status == 0
    row = verify()
    assert row["wrong"] == row["stale"] == 0
    assert row["checked"] >= 2


def test_compressed_and_plain_files_of_a_btrfs_are_right(make_filesystem, make_dedupd):
    filesystem = make_filesystem("btrfs", mount_options=["compress-force=zstd"])
    dedupd = make_dedupd(filesystem)
    tree = pathlib.Path(filesystem.mount_point)
    write_files(tree)
    content.write_no_cow(tree / "in-place", content.noise(9, MIB))
    harness.clock.wait(harness.RACY_SECONDS)
    assert dedupd.run(find="auto", compressed="read", no_data_cow="share").status == 0
    (row,) = harness.dedupctl_rows("verify", "--sample=100", dedupd=dedupd)
    assert row["wrong"] == 0
    assert row["right"] == row["checked"] > 0
    assert row["read_bytes"] > 0


def test_what_changed_is_stale(dedupd, tree, verify):
    write_files(tree)
    harness.clock.wait(harness.RACY_SECONDS)
    dedupd.run()
    (tree / "tail").unlink()
    content.overwrite(tree / "text", 0, b"other")
    row = verify()
    assert (row["stale"], row["wrong"]) == (2, 0)


@pytest.mark.parametrize("find", ["read", "auto"])
def test_what_has_its_stamp_and_other_data_is_wrong(dedupd, tree, verify, find):
    write_files(tree)
    harness.clock.wait(harness.RACY_SECONDS)
    dedupd.run(find=find)
    # With another key all that was stored is of other data.
    with sqlite3.connect(dedupd.store_path) as store:
        store.execute("UPDATE meta SET value = randomblob(length(value)) WHERE name = 'secret'")
    row = verify(status=1)
    # Of nothing but zeros no sum is in the digest.
    assert row["wrong"] >= row["checked"] - 1 > 0
    assert row["right"] + row["wrong"] == row["checked"]
    assert len(row["examples"]) == min(row["wrong"], 10)


def test_a_sample_is_a_part(dedupd, tree, verify):
    for number in range(300):
        content.write(tree / f"file-{number}", content.noise(number, 4096))
    harness.clock.wait(harness.RACY_SECONDS)
    dedupd.run()
    row = verify(sample="20%")
    assert row["objects"] == 300
    # By chance less than one run in a million million is beyond that.
    assert 10 <= row["checked"] <= 150
    assert row["right"] == row["checked"]


@pytest.mark.parametrize("find", ["read", "auto"])
def test_holes_are_not_read(dedupd, tree, verify, find):
    """A file of nearly 8 EiB takes no longer than its data, which ends within a block."""
    size = (1 << 63) - (1 << 20)
    content.write_sparse(tree / "huge", size, {MIB + 100: content.noise(1, 70_000),
                                               1 << 50: content.noise(2, 5000),
                                               size - 3000: content.noise(3, 3000)})
    content.write_sparse(tree / "empty", size, {})
    content.write_sparse(tree / "odd", MIB + 100, {0: content.noise(4, 10)})
    ioctls.sync(tree)
    harness.clock.wait(harness.RACY_SECONDS)
    assert dedupd.run(find=find).status == 0
    row = verify()
    assert row["right"] == row["checked"] > 0
    assert row["read_bytes"] < MIB


def test_a_rate_is_kept(dedupd, tree, verify):
    content.write_twins(tree, MIB)
    harness.clock.wait(harness.RACY_SECONDS)
    dedupd.run()
    begun = time.monotonic()
    row = verify("--limit-rate=1M")
    assert row["right"] == 2
    assert time.monotonic() - begun >= 1.9


def test_a_filesystem_that_is_not_mounted_is_named(dedupd, tree, filesystem):
    content.write_twins(tree, MIB)
    dedupd.run()
    subprocess.run(["umount", filesystem.mount_point], check=True)
    process = harness.dedupctl("verify", dedupd=dedupd, status=None)
    subprocess.run(["mount", filesystem.device, filesystem.mount_point], check=True)
    assert process.returncode == 1
    assert "is not mounted" in process.stderr
