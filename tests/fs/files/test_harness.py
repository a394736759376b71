# SPDX-License-Identifier: GPL-2.0-or-later
"""The harness finds every broken promise that it is there to find."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import pytest

import content
import harness
import oracle
import schemas
from filesystem import LoopFilesystem
from service import wait_until

FAKE = harness.KIT / "fake-dedupd"


@pytest.fixture
def program():
    return FAKE


@pytest.fixture
def twins(tree):
    return content.write_twins(tree, 8 * content.MIB)


class MadeElsewhere(LoopFilesystem):
    """A filesystem on a device of its own making, as benchmarks have."""

    def _make(self):
        self.directory = tempfile.mkdtemp(prefix="dedupd-fs-")
        self.mount_point = self.directory + "/mount"
        os.mkdir(self.mount_point)
        self.image = self.directory + "/image"
        with open(self.image, "wb") as image:
            image.truncate(self.size_bytes)
        self.device = self._attach()
        subprocess.run(["mkfs.btrfs", "-q", self.device], check=True)
        self.mount()


@pytest.mark.parametrize("kind", ["btrfs"])
def test_a_device_that_a_filesystem_made_itself_goes_with_it(filesystem):
    with MadeElsewhere("btrfs") as made:
        device, directory = made.device, made.directory
        assert pathlib.Path(f"/sys/block/{device[5:]}/loop/backing_file").exists()

    # Others may look at the device for a moment, and it goes with the last one.
    wait_until(lambda: not pathlib.Path(f"/sys/block/{device[5:]}/loop/backing_file").exists())
    assert not os.path.exists(directory)


def test_a_pass_that_keeps_its_promises_goes_through(dedupd, twins):
    done = harness.check_pass(dedupd)

    assert done.freed_bytes == 8 * content.MIB
    assert done.used_drop_bytes == 8 * content.MIB
    assert oracle.is_shared(*twins)


@pytest.mark.parametrize("fault, complaint", [
    ("harm", ", content "),
    ("touch", "ctime"),
    ("atime", "atime"),
    ("boast", "claimed"),
    ("repeat", "calls"),
    ("read", "read data"),
    ("write", "wrote to its store"),
    ("reason", "'because' is not one of"),
    ("field", "'rumour' was unexpected"),
    ("silence", "'notes' is a required property"),
])
def test_a_broken_promise_is_found(dedupd, twins, monkeypatch, fault, complaint):
    monkeypatch.setenv("FAKE_FAULT", fault)

    with pytest.raises(AssertionError) as failure:
        harness.check_pass(dedupd)

    assert complaint in str(failure.value)


def test_the_ideal_counts_equal_blocks_and_zero_blocks_once(tree, filesystem):
    block = content.BLOCK
    shared = content.noise(1, 4 * block)
    content.write(tree / "one", shared + bytes(2 * block))
    content.write(tree / "two", content.noise(2, block) + shared[:2 * block])

    assert oracle.ideal_bytes(tree) == 4 * block


def test_holes_and_preallocated_space_do_not_count(tree, filesystem):
    content.write_sparse(tree / "sparse", content.MIB, {0: content.noise(1, content.BLOCK)})
    content.preallocate(tree / "reserved", 0, content.MIB)

    assert oracle.physical_bytes(tree) == content.BLOCK
    assert oracle.block_addresses(tree / "reserved") == [None] * 256


def test_a_compressed_extent_counts_with_its_size_on_disk(compressing):
    path = pathlib.Path(compressing.mount_point) / "text"
    content.write(path, content.text(1, content.MIB))

    counted = oracle.physical_bytes(path.parent)

    assert 0 < counted < content.MIB // 2
    assert counted == harness.used_data_bytes(compressing)


TEST_THAT_DAMAGES = """
import pathlib

import content
import damage
import harness


def test_that_damages(make_filesystem):
    filesystem = make_filesystem("{kind}")
    twins = content.write_twins(pathlib.Path(filesystem.mount_point), content.MIB)
    harness.settle(filesystem)
    {damage}
"""


@pytest.fixture
def run_test(tmp_path):
    """Run a test of its own that damages its filesystem; returns its exit status and output."""
    def run(kind, *damage):
        path = tmp_path / "test_that_damages.py"
        path.write_text(TEST_THAT_DAMAGES.format(kind=kind, damage="\n    ".join(damage)),
                        encoding="ascii")
        done = subprocess.run(
            [sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "conftest",
             f"--rootdir={tmp_path}", path], env=os.environ | {"PYTHONPATH": str(harness.KIT.parent)},
            capture_output=True, text=True, check=False)
        return done.returncode, done.stdout
    return run


def test_a_test_that_leaves_a_sound_filesystem_passes(run_test, kind):
    status, output = run_test(kind, "pass")

    assert status == 0, output
    assert "1 passed" in output


@pytest.mark.parametrize("kind, damage, complaint", [
    ("btrfs", ["damage.make_unreadable(filesystem, twins[0])"], "scrub of /.*'checksum': 1"),
    ("btrfs", ["damage.damage_metadata(filesystem)", "filesystem.expect_bad_data()"],
     "btrfs check --readonly /dev/loop.*: "),
    ("xfs", ["damage.damage_metadata(filesystem)"], "xfs_repair -n /dev/loop.*: "),
], ids=["data", "btrfs", "xfs"])
def test_a_test_that_leaves_a_damaged_filesystem_fails(run_test, kind, damage, complaint):
    status, output = run_test(kind, *damage)

    assert status == 1, output
    assert "1 passed, 1 error" in output
    assert re.search(complaint, output), output


def test_a_test_that_damages_data_may_say_so(run_test):
    status, output = run_test("btrfs", "filesystem.expect_bad_data()",
                              "damage.make_unreadable(filesystem, twins[0])")

    assert status == 0, output


def test_of_a_test_that_failed_nothing_more_is_asked(run_test):
    status, output = run_test("btrfs", "damage.make_unreadable(filesystem, twins[0])",
                              "assert False")

    assert status == 1, output
    assert "1 failed" in output and "error" not in output


@pytest.mark.parametrize("of, status", [("/dev/null", 0), ("$device", 1)], ids=["sound", "damaged"])
def test_on_filesystem_fails_where_a_damaged_filesystem_is_left(of, status):
    script = ('device=$(findmnt -no SOURCE "$DEDUPD_TEST_DIR"); umount "$DEDUPD_TEST_DIR"; '
              f'dd if=/dev/urandom of={of} bs=4k seek=1 conv=notrunc count=1')

    done = subprocess.run([harness.KIT.parent / "kernel/on-filesystem", "xfs", "--", "sh", "-ec", script],
                          capture_output=True, text=True, check=False)

    assert done.returncode == status, done.stderr
    assert ("on-filesystem: xfs_repair -n /dev/loop" in done.stderr) == bool(status)


VACUUM = ["--state-dir=/state", "store", "vacuum", "--json"]


def vacuumed(head=(), **changes):
    row = {"mount_point": "/srv", "uuid": "0d8a5e5c", "before_bytes": 2, "after_bytes": 1} | changes
    row = {key: value for key, value in row.items() if value is not ...}
    return json.dumps({"schema": "dedupctl-store-vacuum", "version": 1} | dict(head) | {"stores": [row]})


@pytest.mark.parametrize("words, printed", [
    (VACUUM, vacuumed()), (VACUUM, vacuumed() + "\n" + vacuumed()), (VACUUM, ""),
    ([*VACUUM, "-o", "uuid"], vacuumed(uuid=...)), (VACUUM[:-1], "no JSON"),
])
def test_json_that_keeps_to_its_schema_goes_through(words, printed):
    schemas.check_printed(words, printed)


@pytest.mark.parametrize("printed, complaint", [
    (vacuumed(uuid=...), "'uuid' is a required property"), (vacuumed(more=1), "'more' was unexpected"),
    (vacuumed(after_bytes="1"), "after_bytes"), (vacuumed({"version": 2}), "version"),
    (vacuumed({"schema": "dedupctl-status"}), "schema"), (vacuumed() + vacuumed(more=1), "more"),
])
@pytest.mark.parametrize("words", [VACUUM, ["-J", "store", "vacuum", "/srv"]])
def test_json_that_breaks_its_schema_is_found(words, printed, complaint):
    with pytest.raises(AssertionError, match=complaint):
        schemas.check_printed(words, printed)
