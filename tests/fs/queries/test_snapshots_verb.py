# SPDX-License-Identifier: GPL-2.0-or-later
"""dedupctl snapshots: what subvolumes of a btrfs filesystem hold, and what deleting them would free.

Every figure is held against two others that share nothing with it: the kernel's quota groups, which count each
block, and what is free after the deletion.
"""

import json
import os
import pathlib
import random
import re
import subprocess
import threading

import pytest

import content
import harness
import quotas
import subvolume_histories
import subvolumes
from content import KIB
from filesystem import CommandFailed, FilesystemUnavailable
from many_devices import ManyDevices

FAILED, USAGE = 1, 2
TOP = 5
# What an extent of one block costs beside it is not in the figures, as the manual says: by histories with many of them.
TOLERANCES = {"tiny_pieces": 0.05, "images": 0.02}


def dedupctl(*words, **options):
    return harness.dedupctl("snapshots", *words, **options)


def ask(*words, may_be_approximate=False):
    """The only filesystem, with its subvolumes by id."""
    found, = json.loads(dedupctl("--json", *words).stdout)["snapshots"]
    assert may_be_approximate or found["approximate"] == "no"
    found["subvolumes"] = {row["id"]: row for row in found["subvolumes"]}
    return found


def quota_groups(tree):
    """Id of each subvolume -> bytes that it refers to, and alone; the kernel counts trees, too."""
    subvolumes.btrfs("quota", "enable", tree)
    subvolumes.btrfs("quota", "rescan", "-w", tree)
    shown = subprocess.run(["btrfs", "qgroup", "show", "--raw", str(tree)], check=True, capture_output=True,
                           text=True).stdout
    subvolumes.btrfs("quota", "disable", tree)
    subvolumes.btrfs("filesystem", "sync", tree)
    return {int(number): (int(referenced), int(exclusive))
            for number, referenced, exclusive in re.findall(r"^0/(\d+)\s+(\d+)\s+(\d+)", shown, re.M)}


def assert_as_quota_groups_say(tree):
    found = ask(tree)["subvolumes"]
    ours = {number: (row["referenced_bytes"] + row["referenced_metadata_bytes"],
                     row["exclusive_bytes"] + row["exclusive_metadata_bytes"]) for number, row in found.items()}
    assert ours == quota_groups(tree)


def assert_deletion_frees(filesystem, foretold, *paths, tolerance=0.01):
    """Delete the subvolumes: data as foretold to the byte, all within 1 %."""
    data, metadata = harness.used_data_bytes(filesystem), harness.used_metadata_bytes(filesystem)
    for path in paths:
        subvolumes.btrfs("subvolume", "delete", "--commit-after", path)
    subvolumes.wait_for_deleted(filesystem.mount_point)
    subvolumes.btrfs("filesystem", "sync", filesystem.mount_point)
    data -= harness.used_data_bytes(filesystem)
    metadata -= harness.used_metadata_bytes(filesystem)
    assert data == foretold["together_data_bytes"]
    # Some leaves of other trees come and go: 1200 extents of a block have 7 of the extent tree.
    assert abs(data + metadata - foretold["together_bytes"]) <= max(foretold["together_bytes"] * tolerance, 192 * KIB)


def below(found, tree):
    """Paths of the subvolumes that can be deleted at once, with no other in them."""
    paths = {row["path"] for number, row in found["subvolumes"].items() if number != TOP}
    return sorted(path for path in paths if not any(other.startswith(path + "/") for other in paths))


@pytest.fixture(name="make_history")
def make_history_fixture(make_filesystem):
    def make(history, seed=1, filesystem=None, **options):
        filesystem = filesystem or make_filesystem("btrfs", "1G", **options)
        tree = pathlib.Path(filesystem.mount_point)
        subvolume_histories.ALL[history](tree, random.Random(seed))
        subvolumes.wait_for_deleted(tree)
        return filesystem, tree
    return make


@pytest.mark.parametrize("history", sorted(subvolume_histories.ALL))
def test_figures_are_those_of_quota_groups_and_of_deletions(make_history, history):
    filesystem, tree = make_history(history)
    assert_as_quota_groups_say(tree)

    choice = random.Random(2)
    while len(paths := below(ask(tree), tree)) > 1:
        chosen = choice.sample(paths, choice.randint(1, max(len(paths) // 2, 1)))
        foretold = ask("--delete", *chosen)
        if len(chosen) == 1:
            row, = foretold["subvolumes"].values()
            assert row["reclaimable_bytes"] == foretold["together_bytes"]
        assert_deletion_frees(filesystem, foretold, *chosen, tolerance=TOLERANCES.get(history, 0.01))
        assert_as_quota_groups_say(tree)


@pytest.mark.parametrize("options", [
    {"mkfs_options": ["-O", "^skinny-metadata"]}, {"mkfs_options": ["-n", "4096"]}, {"mkfs_options": ["-n", "65536"]},
    {"mkfs_options": ["--csum", "sha256"]}, {"mkfs_options": ["--csum", "blake2"]},
    {"mkfs_options": ["-O", "block-group-tree"]}, {"mkfs_options": ["-m", "dup"]}, {"mkfs_options": ["--mixed"]},
    {"mkfs_options": ["-O", "^no-holes"]},
    {"mount_options": ["compress-force=zstd"]}, {"mkfs_options": ["-R", "^free-space-tree"], "mount_options": ["space_cache=v1"]},
    {"mount_options": ["nodatasum"]},
], ids=lambda options: "".join(sum(options.values(), [])))
@pytest.mark.parametrize("history", ["clones", "images"])
def test_figures_hold_however_the_filesystem_is_made(make_history, history, options):
    try:
        _, tree = make_history(history, **options)
    except CommandFailed as failure:
        if "unrecognized filesystem feature" not in str(failure):
            raise
        pytest.skip(f"this mkfs is too old: {failure}")
    assert_as_quota_groups_say(tree)


@pytest.mark.parametrize("profile, count", [("raid0", 3), ("raid1", 2), ("raid1c3", 3), ("raid10", 4), ("raid5", 3),
                                            ("raid6", 4)])
def test_trees_are_read_from_several_devices(make_history, profile, count):
    try:
        with ManyDevices(count, "single", profile, "512M") as filesystem:
            _, tree = make_history("clones", filesystem=filesystem)
            assert_as_quota_groups_say(tree)
            filesystem.check()
    except FilesystemUnavailable as unavailable:
        pytest.skip(str(unavailable))


@pytest.mark.parametrize("profile, count", [("raid1", 2), ("raid1c3", 3), ("raid10", 4)])
def test_one_device_may_be_missing(make_history, profile, count):
    try:
        with ManyDevices(count, profile, profile, "512M") as filesystem:
            _, tree = make_history("clones", filesystem=filesystem)
            before = ask(tree)["subvolumes"]
            filesystem.lose_last()
            assert ask(tree)["subvolumes"] == before
            assert_as_quota_groups_say(tree)
    except FilesystemUnavailable as unavailable:
        pytest.skip(str(unavailable))


@pytest.mark.parametrize("profile, count", [("raid5", 3), ("raid6", 4)])
def test_nothing_is_computed_from_parity(make_history, profile, count):
    """It is said which device is missing, and nothing is told that is not known."""
    try:
        with ManyDevices(count, profile, profile, "512M") as filesystem:
            _, tree = make_history("clones", filesystem=filesystem)
            before = ask(tree)["subvolumes"]
            filesystem.lose_last()
            said = dedupctl("--json", tree, status=None)
            if said.returncode == 0:
                # No node happens to lie there.
                assert ask(tree)["subvolumes"] == before
            else:
                assert said.returncode == FAILED
                assert re.search(rf"from its device {count} .*", said.stderr), said.stderr
    except FilesystemUnavailable as unavailable:
        pytest.skip(str(unavailable))


def test_what_a_seed_holds_counts_as_all_else_does(make_history):
    with ManyDevices(1, "single", "single", "512M") as filesystem:
        _, tree = make_history("clones", filesystem=filesystem)
        before = ask(tree)["subvolumes"]
        filesystem.sprout()
        assert {number: row["exclusive_bytes"] for number, row in ask(tree)["subvolumes"].items()} == {
            number: row["exclusive_bytes"] for number, row in before.items()}
        subvolumes.snapshot(next(pathlib.Path(path) for path in below(ask(tree), tree)), tree / "sprouted")
        content.write(tree / "new", content.noise(1, 300 * KIB))
        subvolumes.btrfs("filesystem", "sync", tree)
        assert_as_quota_groups_say(tree)


def test_owners_of_simple_quotas_are_no_holders(make_filesystem):
    filesystem = make_filesystem("btrfs", "1G")
    filesystem.leave_out_programs()
    tree = pathlib.Path(filesystem.mount_point)
    try:
        quotas.enable_simple(tree)
    except OSError as error:
        pytest.skip(f"this kernel has no simple quotas: {error}")
    subvolume_histories.clones(tree, random.Random(3))
    subvolumes.btrfs("filesystem", "sync", tree)
    subvolumes.btrfs("quota", "disable", tree)
    assert_as_quota_groups_say(tree)


def test_a_subvolume_that_is_being_deleted_holds_nothing(make_history):
    filesystem, tree = make_history("plain")
    before = ask("--delete", tree / "live", tree / "snapshot-2")
    # While a file is open the kernel leaves the tree as it is, whose leaves others share.
    with open(next(path for path in sorted((tree / "live").iterdir()) if path.is_file()), "rb"):
        subvolumes.btrfs("subvolume", "delete", "--commit-after", tree / "live")
        found = ask(tree, may_be_approximate=True)
        assert str(tree / "live") not in {row["path"] for row in found["subvolumes"].values()}
        assert found["being_freed_bytes"] > 512 * KIB
        foretold = ask("--delete", tree / "snapshot-2", may_be_approximate=True)
        # Which of two leaves shows an extent can no more be looked up; seldom the leaves differ in who holds them.
        if found["approximate"] == "no":
            assert found["being_freed_bytes"] + foretold["together_bytes"] == before["together_bytes"]
    subvolumes.wait_for_deleted(tree)
    assert ask(tree)["being_freed_bytes"] == 0
    if foretold["approximate"] == "yes":
        foretold = ask("--delete", tree / "snapshot-2")
    assert_deletion_frees(filesystem, foretold, tree / "snapshot-2")


def held_figures(found):
    """Of each subvolume what it holds; what dates it is left out."""
    return {number: tuple(row[key] for key in sorted(row) if key.endswith("_bytes"))
            for number, row in found["subvolumes"].items()}


def test_a_deletion_that_was_interrupted_counts_for_nothing(make_filesystem):
    # Of so many small nodes the kernel, which goes on at each mount that is writable, gives back a part at most.
    filesystem = make_filesystem("btrfs", "1G", mkfs_options=["-n", "4096"])
    tree = pathlib.Path(filesystem.mount_point)
    live = subvolumes.make_subvolume(tree / "live")
    for number in range(30000):
        with open(live / f"file-{number}", "wb") as file:
            os.posix_fallocate(file.fileno(), 0, 4 * KIB)
    subvolumes.snapshot(live, tree / "snapshot")
    for number in range(0, 30000, 7):
        os.unlink(live / f"file-{number}")
    subvolumes.snapshot(live, tree / "later")
    for number in range(3, 30000, 11):
        (live / f"new-{number}").write_bytes(content.noise(number, 4 * KIB))
    subvolumes.btrfs("subvolume", "delete", "--commit-after", tree / "live")
    filesystem.unmount()
    filesystem.mount_options = ["ro"]
    filesystem.mount()
    meanwhile = ask(tree)
    filesystem.remount("rw")
    subvolumes.wait_for_deleted(tree)
    afterwards = ask(tree)
    assert held_figures(meanwhile) == held_figures(afterwards)
    assert afterwards["being_freed_bytes"] == 0
    assert_as_quota_groups_say(tree)


def test_a_range_is_by_the_order_of_creation(make_history):
    filesystem, tree = make_history("plain")
    middle = ask("--delete", f"{tree}/snapshot-1..snapshot-3")
    assert sorted(row["path"] for row in middle["subvolumes"].values()) == [
        str(tree / f"snapshot-{number}") for number in (1, 2, 3)]
    assert middle == ask("--delete", f"{tree}/snapshot-1..{tree}/snapshot-3")
    assert middle["together_bytes"] == ask(
        "--delete", *(tree / f"snapshot-{number}" for number in (3, 1, 2)))["together_bytes"]
    # What several of them hold is no one's alone.
    assert middle["together_bytes"] > sum(row["reclaimable_bytes"] for row in middle["subvolumes"].values())
    assert "before" in dedupctl("--delete", f"{tree}/snapshot-3..snapshot-1", status=USAGE).stderr
    assert "same" in dedupctl("--delete", f"{tree}/snapshot-3..live", status=USAGE).stderr
    assert_deletion_frees(filesystem, middle, *(tree / f"snapshot-{number}" for number in (1, 2, 3)))


def test_a_range_of_received_snapshots_goes_from_each_to_the_next(make_history):
    _, tree = make_history("received")
    found = ask("--delete", f"{tree}/target/snapshot-1..snapshot-3")
    assert sorted(pathlib.Path(row["path"]).name for row in found["subvolumes"].values()) == [
        "snapshot-1", "snapshot-2", "snapshot-3"]


def test_the_table_has_those_first_that_would_free_most(make_history):
    _, tree = make_history("plain")
    lines = dedupctl("--raw", "--noheadings", "--bytes", "-o", "reclaimable_bytes,id,path", tree).stdout.splitlines()
    rows = [line.split() for line in lines if line.split()[1:2] != [str(TOP)] and len(line.split()) == 3]
    sizes = [int(size) for size, _, _ in rows]
    assert len(rows) == 7 and sizes == sorted(sizes, reverse=True)
    shown = dedupctl(tree).stdout
    assert "RECLAIM" in shown and "MiB" in shown and str(tree / "snapshot-0") in shown
    assert shown.count(f"{tree}/live ") == 6  # whose snapshots they are
    assert re.search(r"would free .* of data, .* of metadata", dedupctl("--delete", tree / "snapshot-0").stdout)
    assert (tree / "snapshot-0").is_dir()


def test_what_lies_in_a_subvolume_has_to_go_before(make_history):
    _, tree = make_history("nested")
    said = dedupctl("--delete", tree / "outer").stderr
    assert f"{tree}/outer/inner lies in one of these" in said and "of-inner" in said
    assert "lies in" not in dedupctl("--delete", tree / "outer/inner").stderr


def test_what_is_no_subvolume_is_refused(make_history):
    _, tree = make_history("tiny")
    os.mkdir(tree / "directory")
    assert "top level" in dedupctl("--delete", tree, status=USAGE).stderr
    assert "is not a btrfs subvolume" in dedupctl("--delete", tree / "directory", status=FAILED).stderr
    assert "No such file" in dedupctl("--delete", tree / "absent", status=FAILED).stderr
    assert "takes subvolumes" in dedupctl("--delete", status=USAGE).stderr
    assert "No such file" in dedupctl(tree / "absent", status=FAILED).stderr


def test_another_filesystem_has_no_subvolumes(make_filesystem):
    filesystem = make_filesystem("xfs")
    assert "is not on btrfs" in dedupctl(filesystem.mount_point, status=FAILED).stderr
    assert "is not a btrfs subvolume" in dedupctl("--delete", filesystem.mount_point, status=FAILED).stderr


def test_one_filesystem_that_cannot_be_looked_at_does_not_hide_others(make_history, tmp_path):
    _, tree = make_history("tiny")
    done = dedupctl("--json", tmp_path, tree, tree / "live", status=FAILED)
    assert str(tmp_path) in done.stderr
    found, = json.loads(done.stdout)["snapshots"]
    assert str(tree / "live") in {row["path"] for row in found["subvolumes"]}
    assert found["filesystem"] in {filesystem["filesystem"] for filesystem in
                                   json.loads(dedupctl("--json", status=None).stdout)["snapshots"]}


def test_it_takes_root(make_history, tmp_path):
    filesystem, tree = make_history("tiny")
    for directory in (filesystem.directory, *tmp_path.parents):
        os.chmod(directory, os.stat(directory).st_mode | 0o055)
    said = dedupctl(tree, status=FAILED, user=harness.USER).stderr
    assert "only root may read" in said


def test_a_filesystem_that_changes_is_looked_at_all_the_same(make_history):
    _, tree = make_history("plain")
    stop = threading.Event()

    def write():
        number = 0
        while not stop.is_set():
            content.write(tree / "live" / f"busy-{number % 50}", content.noise(number, 64 * KIB))
            if number % 20 == 0:
                subvolumes.btrfs("filesystem", "sync", tree)
            number += 1

    writer = threading.Thread(target=write)
    before = ask(tree)["subvolumes"]
    writer.start()
    try:
        for _ in range(5):
            after = ask(tree, may_be_approximate=True)["subvolumes"]
            for number, row in before.items():
                # Nobody touches what snapshots alone hold.
                if row["access"] == "ro":
                    assert abs(after[number]["exclusive_bytes"] - row["exclusive_bytes"]) <= 128 * KIB
    finally:
        stop.set()
        writer.join()
    assert_as_quota_groups_say(tree)
