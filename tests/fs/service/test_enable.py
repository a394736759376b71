# SPDX-License-Identifier: GPL-2.0-or-later
"""What `dedupctl enable` and `disable` write, and what is worked on then."""

import json
import os
import pathlib
import subprocess

import pytest

import harness
import oracle
from content import write_twins
from harness import assert_unchanged, settle

MIB = 1 << 20
UUID = "0d8a5e5c-36c5-4d7b-9c50-3f0f0a3c8a01"


@pytest.fixture
def kind():
    """What is written is the same for both."""
    return "xfs"


@pytest.fixture
def directory(tmp_path):
    """Of a configuration, which does not exist yet."""
    return tmp_path / "etc"


@pytest.fixture
def dedupctl(directory):
    def dedupctl(verb, *words):
        return harness.dedupctl(verb, f"--config-dir={directory}", *words, status=None,
                                env=os.environ | {"DEDUPD_SOCKET": "/nonexistent"})
    return dedupctl


def uuid_of(filesystem):
    return subprocess.run(["findmnt", "-no", "UUID", filesystem.mount_point], check=True,
                          capture_output=True, text=True).stdout.strip()


def drop_ins(directory):
    return sorted((directory / "dedupd.conf.d").glob("*"))


def lines(path):
    """Without comments."""
    return [line for line in path.read_text().splitlines() if not line.startswith("#")]


def test_what_is_enabled_is_worked_on_as_it_was_said(dedupctl, directory, program, filesystem, tree,
                                                     tmp_path):
    write_twins(tree, 8 * MIB)
    settle(filesystem)
    before = oracle.snapshot(tree)

    done = dedupctl("enable", tree, "MinSize=64K", "Exclude=*.tmp", "Exclude=*.part")

    assert (done.returncode, done.stderr) == (0, "")
    (path,) = drop_ins(directory)
    assert str(path) in done.stdout
    assert path.stat().st_mode & 0o777 == 0o644
    assert lines(path) == [f"[Filesystem {tree}]", "Enable=yes", "MinSize=64K", "Exclude=*.tmp",
                           "Exclude=*.part"]
    passed = subprocess.run([program, "--once", "--json", f"--config={path}",
                             f"--state-dir={tmp_path / 'state'}"], capture_output=True, text=True,
                            check=False)
    assert passed.returncode == 0, passed.stderr
    (report,) = json.loads(passed.stdout)["filesystems"]
    assert (report["mount_point"], report["freed"]["bytes"]) == (str(tree), 8 * MIB)
    assert_unchanged(before, tree)


def test_what_is_not_said_again_is_kept(dedupctl, directory, tree):
    assert dedupctl("enable", tree, "Zeros=keep", "RunFor=2h", "Exclude=*.iso").returncode == 0
    (path,) = drop_ins(directory)

    done = dedupctl("enable", f"{tree}//", "RunFor=4h", "Exclude=*.tmp")
    assert (done.returncode, done.stderr) == (0, "")
    assert lines(path) == [f"[Filesystem {tree}]", "Enable=yes", "Zeros=keep", "Exclude=*.iso",
                           "RunFor=4h", "Exclude=*.tmp"]
    assert done.stdout.splitlines()[:4] == [
        f"Wrote {path}.", "  removed: RunFor=2h", "  as before: Zeros=keep",
        "  as before: Exclude=*.iso"]

    done = dedupctl("enable", tree)
    assert lines(path)[2:] == ["Zeros=keep", "Exclude=*.iso", "RunFor=4h", "Exclude=*.tmp"]
    assert "removed" not in done.stdout


def test_an_empty_value_takes_back_what_was_said(dedupctl, directory, tree):
    words = ["Zeros=keep", "Exclude=*", "Include=/home/", "Window=22:00-06:00", "Window=Sat"]
    assert dedupctl("enable", tree, *words).returncode == 0
    (path,) = drop_ins(directory)

    done = dedupctl("enable", tree, "Zeros=", "Exclude=", "Exclude=*.tmp")
    assert (done.returncode, done.stderr) == (0, "")
    assert lines(path)[2:] == ["Window=22:00-06:00", "Window=Sat", "Exclude=", "Exclude=*.tmp"]
    for gone in ("Zeros=keep", "Exclude=*", "Include=/home/"):
        assert f"  removed: {gone}\n" in done.stdout

    assert dedupctl("enable", tree, "Window=Sat", "Exclude=*.tmp").returncode == 0
    assert lines(path)[2:] == ["Window=22:00-06:00", "Exclude=", "Window=Sat", "Exclude=*.tmp"]


def test_a_pattern_that_is_said_again_is_the_last_word(dedupctl, directory, tree):
    assert dedupctl("enable", tree, "Exclude=*.iso", "Include=*.iso").returncode == 0
    assert dedupctl("enable", tree, "Exclude=*.iso").returncode == 0
    (path,) = drop_ins(directory)
    assert lines(path)[2:] == ["Include=*.iso", "Exclude=*.iso"]


def test_what_was_said_under_another_name_counts(dedupctl, directory, filesystem, tree):
    assert dedupctl("enable", uuid_of(filesystem), "Zeros=keep", "RunFor=2h").returncode == 0
    done = dedupctl("enable", tree, "Zeros=")
    assert "  removed: Zeros=keep\n" in done.stdout
    assert "  as before: RunFor=2h\n" in done.stdout
    (path,) = drop_ins(directory)
    assert lines(path) == [f"[Filesystem {tree}]", "Enable=yes", "RunFor=2h"]


def test_a_filesystem_is_named_as_it_was_typed(dedupctl, directory, filesystem, tree, tmp_path):
    uuid = uuid_of(filesystem)
    assert dedupctl("enable", uuid.upper()).returncode == 0
    assert [path.name for path in drop_ins(directory)] == [f"{uuid}.conf"]
    link = tmp_path / "link"
    link.symlink_to(tree)
    assert dedupctl("enable", link).returncode == 0
    (by_path,) = [path for path in drop_ins(directory) if path.name != f"{uuid}.conf"]
    assert lines(by_path)[0] == f"[Filesystem {tree}]"
    name = subprocess.run(["systemd-escape", "--path", tree], capture_output=True, text=True,
                          check=True).stdout.strip()
    assert by_path.name == f"{name}.conf"

    done = dedupctl("disable", tree)
    assert (done.returncode, done.stderr, drop_ins(directory)) == (0, "", [])


@pytest.mark.parametrize("typed, said", [
    (UUID, "is not a mounted btrfs or XFS filesystem"),
    ("/proc", "/proc is proc; dedupd supports btrfs and XFS"),
    ("/nowhere", "is not a mounted btrfs or XFS filesystem"),
    ("nonsense", "is not a mounted btrfs or XFS filesystem"),
    ("/media/*", "without patterns"),
    ("*", "without patterns"),
    ("", "an empty name"),
])
def test_what_is_not_there_is_refused(dedupctl, directory, tree, typed, said):
    done = dedupctl("enable", typed)
    assert done.returncode in (1, 2)
    assert said in done.stderr
    assert not directory.exists()


def test_what_was_meant_is_suggested(dedupctl, directory, tree):
    below = tree / "below"
    below.mkdir()
    assert f"it lies on the filesystem mounted on {tree}\n" in dedupctl("enable", below).stderr
    # Names that are near are looked for among short ones.
    short = pathlib.Path(f"/run/dedupd-{os.getpid()}")
    short.mkdir()
    subprocess.run(["mount", "--bind", tree, short], check=True)
    try:
        assert f"did you mean {short}?" in dedupctl("enable", f"{short}x").stderr
        assert f"did you mean {short}?" in dedupctl("disable", f"{short}x").stderr
    finally:
        subprocess.run(["umount", short], check=True)
        short.rmdir()
    assert not directory.exists()


@pytest.mark.parametrize("words, said", [
    (["Zeroes=keep"], "did you mean Zeros=?"),
    (["Zeros=sometimes"], "auto, hole, keep or share"),
    (["Memory=1G"], "Memory=: this key belongs to [Dedupd]"),
    (["ReadRate=1M"], "use LimitRate= here, or ReadRate= in [Disk]"),
    (["ReadRate="], "use LimitRate= here, or ReadRate= in [Disk]"),
    (["Exclude=*.iso,*.tmp"], "one pattern in a line"),
    (["Nonsense=1"], "dedupd.conf(5)"),
    (["MinSize-=4K"], "did you mean MinSize=?"),
    (["Enable=no"], "'disable'"),
    (["/srv"], "name one filesystem, then its settings"),
    (["Exclude=a\n[Filesystem /]"], "have a meaning in files"),
    (["Exclude= a"], "have a meaning in files"),
])
def test_values_that_cannot_be_are_refused(dedupctl, directory, tree, words, said):
    done = dedupctl("enable", tree, *words)
    assert done.returncode == 2
    assert said in done.stderr
    assert not directory.exists()


def test_somebody_elses_file_is_left_as_it_is(dedupctl, directory, tree):
    assert dedupctl("enable", tree).returncode == 0
    (path,) = drop_ins(directory)
    path.write_text(f"[Filesystem {tree}]\nZeros=keep\n")
    for verb in ("enable", "disable"):
        done = dedupctl(verb, tree)
        assert done.returncode == 1
        assert f"dedupctl did not write {path}" in done.stderr
    assert path.read_text() == f"[Filesystem {tree}]\nZeros=keep\n"


def test_what_another_file_names_is_disabled_by_a_word_that_is_read_later(dedupctl, directory, tree):
    directory.mkdir()
    (directory / "dedupd.conf").write_text(f"[Filesystem {tree}]\nZeros=keep\n")

    done = dedupctl("disable", tree)

    assert (done.returncode, done.stderr) == (0, "")
    assert "dedupd.conf:2 names it, too" in done.stdout
    (path,) = drop_ins(directory)
    assert lines(path) == [f"[Filesystem {tree}]", "Enable=no"]
    assert dedupctl("enable", tree).returncode == 0
    assert lines(path) == [f"[Filesystem {tree}]", "Enable=yes"]


def test_a_later_file_that_says_otherwise_is_named(dedupctl, directory, tree):
    (directory / "dedupd.conf.d").mkdir(parents=True)
    later = directory / "dedupd.conf.d" / "zz.conf"
    later.write_text(f"[Filesystem {tree}]\nEnable=no\n")
    done = dedupctl("enable", tree)
    assert done.returncode == 1
    assert f"{later}:2 says otherwise" in done.stderr


def later_file(directory, tree, *said, name="zz.conf"):
    """One that is read after what 'enable' writes; return its path."""
    (directory / "dedupd.conf.d").mkdir(parents=True, exist_ok=True)
    path = directory / "dedupd.conf.d" / name
    path.write_text("\n".join([f"[Filesystem {tree}]", *said]) + "\n")
    return path


@pytest.mark.parametrize("said, later, why", [
    ("AcrossOwners=yes", "AcrossOwners=no", "says no"),
    ("MinSize=64K", "MinSize=1M", "says 1M"),
    ("Window=Sat", "Window=", "says Window=, which takes back all before it"),
    ("Include=*.iso", "Exclude=*.iso", "says Exclude=*.iso: the last pattern that matches decides"),
    ("Include=/data/a.iso", "Exclude=*.iso", "says Exclude=*.iso: the last"),
    ("Exclude=*.tmp", "Include=*", "says Include=*: the last"),
    ("Include=/home/", "Exclude=/*", "says Exclude=/*: the last"),
])
def test_a_value_that_a_later_file_overrules_is_named(dedupctl, directory, tree, said, later, why):
    path = later_file(directory, tree, later)

    done = dedupctl("enable", tree, "Zeros=keep", said)

    assert done.returncode == 1
    assert done.stderr.startswith(
        f"dedupctl: not in force: {said}; {path}:2, which is read later, {why}")
    assert len(done.stderr.splitlines()) == 1
    assert said in lines(sorted(drop_ins(directory))[0])


@pytest.mark.parametrize("said, later", [
    ("MinSize=64K", ["MinSize=65536"]),
    ("AcrossOwners=yes", ["AcrossOwners=no", "AcrossOwners=yes"]),
    ("Include=*.iso", ["Exclude=/home/*.iso"]),
    ("Include=*", ["Exclude=?"]),
    ("Include=*.iso", ["Exclude=*.iso", "Include=*.iso"]),
    ("Exclude=", ["Exclude=*.iso"]),
    ("Window=Sat", ["Window=Sun"]),
])
def test_a_value_that_later_files_leave_in_force_is_not(dedupctl, directory, tree, said, later):
    later_file(directory, tree, *later)
    done = dedupctl("enable", tree, said)
    assert (done.returncode, done.stderr) == (0, "")


def test_an_earlier_file_overrules_nothing(dedupctl, directory, tree):
    later_file(directory, tree, "AcrossOwners=no", name="00.conf")
    assert dedupctl("enable", tree, "AcrossOwners=yes").returncode == 0


def test_one_value_of_a_list_can_be_taken_back(dedupctl, directory, tree):
    assert dedupctl("enable", tree, "Exclude=*.iso", "Exclude=*.tmp").returncode == 0
    (path,) = drop_ins(directory)

    done = dedupctl("enable", tree, "Exclude-=*.iso")
    assert (done.returncode, done.stderr) == (0, "")
    assert lines(path)[2:] == ["Exclude=*.tmp"]
    assert "  removed: Exclude=*.iso\n" in done.stdout
    assert "  as before: Exclude=*.tmp\n" in done.stdout

    done = dedupctl("enable", tree, "Exclude-=*.iso")
    assert done.returncode == 2
    assert "Exclude=*.iso cannot be taken back: 'enable' did not write it" in done.stderr
    assert lines(path)[2:] == ["Exclude=*.tmp"]


def test_that_an_empty_list_is_for_good_is_said(dedupctl, directory, tree):
    done = dedupctl("enable", tree, "Exclude=")
    assert f"Exclude= takes back what [Dedupd] lists, too, until 'dedupctl enable {tree} Exclude-='." \
        in done.stdout
    (path,) = drop_ins(directory)
    done = dedupctl("enable", tree, "Exclude-=")
    assert lines(path)[2:] == []
    assert "takes back" not in done.stdout


def test_with_a_faulty_configuration_nothing_is_written(dedupctl, directory, tree):
    directory.mkdir()
    (directory / "dedupd.conf").write_text("[Dedupd]\nZeroes=keep\n")
    done = dedupctl("enable", tree)
    assert done.returncode == 1
    assert "dedupd.conf:2" in done.stderr
    assert not drop_ins(directory)


def test_what_is_not_mounted_any_more_can_be_disabled(dedupctl, directory, filesystem):
    uuid = uuid_of(filesystem)
    assert dedupctl("enable", uuid).returncode == 0
    filesystem.unmount()
    assert dedupctl("disable", uuid).returncode == 0
    assert not drop_ins(directory)
    assert dedupctl("disable", uuid).returncode == 1
    filesystem.mount()
    assert "is not enabled" in dedupctl("disable", uuid).stdout


def test_where_nothing_can_be_shared_nothing_is_enabled(dedupctl, directory, filesystem, tree):
    filesystem.remount("ro")
    done = dedupctl("enable", tree)
    assert done.returncode == 1
    assert "read-only" in done.stderr
    assert not directory.exists()
    filesystem.remount("rw")


def test_a_name_that_no_file_can_have_is_digested(dedupctl, directory, filesystem, tmp_path):
    target = tmp_path / ("a" * 200) / ("b" * 200)
    target.mkdir(parents=True)
    subprocess.run(["mount", "--bind", filesystem.mount_point, target], check=True)
    try:
        assert dedupctl("enable", target).returncode == 0
        (path,) = drop_ins(directory)
        assert len(path.name) < 100
        assert lines(path)[0] == f"[Filesystem {target}]"
        assert dedupctl("disable", target).returncode == 0
        assert not drop_ins(directory)
    finally:
        subprocess.run(["umount", target], check=True)
