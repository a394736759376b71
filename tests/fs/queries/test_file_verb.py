# SPDX-License-Identifier: GPL-2.0-or-later
"""dedupctl file: where a file lies, what it shares, and what equals it."""

import json
import os
import pathlib
import time

import pytest

import content
import harness
import ioctls
from content import KIB, MIB, noise, write

FAILED, USAGE, IN_USE = 1, 2, 5


def ask_of(dedupd, *files, **options):
    return harness.dedupctl_rows("file", *files, dedupd=dedupd, **options)


@pytest.fixture(name="ask")
def ask_fixture(dedupd):
    def ask(*files, status=0, words=("--json",)):
        said = harness.dedupctl("file", *words, *files, dedupd=dedupd, status=status).stdout
        return json.loads(said)["files"] if "--json" in words else said
    return ask


def others(row, relation):
    return {other["file"]: other["bytes"] for other in row["other_files"]
            if other["relation"] == relation}


def store_files(dedupd):
    """All but the -shm, in which SQLite notes who reads."""
    return {name: state for name, state in dedupd.store_contents().items()
            if not name.endswith("-shm")}


def test_without_a_store_extents_are_shown(tree, ask):
    one = write(tree / "one", noise(1, MIB))
    row, = ask(one)
    assert row["state"] == "no store"
    assert (row["size_bytes"], row["data_bytes"], row["shared_bytes"]) == (MIB, MIB, 0)
    assert sum(extent["bytes"] for extent in row["extent_list"]) == MIB
    assert row["other_files"] == []
    assert all(extent["address"] > 0 for extent in row["extent_list"])


def test_what_a_pass_shared_is_shared_and_frees_nothing(tree, ask, learn):
    one = content.write_extent(tree / "one", noise(1, MIB))
    two = content.write_extent(tree / "two", noise(1, MIB))
    write(tree / "other", noise(2, MIB))
    learn()
    row, = ask(one)
    assert row["state"] == "known"
    assert row["shared_bytes"] == MIB
    assert row["equal_bytes"] == row["would_free_bytes"] == 0
    assert others(row, "shared") == {str(two): MIB}
    assert others(row, "equal") == {}
    row, = ask(tree / "other")
    assert (row["state"], row["shared_bytes"], row["others"]) == ("known", 0, 0)


def test_a_file_that_is_new_to_the_store_is_unknown(tree, ask, learn):
    write(tree / "one", noise(1, MIB))
    learn()
    row, = ask(write(tree / "two", noise(1, MIB)))
    assert row["state"] == "unknown"
    assert row["equal_bytes"] == row["would_free_bytes"] == row["others"] == 0


def test_a_file_that_changed_equals_nothing(tree, ask, learn, kind):
    one = content.write_extent(tree / "one", noise(1, MIB))
    content.write_extent(tree / "two", noise(1, MIB))
    learn()
    content.write_extent(one, noise(2, MIB))
    row, = ask(one)
    assert row["state"] == ("stale" if kind == "xfs" else "unknown")
    assert row["equal_bytes"] == row["would_free_bytes"] == 0
    assert others(row, "equal") == others(row, "shared") == {}
    row, = ask(tree / "two")
    assert row["state"] == "known"
    assert row["equal_bytes"] == 0
    assert others(row, "equal") == {}


def test_an_equal_that_was_not_shared_is_told_with_what_that_would_free(tree, ask, learn):
    one = content.write_extent(tree / "one", noise(1, MIB))
    two = content.write_extent(tree / "two", noise(1, MIB))
    learn(dry_run=True)
    row, = ask(one)
    assert (row["state"], row["shared_bytes"]) == ("known", 0)
    assert (row["equal_bytes"], row["would_free_bytes"]) == (MIB, MIB)
    assert others(row, "equal") == {str(two): MIB}
    assert others(row, "shared") == {}

    content.write_extent(two, noise(2, MIB))
    row, = ask(one)
    assert (row["equal_bytes"], row["would_free_bytes"]) == (0, 0)
    assert others(row, "equal") == {}
    os.unlink(two)
    row, = ask(one)
    assert (row["equal_bytes"], others(row, "equal")) == (0, {})


def test_a_clone_of_an_equal_is_an_equal_too_and_shares_nothing_more(tree, ask, learn):
    one = content.write_extent(tree / "one", noise(1, MIB))
    two = content.write_extent(tree / "two", noise(1, MIB))
    clone = content.clone(one, tree / "clone")
    learn(dry_run=True)
    row, = ask(one)
    assert others(row, "shared") == {str(clone): MIB}
    assert others(row, "equal") == {str(two): MIB}
    row, = ask(two)
    assert row["shared_bytes"] == 0
    assert others(row, "equal") == {str(one): MIB, str(clone): MIB}


@pytest.mark.parametrize("kind", ["btrfs"])
def test_what_another_file_shows_in_several_places_counts_once(tree, ask, learn):
    one = write(tree / "one", noise(1, MIB))
    other = write(tree / "other", b"")
    with one.open("rb") as source, other.open("r+b") as target:
        for number, offset in enumerate((0, 0, MIB // 2)):
            ioctls.clone_range(source.fileno(), offset, MIB // 2, target.fileno(), number * MIB // 2)
    learn()
    row, = ask(one)
    assert others(row, "shared") == {str(other): MIB}


def test_equal_files_of_an_xfs_that_share_nothing_are_told(make_filesystem, make_dedupd, program):
    filesystem = make_filesystem("xfs")
    tree = pathlib.Path(filesystem.mount_point)
    dedupd = make_dedupd(filesystem)
    one = write(tree / "one", noise(1, MIB))
    two = write(tree / "two", noise(1, MIB))
    harness.settle(filesystem)
    # What is not to be shared with others' files is known all the same.
    os.chown(two, harness.USER, harness.USER)
    harness.settle(filesystem)
    assert dedupd.run(across_owners="no").status == 0
    row, = ask_of(dedupd, one)
    assert (row["state"], row["shared_bytes"]) == ("known", 0)
    assert (row["equal_bytes"], row["would_free_bytes"]) == (MIB, MIB)
    assert others(row, "equal") == {str(two): MIB}
    two.chmod(0o600)
    row, = ask_of(dedupd, one)
    assert (row["equal_bytes"], others(row, "stale")) == (0, {str(two): 0})


def test_places_of_an_extent_are_counted_over_snapshots(make_filesystem, make_dedupd):
    filesystem = make_filesystem("btrfs")
    tree = pathlib.Path(filesystem.mount_point)
    dedupd = make_dedupd(filesystem)
    harness.btrfs("subvolume", "create", tree / "sub")
    one = content.write_extent(tree / "sub/one", noise(1, MIB))
    harness.btrfs("subvolume", "snapshot", "-r", tree / "sub", tree / "snapshot")
    content.clone(one, tree / "clone")
    harness.settle(filesystem)
    assert dedupd.run(find="checksums").status == 0
    row, = ask_of(dedupd, one)
    assert [extent["places"] for extent in row["extent_list"]] == [3]
    assert others(row, "shared") == {str(tree / "snapshot/one"): MIB, str(tree / "clone"): MIB}


def test_who_pins_an_extent_is_named(make_filesystem, make_dedupd):
    filesystem = make_filesystem("btrfs")
    tree = pathlib.Path(filesystem.mount_point)
    dedupd = make_dedupd(filesystem)
    # Of the second extent all but a part that nothing else has equals the first.
    content.write_extent(tree / "one", noise(1, MIB))
    two = content.write_extent(tree / "two", noise(2, MIB) + noise(1, MIB))
    harness.settle(filesystem)
    assert dedupd.run(find="checksums", rewrite="never").pinned != {}
    pinned = [ask_of(dedupd, path)[0] for path in (tree / "one", two)]
    causes = {extent["pinned"] for row in pinned for extent in row["extent_list"]} - {None}
    assert causes == {"uncovered"}
    # What is pinned became the source of the other.
    assert [row["would_free_bytes"] for row in pinned] == [0, 0]
    assert {extent["pinned_by"] for row in pinned for extent in row["extent_list"]} <= {
        str(two), None}
    assert pinned[1]["pinned_bytes"] == 2 * MIB


def test_while_a_pass_works_nobody_is_asked_who_shares(make_filesystem, make_dedupd):
    filesystem = make_filesystem("btrfs")
    tree = pathlib.Path(filesystem.mount_point)
    dedupd = make_dedupd(filesystem)
    one = content.write_extent(tree / "one", noise(1, MIB))
    harness.settle(filesystem)
    assert dedupd.run(find="checksums").status == 0
    with harness.working_pass(dedupd.store_path.stem):
        row, = ask_of(dedupd, one, status=IN_USE)
    assert row["in_use"] == "yes"
    assert row["extent_list"][0]["places"] is None
    row, = ask_of(dedupd, one)
    assert row["in_use"] == "no" and row["extent_list"][0]["places"] == 1


def test_names_never_reach_a_terminal_raw(tree, ask, learn):
    one = content.write_extent(tree / "a\nb\x1b[2J", noise(1, MIB))
    content.write_extent(tree / "two", noise(1, MIB))
    learn()
    said = ask(one, words=())
    assert "\x1b" not in said and "a\\nb\\e[2J" in said
    assert str(tree / "two") in said
    said = ask(tree / "two", words=())
    assert "\x1b" not in said and "a\\nb\\e[2J" in said


def test_what_cannot_be_read_is_named_and_the_others_are_shown(tree, ask):
    one = write(tree / "one", noise(1, 64 * KIB))
    rows = ask(tree / "absent", one, tree, status=FAILED)
    assert [row["file"] for row in rows] == [str(one)]
    ask(status=USAGE, words=())


def test_asking_changes_nothing(tree, ask, learn, dedupd):
    one, _ = content.write_twins(tree, MIB)
    learn()
    before = store_files(dedupd)
    stat = os.stat(one)
    time.sleep(0.05)
    ask(one)
    after = os.stat(one)
    assert (stat.st_mtime_ns, stat.st_ctime_ns, stat.st_atime_ns) == (
        after.st_mtime_ns, after.st_ctime_ns, after.st_atime_ns)
    assert store_files(dedupd) == before


def test_bare_names_are_those_of_files_that_share_or_equal(tree, dedupd, ask, learn):
    one = content.write_extent(tree / "one", noise(1, MIB))
    others_of_it = {os.fsencode(tree) + b"/" + name for name in (b"a\nb\x1b[2J", b"\xff", b"c")}
    for path in others_of_it:
        content.write_extent(os.fsdecode(path), noise(1, MIB))
    content.write_extent(tree / "unlike", noise(2, MIB))
    learn(dry_run=True)
    content.clone(one, tree / "clone")
    harness.settle(dedupd.filesystem)
    content.overwrite(tree / "c", 0, b"other")
    harness.settle(dedupd.filesystem)
    done = harness.dedupctl("file", "-0", one, dedupd=dedupd, text=False)
    told = [other for other in ask(one)[0]["other_files"] if other["relation"] != "stale"]
    names = done.stdout[:-1].split(b"\0")
    assert len(set(names)) == len(names) == len(told) >= 2
    assert others_of_it - {os.fsencode(tree / "c")} <= set(names)
    assert not set(names) & {os.fsencode(tree / name) for name in ("unlike", "one")}


def test_paths_beyond_path_max_are_others_too(tree, ask, learn):
    shallow = write(tree / "shallow", noise(1, MIB))
    content.write_deep(tree, "deep", noise(1, MIB))
    learn(dry_run=True)
    (file,) = ask(shallow)
    (other,) = file["other_files"]
    assert other["relation"] == "equal" and other["file"].endswith("/deep")


def test_another_name_of_a_file_is_no_other_file(tree, ask, learn):
    one = content.write_extent(tree / "one", noise(1, MIB))
    two = content.write_extent(tree / "two", noise(1, MIB))
    (tree / "deep").mkdir()
    os.link(one, tree / "deep" / "one")
    os.link(two, tree / "deep" / "two")
    alone = content.write_extent(tree / "alone", noise(2, MIB))
    os.link(alone, tree / "deep" / "alone")
    learn(dry_run=True)
    for name in (one, tree / "deep" / "one"):
        (file,) = ask(name)
        assert (file["shared_bytes"], file["equal_bytes"], file["others"]) == (0, MIB, 1)
    (file,) = ask(alone)
    assert (file["shared_bytes"], file["equal_bytes"], file["others"]) == (0, 0, 0)


def test_what_sharing_with_an_equal_frees_does_not_hang_on_clones(tree, ask, learn):
    one = content.write_extent(tree / "one", noise(1, MIB))
    content.clone(one, tree / "clone")
    content.write_extent(tree / "two", noise(1, MIB))
    learn(dry_run=True)
    (file,) = ask(one)
    assert (file["shared_bytes"], file["equal_bytes"], file["would_free_bytes"]) == (MIB, MIB, MIB)


def test_equals_of_a_btrfs_that_were_read_have_names(make_filesystem, make_dedupd):
    filesystem = make_filesystem("btrfs")
    dedupd = make_dedupd(filesystem)
    tree = pathlib.Path(filesystem.mount_point)
    one, two = (content.write_no_cow(tree / name, noise(1, MIB)) for name in ("one", "two"))
    harness.settle(filesystem)
    assert dedupd.run(find="checksums", no_data_cow="share", dry_run=True).status == 0
    row, = ask_of(dedupd, one)
    assert (row["equal_bytes"], others(row, "equal"), row["others"]) == (MIB, {str(two): MIB}, 1)
    assert dedupd.run(find="checksums", no_data_cow="share").status == 0
    row, = ask_of(dedupd, one)
    assert (row["shared_bytes"], others(row, "shared"), row["others"]) == (MIB, {str(two): MIB}, 1)


def test_a_file_of_a_btrfs_that_was_left_alone_is_skipped(make_filesystem, make_dedupd):
    filesystem = make_filesystem("btrfs")
    dedupd = make_dedupd(filesystem)
    one = content.write_no_cow(pathlib.Path(filesystem.mount_point) / "one", noise(1, MIB))
    harness.settle(filesystem)
    assert dedupd.run(find="checksums").skipped == {"nodatacow": 1}
    assert ask_of(dedupd, one)[0]["state"] == "skipped"


@pytest.mark.true_clock
def test_a_file_that_was_young_when_it_was_read_is_fresh(make_filesystem, make_dedupd):
    filesystem = make_filesystem("xfs")
    dedupd = make_dedupd(filesystem)
    tree = pathlib.Path(filesystem.mount_point)
    one, two = content.write_twins(tree, MIB)
    ioctls.sync(tree)
    assert dedupd.run().freed_bytes == MIB
    row, = ask_of(dedupd, one)
    assert (row["state"], row["shared_bytes"], others(row, "shared")) == ("fresh", MIB, {str(two): MIB})


def test_who_shares_blocks_of_an_xfs_is_told_where_it_keeps_that(make_filesystem, make_dedupd):
    filesystem = make_filesystem("xfs", mkfs_options=["-m", "reflink=1,rmapbt=1"])
    dedupd = make_dedupd(filesystem)
    tree = pathlib.Path(filesystem.mount_point)
    one = write(tree / "one", noise(1, MIB))
    twice = write(tree / "twice", noise(1, 512 * KIB) * 2)
    harness.settle(filesystem)
    assert dedupd.run().status == 0
    row, = ask_of(dedupd, one)
    assert others(row, "shared") == {str(twice): 512 * KIB}
    row, = ask_of(dedupd, twice)
    assert others(row, "shared") == {str(one): MIB}
