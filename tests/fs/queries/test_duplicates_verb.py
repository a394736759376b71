# SPDX-License-Identifier: GPL-2.0-or-later
"""dedupctl duplicates: groups of equal files, held against the filesystem."""

import csv
import functools
import io
import json
import os
import pathlib

import pytest

import content
import harness
import ioctls
from content import KIB, MIB, noise, write_extent

FAILED, USAGE, IN_USE = 1, 2, 5


def dedupctl(dedupd, *words, **options):
    return harness.dedupctl("duplicates", *words, dedupd=dedupd, **options)


@pytest.fixture(name="ask")
def ask_fixture(dedupd):
    """(reclaimable bytes, {path: state}) of each group, and the number that is stale."""
    def ask(*words, status=0):
        said = json.loads(dedupctl(dedupd, "--json", *words, status=status).stdout)
        return [(group["reclaimable_bytes"], {file["file"]: file["state"] for file in group["files"]})
                for group in said["duplicates"]], said["stale"]
    return ask


@pytest.fixture(name="learn")
def learn_fixture(learn):
    return functools.partial(learn, dry_run=True)


def paths(groups):
    return [(reclaimable, set(files)) for reclaimable, files in groups]


def equal_files(tree, names, seed, size):
    return {str(write_extent(tree / name, noise(seed, size))) for name in names}


def test_groups_come_with_what_wastes_most_first(tree, ask, learn):
    small = equal_files(tree, ["small-1", "small-2", "small-3", "small-4"], 1, 256 * KIB)
    large = equal_files(tree, ["large-1", "large-2"], 2, MIB)
    tiny = equal_files(tree, ["tiny-1", "tiny-2"], 3, 128 * KIB)
    write_extent(tree / "unique", noise(4, 2 * MIB))
    learn()
    groups, stale = ask()
    assert paths(groups) == [(MIB, large), (768 * KIB, small), (128 * KIB, tiny)]
    assert stale == 0
    assert all(sorted(files.values()) == ["first"] + ["own"] * (len(files) - 1)
               for _, files in groups)
    assert paths(ask("--min", "256K")[0]) == [(MIB, large), (768 * KIB, small)]
    assert paths(ask("--limit", "1")[0]) == [(MIB, large)]


def test_what_shares_already_is_shown_and_counts_nothing(tree, ask, learn):
    one, two = sorted(equal_files(tree, ["one", "two"], 1, MIB))
    clone = str(content.clone(one, tree / "clone"))
    learn()
    (reclaimable, files), = ask()[0]
    assert reclaimable == MIB
    assert set(files) == {one, two, clone}
    assert sorted(files.values()) == ["first", "own", "shared"]


def test_after_a_pass_nothing_is_left_to_reclaim(tree, ask, learn):
    files = equal_files(tree, ["one", "two", "three"], 1, MIB)
    learn(dry_run=False)
    assert ask()[0] == []
    assert paths(ask("--all")[0]) == [(0, files)]


def test_files_of_an_xfs_that_were_shared_are_shown_with_nothing_to_reclaim(make_filesystem,
                                                                            make_dedupd):
    filesystem = make_filesystem("xfs")
    tree = pathlib.Path(filesystem.mount_point)
    dedupd = make_dedupd(filesystem)
    files = equal_files(tree, ["one", "two", "three"], 1, MIB)
    harness.settle(filesystem)
    assert dedupd.run().status == 0
    assert "nothing to reclaim: 1 group of equal files shares all" in dedupctl(dedupd).stderr
    group, = json.loads(dedupctl(dedupd, "--json", "--all").stdout)["duplicates"]
    assert group["reclaimable_bytes"] == 0
    assert {file["file"] for file in group["files"]} == files
    assert [file["state"] for file in group["files"]] == ["first", "shared", "shared"]


def test_an_answer_without_groups_says_so(tree, dedupd, learn):
    write_extent(tree / "one", noise(1, MIB))
    learn()
    done = dedupctl(dedupd)
    assert done.stdout.strip() == ""
    assert "no files are known that equal each other" in done.stderr


def test_what_changed_or_is_gone_is_left_out_and_counted(tree, ask, learn):
    files = equal_files(tree, ["one", "two", "three", "four"], 1, MIB)
    equal_files(tree, ["a", "b"], 2, 2 * MIB)
    learn()
    write_extent(tree / "two", noise(9, MIB))
    os.unlink(tree / "three")
    os.unlink(tree / "a")
    groups, stale = ask()
    assert paths(groups) == [(MIB, files - {str(tree / "two"), str(tree / "three")})]
    assert stale == 3


def test_what_was_left_out_is_said_for_its_cause(tree, dedupd, learn, kind):
    equal_files(tree, ["one", "two"], 1, MIB)
    learn()
    write_extent(tree / "two", noise(9, MIB))
    said = dedupctl(dedupd).stderr
    assert ("a file is left out: it changed since it was read" in said) == (kind == "xfs")
    assert ("an extent that a pass knew is gone" in said) == (kind == "btrfs")


@pytest.mark.true_clock
def test_files_that_were_young_are_no_changed_ones(make_filesystem, make_dedupd):
    filesystem = make_filesystem("xfs")
    dedupd = make_dedupd(filesystem)
    equal_files(pathlib.Path(filesystem.mount_point), ["one", "two"], 1, MIB)
    ioctls.sync(filesystem.mount_point)
    assert dedupd.run(dry_run=True).status == 0
    assert "2 files are left out: they were written shortly before" in dedupctl(dedupd).stderr
    said = json.loads(dedupctl(dedupd, "--json").stdout)
    assert (said["stale"], said["fresh"], said["gone_extents"]) == (2, 2, 0)


def test_files_of_a_btrfs_that_were_read_are_found_again(make_filesystem, make_dedupd):
    filesystem = make_filesystem("btrfs")
    dedupd = make_dedupd(filesystem)
    tree = pathlib.Path(filesystem.mount_point)
    files = {str(content.write_no_cow(tree / name, noise(1, MIB))) for name in ("one", "two")}
    harness.settle(filesystem)
    for dry_run, reclaimable in ((True, MIB), (False, 0)):
        assert dedupd.run(find="checksums", no_data_cow="share", dry_run=dry_run).status == 0
        said = json.loads(dedupctl(dedupd, "--all", "--json").stdout)
        group, = said["duplicates"]
        assert group["reclaimable_bytes"] == reclaimable
        assert {file["file"] for file in group["files"]} == files
        assert said["stale"] == 0


def test_data_that_waits_in_memory_is_no_duplicate(tree, ask, learn):
    equal_files(tree, ["one", "two"], 1, MIB)
    learn()
    content.overwrite(tree / "one", 4 * KIB, noise(3, 8 * KIB))
    assert ask()[0] == []


def test_only_files_below_a_directory_are_compared(tree, ask, learn):
    (tree / "in").mkdir()
    (tree / "out").mkdir()
    mixed = equal_files(tree, ["in/a", "out/b"], 1, MIB)
    inside = equal_files(tree, ["in/c", "in/d"], 2, 512 * KIB)
    outside = equal_files(tree, ["out/e", "out/f"], 3, 256 * KIB)
    learn()
    assert paths(ask()[0]) == [(MIB, mixed), (512 * KIB, inside), (256 * KIB, outside)]
    assert paths(ask(tree)[0]) == paths(ask()[0])
    assert paths(ask("--under", tree / "in")[0]) == [(512 * KIB, inside)]
    assert paths(ask(tree / "in")[0]) == [(MIB, mixed), (512 * KIB, inside)]


def test_equal_files_of_several_extents_are_a_group(tree, ask, learn):
    data = noise(1, 2 * MIB)
    files = {str(content.write(tree / name, data, piece=MIB)) for name in ("one", "two")}
    # Its first half equals theirs.
    content.write(tree / "half", data[:MIB] + noise(2, MIB), piece=MIB)
    learn()
    assert paths(ask()[0]) == [(2 * MIB, files)]


def test_files_of_other_lengths_are_no_duplicates(tree, ask, learn):
    data = noise(1, MIB)
    write_extent(tree / "one", data)
    write_extent(tree / "two", data[:-100])
    write_extent(tree / "three", data + b"x")
    learn()
    assert ask()[0] == []


def test_snapshots_are_shown_as_shared(make_filesystem, make_dedupd):
    filesystem = make_filesystem("btrfs")
    tree = pathlib.Path(filesystem.mount_point)
    dedupd = make_dedupd(filesystem)
    harness.btrfs("subvolume", "create", tree / "sub")
    equal_files(tree, ["sub/one", "two"], 1, MIB)
    harness.btrfs("subvolume", "snapshot", "-r", tree / "sub", tree / "snapshot")
    harness.settle(filesystem)
    assert dedupd.run(find="checksums", dry_run=True).status == 0
    group, = json.loads(dedupctl(dedupd, "--json").stdout)["duplicates"]
    states = {file["file"]: file["state"] for file in group["files"]}
    assert group["reclaimable_bytes"] == MIB
    assert states.keys() == {str(tree / name) for name in ("sub/one", "two", "snapshot/one")}
    assert sorted(states.values()) == ["first", "own", "shared"]


def test_what_a_pass_shared_is_shown_with_all(tree, dedupd, ask, learn):
    files = {str(write_extent(tree / name, noise(1, MIB))) for name in ("one", "two")}
    alone = write_extent(tree / "alone", noise(2, MIB))
    for _ in range(2):
        learn(dry_run=False)
        assert ask()[0] == []
        (reclaimable, states), = ask("--all")[0]
        assert (reclaimable, states.keys()) == (0, files)
        assert sorted(states.values()) == ["first", "shared"]
    if dedupd.filesystem.kind == "btrfs":
        clone = content.clone(alone, tree / "clone")
        assert {str(alone), str(clone)} in [states.keys() for _, states in ask("--all")[0]]


def test_formats_say_the_same(tree, ask, learn, dedupd):
    files = equal_files(tree, ["a,\"b\"", "c\nd\x1b[2J", "e\\f"], 1, MIB)
    more = equal_files(tree, ["x", "y"], 2, 256 * KIB)
    learn()
    escaped = {path.replace("\\", "\\\\").replace("\n", "\\n").replace("\x1b", "\\e")
               for path in files}
    assert paths(ask()[0]) == [(2 * MIB, escaped), (256 * KIB, more)]

    said = dedupctl(dedupd, "--format=fdupes").stdout
    assert [set(group.splitlines()) for group in said.split("\n\n")[:-1]] == [escaped, more]
    said = dedupctl(dedupd, "-0").stdout
    assert [set(group.split("\0")) for group in said.split("\0\0")[:-1]] == [files, more]
    rows = list(csv.DictReader(io.StringIO(dedupctl(dedupd, "--format=csv").stdout)))
    assert {row["file"] for row in rows} == escaped | more
    assert [row["reclaimable_bytes"] for row in rows] == [str(2 * MIB)] * 3 + [str(256 * KIB)] * 2
    table = dedupctl(dedupd).stdout
    assert "\x1b" not in table
    assert all(path in table for path in escaped | more)
    assert table.splitlines()[0].split() == ["RECLAIM", "SIZE", "FILES", "DATA", "FILE"]


def test_a_pass_that_works_meanwhile_is_named_where_it_is_in_the_way(tree, kind, learn, dedupd):
    files = equal_files(tree, ["one", "two"], 1, MIB)
    learn()
    with harness.working_pass(dedupd.store_path.stem):
        if kind == "xfs":
            assert all(path in dedupctl(dedupd).stdout for path in files)
            return
        done = dedupctl(dedupd, status=IN_USE)
        assert f"holds the store of the filesystem {dedupd.store_path.stem}" in done.stderr
        assert json.loads(dedupctl(dedupd, "--json", status=IN_USE).stdout)["duplicates"] == []


@pytest.mark.parametrize("words, status, said", [
    (["--min=64KB"], USAGE, "--min"), (["--format=xml"], USAGE, "--format xml is unknown"),
    (["--format=csv", "-0"], USAGE, "cannot be had with -0"),
    (["--under=/nonexistent"], USAGE, "cannot look below /nonexistent"), (["a", "b"], USAGE, "one"),
    (["--runs"], FAILED, "Only a pass finds where"),
    (["--limit=x"], USAGE, "limit"),
])
def test_bad_use_is_refused_by_name(dedupd, words, status, said):
    assert said in dedupctl(dedupd, *words, status=status).stderr


def test_paths_beyond_path_max_are_shown(tree, ask, learn):
    shallow = write_extent(tree / "shallow", noise(1, MIB))
    content.write_deep(tree, "deep", noise(1, MIB))
    learn()
    ((reclaimable, files),), stale = ask()
    assert (reclaimable, stale) == (MIB, 0)
    deep, = files.keys() - {str(shallow)}
    assert deep.endswith("/deep") and len(deep) > 4096


def test_names_of_one_file_are_one_member_of_a_group(tree, ask, learn):
    (tree / "deep").mkdir()
    one = write_extent(tree / "one", noise(1, MIB))
    copy = write_extent(tree / "copy", noise(1, MIB))
    alone = write_extent(tree / "alone", noise(2, MIB))
    for file in (one, copy, alone):
        os.link(file, tree / "deep" / file.name)
    learn()
    ((reclaimable, files),), _ = ask()
    assert reclaimable == MIB
    assert sorted(os.stat(name).st_ino for name in files) == sorted(
        os.stat(file).st_ino for file in (one, copy))


def test_an_edited_file_is_a_duplicate_of_what_it_equals_now(tree, ask, learn):
    for name, seed in (("one", 1), ("two", 1), ("three", 2)):
        write_extent(tree / name, noise(seed, MIB))
    learn()
    content.overwrite(tree / "two", 0, noise(2, MIB))
    learn()
    assert paths(ask()[0]) == [(MIB, {str(tree / "two"), str(tree / "three")})]
