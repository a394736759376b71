# SPDX-License-Identifier: GPL-2.0-or-later
"""What dedupctl doctor finds on real filesystems, and that it leaves them as they are."""

import fcntl
import json
import os
import pathlib
import subprocess

import pytest

import ioctls
from harness import dedupctl
from subvolumes import btrfs

USER = 65533


class Doctor:
    """One run: what it found, and what it exited with."""

    def __init__(self, name, *arguments, **options):
        process = dedupctl("--state-dir=/nonexistent/dedupd", "doctor", "--json", *arguments, name,
                           status=None, **options)
        assert process.stderr == ""
        self.status = process.returncode
        self.findings = json.loads(process.stdout)["findings"]
        for finding in self.findings:
            assert finding["level"] in ("ok", "note", "warning", "error")
            assert finding["level"] in ("ok", "note") or finding["advice"] or \
                finding["check"] == "mount"

    def of(self, check):
        (finding,) = [each for each in self.findings if each["check"] == check]
        return finding

    def level(self, check):
        return self.of(check)["level"]

    @property
    def worst(self):
        """The worst level beyond those of the machine that the test runs on."""
        levels = ["ok", "note", "warning", "error"]
        return max((each["level"] for each in self.findings if each["subject"] != "machine"),
                   key=levels.index)


def names_and_stats(directory):
    return {str(path): os.stat(path, follow_symlinks=False)[:9]
            for path in [directory, *pathlib.Path(directory).rglob("*")]}


def test_a_new_filesystem_is_in_order(make_filesystem, kind):
    filesystem = make_filesystem(kind)
    doctor = Doctor(filesystem.mount_point)
    assert doctor.level("mount") == "ok"
    assert doctor.level("sharing") == "ok"
    assert doctor.level("handles") == "ok"
    assert doctor.level("options") == "ok"
    assert doctor.level("space") == "ok"
    assert doctor.level("store") == "note"
    if kind == "btrfs":
        for check in ("trees", "references", "quota", "snapshots", "metadata"):
            assert doctor.level(check) == "ok", doctor.of(check)
    else:
        assert doctor.level("inodes") == "ok"


def test_nothing_is_changed(make_filesystem, kind):
    filesystem = make_filesystem(kind)
    top = pathlib.Path(filesystem.mount_point)
    (top / "directory").mkdir()
    (top / "directory/file").write_bytes(b"text" * 10000)
    ioctls.sync(top)
    before = names_and_stats(top)
    Doctor(filesystem.mount_point)
    after = names_and_stats(top)
    # The times of the directory that the unnamed files were made in stay, too.
    assert after == before


def test_a_uuid_and_a_path_name_it_too(make_filesystem, kind):
    filesystem = make_filesystem(kind)
    path = pathlib.Path(filesystem.mount_point) / "file"
    path.write_bytes(b"")
    evidence = Doctor(filesystem.mount_point).of("mount")["evidence"]
    uuid = evidence.split()[1]
    assert Doctor(str(path)).of("mount")["evidence"] == evidence
    assert Doctor(uuid).of("mount")["evidence"] == evidence


def test_an_xfs_without_reflink_is_an_error(make_filesystem):
    filesystem = make_filesystem("xfs", mkfs_options=("-m", "reflink=0"))
    doctor = Doctor(filesystem.mount_point)
    assert doctor.status == 1
    assert "reflink" in doctor.of("mount")["evidence"]
    assert doctor.level("sharing") == "error"


def test_autodefrag_is_a_warning(make_filesystem):
    filesystem = make_filesystem("btrfs", mount_options=("autodefrag",))
    doctor = Doctor(filesystem.mount_point)
    assert doctor.worst == "warning"
    assert doctor.status == 12
    assert "autodefrag" in doctor.of("options")["evidence"]


def test_nodatacow_is_told_and_sharing_tried_all_the_same(make_filesystem):
    filesystem = make_filesystem("btrfs", mount_options=("nodatacow",))
    doctor = Doctor(filesystem.mount_point)
    assert doctor.level("sharing") == "ok"
    assert any(each["check"] == "options" and "nodatacow" in each["evidence"]
               for each in doctor.findings)


def test_compressed_files_are_tried_too(make_filesystem):
    filesystem = make_filesystem("btrfs", mount_options=("compress-force=zstd",))
    doctor = Doctor(filesystem.mount_point)
    assert doctor.level("sharing") == "ok"
    assert doctor.level("options") == "note"


def test_quota_groups_are_a_warning(make_filesystem):
    filesystem = make_filesystem("btrfs")
    btrfs("quota", "enable", filesystem.mount_point)
    assert Doctor(filesystem.mount_point).level("quota") == "warning"


@pytest.mark.parametrize("count, level", [(15, "ok"), (16, "note")])
def test_many_snapshots_of_one_subvolume_are_a_note(make_filesystem, count, level):
    filesystem = make_filesystem("btrfs")
    top = pathlib.Path(filesystem.mount_point)
    btrfs("subvolume", "create", top / "home")
    for number in range(count):
        btrfs("subvolume", "snapshot", top / "home", top / f"snapshot-{number}")
    btrfs("filesystem", "sync", top)
    finding = Doctor(filesystem.mount_point).of("snapshots")
    assert finding["level"] == level
    assert str(count) in finding["evidence"]


def test_a_read_only_mount_is_an_error_and_nothing_is_tried(make_filesystem, kind):
    filesystem = make_filesystem(kind)
    subprocess.run(["mount", "-o", "remount,ro", filesystem.mount_point], check=True)
    doctor = Doctor(filesystem.mount_point)
    assert doctor.status == 1
    assert doctor.level("sharing") == "note"
    assert "read-only" in doctor.of("mount")["evidence"]


def test_a_running_pass_is_left_alone(make_filesystem, kind):
    filesystem = make_filesystem(kind)
    uuid = Doctor(filesystem.mount_point).of("mount")["evidence"].split()[1]
    with open(f"/run/dedupd-lock/{uuid}", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        doctor = Doctor(filesystem.mount_point)
    assert doctor.level("sharing") == "note"
    assert "a pass runs" in doctor.of("sharing")["evidence"]


def test_who_may_not_write_is_told_why_sharing_was_not_tried(make_filesystem, kind):
    filesystem = make_filesystem(kind)
    os.chmod(filesystem.directory, 0o755)
    doctor = Doctor(filesystem.mount_point, user=USER)
    assert "Permission denied" in doctor.of("sharing")["evidence"]


def test_several_owners_are_noted(make_filesystem, kind, tmp_path):
    filesystem = make_filesystem(kind)
    for user in (1001, 1002):
        path = pathlib.Path(filesystem.mount_point) / str(user)
        path.mkdir()
        os.chown(path, user, user)
    finding = Doctor(filesystem.mount_point).of("owners")
    assert finding["level"] == "note"
    assert finding["evidence"].startswith("2 users own")
    config = tmp_path / "dedupd.conf"
    config.write_text(f"[Filesystem {filesystem.mount_point}]\nAcrossOwners=no\n")
    finding = Doctor(filesystem.mount_point, f"--config={config}").of("owners")
    assert (finding["level"], finding["evidence"], finding["advice"]) == (
        "ok", "AcrossOwners=no is set", None)


def test_without_privilege_it_is_told_what_is_missing(make_filesystem, kind, tmp_path):
    filesystem = make_filesystem(kind)
    os.chmod(filesystem.mount_point, 0o777)
    os.chmod(pathlib.Path(filesystem.mount_point).parent, 0o711)
    for parent in pathlib.Path(filesystem.mount_point).parents:
        if parent.stat().st_uid == 0 and not parent.stat().st_mode & 0o001:
            pytest.skip(f"{parent} cannot be passed by others")
    doctor = Doctor(filesystem.mount_point, user=USER, group=USER, extra_groups=[],
                    env=os.environ | {"XDG_RUNTIME_DIR": str(tmp_path)})
    assert doctor.level("rights") == "warning"
    assert doctor.level("handles") == "note"
    if kind == "btrfs":
        assert doctor.level("trees") == "warning"
    else:
        assert doctor.level("inodes") == "note"
    # It has no directory of its own for locks, and needs none.
    assert doctor.level("sharing") == "ok"
    # The kernel has what root was told of, whoever may ask it.
    if Doctor(filesystem.mount_point).level("page cache") == "ok":
        assert "the kernel has no cachestat" not in doctor.of("page cache")["evidence"]


def test_what_is_no_filesystem_of_ours_is_an_error():
    for name in ("/proc", "/nonexistent", "00000000-0000-0000-0000-000000000001"):
        doctor = Doctor(name)
        assert doctor.status == 1
        assert doctor.of("mount")["subject"] == name


def test_patterns_that_match_nothing_are_found(make_filesystem, kind, tmp_path):
    filesystem = make_filesystem(kind)
    tree = pathlib.Path(filesystem.mount_point)
    (tree / "there").mkdir()
    (tree / "there" / ".a.iso").write_text("x")
    config = tmp_path / "dedupd.conf"
    lines = ["/there/*.iso", f"{tree}/there", f"{tree}/there/nothing", "/srv/other", "*.any", "any/",
             "/there/**/any", "there/?b.iso"]
    config.write_text("\n".join([f"[Filesystem {tree}]", *(f"Exclude={line}" for line in lines),
                                 "Include=/there/gone"]))

    doctor = Doctor(tree, f"--config={config}")

    found = [each for each in doctor.findings if each["check"] == "patterns"]
    assert [each["evidence"] for each in found] == [
        f"Exclude={tree}/there/nothing matches nothing", "Exclude=/srv/other matches nothing",
        "Exclude=there/?b.iso matches nothing", "Include=/there/gone matches nothing"]
    assert {each["level"] for each in found} == {"warning"}


def test_a_mount_point_that_is_mistyped_is_found(make_filesystem, tmp_path):
    filesystem = make_filesystem("xfs")
    short = pathlib.Path(f"/run/dedupd-doctor-{os.getpid()}")
    short.mkdir()
    subprocess.run(["mount", "--bind", filesystem.mount_point, short], check=True)
    config = tmp_path / "dedupd.conf"
    lines = [f"[Filesystem {short}z]", "[Filesystem /nonexistent/at/all]", f"[Filesystem {tmp_path}]",
             "[Filesystem 00000000-0000-0000-0000-000000000001]", "[Disk nosuchdisk]",
             f"[Filesystem {short}]"]
    config.write_text("\n".join(lines))
    try:
        doctor = Doctor(filesystem.mount_point, f"--config={config}")
        checked = dedupctl("config", "--check", config)
    finally:
        subprocess.run(["umount", short], check=True)
        short.rmdir()

    found = [each for each in doctor.findings if each["check"] == "configuration"]
    said = [(each["level"], each["evidence"].removeprefix(f"{config}:")) for each in found]
    assert said == [
        ("warning", f"1: {lines[0]} names no mount point of a btrfs or XFS filesystem"),
        ("warning", f"2: {lines[1]} names no mount point of a btrfs or XFS filesystem"),
        ("note", f"3: {lines[2]} names no mount point of a btrfs or XFS filesystem"),
        ("note", f"4: {lines[3]} names no mounted btrfs or XFS filesystem"),
        ("warning", f"5: {lines[4]} names no disk of this machine")]
    assert found[0]["advice"] == f"did you mean {short}?"
    assert doctor.status == 12
    told = checked.stderr.splitlines()
    assert told[0] == f"dedupctl: warning: {config}:1: {lines[0]} names no mount point of a btrfs " \
        f"or XFS filesystem: did you mean {short}?"
    assert len(told) == 5 and checked.stdout == ""


def test_a_faulty_configuration_is_found(make_filesystem, tmp_path):
    filesystem = make_filesystem("xfs")
    config = tmp_path / "dedupd.conf"
    config.write_text("[Dedupd]\nExclude=*.iso,*.tmp\nZeross=keep\n")
    found = Doctor(filesystem.mount_point, f"--config={config}").of("configuration")
    assert found["level"] == "error"
    assert found["evidence"].startswith(f"{config}:2: [Dedupd] Exclude=: one pattern in a line")
    assert "\n" not in found["evidence"]
