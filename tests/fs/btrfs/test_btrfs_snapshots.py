# SPDX-License-Identifier: GPL-2.0-or-later
"""Savings that are deferred to the deletion of snapshots, and all that may happen to these until then."""

import os
import pathlib
import random
import subprocess

import pytest

import harness
import oracle
from content import KIB, MIB, clone, noise, write_extent
from harness import check_btrfs_pass
from hindrances import leased
from service import wait_until
from quotas import subvolume_id
from subvolumes import (btrfs, delete_subvolumes, is_read_only, make_subvolume, snapshot)

SIZE = MIB
# Of nearly equal files.
REST = 128 * KIB
# More than are worth to be shared with at once.
MANY = 20


@pytest.fixture(params=["btrfs"])
def kind(request):
    return request.param


@pytest.fixture(params=[0, 300], ids=["one-leaf", "leaves"])
def live(tree, request):
    """A subvolume with two equal files, and with others: snapshots share leaves, and have a copy of a tree that is one."""
    make_subvolume(tree / "live")
    for number in range(request.param):
        (tree / "live" / f"small-{number}").write_bytes(noise(1000 + number, 1000))
    write_twins(tree / "live")
    return tree / "live"


def write_twins(directory, seed=1, size=SIZE):
    for name in ("one", "two"):
        write_extent(directory / f"{name}-{seed}", noise(seed, size))


def check(dedupd, read_only_snapshots="writable", **options):
    """A pass that shares nothing onto read-only snapshots; what was deferred stays so without one more pass."""
    done = check_btrfs_pass(dedupd, read_only_snapshots=read_only_snapshots, **options)
    first, second = (run.filesystem["deferred"] for run in (done.first, done.second))
    kept = ("waiting_bytes", "waiting_extents", "snapshots", "last_snapshot")
    assert [second[name] for name in kept] == [first[name] for name in kept]
    assert second["bytes"] == second["released_bytes"] == 0
    return done


def check_deferred(dedupd, size, holders, last=None, **options):
    """A pass after which @holders snapshots keep @size bytes, and that frees nothing."""
    done = check(dedupd, **options)
    deferred = done.first.filesystem["deferred"]
    assert done.freed_bytes == 0
    assert (deferred["waiting_bytes"], deferred["snapshots"]) == (size, holders)
    assert deferred["last_snapshot"] == (str(last) if last else None)
    check_status(dedupd, size, holders, last)
    return done


def check_status(dedupd, size, holders, last):
    """What dedupctl says of that."""
    (row,) = harness.dedupctl_rows("status", dedupd=dedupd)
    assert (row["deferred_bytes"], row["deferred_snapshots"]) == (size, holders)
    assert row["deferred_last_snapshot"] == (str(last) if last else None)
    assert row["deferred_last_id"] == (subvolume_id(last) if last else None)


def delete_and_check(dedupd, *names, **options):
    """Delete snapshots: the pass after that says that what they held was freed, and reads no data."""
    filesystem, tree = dedupd.filesystem, dedupd.filesystem.mount_point
    before = harness.used_data_bytes(filesystem)
    for name in names:
        btrfs("subvolume", "delete", "--commit-after", f"{tree}/{name}")
    btrfs("subvolume", "sync", "-s", "1", tree)
    released = before - harness.used_data_bytes(filesystem)
    done = check(dedupd, **options)
    assert done.first.filesystem["deferred"]["released_bytes"] == released
    assert done.freed_bytes == 0
    assert done.first.read["compare_bytes"] == done.first.read["finding_bytes"] == 0
    return released


# What is deferred


def test_what_a_snapshot_holds_is_deferred_and_released_by_its_deletion(tree, live, dedupd):
    snapshot(live, tree / "kept")
    check_deferred(dedupd, SIZE, 1, tree / "kept")

    assert delete_and_check(dedupd, "kept") == SIZE


def test_by_default_what_many_snapshots_hold_is_deferred(tree, live, dedupd):
    names = [f"kept-{number}" for number in range(MANY)]
    for name in names:
        snapshot(live, tree / name)
    check_deferred(dedupd, SIZE, MANY, tree / names[-1], read_only_snapshots="auto")

    assert delete_and_check(dedupd, *names, read_only_snapshots="auto") == SIZE


def test_by_default_what_one_snapshot_holds_is_freed_at_once(tree, live, dedupd):
    snapshot(live, tree / "kept")

    done = check(dedupd, read_only_snapshots="auto")

    assert done.freed_bytes == SIZE
    assert done.first.filesystem["deferred"]["waiting_bytes"] == 0


def test_a_snapshot_that_is_taken_later_holds_nothing(tree, live, dedupd):
    snapshot(live, tree / "kept")
    check_deferred(dedupd, SIZE, 1, tree / "kept")
    snapshot(live, tree / "later")
    check_deferred(dedupd, SIZE, 1, tree / "kept")

    assert delete_and_check(dedupd, "kept") == SIZE


def test_status_tells_of_the_snapshots_that_are_left(tree, live, dedupd):
    for name in ("kept", "other"):
        snapshot(live, tree / name)
    check_deferred(dedupd, SIZE, 2, tree / "other")
    assert "Deferred: 1 MiB will be freed when 2 snapshots are deleted (last: "\
        f"{tree}/other)" in harness.dedupctl("status", tree, dedupd=dedupd).stdout

    delete_subvolumes(tree, "kept")

    check_deferred(dedupd, SIZE, 1, tree / "other")
    assert delete_and_check(dedupd, "other") == SIZE


def test_a_snapshot_without_a_known_name_is_told_by_its_id(tree, live, dedupd):
    snapshot(live, tree / "kept")
    check_deferred(dedupd, SIZE, 1, tree / "kept")
    dedupd.set_note("btrfs-holders", "")

    (row,) = harness.dedupctl_rows("status", dedupd=dedupd)

    assert (row["deferred_snapshots"], row["deferred_last_snapshot"]) == (1, None)
    assert f"(last: subvolume {row['deferred_last_id']})" in harness.dedupctl("status", tree, dedupd=dedupd).stdout


def test_hundreds_of_snapshots(tree, live, dedupd):
    size = 128 * KIB
    for name in ("one-1", "two-1"):
        (live / name).unlink()
    write_twins(live, size=size)
    names = [f"kept-{number}" for number in range(200)]
    for name in names:
        snapshot(live, tree / name)
    check_deferred(dedupd, size, len(names), tree / names[-1], read_only_snapshots="auto")

    assert delete_and_check(dedupd, *names[::-1], read_only_snapshots="auto") == size


# What is deferred stays so


def test_what_is_deferred_stays_so_when_its_source_is_planned_for_again(tree, dedupd):
    """The source is planned for again, as it keeps a third file.  It equals what is deferred, but gains nothing by that."""
    make_subvolume(tree / "live")
    write_nearly_twins(tree / "live")
    data = (tree / "live/common").read_bytes()
    write_extent(tree / "live/nearly-2", data[:-REST] + noise(9, REST))
    write_extent(tree / "live/partly", data[-2 * REST:] + noise(10, SIZE - 2 * REST))
    names = [f"kept-{number}" for number in range(MANY)]
    for name in names:
        snapshot(tree / "live", tree / name)

    done = check_deferred(dedupd, 2 * SIZE, MANY, tree / names[-1], read_only_snapshots="auto")

    # Nothing is deferred for what was deferred before.
    assert done.first.filesystem["deferred"]["bytes"] == 2 * SIZE
    assert delete_and_check(dedupd, *names, read_only_snapshots="auto") == 2 * SIZE


# What is copied for it


def write_nearly_twins(directory, size=SIZE, rest=REST, seed=0):
    """Two files of which the second one begins otherwise; it comes last, so that it is shared away."""
    data = noise(seed + 7, size)
    write_extent(directory / "common", data)
    write_extent(directory / "nearly", noise(seed + 8, rest) + data[rest:])


@pytest.fixture(name="nearly_live")
def nearly_live_fixture(tree):
    make_subvolume(tree / "live")
    write_nearly_twins(tree / "live")
    return tree / "live"


def test_what_nothing_equals_is_copied_at_once_for_what_a_snapshot_holds(tree, nearly_live, dedupd):
    snapshot(nearly_live, tree / "kept")
    used = harness.used_data_bytes(dedupd.filesystem)

    done = check_deferred(dedupd, SIZE, 1, tree / "kept")

    assert done.first.rewritten == {"bytes": REST, "extents": 1}
    assert done.first.filesystem["deferred"]["written_bytes"] == REST
    (row,) = (row for row in harness.dedupctl_rows("history", dedupd=dedupd) if row["deferred_bytes"])
    assert (row["deferred_written_bytes"], row["rewritten_bytes"], row["freed_bytes"]) == (REST, REST, 0)
    assert done.used_drop_bytes == -REST
    assert delete_and_check(dedupd, "kept") == SIZE
    assert used - harness.used_data_bytes(dedupd.filesystem) == SIZE - REST


def test_a_dry_run_tells_what_would_be_copied_for_what_a_snapshot_holds(tree, nearly_live, dedupd):
    snapshot(nearly_live, tree / "kept")

    harness.settle(dedupd.filesystem)

    run = dedupd.run(find="checksums", read_only_snapshots="writable", dry_run=True)

    deferred = run.filesystem["deferred"]
    assert run.rewritten == {"bytes": REST, "extents": 1}
    assert (run.freed_bytes, deferred["bytes"], deferred["written_bytes"]) == (0, SIZE, REST)


def test_what_was_copied_is_shared_with_rather_than_what_a_snapshot_holds(tree, nearly_live, dedupd):
    snapshot(nearly_live, tree / "kept")
    check_deferred(dedupd, SIZE, 1, tree / "kept")
    write_extent(nearly_live / "as-copied", noise(8, REST))

    done = check(dedupd)

    assert done.freed_bytes == REST
    assert done.first.filesystem["deferred"]["waiting_bytes"] == SIZE
    assert delete_and_check(dedupd, "kept") == SIZE


def test_copies_that_equal_each_other_are_no_gain(tree, nearly_live, dedupd):
    """Each of three equal files is copied for; of the copies two are given back at once."""
    data = (nearly_live / "nearly").read_bytes()
    write_extent(nearly_live / "nearly-2", data)
    write_extent(nearly_live / "nearly-3", data)
    snapshot(nearly_live, tree / "kept")

    done = check_deferred(dedupd, 3 * SIZE, 1, tree / "kept")

    assert (done.first.freed_bytes, done.used_drop_bytes) == (0, -REST)
    assert done.first.filesystem["deferred"]["written_bytes"] == REST
    assert delete_and_check(dedupd, "kept") == 3 * SIZE


def test_nothing_is_copied_for_what_a_snapshot_holds_where_little_is_free(tree, dedupd):
    size = 16 * MIB
    make_subvolume(tree / "live")
    write_nearly_twins(tree / "live", size, size // 4)
    snapshot(tree / "live", tree / "kept")
    state = os.statvfs(tree)
    with open(tree / "filler", "wb") as file:
        os.posix_fallocate(file.fileno(), 0, state.f_bavail * state.f_frsize - 2 * size)

    done = check_deferred(dedupd, 0, 0)

    assert done.first.rewritten["bytes"] == 0
    assert done.first.pinned == {"copy-space": 1}


@pytest.mark.parametrize("policy, count", [("writable", 1), ("auto", MANY)])
@pytest.mark.parametrize("has_copy", [True, False], ids=["copied", "equal"])
def test_what_a_killed_pass_shared_away_is_not_shared_back(tree, dedupd, has_copy, policy, count):
    make_subvolume(tree / "live")
    write_nearly_twins(tree / "live", rest=REST if has_copy else 0)
    # The pass goes on with these, or began with them.
    write_twins(tree / "live", seed=1, size=SIZE // 2)
    write_twins(tree / "live", seed=2, size=SIZE // 2)
    names = [f"kept-{number}" for number in range(count)]
    for name in names:
        snapshot(tree / "live", tree / name)
    harness.settle(dedupd.filesystem)
    used = harness.used_data_bytes(dedupd.filesystem)
    process = dedupd.start(find="checksums", read_only_snapshots=policy, limit_rate="1M")
    wait_until(lambda: not all(oracle.is_shared(tree / "live" / name, tree / "kept-0" / name)
                               for name in ("nearly", "common")))
    process.kill()
    process.communicate()

    done = check(dedupd, read_only_snapshots=policy)

    assert done.freed_bytes == 0
    assert done.first.filesystem["deferred"]["waiting_bytes"] == 2 * SIZE
    assert delete_and_check(dedupd, *names, read_only_snapshots=policy) == 2 * SIZE
    assert used - harness.used_data_bytes(dedupd.filesystem) == 2 * SIZE - (REST if has_copy else 0)


def test_what_a_lease_holds_up_takes_no_room_from_others(make_filesystem, make_dedupd):
    """For all that is leased more would be copied than a pass may."""
    filesystem = make_filesystem("btrfs", "160M")
    tree = pathlib.Path(filesystem.mount_point)
    make_subvolume(tree / "live")
    busy = [tree / "live" / f"busy-{number}" for number in range(40)]
    for number, path in enumerate(busy):
        write_nearly_twins(tree / "live", seed=100 * number)
        (tree / "live" / "nearly").rename(path)
        (tree / "live" / "common").rename(tree / "live" / f"other-{number}")
    data = noise(9000, SIZE // 2)
    write_extent(tree / "live" / "free", data)
    write_extent(tree / "live" / "free-nearly", noise(9001, REST // 2) + data[REST // 2:])
    snapshot(tree / "live", tree / "kept")
    harness.settle(filesystem)

    with leased(*busy):
        run = make_dedupd(filesystem).run(find="checksums", read_only_snapshots="writable")

    assert run.skipped == {"leased": len(busy)}
    assert run.filesystem["deferred"]["waiting_bytes"] == SIZE // 2
    assert run.rewritten["bytes"] == REST // 2


# Which snapshots


def test_snapshots_of_snapshots_hold_as_much(tree, live, dedupd):
    snapshot(live, tree / "first")
    snapshot(tree / "first", tree / "second")
    snapshot(tree / "second", tree / "third")
    check_deferred(dedupd, SIZE, 3, tree / "third")

    assert delete_and_check(dedupd, "third", "first") == 0
    assert delete_and_check(dedupd, "second") == SIZE


def test_snapshots_are_deleted_in_any_order(tree, live, dedupd):
    chance = random.Random(1)
    snapshot(live, tree / "kept-1")
    for number in range(2, 5):
        write_twins(live, number)
        snapshot(live, tree / f"kept-{number}")
    # Those with number N are held by snapshots from N on.
    left = set(range(1, 5))
    check_deferred(dedupd, 4 * SIZE, 4, tree / "kept-4")

    for number in chance.sample(sorted(left), 4):
        held = max(left) * SIZE
        left.remove(number)
        assert delete_and_check(dedupd, f"kept-{number}") == held - max(left, default=0) * SIZE


def test_a_writable_snapshot_holds_nothing(tree, live, dedupd):
    snapshot(live, tree / "writable", read_only=False)

    assert check(dedupd).freed_bytes == SIZE
    assert (tree / "writable/one-1").read_bytes() == noise(1, SIZE)


def test_beside_a_writable_snapshot_a_read_only_one_holds_all(tree, live, dedupd):
    snapshot(live, tree / "kept")
    snapshot(tree / "kept", tree / "writable", read_only=False)
    check_deferred(dedupd, SIZE, 1, tree / "kept")

    assert delete_and_check(dedupd, "kept") == SIZE


def snapshot_above(nested, name):
    """A snapshot of the subvolume above, without what stands for the nested one: its times are always now."""
    snapshot(nested.parent, name, read_only=False)
    (name / nested.name).rmdir()
    btrfs("property", "set", name, "ro", "true")


def test_nested_subvolumes_are_no_part_of_a_snapshot(tree, live, dedupd):
    make_subvolume(live / "nested")
    write_extent(live / "nested/three", noise(1, SIZE))
    snapshot_above(live / "nested", tree / "kept")

    done = check(dedupd)

    # Of three copies one is held by nothing but the nested subvolume.
    assert done.freed_bytes == SIZE
    assert done.first.filesystem["deferred"]["waiting_bytes"] == SIZE
    assert delete_and_check(dedupd, "kept") == SIZE


def test_snapshots_of_nested_subvolumes_hold_what_these_show(tree, live, dedupd):
    make_subvolume(live / "nested")
    write_twins(live / "nested", seed=2)
    snapshot_above(live / "nested", tree / "kept")
    snapshot(live / "nested", tree / "kept-nested")
    check_deferred(dedupd, 2 * SIZE, 2, tree / "kept-nested")

    assert delete_and_check(dedupd, "kept") == SIZE
    assert delete_and_check(dedupd, "kept-nested") == SIZE


# Snapshots that were received


def send(source, target, directory, parent=None):
    """Send a snapshot to a directory of the same filesystem."""
    stream = directory / "stream"
    btrfs("send", "-q", *(["-p", parent] if parent else []), "-f", stream, source)
    btrfs("receive", "-q", "-f", stream, target)


def received_uuid(subvolume):
    shown = subprocess.run(["btrfs", "subvolume", "show", str(subvolume)], check=True,
                           capture_output=True, text=True).stdout
    return next(line.split()[-1] for line in shown.splitlines() if "Received UUID" in line)


def test_what_was_received_is_shared_with_what_was_sent(tree, live, dedupd, tmp_path):
    snapshot(live, tree / "first")
    (tree / "received").mkdir()
    send(tree / "first", tree / "received", tmp_path)
    copy = tree / "received/first"
    uuid = received_uuid(copy)

    assert check(dedupd, read_only_snapshots="share").freed_bytes == 3 * SIZE

    assert is_read_only(copy)
    assert received_uuid(copy) == uuid


@pytest.mark.parametrize("policy", ["auto", "writable"])
def test_after_a_pass_changes_are_sent_to_what_was_received(tree, live, dedupd, tmp_path, policy):
    snapshot(live, tree / "first")
    (tree / "received").mkdir()
    send(tree / "first", tree / "received", tmp_path)
    check(dedupd, read_only_snapshots=policy)

    write_extent(live / "three", noise(2, SIZE))
    clone(live / "one-1", live / "four")
    snapshot(live, tree / "second")
    send(tree / "second", tree / "received", tmp_path, tree / "first")

    check(dedupd, read_only_snapshots=policy)
    for name in ("one-1", "two-1", "three", "four"):
        assert (tree / "received/second" / name).read_bytes() == (live / name).read_bytes()


# What happens meanwhile


def test_a_snapshot_that_is_made_writable_holds_nothing_any_more(tree, live, dedupd):
    snapshot(live, tree / "kept")
    check_deferred(dedupd, SIZE, 1, tree / "kept")
    btrfs("property", "set", tree / "kept", "ro", "false")

    done = check(dedupd)

    deferred = done.first.filesystem["deferred"]
    assert done.freed_bytes == SIZE
    assert (deferred["waiting_bytes"], deferred["released_bytes"]) == (0, 0)


def test_of_two_snapshots_one_is_made_writable(tree, live, dedupd):
    for name in ("kept", "changed"):
        snapshot(live, tree / name)
    check_deferred(dedupd, SIZE, 2, tree / "changed")
    btrfs("property", "set", tree / "changed", "ro", "false")
    check_deferred(dedupd, SIZE, 1, tree / "kept")

    assert delete_and_check(dedupd, "kept") == SIZE


def test_what_is_cloned_back_from_a_snapshot_is_shared_away_again_within_a_week(tree, live, dedupd):
    snapshot(live, tree / "kept")
    check_deferred(dedupd, SIZE, 1, tree / "kept")
    for name in ("one-1", "two-1"):
        clone(tree / "kept" / name, live / f"{name}-back")
    check_deferred(dedupd, SIZE, 1, tree / "kept")
    dedupd.set_note("btrfs-all-looked-at", "0")
    check_deferred(dedupd, SIZE, 1, tree / "kept")

    assert delete_and_check(dedupd, "kept") == SIZE


def test_what_is_cloned_back_before_the_snapshot_is_deleted_is_not_released(tree, live, dedupd):
    snapshot(live, tree / "kept")
    check_deferred(dedupd, SIZE, 1, tree / "kept")
    for name in ("one-1", "two-1"):
        clone(tree / "kept" / name, live / f"{name}-back")
    delete_subvolumes(tree, "kept")

    done = check(dedupd)

    assert done.freed_bytes == SIZE
    assert done.first.filesystem["deferred"]["released_bytes"] == 0


@pytest.fixture
def last_holder(tree, dedupd):
    """The snapshot that alone has the data of a file that is new: there, it is deferred."""
    for name in ("one", "two"):
        make_subvolume(tree / name)
        write_extent(tree / name / "file", noise(1, SIZE))
        snapshot(tree / name, tree / f"kept-{name}")
    done = check(dedupd)
    holder = done.first.filesystem["deferred"]["last_snapshot"]
    (other,) = {str(tree / "kept-one"), str(tree / "kept-two")} - {holder}
    for name in ("one", "two"):
        (tree / name / "file").unlink()
    delete_subvolumes(tree, other.rsplit("/", 1)[1])
    write_extent(tree / "new", noise(1, SIZE))
    return holder


def test_what_could_not_serve_as_a_source_stays_deferred(tree, dedupd, last_holder, failing_calls):
    harness.settle(dedupd.filesystem)
    dedupd.feigned = {"LD_PRELOAD": failing_calls, "FAIL_DEDUPE_QUOTA": "1"}

    run = dedupd.run(find="checksums", read_only_snapshots="writable")

    assert run.shared["calls"] == 1 and run.shared["bytes"] == 0
    assert run.filesystem["deferred"]["waiting_bytes"] == SIZE
    dedupd.feigned = {}
    delete_subvolumes(tree, last_holder.rsplit("/", 1)[1])
    assert check(dedupd).first.filesystem["deferred"]["released_bytes"] == SIZE


def test_what_serves_as_a_source_again_is_no_longer_deferred(tree, dedupd, last_holder):
    done = check(dedupd)

    assert done.freed_bytes == SIZE
    assert done.first.filesystem["deferred"]["waiting_bytes"] == 0
    delete_subvolumes(tree, last_holder.rsplit("/", 1)[1])
    assert check(dedupd).first.filesystem["deferred"]["released_bytes"] == 0


def test_when_all_files_are_deleted_what_is_deferred_is_released_all_the_same(tree, live, dedupd):
    snapshot(live, tree / "kept")
    check_deferred(dedupd, SIZE, 1, tree / "kept")
    for name in ("one-1", "two-1"):
        (live / name).unlink()
    used = harness.used_data_bytes(dedupd.filesystem)
    delete_subvolumes(tree, "kept")
    assert used - harness.used_data_bytes(dedupd.filesystem) == 2 * SIZE

    done = check(dedupd)

    assert done.first.filesystem["deferred"]["released_bytes"] == SIZE


@pytest.mark.parametrize("options", [{"read_only_snapshots": "share"}, {"read_only_snapshots": "auto"},
                                     {"read_only_snapshots": "auto", "max_compare": 1000}], ids=str)
def test_another_policy_frees_at_once_what_was_deferred(tree, live, dedupd, options):
    snapshot(live, tree / "kept")
    check_deferred(dedupd, SIZE, 1, tree / "kept")

    done = check(dedupd, **options)

    deferred = done.first.filesystem["deferred"]
    assert done.freed_bytes == SIZE
    assert (deferred["waiting_bytes"], deferred["released_bytes"]) == (0, 0)
