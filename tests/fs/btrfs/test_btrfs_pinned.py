# SPDX-License-Identifier: GPL-2.0-or-later
"""Extents of a btrfs that stay as something else shows part of them: why, and what ends that."""

import contextlib
import os
import random
import signal
import sqlite3
import subprocess
import time

import pytest

import harness
import ioctls
import oracle
from content import KIB, MIB, clone, noise, overwrite, preallocate, write, write_extent
from feigned_kernel import feigning
from harness import REFERENCES_MAX
from harness import check_btrfs_pass as check
from subvolumes import btrfs, delete_subvolumes, make_subvolume, snapshot, wait_for_deleted

# What two files have in common, and what only one has: far too much to be written anew.
COMMON = noise(1, MIB)
REST = noise(2, 3 * MIB)


@pytest.fixture(params=["btrfs"])
def kind(request):
    return request.param


def write_common(path):
    """A copy of what others have, which cannot be the one that goes."""
    write_extent(path, COMMON)
    ioctls.add_flags(path, ioctls.FS_IMMUTABLE)
    return path


@pytest.fixture
def common(tree, dedupd):
    """Such a copy, settled."""
    write_common(tree / "common")
    check(dedupd)
    return tree / "common"


def write_pinned(path):
    """A file whose one extent is equal in part only."""
    return write_extent(path, COMMON + REST)


def check_pinned(dedupd, cause, path=None, count=1, **options):
    """A pass that frees nothing for this cause alone."""
    done = check(dedupd, **options)
    assert done.freed_bytes == 0
    assert done.first.pinned == {cause: count}
    if path is not None:
        assert [one["path"] for one in done.first.pin_of(cause)["examples"]] == [str(path)]
    return done.first.pin_of(cause)


def assert_freed(dedupd, number=1, **options):
    """Sharing what is left of so many extents frees each of them whole, and no data is read to find it."""
    done = check(dedupd, **options)
    assert done.freed_bytes == number * (len(COMMON) + len(REST))
    assert done.first.read["finding_bytes"] == 0
    assert done.first.pinned == {}
    return done


# What is not covered


def test_an_extent_is_freed_when_the_rest_of_it_is_rewritten_in_place(tree, dedupd, common):
    """As dedupd(8) advises, with the same data."""
    path = write_pinned(tree / "file")
    check_pinned(dedupd, "uncovered", path)
    subprocess.run(["dd", f"if={path}", f"of={path}", "conv=notrunc,fsync", "bs=1M", "skip=1", "seek=1"],
                   check=True, capture_output=True)
    assert path.read_bytes() == COMMON + REST
    assert_freed(dedupd)


@pytest.mark.parametrize("before, behind", [(0, 3), (3, 0), (1, 2)])
def test_an_extent_is_freed_when_the_rest_of_it_is_overwritten(tree, dedupd, common, before, behind):
    data = REST[:before * MIB] + COMMON + REST[before * MIB:]
    write_extent(tree / "file", data)
    entry = check_pinned(dedupd, "uncovered", tree / "file")
    assert entry["bytes"] == len(data)
    assert entry["uncovered_bytes"] == len(REST)
    assert entry["examples"] == [{"path": str(tree / "file"), "uncovered_bytes": len(REST),
                                  "places": 1}]

    overwrite(tree / "file", 0, noise(3, before * MIB))
    overwrite(tree / "file", (before + 1) * MIB, noise(4, behind * MIB))

    assert_freed(dedupd)


def test_what_equals_only_what_no_file_shows_any_more_is_not_pinned(tree, dedupd):
    """As when the parts of an extent that are its own are written anew with what they had."""
    base = noise(3, 8 * MIB)
    write_extent(tree / "base", base)
    own = [(at, noise(at, 32 * KIB)) for at in range(0, len(base) - 48 * KIB, 48 * KIB)]
    edited = bytearray(base)
    for at, data in own:
        edited[at:at + len(data)] = data
    path = write_extent(tree / "edited", bytes(edited))
    check_pinned(dedupd, "uncovered")
    for at, data in own[:80]:
        overwrite(path, at, data)
    check_pinned(dedupd, "uncovered", path)
    for at, data in own[80:]:
        overwrite(path, at, data)

    done = check(dedupd)

    assert done.freed_bytes == 8 * MIB
    assert done.first.pinned == {}
    assert done.first.ledger["pinned_bytes"] == 0


def test_an_extent_is_freed_when_a_hole_in_its_middle_is_filled_with_other_data(tree, dedupd, common):
    write_extent(tree / "file", COMMON[:MIB // 2] + REST + COMMON[MIB // 2:])
    check_pinned(dedupd, "uncovered", tree / "file")

    overwrite(tree / "file", MIB // 2, noise(3, len(REST)))

    assert_freed(dedupd)


def test_an_extent_is_freed_when_the_rest_of_it_is_truncated(tree, dedupd, common):
    write_pinned(tree / "file")
    check_pinned(dedupd, "uncovered", tree / "file")

    os.truncate(tree / "file", len(COMMON))

    assert_freed(dedupd)


def test_while_part_of_the_rest_is_left_it_stays(tree, dedupd):
    write_common(tree / "common")
    check(dedupd, rewrite="never")
    write_pinned(tree / "file")
    check_pinned(dedupd, "uncovered", rewrite="never")

    for kept in (2, 1):
        overwrite(tree / "file", len(COMMON) + len(REST) - (kept + 1) * MIB, noise(30 + kept, MIB))
        entry = check_pinned(dedupd, "uncovered", tree / "file", rewrite="never")
        assert entry["uncovered_bytes"] == kept * MIB
    os.truncate(tree / "file", len(COMMON) + 2 * MIB)

    assert_freed(dedupd, rewrite="never")


def test_when_little_of_the_rest_is_left_that_is_rewritten(tree, dedupd, common):
    write_pinned(tree / "file")
    check_pinned(dedupd, "uncovered")

    os.truncate(tree / "file", len(COMMON) + MIB // 4)
    done = check(dedupd)

    assert done.freed_bytes == len(COMMON) + len(REST) - MIB // 4
    assert done.first.filesystem["rewritten"]["bytes"] == MIB // 4


def show_common(path, name):
    """Another file that shows only what is common."""
    with open(path, "rb") as source, open(name, "wb") as file:
        ioctls.clone_range(source.fileno(), 0, len(COMMON), file.fileno(), 0)


def test_an_extent_is_freed_when_the_file_that_kept_it_is_deleted(tree, dedupd, common):
    write_pinned(tree / "file")
    show_common(tree / "file", tree / "other")
    check_pinned(dedupd, "uncovered", tree / "file")

    (tree / "file").unlink()

    assert_freed(dedupd)


def test_a_file_that_is_deleted_and_open_keeps_what_it_shows_until_it_is_closed(tree, dedupd, common):
    write_pinned(tree / "file")
    show_common(tree / "file", tree / "other")
    with open(tree / "file", "rb"):
        (tree / "file").unlink()
        entry = check_pinned(dedupd, "deleted-file")
        assert entry["examples"] == []
        assert entry["uncovered_bytes"] == len(REST)

    assert_freed(dedupd)


def test_a_change_elsewhere_in_the_file_that_keeps_it_is_nothing_to_act_on(tree, filesystem, dedupd,
                                                                          common):
    write_pinned(tree / "file")
    show_common(tree / "file", tree / "other")
    check_pinned(dedupd, "uncovered")

    (tree / "file").chmod(0o600)
    clone(tree / "file", tree / "clone")
    (tree / "other").unlink()
    harness.settle(filesystem)

    harness.assert_converged(dedupd, tree, find="checksums")


def test_own_sharing_in_the_file_that_keeps_it_is_nothing_to_act_on(tree, dedupd, common):
    with open(write_pinned(tree / "file"), "ab") as file:
        file.write(COMMON)

    done = check(dedupd)

    assert done.freed_bytes == len(COMMON)
    assert done.first.pinned == {"uncovered": 1}
    overwrite(tree / "file", len(COMMON), noise(3, len(REST)))
    assert_freed(dedupd)


def test_of_two_files_that_keep_it_both_have_to_change(tree, dedupd, common):
    write_pinned(tree / "one")
    clone(tree / "one", tree / "two")
    check_pinned(dedupd, "uncovered")

    for name in ("one", "two"):
        assert check(dedupd).freed_bytes == 0
        overwrite(tree / name, len(COMMON), noise(name == "one", len(REST)))

    assert_freed(dedupd)


def test_what_comes_to_have_the_rest_frees_it_though_it_stays_itself(tree, dedupd, common):
    write_extent(tree / "file", COMMON[:MIB // 4] + REST[:MIB // 2])
    check_pinned(dedupd, "uncovered", tree / "file")

    write_extent(tree / "later", noise(4, 4 * MIB) + REST)

    assert check(dedupd).freed_bytes == 3 * MIB // 4


def test_what_was_there_before_goes_where_what_equals_it_cannot(tree, dedupd):
    write_extent(tree / "first", COMMON)
    check(dedupd)
    write_extent(tree / "second", COMMON)
    for number in range(REFERENCES_MAX):
        clone(tree / "second", tree / f"clone-{number}")

    done = check(dedupd)

    assert done.freed_bytes == len(COMMON)
    assert oracle.is_shared(tree / "first", tree / "second")


def test_a_trial_changes_nothing_of_what_the_next_pass_does(tree, dedupd, common, filesystem):
    write_pinned(tree / "file")
    check_pinned(dedupd, "uncovered")
    os.truncate(tree / "file", len(COMMON))
    harness.settle(filesystem)

    for _ in range(2):
        run = dedupd.run(find="checksums", dry_run=True)
        assert run.freed_bytes == len(COMMON) + len(REST)

    assert_freed(dedupd)


# Snapshots


@pytest.fixture
def kept(tree, dedupd, common):
    """A subvolume with a file that shows what is common, of an extent that a snapshot shows whole."""
    make_subvolume(tree / "sub")
    write_pinned(tree / "sub/file")
    snapshot(tree / "sub", tree / "snapshot")
    os.truncate(tree / "sub/file", len(COMMON))
    return tree / "snapshot"


def test_an_extent_is_freed_when_the_snapshot_that_kept_it_is_deleted(tree, dedupd, kept):
    check_pinned(dedupd, "uncovered", kept / "file")

    delete_subvolumes(tree, "snapshot")

    assert_freed(dedupd)


def test_of_two_snapshots_that_keep_it_both_have_to_go(tree, dedupd, kept):
    snapshot(kept, tree / "second")
    check_pinned(dedupd, "uncovered")

    delete_subvolumes(tree, "second")
    assert check(dedupd).freed_bytes == 0
    delete_subvolumes(tree, "snapshot")

    assert_freed(dedupd)


def test_a_deleted_snapshot_keeps_it_until_it_is_gone(tree, dedupd, kept):
    check_pinned(dedupd, "uncovered", kept / "file")

    with open(kept / "file", "rb"):
        btrfs("subvolume", "delete", "--commit-after", kept)
        assert check_pinned(dedupd, "deleted-subvolume")["examples"] == []
    wait_for_deleted(tree)

    assert_freed(dedupd)


@pytest.fixture(params=["skip", "source"])
def policy(request):
    return request.param


@pytest.fixture
def whole(tree, dedupd, policy):
    """Of two equal files that read-only snapshots show, too, the one that came later."""
    for name in ("early", "late"):
        make_subvolume(tree / name)
        write_extent(tree / name / "file", COMMON)
        snapshot(tree / name, tree / f"{name}-snapshot")
        done = check(dedupd, read_only_snapshots=policy)
    assert done.freed_bytes == 0
    assert done.first.pinned == {"read-only-snapshot": 1}
    examples = done.first.pin_of("read-only-snapshot")["examples"]
    assert [one["path"] for one in examples] == [str(tree / "late-snapshot/file")]
    return tree / "late-snapshot"


def test_a_snapshot_keeps_it_as_long_as_that_is_wanted(dedupd, whole):
    assert check(dedupd).freed_bytes == len(COMMON)


def test_a_snapshot_keeps_it_as_long_as_it_is_read_only(dedupd, whole, policy):
    btrfs("property", "set", whole, "ro", "false")

    assert check(dedupd, read_only_snapshots=policy).freed_bytes == len(COMMON)


def test_a_snapshot_made_writable_is_seen_though_no_item_near_the_extent_changed(tree, filesystem, dedupd):
    """Items of many other extents surround that of the extent, so that its leaf stays as it is."""
    def fill(name, first):
        (tree / name).mkdir()
        for number in range(600):
            write(tree / name / str(number), noise(first + number, 4 * KIB))
        harness.settle(filesystem)

    fill("before", 1000)
    for name in ("early", "late"):
        make_subvolume(tree / name)
        write_extent(tree / name / "file", COMMON)
        snapshot(tree / name, tree / f"{name}-snapshot")
    fill("behind", 2000)
    done = check(dedupd, read_only_snapshots="skip")
    assert done.first.pinned == {"read-only-snapshot": 1}

    btrfs("property", "set", tree / "late-snapshot", "ro", "false")

    assert check(dedupd, read_only_snapshots="skip").freed_bytes == len(COMMON)


def test_a_snapshot_keeps_it_as_long_as_it_is_there(tree, dedupd, whole, policy):
    delete_subvolumes(tree, whole.name)

    assert check(dedupd, read_only_snapshots=policy).freed_bytes == len(COMMON)


# Other causes


def test_an_extent_is_freed_when_few_enough_places_are_left(tree, dedupd, common):
    write_extent(tree / "file", COMMON)
    for number in range(REFERENCES_MAX + 1):
        clone(tree / "file", tree / f"clone-{number}")
    entry = check_pinned(dedupd, "too-costly")
    assert (entry["bytes"], entry["uncovered_bytes"]) == (len(COMMON), 0)

    (tree / "clone-7").unlink()
    assert check(dedupd).freed_bytes == 0
    (tree / "clone-8").unlink()

    assert check(dedupd).freed_bytes == len(COMMON)


def test_snapshots_count_as_places_until_they_are_deleted(tree, dedupd, common):
    make_subvolume(tree / "sub")
    write_extent(tree / "sub/file", COMMON)
    names = [f"snapshot-{number}" for number in range(REFERENCES_MAX + 1)]
    for name in names:
        snapshot(tree / "sub", tree / name, read_only=False)
    check_pinned(dedupd, "too-costly")

    delete_subvolumes(tree, names[3])
    assert check(dedupd).freed_bytes == 0
    snapshot(tree / "sub", tree / "later", read_only=False)
    delete_subvolumes(tree, *names[5:8])

    assert check(dedupd).freed_bytes == len(COMMON)


def test_an_extent_is_freed_when_a_file_is_no_longer_immutable(tree, dedupd, common):
    write_extent(tree / "file", COMMON)
    ioctls.add_flags(tree / "file", ioctls.FS_IMMUTABLE)
    try:
        check_pinned(dedupd, "immutable", tree / "file")
    finally:
        ioctls.remove_flags(tree / "file", ioctls.FS_IMMUTABLE)

    assert check(dedupd).freed_bytes == len(COMMON)


def test_an_extent_is_freed_when_nothing_is_reserved_in_it_any_more(tree, filesystem, dedupd, common):
    preallocate(tree / "file", 0, 4 * MIB)
    harness.settle(filesystem)
    overwrite(tree / "file", 0, COMMON)
    check_pinned(dedupd, "reserved", tree / "file")

    os.truncate(tree / "file", len(COMMON))

    assert_freed(dedupd)


def test_the_last_block_of_a_file_keeps_its_extent_if_no_other_file_ends_there(tree, dedupd):
    head = COMMON[:MIB // 2 + 1000]
    write_extent(tree / "long", head + bytes(3096) + REST)
    write_extent(tree / "short", head)
    entry = check_pinned(dedupd, "uncovered", tree / "short", rewrite="never")
    assert entry["uncovered_bytes"] == 4096

    os.truncate(tree / "short", MIB // 2)

    assert check(dedupd, rewrite="never").freed_bytes == MIB // 2 + 4096


# Many


def write_many(tree, number):
    """So many extents of 128 KiB, of which a quarter equals others."""
    (tree / "many").mkdir()
    data = noise(9, number * 32 * 1024)
    write_extent(tree / "source", data)
    for i in range(number):
        piece = data[i * 32 * 1024:(i + 1) * 32 * 1024]
        write_extent(tree / f"many/{i}", noise(1000 + i, 96 * 1024) + piece)


def cut(tree, numbers):
    for i in numbers:
        overwrite(tree / f"many/{i}", 0, noise(2000 + i, 96 * 1024))


def test_only_those_that_changed_are_planned_again(tree, filesystem, dedupd):
    write_many(tree, 300)
    # Anchors of 32 KiB are not certain.
    first = check(dedupd)
    number = first.first.pinned["uncovered"]
    assert number >= 50

    cut(tree, range(300))
    done = check(dedupd)

    assert done.freed_bytes == number * 128 * 1024


def ids_given(dedupd):
    """Each extent that is new, or planned again, gets an id."""
    with contextlib.closing(sqlite3.connect(dedupd.store_path)) as store:
        return store.execute("SELECT value FROM meta WHERE name = 'next_object'").fetchone()[0]


def write_kin(tree):
    """Extents that have three common pieces of 40 each, and so are pinned."""
    chance = random.Random(5)
    pieces = [noise(3000 + i, 128 * KIB) for i in range(40)]
    for i in range(80):
        own = noise(4000 + i, 384 * KIB)
        write_extent(tree / f"kin{i:02}", own + b"".join(chance.sample(pieces, 3)))
    return pieces


def kin_with_any(tree, pieces):
    contents = [(tree / f"kin{i:02}").read_bytes() for i in range(80)]
    return sum(any(content.find(piece) >= 0 for piece in pieces) for content in contents)


def test_a_new_extent_has_its_equals_planned_again_and_not_all_that_equal_these(tree, dedupd):
    pieces = write_kin(tree)
    assert check(dedupd).first.pinned["uncovered"] >= 40
    before = ids_given(dedupd)

    write_extent(tree / "new", noise(5000, 384 * KIB) + pieces[0])
    check_pinned(dedupd, "uncovered")

    assert 0 < ids_given(dedupd) - before <= 2 * (kin_with_any(tree, pieces[:1]) + 1)


def test_what_lacks_too_much_for_a_copy_is_not_planned_again(tree, dedupd):
    piece = noise(1, 256 * KIB)
    for i in range(20):
        write_extent(tree / f"kin{i:02}", noise(4000 + i, 3 * MIB) + piece)
    assert check(dedupd).first.pinned["uncovered"] > 10
    before = ids_given(dedupd)

    write_extent(tree / "new", noise(5000, MIB) + piece)
    check_pinned(dedupd, "uncovered")
    assert ids_given(dedupd) - before == 1

    kin = (tree / "kin07").read_bytes()
    write_extent(tree / "newer", noise(5001, 8 * MIB) + kin[:MIB] + noise(5002, MIB) + kin[MIB:11 * MIB // 4])

    assert check(dedupd).freed_bytes == 3 * MIB


def test_what_a_new_extent_frees_has_no_others_planned_again(tree, dedupd):
    write_kin(tree)
    assert check(dedupd).first.pinned["uncovered"] >= 40
    before = ids_given(dedupd)
    kin = (tree / "kin00").read_bytes()
    equals = kin_with_any(tree, [kin[offset:offset + 128 * KIB] for offset in range(384 * KIB, 768 * KIB, 128 * KIB)])

    write_extent(tree / "new", noise(5000, MIB) + kin)

    assert check(dedupd).freed_bytes == 768 * KIB
    assert ids_given(dedupd) - before <= 2 * (equals + 1)


def test_stopped_at_any_moment_the_next_pass_plans_the_same_again_and_no_others(tree, dedupd):
    write_kin(tree)
    assert check(dedupd).first.pinned["uncovered"] >= 40
    before = ids_given(dedupd)
    kin = (tree / "kin00").read_bytes()
    equals = kin_with_any(tree, [kin[offset:offset + 128 * KIB] for offset in range(384 * KIB, 768 * KIB, 128 * KIB)])
    write_extent(tree / "new", noise(5000, MIB) + kin)
    harness.settle(dedupd.filesystem)

    with feigning(dedupd, FEIGN_SLOW_SEARCHES="2000"):
        for tenths in range(1, 13):
            process = dedupd.start(find="checksums")
            time.sleep(tenths / 10)
            process.terminate()
            process.communicate()
    check(dedupd)

    assert equals / 2 < ids_given(dedupd) - before <= 2 * (equals + 1)


def test_killed_at_any_moment_the_next_pass_completes(tree, filesystem, dedupd):
    chance = random.Random(1)
    write_many(tree, 300)
    number = check(dedupd).first.pinned["uncovered"]
    used = harness.used_data_bytes(filesystem)
    cut(tree, range(300))
    harness.settle(filesystem)
    before = oracle.snapshot(tree)

    for _ in range(8):
        process = dedupd.start(find="checksums")
        time.sleep(chance.uniform(0, 0.15))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        harness.assert_unchanged(before, tree)
    check(dedupd)

    harness.assert_unchanged(before, tree)
    assert harness.used_data_bytes(filesystem) == used + (300 * 96 - number * 128) * 1024
