# SPDX-License-Identifier: GPL-2.0-or-later
"""What the configuration says is done, to each filesystem its own."""

import os
import pathlib
import subprocess
import time

import pytest

import content
import harness
import oracle
from content import KIB, MIB, noise, write
from harness import USER

OTHER = 65532
WAYS = ["checksums", "read"]


@pytest.fixture
def configure(tmp_path):
    """Write a configuration and return its path."""
    def make(*lines, name="dedupd.conf"):
        path = tmp_path / name
        path.write_text("\n".join(map(str, lines)) + "\n")
        return path
    return make


def without_paths(dedupd, **options):
    """Run it over what its configuration names."""
    command = dedupd.command("PATH", **options)
    command.remove("PATH")
    return dedupd.finish(subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=dedupd.environment()))


def uuid_of(run):
    return run.filesystem["uuid"]


def give(owner, *paths):
    for path in paths:
        os.chown(path, owner, owner)


def test_what_is_said_of_all_is_done(tree, dedupd, configure):
    write(tree / "zeros", bytes(MIB))

    done = harness.check_pass(dedupd, config=configure("[Dedupd]", "Zeros=keep"))

    assert done.freed_bytes == 0
    assert done.first.skipped["keep-zeros"] == 1


def test_the_command_line_wins(tree, dedupd, configure):
    write(tree / "zeros", bytes(MIB))
    config = configure("[Dedupd]", "Zeros=keep", f"[Filesystem {tree}]", "Zeros=keep")

    assert harness.check_pass(dedupd, config=config, zeros="hole").freed_bytes == MIB


def test_each_filesystem_has_its_own_settings(make_filesystem, make_dedupd, configure):
    one, two = make_filesystem("xfs"), make_filesystem("btrfs")
    trees = [pathlib.Path(filesystem.mount_point) for filesystem in (one, two)]
    for tree in trees:
        content.write_twins(tree, MIB)
    dedupd = make_dedupd(one)
    config = configure("[Dedupd]", "MinSize=2M", f"[Filesystem {trees[1]}/]", "MinSize=4K")

    run = dedupd.run(*trees, config=config)

    assert run.status == 0, run.stderr
    by_kind = {entry["kind"]: entry for entry in run.report["filesystems"]}
    assert by_kind["XFS"]["freed"]["bytes"] == 0
    assert by_kind["btrfs"]["freed"]["bytes"] == MIB


@pytest.mark.parametrize("kind", ["xfs", "btrfs"])
def test_a_filesystem_is_known_by_its_uuid(tree, dedupd, configure):
    content.write_twins(tree, MIB)
    uuid = uuid_of(dedupd.run(dry_run=True))
    harness.settle(dedupd.filesystem)
    config = configure(f"[Filesystem {uuid.upper()}]", "MinSize=2M")

    run = dedupd.run(config=config)

    assert run.skipped["small"] == 2
    assert run.freed_bytes == 0


@pytest.mark.parametrize("kind", ["xfs"])
@pytest.mark.parametrize("by", ["uuid", "mount point"])
def test_without_a_path_it_works_on_what_is_named(tree, make_filesystem, make_dedupd, dedupd,
                                                  configure, by):
    named = make_filesystem("btrfs")
    there = pathlib.Path(named.mount_point)
    one, two = content.write_twins(there, MIB)
    untouched = content.write_twins(tree, MIB)
    harness.settle(named)
    uuid = uuid_of(make_dedupd(named, state="other").run(dry_run=True))
    config = configure(f"[Filesystem {uuid if by == 'uuid' else there}]",
                       f"[Filesystem {tree}]", "Enable=no", "[Filesystem /nowhere/at/all]")

    run = without_paths(dedupd, config=config)

    assert run.status == 0, run.stderr
    assert run.filesystem["uuid"] == uuid
    assert oracle.is_shared(one, two)
    assert not oracle.is_shared(*untouched)
    assert f"{config}:4: [Filesystem /nowhere/at/all]" in run.stderr


@pytest.mark.parametrize("kind", ["btrfs"])
def test_a_uuid_stands_for_all_subvolumes_that_are_mounted(tree, filesystem, dedupd, configure,
                                                           tmp_path):
    """The top is not mounted; one subvolume is, twice, and another one."""
    for name in ("one", "two"):
        subprocess.run(["btrfs", "-q", "subvolume", "create", tree / name], check=True)
        write(tree / name / "file", noise(1, MIB))
    uuid = uuid_of(dedupd.run(dry_run=True))
    harness.settle(filesystem)
    mounts = tmp_path / "mounts"
    script = """
        mkdir -p "$0/one" "$0/two" "$0/again"
        device=$(findmnt -no SOURCE "$1" | sed 's/\\[.*//')
        mount -o subvol=one "$device" "$0/one"
        mount -o subvol=two "$device" "$0/two"
        mount --bind "$0/one" "$0/again"
        umount -l "$1"
        shift
        exec "$@"
    """
    command = dedupd.command("PATH", config=configure(f"[Filesystem {uuid}]"))
    command.remove("PATH")
    run = dedupd.finish(subprocess.Popen(
        [*harness.own_mounts(), "sh", "-ec", script, mounts, tree, *command],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=dedupd.environment()))

    assert run.status == 0, run.stderr
    assert run.files["seen"] == 2
    assert oracle.is_shared(tree / "one/file", tree / "two/file")


@pytest.mark.parametrize("kind", ["xfs"])
def test_a_bad_configuration_is_refused_with_all_that_is_wrong(tree, dedupd, configure):
    one, two = content.write_twins(tree, MIB)
    config = configure("[Dedupd]", "Zeross=keep", "Zeros=hol", f"[Filesystem {tree}]", "Memory=64M")

    run = dedupd.run(config=config)

    assert run.status == 2
    assert run.stderr.splitlines() == [
        f"dedupd: {config}:2: [Dedupd] Zeross=: unknown key, did you mean Zeros=?",
        f'dedupd: {config}:3: [Dedupd] Zeros=: "hol" is unknown, did you mean hole?  '
        "It may be auto, hole, keep or share",
        f"dedupd: {config}:5: [Filesystem {tree}] Memory=: this key belongs to [Dedupd]",
    ]
    assert not oracle.is_shared(one, two)


@pytest.mark.parametrize("kind", ["xfs"])
def test_a_configuration_that_is_not_there_is_refused(dedupd, tmp_path):
    run = dedupd.run(config=tmp_path / "missing")

    assert run.status == 2
    assert "missing" in run.stderr


@pytest.mark.parametrize("kind", ["xfs"])
def test_drop_ins_of_the_system_are_read(tree, dedupd):
    """In /run, which is private to the pass."""
    content.write_twins(tree, MIB)
    harness.settle(dedupd.filesystem)
    script = """
        mount -t tmpfs none /run
        mkdir -p /run/dedupd/dedupd.conf.d
        printf '[Dedupd]\\nMinSize=2M\\n' > /run/dedupd/dedupd.conf.d/50-test.conf
        exec "$@"
    """
    run = dedupd.finish(subprocess.Popen(
        [*harness.own_mounts(), "sh", "-ec", script, "sh", *dedupd.command(config=None)],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=dedupd.environment()))

    assert run.status == 0, run.stderr
    assert run.skipped["small"] == 2


def write_excluded_tree(tree):
    """Twins of each name, so that what is excluded shows in what is freed."""
    for number, name in enumerate(("a.tmp", "keep.tmp", "cache/x", "sub/cache/x", "top/x",
                                   "sub/top/x", "data")):
        for side in ("", "-2"):
            path = tree / (name + side if "." not in name else name.replace(".", side + "."))
            path.parent.mkdir(parents=True, exist_ok=True)
            content.write_extent(path, noise(number, 256 * KIB))


PATTERNS = [
    (["Exclude=*.tmp"], {"a", "keep"}),
    (["Exclude=*.tmp", "Include=keep*.tmp"], {"a"}),
    (["Include=keep*.tmp", "Exclude=*.tmp"], {"a", "keep"}),
    (["Exclude=cache/"], {"cache", "sub/cache"}),
    (["Exclude=/cache/"], {"cache"}),
    (["Exclude=/top"], {"top"}),
    (["Exclude=sub/*/"], {"sub/cache", "sub/top"}),
    (["Exclude=data/", "Exclude=/sub/**/x*"], {"sub/cache", "sub/top"}),
    (["Exclude=*", "Include=/data*"], {"a", "keep", "cache", "sub/cache", "top", "sub/top"}),
]


@pytest.mark.parametrize("kind, find", [("btrfs", "checksums"), ("btrfs", "read"), ("xfs", "read")])
@pytest.mark.parametrize("lines, excluded", PATTERNS,
                         ids=[" ".join(lines) for lines, _ in PATTERNS])
def test_patterns_are_those_of_gitignore(tree, dedupd, configure, find, lines, excluded):
    write_excluded_tree(tree)
    twins = {
        "a": ("a.tmp", "a-2.tmp"), "keep": ("keep.tmp", "keep-2.tmp"),
        "cache": ("cache/x", "cache/x-2"), "sub/cache": ("sub/cache/x", "sub/cache/x-2"),
        "top": ("top/x", "top/x-2"), "sub/top": ("sub/top/x", "sub/top/x-2"),
        "data": ("data", "data-2"),
    }
    config = configure("[Dedupd]", "Exclude=data*", f"[Filesystem {tree}]", "Exclude=", *lines)

    done = harness.check_pass(dedupd, find=find, config=config)

    assert {name for name, paths in twins.items()
            if not oracle.is_shared(*(tree / path for path in paths))} == excluded
    assert done.freed_bytes == (len(twins) - len(excluded)) * 256 * KIB


@pytest.mark.parametrize("kind, find", [("btrfs", "checksums"), ("btrfs", "read"), ("xfs", "read")])
def test_patterns_begin_at_the_mount_point_whatever_the_path(tree, dedupd, configure, find):
    for name in ("in", "in/in"):
        (tree / name).mkdir()
        for twin in ("x", "y"):
            content.write_extent(tree / name / twin, noise(len(name), 256 * KIB))
    config = configure(f"[Filesystem {tree}]", "Exclude=/in/in")

    done = harness.check_pass(dedupd, paths=[tree / "in"], find=find, config=config)

    assert done.freed_bytes == 256 * KIB
    assert oracle.is_shared(tree / "in/x", tree / "in/y")


@pytest.mark.parametrize("kind, find", [("btrfs", "checksums"), ("btrfs", "read"), ("xfs", "read")])
def test_an_absolute_path_below_the_mount_point_excludes(tree, dedupd, configure, find):
    write_excluded_tree(tree)
    config = configure(f"[Filesystem {tree}]", f"Exclude={tree}/cache", f"Exclude={tree}/sub/*/")

    done = harness.check_pass(dedupd, find=find, config=config)

    assert done.freed_bytes == 4 * 256 * KIB
    assert not oracle.is_shared(tree / "cache/x", tree / "cache/x-2")
    assert not oracle.is_shared(tree / "sub/top/x", tree / "sub/top/x-2")
    assert done.first.filesystem["unmatched_patterns"] == []


@pytest.mark.parametrize("kind, find", [("btrfs", "checksums"), ("btrfs", "read"), ("xfs", "read")])
def test_patterns_that_match_nothing_are_named(tree, dedupd, configure, find):
    write_excluded_tree(tree)
    config = configure("[Dedupd]", "Exclude=*.iso", "Exclude=*.tmp", "Include=keep.tmp",
                       "Include=/kept/", f"[Filesystem {tree}]", "Exclude=/srv/cache")

    run = dedupd.run(find=find, config=config)

    assert run.status == 0
    anywhere = [] if find == "checksums" else ["*.iso"]
    assert run.filesystem["unmatched_patterns"] == [*anywhere, "!/kept/", "/srv/cache"]
    again = dedupd.run(find=find, config=config)
    assert again.filesystem["unmatched_patterns"] == run.filesystem["unmatched_patterns"]
    shown = dedupd.run(find=find, config=config, json=False).stdout
    assert "no match" in shown
    for said in ("Include=/kept/", "Exclude=/srv/cache"):
        assert f" {said}\n" in shown


@pytest.mark.parametrize("kind, find", [("btrfs", "checksums"), ("btrfs", "read"), ("xfs", "read")])
def test_patterns_that_have_worked_are_not_said_to_match_nothing(tree, dedupd, configure, find):
    """A later pass finds all of it known."""
    write_excluded_tree(tree)
    config = configure(f"[Filesystem {tree}]", "Exclude=x-2", "Exclude=/sub/", "Include=/cache/x-2")
    for _ in range(2):
        assert dedupd.run(find=find, config=config).filesystem["unmatched_patterns"] == []


@pytest.mark.parametrize("kind, find", [("btrfs", "checksums"), ("btrfs", "read"), ("xfs", "read")])
def test_what_a_change_of_patterns_lets_in_is_found(tree, dedupd, configure, find):
    twins = [content.write_extent(tree / name, noise(1, MIB)) or tree / name for name in "ab"]

    done = harness.check_pass(dedupd, find=find, config=configure("[Dedupd]", "Exclude=/b"))
    assert done.freed_bytes == 0
    done = harness.check_pass(dedupd, find=find, config=configure("[Dedupd]", "Exclude=/c"))
    assert done.freed_bytes == MIB
    assert oracle.is_shared(*twins)


@pytest.mark.parametrize("kind, find", [("btrfs", "checksums"), ("btrfs", "read"), ("xfs", "read")])
def test_data_stays_within_owners(tree, dedupd, configure, find):
    """Four equal files, two of each owner: two are freed, not three; then the third."""
    for name, owner in zip("abcd", (USER, OTHER, USER, OTHER)):
        content.write_extent(tree / name, noise(1, MIB))
        give(owner, tree / name)
    config = configure("[Dedupd]", "AcrossOwners=no")

    done = harness.check_pass(dedupd, find=find, config=config)

    assert done.freed_bytes == 2 * MIB
    assert oracle.is_shared(tree / "a", tree / "c")
    assert oracle.is_shared(tree / "b", tree / "d")
    assert not oracle.is_shared(tree / "a", tree / "b")
    assert harness.check_pass(dedupd, find=find, has_clones=True).freed_bytes == MIB
    assert oracle.is_shared(tree / "a", tree / "b")


@pytest.mark.parametrize("kind", ["btrfs", "xfs"])
def test_why_owners_keep_apart_is_told(tree, dedupd):
    for name, owner in zip("ab", (USER, OTHER)):
        write(tree / name, noise(1, MIB))
        give(owner, tree / name)

    done = harness.check_pass(dedupd, across_owners="no")

    assert done.freed_bytes == 0
    assert done.first.skip_of("other-owner")["count"] == 1
    assert done.first.skip_of("other-owner")["bytes"] == MIB


@pytest.mark.parametrize("kind", ["btrfs"])
def test_an_extent_that_files_of_two_owners_show_stays(tree, dedupd):
    content.write_extent(tree / "longer", noise(1, MIB) + noise(2, MIB))
    content.write_extent(tree / "one", noise(1, MIB))
    subprocess.run(["cp", "--reflink=always", tree / "one", tree / "two"], check=True)
    give(USER, tree / "longer", tree / "one")
    give(OTHER, tree / "two")

    done = harness.check_pass(dedupd, find="checksums", across_owners="no", rewrite="never")

    assert done.freed_bytes == 0
    assert done.first.skipped.get("other-owner", 0) + done.first.skipped.get("pinned", 0) >= 1
    assert not oracle.is_shared(tree / "longer", tree / "two")


@pytest.mark.parametrize("kind, find", [("btrfs", "checksums"), ("btrfs", "read"), ("xfs", "read")])
def test_young_files_are_left_for_a_later_pass(tree, filesystem, dedupd, configure, find):
    old = [content.write_extent(tree / name, noise(1, MIB)) or tree / name for name in "ab"]
    young = [content.write_extent(tree / name, noise(2, MIB)) or tree / name for name in "cd"]
    for path in old:
        os.utime(path, (time.time() - 7200, time.time() - 7200))
    harness.settle(filesystem)

    run = dedupd.run(find=find, config=configure("[Dedupd]", "MinAge=1h"))

    assert run.status == 0, run.stderr
    assert run.freed_bytes == MIB
    assert run.skipped["young"] >= 1
    assert oracle.is_shared(*old)
    assert not oracle.is_shared(*young)
    again = dedupd.run(find=find, config=configure("[Dedupd]", "MinAge=1h"))
    assert again.freed_bytes == 0
    assert harness.check_pass(dedupd, find=find, min_age="1s").freed_bytes == MIB
    assert oracle.is_shared(*young)


def closed_window():
    """A window that opens in three hours."""
    begin = time.localtime(time.time() + 3 * 3600)
    end = time.localtime(time.time() + 4 * 3600)
    return time.strftime("%H:%M-", begin) + time.strftime("%H:%M", end)


@pytest.mark.parametrize("kind", ["xfs"])
def test_outside_of_its_window_a_pass_does_not_begin(tree, filesystem, dedupd, configure):
    one, two = content.write_twins(tree, MIB)
    harness.settle(filesystem)
    config = configure(f"[Filesystem {tree}]", f"Window={closed_window()}")

    run = dedupd.run(config=config)

    assert run.status == 0
    assert run.report["filesystems"] == []
    assert f"skipping {tree} until its window, which opens at 20" in run.stderr
    assert not oracle.is_shared(one, two)
    assert harness.check_pass(dedupd, config=config, now=True).freed_bytes == MIB


@pytest.mark.parametrize("kind", ["xfs"])
def test_a_pass_ends_when_its_time_is_up(tree, filesystem, dedupd, configure):
    content.write_twins(tree, 24 * MIB)
    harness.settle(filesystem)
    filesystem.forget_data()

    run = dedupd.run(config=configure("[Dedupd]", "RunFor=2s", "LimitRate=4M"))

    assert run.status == 0
    assert run.report["outcome"] == "interrupted"
    assert "ended early, as its time was up" in run.stderr
    assert 1.5 < run.seconds < 7
    assert harness.check_pass(dedupd).freed_bytes == 24 * MIB


@pytest.mark.parametrize("kind", ["xfs"])
def test_a_pass_ends_when_its_window_closes(tree, filesystem, dedupd, configure, monkeypatch):
    content.write_twins(tree, 24 * MIB)
    harness.settle(filesystem)
    filesystem.forget_data()
    # Clocks that show 12:00, which is when it closes, in four seconds.
    ahead = int(12 * 3600 - 4 - time.time() % 86400)
    hours, seconds = divmod(abs(ahead), 3600)
    monkeypatch.setenv("TZ", f"TST{'-' if ahead > 0 else ''}{hours}:{seconds // 60}:{seconds % 60}")

    run = dedupd.run(config=configure("[Dedupd]", "Window=11:00-12:00", "LimitRate=1M"))

    assert run.report["outcome"] == "interrupted"
    assert "ended early, as its window closed" in run.stderr
    assert run.seconds < 9


@pytest.mark.parametrize("kind", ["xfs"])
def test_a_disk_that_is_not_there_is_warned_of(tree, dedupd, configure):
    content.write_twins(tree, MIB)
    config = configure("[Disk nosuchdisk]", "ReadRate=1M")

    done = harness.check_pass(dedupd, config=config)

    assert done.freed_bytes == MIB
    assert f"warning: {config}:1: [Disk nosuchdisk] names no disk" in done.first.stderr
