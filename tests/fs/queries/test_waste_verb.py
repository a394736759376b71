# SPDX-License-Identifier: GPL-2.0-or-later
"""dedupctl waste: in which places equal files take space that deduplication would free."""

import functools
import json
import os
import pathlib
import pty
import re
import time

import pytest

import content
import harness
from content import KIB, MIB, noise, write_extent

USAGE, FAILED, IN_USE = 2, 1, 5
DAY = 86400


def dedupctl(dedupd, *words, **options):
    return harness.dedupctl("waste", *words, dedupd=dedupd, **options)


@pytest.fixture(name="ask")
def ask_fixture(dedupd):
    """({key: (reclaimable bytes, files)}, all there is to say)."""
    def ask(*words, status=0):
        said, = json.loads(dedupctl(dedupd, "--json", *words, status=status).stdout)["waste"]
        return {row["key"]: (row["reclaimable_bytes"], row["files"]) for row in said["keys"]}, said
    return ask


@pytest.fixture(name="learn")
def learn_fixture(learn):
    return functools.partial(learn, dry_run=True)


def copies(tree, names, seed, size):
    """Equal files, of which the store meets the first name first."""
    for name in names:
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        write_extent(tree / name, noise(seed, size))


@pytest.fixture(name="wasteful")
def wasteful_fixture(tree):
    copies(tree, ["first.iso", "a/x/one.iso", "a/y/two.ISO", "b/three.iso"], 1, MIB)
    copies(tree, ["first.jpg", "b/z/one.jpg"], 2, 256 * KIB)
    write_extent(tree / "b/unique.jpg", noise(3, 2 * MIB))
    return tree


def test_directories_are_added_up_and_each_byte_is_counted_once(wasteful, ask, learn):
    learn()
    keys, said = ask()
    assert keys == {str(wasteful / "a"): (2 * MIB, 2), str(wasteful / "b"): (MIB + 256 * KIB, 2)}
    assert [row["key"] for row in said["keys"]] == [str(wasteful / "a"), str(wasteful / "b")]
    assert [row["percent"] for row in said["keys"]] == [61.5, 38.5]
    assert (said["by"], said["reclaimable_bytes"], said["files"]) == ("directory", 3328 * KIB, 4)
    assert said["shared_bytes"] == said["stale"] == said["pinned_bytes"] == 0


def test_depth_tells_how_deep_directories_are_told_apart(wasteful, ask, learn):
    learn()
    assert ask("--depth=0")[0] == {str(wasteful): (3328 * KIB, 4)}
    assert ask("--depth=2")[0] == {
        str(wasteful / "a/x"): (MIB, 1), str(wasteful / "a/y"): (MIB, 1),
        str(wasteful / "b"): (MIB, 1), str(wasteful / "b/z"): (256 * KIB, 1)}


def test_what_directories_have_adds_up_to_what_the_filesystem_has(wasteful, ask, learn):
    learn()
    parts = [ask(wasteful / name)[1] for name in "ab"]
    assert [part["reclaimable_bytes"] for part in parts] == [2 * MIB, MIB + 256 * KIB]
    assert ask(wasteful / "a")[0] == {str(wasteful / "a/x"): (MIB, 1),
                                      str(wasteful / "a/y"): (MIB, 1)}
    both = ask(wasteful / "a", wasteful / "b")[1]
    assert both["reclaimable_bytes"] == ask(wasteful)[1]["reclaimable_bytes"]


def test_types_owners_and_ages_are_added_up(wasteful, ask, learn):
    now = time.time()
    os.chown(wasteful / "a/x/one.iso", 4000000001, 0)
    os.utime(wasteful / "b/z/one.jpg", (now, now - 400 * DAY))
    os.utime(wasteful / "b/three.iso", (now, now - 10 * DAY))
    learn()
    assert ask("--by=type")[0] == {".iso": (3 * MIB, 3), ".jpg": (256 * KIB, 1)}
    assert ask("--by", "owner")[0] == {"root": (2 * MIB + 256 * KIB, 3), "4000000001": (MIB, 1)}
    assert ask("--by=age")[0] == {"under 1 day": (2 * MIB, 2), "7 to 30 days": (MIB, 1),
                                  "1 to 2 years": (256 * KIB, 1)}
    assert ask("--by=subvolume")[0] == {str(wasteful): (3328 * KIB, 4)}
    assert ask("--by=type", "--limit=1")[0] == {".iso": (3 * MIB, 3)}
    assert ask("--by=type", "--min=512K")[0] == {".iso": (3 * MIB, 3)}


def test_what_is_shared_already_is_told_apart(tree, ask, learn):
    copies(tree, ["one", "sub/own"], 1, MIB)
    content.clone(tree / "one", tree / "clone")
    learn()
    _, said = ask("--depth=0")
    assert (said["reclaimable_bytes"], said["shared_bytes"], said["files"]) == (MIB, MIB, 1)


def test_after_a_pass_there_is_nothing_to_free(wasteful, ask, learn, kind):
    learn(dry_run=False)
    keys, said = ask("--depth=0")
    assert said["reclaimable_bytes"] == said["files"] == 0
    # Extents that are gone cannot be told from others.
    assert said["shared_bytes"] == (3328 * KIB if kind == "xfs" else 0)
    assert keys == ({str(wasteful): (0, 0)} if kind == "xfs" else {})


def test_of_when_it_is_known_is_said(wasteful, dedupd, learn):
    learn(dry_run=False)
    copies(wasteful, ["new/one", "new/two"], 5, MIB)
    said = dedupctl(dedupd).stdout
    assert re.search(r"^In all: 0 B of 0 files could be freed", said, re.MULTILINE)
    assert re.search(r"^As of the last pass, 20\d\d-.*; newer files are not counted "
                     r"\('dedupctl estimate' looks at the files\)\.$", said, re.MULTILINE)


def test_what_changed_since_is_no_waste(wasteful, ask, learn):
    learn()
    write_extent(wasteful / "a/x/one.iso", noise(9, MIB))
    os.unlink(wasteful / "first.jpg")
    keys, said = ask()
    assert keys == {str(wasteful / "a"): (MIB, 1), str(wasteful / "b"): (MIB, 1)}
    assert said["stale"] == 2


def test_subvolumes_are_added_up(make_filesystem, make_dedupd):
    filesystem = make_filesystem("btrfs")
    tree = pathlib.Path(filesystem.mount_point)
    dedupd = make_dedupd(filesystem)
    copies(tree, ["first"], 1, MIB)
    for name in ("sub", "other"):
        harness.btrfs("subvolume", "create", tree / name)
        copies(tree, [f"{name}/deep/er/copy"], 1, MIB)
    harness.settle(filesystem)
    assert dedupd.run(find="checksums", dry_run=True).status == 0
    said, = json.loads(dedupctl(dedupd, "--by=subvolume", "--json").stdout)["waste"]
    assert {row["key"]: row["reclaimable_bytes"] for row in said["keys"]} == {
        str(tree / "sub"): MIB, str(tree / "other"): MIB}


def test_what_is_pinned_on_btrfs_is_lost_in_extents(make_filesystem, make_dedupd):
    filesystem = make_filesystem("btrfs")
    tree = pathlib.Path(filesystem.mount_point)
    dedupd = make_dedupd(filesystem)
    data = noise(1, MIB)
    write_extent(tree / "large", data + noise(2, MIB))
    write_extent(tree / "other", data + noise(3, MIB))
    harness.settle(filesystem)
    assert dedupd.run(find="checksums", rewrite="never").status == 0
    said, = json.loads(dedupctl(dedupd, "--json").stdout)["waste"]
    assert said["reclaimable_bytes"] == 0
    # Only one of the two could ever be freed.
    assert (said["pinned_extents"], said["pinned_bytes"]) == (1, 2 * MIB)
    text = dedupctl(dedupd).stdout
    assert "1 extent (2 MiB) duplicates other data but cannot be freed yet:\n  2 MiB (uncovered): " in text
    assert "Rewrite=auto" in text
    (tree / "sub").mkdir()
    assert "duplicates other" not in dedupctl(dedupd, tree / "sub").stdout


def test_names_are_fit_for_a_terminal(tree, ask, learn, dedupd):
    hostile = b"c\nd\x1b[2J\xff"
    copies(tree, ["first", os.fsdecode(hostile) + "/copy"], 1, MIB)
    learn()
    escaped = str(tree) + "/c\\nd\\e[2J\\xff"
    assert ask()[0] == {escaped: (MIB, 1)}
    head, _, *table = dedupctl(dedupd).stdout.splitlines()
    assert head.startswith("As of ")
    assert "\x1b" not in "".join(table)
    assert table[0].split() == ["RECLAIM", "%", "SHARED", "FILES", "DIRECTORY"]
    assert table[1].split(maxsplit=6) == ["1", "MiB", "100.0", "0", "B", "1", escaped]
    assert table[3] == "In all: 1 MiB of 1 file could be freed."
    assert dedupctl(dedupd, "-no", "key").stdout == escaped + "\n"


def test_a_terminal_is_shown_bars(wasteful, learn, dedupd):
    learn()
    reader, writer = pty.openpty()
    dedupctl(dedupd, "--by=type", stdout=writer, env={**os.environ, "LC_ALL": "C.UTF-8"})
    os.close(writer)
    lines = os.read(reader, 65536).decode().splitlines()
    os.close(reader)
    assert [line.count("█") for line in lines if ".iso" in line] == [20]
    # 256 KiB of 3 MiB.
    assert re.search(" █▋ +[.]jpg", "\n".join(lines))


def test_a_pass_that_works_meanwhile_is_named_where_it_is_in_the_way(wasteful, kind, learn, ask,
                                                                     dedupd):
    learn()
    with harness.working_pass(dedupd.store_path.stem):
        if kind == "xfs":
            assert ask("--depth=0")[0] == {str(wasteful): (3328 * KIB, 4)}
            return
        done = dedupctl(dedupd, status=IN_USE)
        assert f"holds the store of the filesystem {dedupd.store_path.stem}" in done.stderr
        assert ask(status=IN_USE)[0] == {}


def test_others_than_root_are_told_that_they_may_not_look(wasteful, learn, dedupd):
    learn()
    done = dedupctl(dedupd, status=FAILED, user=harness.USER, cwd="/")
    assert "ermission denied" in done.stderr
    assert wasteful.name not in done.stdout


@pytest.mark.parametrize("words, said", [
    (["--by=colour"], "'colour' is unknown: directory, owner, age, type or subvolume"),
    (["--by=owners"], "did you mean owner"), (["--min=64KB"], "--min"),
    (["--by=type", "--depth=2"], "--depth goes with --by=directory"), (["--limit=x"], "limit"),
    (["--by=\x1b[2J"], "is unknown"),
])
def test_bad_use_is_refused_by_name(dedupd, words, said):
    done = dedupctl(dedupd, *words, status=USAGE)
    assert said in done.stderr
    assert "\x1b" not in done.stderr
    assert done.stdout == ""


def test_paths_beyond_path_max_are_added_up(tree, ask, learn):
    for name in ("one", "two"):
        content.write_deep(tree, name, noise(1, MIB))
    learn()
    rows, said = ask("--by=subvolume")
    assert (rows, said["stale"]) == ({str(tree): (MIB, 1)}, 0)


def test_names_of_one_file_are_charged_once(tree, ask, learn):
    for directory in ("a", "b"):
        (tree / directory).mkdir()
    one = write_extent(tree / "a" / "one", noise(1, MIB))
    os.link(one, tree / "b" / "one")
    copy = write_extent(tree / "b" / "copy", noise(1, MIB))
    os.link(copy, tree / "a" / "copy")
    learn()
    rows, said = ask()
    assert sum(reclaimable for reclaimable, _ in rows.values()) == said["reclaimable_bytes"] == MIB
    assert said["files"] == 1
