# SPDX-License-Identifier: GPL-2.0-or-later
"""A filesystem and a copy of its device are mounted at the same time: each has a store and locks of its own.

A snapshot of a volume is such a copy.  The kernel mounts a copy of an XFS with nouuid only, and gives a copy of a btrfs
another UUID each time.
"""

import json
import os
import pathlib
import shutil
import subprocess

import pytest

import content
import harness
import oracle
from content import MIB
from harness import FIND, settle
from service import wait_until


class Pair:
    """A filesystem with twins, and a copy of its image with more twins."""

    def __init__(self, filesystem, make_dedupd):
        self.original = pathlib.Path(filesystem.mount_point)
        self.copy = pathlib.Path(filesystem.directory, "copy")
        self.dedupd = make_dedupd(filesystem)
        self._filesystem = filesystem
        self._image = os.path.join(filesystem.directory, "copied-image")
        self.copy.mkdir()
        content.write_twins(self.original, MIB)
        settle(filesystem)
        filesystem.unmount()
        shutil.copyfile(filesystem.image, self._image)
        self.mount()
        for number, tree in enumerate((self.original, self.copy)):
            content.write_twins(tree, (number + 2) * MIB, names=["new", "new-too"], seed=7)

    def mount(self, copy_first=False, is_first_by_uuid=False):
        """Mount both.  With @is_first_by_uuid, the first one goes by the UUID; a btrfs always does."""
        mounts = [self._mount_original, self._mount_copy]
        for number, mount in enumerate(reversed(mounts) if copy_first else mounts):
            has_option = self._filesystem.kind == "xfs" and not (is_first_by_uuid and number == 0)
            mount(["nouuid"] if has_option else [])

    def _mount_original(self, options):
        self._filesystem.mount_options = options
        self._filesystem.mount()

    def _mount_copy(self, options):
        done = subprocess.run(["mount", "-t", self._filesystem.kind, "-o", ",".join(["loop", *options]),
                               self._image, self.copy], capture_output=True, text=True, check=False)
        if done.returncode != 0 and self._filesystem.kind == "btrfs":
            pytest.skip(f"this kernel does not mount a copy of a btrfs: {done.stderr}")
        assert done.returncode == 0, done.stderr

    def unmount(self):
        subprocess.run(["umount", self.copy], check=True)
        self._filesystem.unmount()

    def run(self, **options):
        """A pass over both: what it says of the original and of the copy."""
        options.setdefault("find", FIND[self._filesystem.kind])
        for tree in (self.original, self.copy):
            subprocess.run(["sync", "-f", tree], check=True)
        done = self.dedupd.run(self.original, self.copy, **options)
        assert done.status == 0, done.stderr
        return done.report["filesystems"]

    def stores(self):
        return {path.stem for path in self.dedupd.state_directory.glob("*.sqlite")}


@pytest.fixture
def pair(filesystem, make_dedupd):
    return Pair(filesystem, make_dedupd)


def freed_bytes(reports):
    return [report["freed"]["bytes"] for report in reports]


def calls(reports):
    return [report["shared"]["calls"] for report in reports]


def test_each_has_a_store_of_its_own(pair):
    before = [oracle.snapshot(tree) for tree in (pair.original, pair.copy)]

    reports = pair.run()

    assert freed_bytes(reports) == [3 * MIB, 4 * MIB]
    assert pair.stores() == {report["uuid"] for report in reports}
    assert len(pair.stores()) == 2
    for was, tree in zip(before, (pair.original, pair.copy)):
        harness.assert_unchanged(was, tree)
    assert calls(pair.run()) == [0, 0]


@pytest.mark.parametrize("kind", ["xfs"])
def test_they_keep_their_stores_in_whichever_order_they_are_mounted(pair):
    before = [report["uuid"] for report in pair.run()]
    pair.unmount()
    pair.mount(copy_first=True)

    again = pair.run()

    assert [report["uuid"] for report in again] == before
    assert calls(again) == [0, 0]
    assert [report["files"]["new"] for report in again] == [0, 0]


def test_no_data_is_lost_where_the_copy_takes_the_place_of_the_original(pair):
    """The filesystem that is mounted without nouuid, or first if it is a btrfs, goes by the UUID of both."""
    pair.unmount()
    pair.mount(is_first_by_uuid=True)
    pair.run()
    pair.unmount()
    pair.mount(copy_first=True, is_first_by_uuid=True)
    for tree in (pair.original, pair.copy):
        content.write_twins(tree, 2 * MIB, names=["newer", "newer-too"], seed=9)
    before = [oracle.snapshot(tree) for tree in (pair.original, pair.copy)]

    reports = pair.run()

    assert freed_bytes(reports) == [2 * MIB, 2 * MIB]
    for was, tree in zip(before, (pair.original, pair.copy)):
        harness.assert_unchanged(was, tree)
    assert calls(pair.run()) == [0, 0]


def test_the_service_works_on_both_and_knows_them_after_a_restart(pair, service):
    uuids = {}
    service.configure(pair.original, pair.copy)
    for passes in (1, 0):
        service.start()
        for tree in (pair.original, pair.copy):
            shown = service.wait_for_passes(str(tree), passes)
            assert uuids.setdefault(tree, shown["uuid"]) == shown["uuid"]
            assert shown["eligible"] == "yes"
        service.end()
    assert uuids[pair.original] != uuids[pair.copy]
    assert {path.stem for path in service.state_directory.glob("*.sqlite")} == set(uuids.values())
    assert f"{pair.copy} is a copy" in service.log()


def status(service, tree):
    (row,) = json.loads(service.tell("status", "--json", tree))["filesystems"]
    return row


@pytest.mark.parametrize("kind", ["xfs"])
def test_the_only_one_goes_by_the_uuid_in_its_superblock(filesystem, tree, service):
    uuid = subprocess.run(["blkid", "-p", "-s", "UUID", "-o", "value", filesystem.device], check=True,
                          capture_output=True, text=True).stdout.strip()
    filesystem.unmount()
    filesystem.mount_options = ["nouuid"]
    filesystem.mount()
    service.configure(uuid)
    service.start()
    for name in (uuid, f"UUID={uuid}"):
        service.tell("pause", name)
        # The first pass may still be ending.
        wait_until(lambda: status(service, tree)["wait_reason"] == "paused", service.log)
        assert status(service, tree)["uuid"] != uuid
        service.tell("resume", name)


def test_the_doctor_says_what_is_a_copy(pair):
    found = json.loads(harness.dedupctl("doctor", "--json", pair.copy, status=None).stdout)["findings"]
    (finding,) = [each for each in found if each["check"] == "copy"]
    assert str(pair.original) in finding["evidence"]
