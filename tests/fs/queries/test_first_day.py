# SPDX-License-Identifier: GPL-2.0-or-later
"""The first day of an administrator: whatever happens, all verbs show the same numbers, and so do other tools.

docs/quantities.md defines each number.
"""

import json
import os
import re
import shutil
import subprocess

import pytest

import harness
import ioctls
import oracle
from content import KIB, MIB, clone, noise, overwrite, write, write_extent, write_sparse
from subvolumes import delete_subvolumes, snapshot

pytestmark = pytest.mark.usefixtures("filled_memory")

BASE = noise(1, 8 * MIB)
# df counts what btrfs reserves for itself, which changes with its metadata.
RESERVE_MARGIN = MIB


def write_day(tree):
    """Images of one template, mail, an archive twice, and two files that are equal in part."""
    write_extent(tree / "template.img", BASE)
    for number in range(3):
        image = write_extent(tree / f"vm{number}.img", BASE)
        for edit in range(5):
            overwrite(image, (edit * 300 + number) * 4 * KIB, noise(100 * number + edit, 4 * KIB))
    write_sparse(tree / "sparse", 6 * MIB, {0: noise(2, MIB), 4 * MIB: noise(3, MIB)})
    write_sparse(tree / "sparse-copy", 6 * MIB, {0: noise(2, MIB), 4 * MIB: noise(3, MIB)})
    write_extent(tree / "part", noise(4, MIB) + noise(5, 3 * MIB))
    write_extent(tree / "other-part", noise(4, MIB) + noise(6, 3 * MIB))
    write_extent(tree / "lone", noise(7, MIB))
    (tree / "mail").mkdir()
    for number in range(20):
        write(tree / f"mail/{number}", noise(number % 10 + 50, 12 * KIB), piece=12 * KIB)


def space(filesystem):
    """What is in use: data and metadata with its copies as btrfs says, or all of an XFS; and what df has free."""
    subprocess.run(["sync", "-f", filesystem.mount_point], check=True)
    if filesystem.kind == "xfs":
        # XFS gives back the blocks of deleted files in the background, and before it is frozen.
        for act in ("--freeze", "--unfreeze"):
            subprocess.run(["fsfreeze", act, filesystem.mount_point], check=True)
    state = os.statvfs(filesystem.mount_point)
    free = state.f_bfree * state.f_frsize
    if filesystem.kind != "btrfs":
        return {"data": state.f_blocks * state.f_frsize - free, "metadata": 0, "free": free}
    subprocess.run(["btrfs", "filesystem", "sync", filesystem.mount_point], check=True, stdout=subprocess.DEVNULL)
    said = subprocess.run(["btrfs", "filesystem", "df", "-b", filesystem.mount_point],
                          check=True, capture_output=True, text=True).stdout
    used = {kind: int(bytes_) * (2 if profile == "DUP" else 1)
            for kind, profile, bytes_ in re.findall(r"^(\w+), (\w+): .*used=(\d+)$", said, re.M)}
    return {"data": used["Data"], "metadata": used["Metadata"], "free": os.statvfs(
        filesystem.mount_point).f_bfree * state.f_frsize}


class Day:
    def __init__(self, tree, dedupd, kind):
        self.tree, self.dedupd, self.kind = tree, dedupd, kind
        self.filesystem = dedupd.filesystem

    def ask(self, verb, *words, status=0):
        return harness.dedupctl(verb, *words, dedupd=self.dedupd, status=status)

    def rows(self, verb, *words, **options):
        return harness.dedupctl_rows(verb, *words, dedupd=self.dedupd, **options)

    def files(self):
        return sorted(path for path in self.tree.rglob("*")
                      if path.is_file() and not path.relative_to(self.tree).parts[0].startswith("snap"))

    def run(self, statuses=(0,)):
        """A pass after which all that is shown is held against everything else."""
        harness.settle(self.filesystem)
        before = space(self.filesystem)
        run = self.dedupd.run(find=harness.FIND[self.kind])
        assert run.status in statuses, run.stderr
        self.check_space(run, before, space(self.filesystem))
        self.check_verbs(run)
        self.check_texts(run)
        self.check_files(run)
        self.check_whole_files(run)
        if self.kind == "btrfs":
            self.check_subvolumes(run)
        return run

    def check_space(self, run, before, after):
        gained = {name: before[name] - after[name] for name in before}
        written = run.filesystem["deferred"]["written_bytes"]
        # XFS counts its metadata with the data.
        assert gained["data"] == run.freed["bytes"] - written or self.kind == "xfs"
        assert run.freed["net_bytes"] == gained["data"] + gained["metadata"]
        assert abs(-gained["free"] - run.freed["net_bytes"]) <= RESERVE_MARGIN

    def check_verbs(self, run):
        """The report, the history, status and waste, as programs see them."""
        passes = self.rows("history")
        status, = self.rows("status")
        waste, = self.rows("waste")
        last = passes[0]

        by_extents = run.found["by"] == "checksums"
        assert (last["extents"], last["files"]) == ((run.files["seen"], None) if by_extents
                                                    else (None, run.files["seen"]))
        for name, reported in {
                "freed_bytes": run.freed["bytes"], "net_bytes": run.freed["net_bytes"],
                "hole_bytes": run.freed["hole_bytes"], "shared_bytes": run.shared["bytes"],
                "compare_bytes": run.read["compare_bytes"],
                "pinned_bytes": run.ledger["pinned_bytes"],
                "metadata_delta_bytes": run.ledger["metadata_delta_bytes"],
                "deferred_bytes": run.filesystem["deferred"]["bytes"],
                "used_bytes": run.freed["used_after_bytes"],
                "started": run.filesystem["started"], "outcome": run.filesystem["outcome"]}.items():
            assert last[name] == reported, name
        assert status["last_pass"] == last["started"]
        for name in ("freed_bytes", "net_bytes", "pinned_bytes", "outcome"):
            assert status[name] == last[name], name
        assert status["deferred_bytes"] == run.filesystem["deferred"]["waiting_bytes"]
        assert status["passes"] == len(passes)
        assert status["freed_total_bytes"] == sum(one["freed_bytes"] for one in passes)
        for name in ("freed_total_bytes", "pinned_bytes", "pinned_extents"):
            assert waste[name] == status[name], name

    def check_texts(self, run):
        """The same as people see it, in bytes."""
        status, = self.rows("status")
        waste, = self.rows("waste")
        block = self.ask("status", "-b", self.tree).stdout
        assert f"freed {run.freed['bytes']} ({run.freed['net_bytes']} net of metadata)" in block
        assert f"freed {status['freed_total_bytes']} by {status['passes']} pass" in block
        assert ("Pinned:" in block) == (waste["pinned_extents"] > 0)
        if waste["pinned_extents"]:
            assert f"{waste['pinned_bytes']} in {waste['pinned_extents']} extents" in block
        said = self.ask("waste").stdout
        assert " 0 B are shared" not in said
        assert ("Passes freed" in said) == (status["freed_total_bytes"] > 0)
        match = re.search(r"^(\d+) extents? \(.*\) duplicates? other data but cannot be freed yet", said, re.M)
        assert int(match[1] if match else 0) == waste["pinned_extents"]
        lines = self.ask("history", "-b").stdout.splitlines()
        assert len(lines) == 1 + status["passes"]
        heading = "EXTENTS" if self.kind == "btrfs" else "FILES"
        assert heading in lines[0].split() and "NET" in lines[0].split()

    def check_files(self, run):
        """What verbs say of each file, and FIEMAP and 'btrfs filesystem du'."""
        files = self.files()
        rows = {row["file"]: row for row in self.rows("file", *files)}
        reasons = self.rows("why", *files)
        unique = {row["file"]: row for row in self.rows("unique", *{path.parent for path in files})}
        assert len(rows) == len(files)
        for path in files:
            row = rows[str(path)]
            with open(path, "rb") as file:
                data = sum(extent.length for extent in ioctls.extents(file.fileno()))
            assert row["data_bytes"] == data == sum(one["bytes"] for one in row["extent_list"])
            assert row["size_bytes"] == path.stat().st_size
            assert sum(one["bytes"] for one in reasons if one["file"] == str(path)) == data
            if str(path) in unique:
                assert unique[str(path)]["data_bytes"] == data
            # Its exit status is the answer.
            pair, = self.rows("shared", path, files[0], status=None)
            assert pair["first_data_bytes"] == data
            assert row["shared_bytes"] <= data
            if self.kind == "btrfs":
                total, exclusive = self.btrfs_du(path)
                assert (total, exclusive) <= (data, data - row["shared_bytes"])
        if self.kind == "btrfs":
            # No extent that is pinned is shown by two of the files.
            assert sum(row["pinned_bytes"] for row in rows.values()) == run.ledger["pinned_bytes"]

    def check_whole_files(self, run):
        """Files that are equal as a whole: by groups, in all, and as sharing their extents would free them."""
        groups = self.rows("duplicates", "--limit=0", self.tree)
        waste, = self.rows("waste")
        assert sum(row["reclaimable_bytes"] for row in groups) == waste["reclaimable_bytes"]
        if self.kind == "xfs" and run.filesystem["outcome"] == "complete":
            assert waste["reclaimable_bytes"] == 0

    def check_subvolumes(self, run):
        """What subvolumes hold: all that is in use, and of what is deferred each its part."""
        found, = self.rows("snapshots", self.tree)
        used = space(self.filesystem)["data"]
        held = [row["deferred_bytes"] for row in found["subvolumes"]]
        waiting = run.filesystem["deferred"]["waiting_bytes"]
        assert max(row["referenced_bytes"] for row in found["subvolumes"]) <= used
        assert sum(row["exclusive_bytes"] for row in found["subvolumes"]) <= used
        assert max(held) <= waiting <= sum(held)

    def delete(self, *names):
        """Delete snapshots, which gives back what was foretold to the byte; returns how much that was."""
        foretold, = self.rows("snapshots", "--delete", *(self.tree / name for name in names))
        before = space(self.filesystem)["data"]
        delete_subvolumes(self.tree, *names)
        assert before - space(self.filesystem)["data"] == foretold["together_data_bytes"]
        return foretold["together_data_bytes"]

    def btrfs_du(self, path):
        said = subprocess.run(["btrfs", "filesystem", "du", "--raw", path], check=True,
                              capture_output=True, text=True).stdout.splitlines()[1].split()
        return int(said[0]), int(said[1])


@pytest.fixture
def day(tree, dedupd, kind):
    write_day(tree)
    return Day(tree, dedupd, kind)


def test_a_configuration_with_a_mistake_changes_no_number(day, tmp_path):
    config = tmp_path / "conf"
    config.mkdir()
    (config / "dedupd.conf").write_text("[Dedupd]\nWindw=22:00-06:00\n")
    checked = harness.dedupctl("config", "--check", config / "dedupd.conf", status=1)
    assert "Windw" in checked.stdout + checked.stderr
    (config / "dedupd.conf").unlink()
    first = day.run()
    harness.dedupctl("enable", f"--config-dir={config}", day.tree, "Exclude=*.tmp")
    day.check_verbs(first)


def test_all_numbers_agree_after_the_first_pass(day):
    harness.settle(day.filesystem)
    dry = day.dedupd.run(find=harness.FIND[day.kind], dry_run=True)
    assert dry.freed["net_bytes"] is None
    foretold, = day.rows("estimate", "--config=none", "--full", day.tree)
    assert foretold["pass_bytes"] == dry.freed["bytes"]
    assert foretold["files"] == len(day.files())
    run = day.run()
    assert run.freed["bytes"] > 3 * MIB
    assert foretold["pass_low_bytes"] <= run.freed["bytes"] <= foretold["pass_high_bytes"]
    nothing, = day.rows("estimate", "--config=none", "--full", day.tree)
    assert nothing["pass_bytes"] == 0
    # The parts that differ are freed block by block on XFS.
    assert (run.ledger["pinned_bytes"] > 0) == (day.kind == "btrfs")


def test_passes_that_find_nothing_are_in_the_history_and_what_is_pinned_stays(day):
    first = day.run()
    second = day.run()
    third = day.run()
    assert (second.freed["bytes"], third.freed["bytes"]) == (0, 0)
    assert [row["freed_bytes"] for row in day.rows("history")] == [0, 0, first.freed["bytes"]]
    assert second.ledger["pinned_bytes"] == third.ledger["pinned_bytes"] == first.ledger["pinned_bytes"]
    skipped, = {json.dumps(row["skipped"]) for row in day.rows("status")}
    assert skipped == json.dumps([{"reason": one["reason"], "count": one["count"], "bytes": one["bytes"],
                                   "examples": one["examples"], "advice": one["advice"]}
                                  for one in first.filesystem["skipped"]])


def test_a_dry_run_leaves_no_trace_in_the_history(day):
    day.run()
    day.dedupd.run(find=harness.FIND[day.kind], dry_run=True)
    assert len(day.rows("history")) == 1


def test_all_numbers_agree_after_deletion_and_restore(day):
    before = oracle.snapshot(day.tree)
    day.run()
    (day.tree / "vm0.img").unlink()
    shutil.rmtree(day.tree / "mail")
    day.run()
    write_extent(day.tree / "vm0.img", BASE)
    (day.tree / "mail").mkdir()
    for number in range(20):
        write(day.tree / f"mail/{number}", noise(number % 10 + 50, 12 * KIB), piece=12 * KIB)
    assert day.run().freed["bytes"] > 0
    after = oracle.snapshot(day.tree)
    assert set(after) == set(before)
    assert all(after[name].content == before[name].content for name in before if name != "vm0.img")


def test_all_numbers_agree_with_snapshots(day, kind):
    if kind != "btrfs":
        pytest.skip("XFS has no snapshots")
    day.run()
    snapshot(day.tree, day.tree / "snap1")
    write_extent(day.tree / "late", BASE)
    overwrite(day.tree / "template.img", MIB, noise(77, 64 * KIB))
    (day.tree / "lone").unlink()
    day.run()
    snapshot(day.tree, day.tree / "snap2")
    clone(day.tree / "late", day.tree / "later")
    day.run()
    assert day.delete("snap1", "snap2") >= MIB
    day.run()


def test_list_and_status_show_what_the_history_has(tree, kind, dedupd, service):
    write_day(tree)
    service.configure(tree, WakeBytes="1T", WakeInterval="30d")
    service.start()
    service.wait_for_passes(str(tree), 1)
    write_extent(tree / "late", BASE)
    harness.settle(dedupd.filesystem)
    service.tell("start", "--wait", tree)
    listed, = (row for row in json.loads(service.tell("list", "--json"))["filesystems"]
               if row["mount_point"] == str(tree))
    status, = json.loads(service.tell("status", "--json", tree))["filesystems"]
    passes = json.loads(service.tell("history", "--json", f"--state-dir={service.state_directory}"))["passes"]
    assert [row["freed_bytes"] > 3 * MIB for row in passes] == [True, True]
    assert listed["freed_bytes"] == status["freed_total_bytes"] == sum(row["freed_bytes"] for row in passes)
    assert listed["last_freed_bytes"] == status["freed_bytes"] == passes[0]["freed_bytes"]
    assert listed["last_pass"] == status["last_pass"] == passes[0]["started"]
    assert listed["last_outcome"] == status["outcome"] == passes[0]["outcome"]
    assert listed["passes"] == status["passes"] == len(passes)
    assert listed["kind"].lower() == kind


def test_all_numbers_agree_on_a_full_filesystem(day):
    state = os.statvfs(day.tree)
    fill = day.tree / "fill"
    with open(fill, "wb") as file:
        os.posix_fallocate(file.fileno(), 0, (state.f_bavail * state.f_frsize) // 2)
    with open(day.tree / "fill2", "wb") as file:
        try:
            while True:
                os.write(file.fileno(), os.urandom(MIB))
        except OSError:
            pass
    subprocess.run(["sync", "-f", day.tree], check=False)
    harness.settle(day.filesystem)
    run = day.dedupd.run(find=harness.FIND[day.kind])
    assert run.status in (0, 6), run.stderr
    day.check_verbs(run)
    # What is truncated is given back at once, what is only removed a while later.
    for name in ("fill", "fill2"):
        os.truncate(day.tree / name, 0)
        (day.tree / name).unlink()
    # There may still be little room for metadata.
    day.run(statuses=(0, 6))
