# SPDX-License-Identifier: GPL-2.0-or-later
"""The store is a cache: it saves reading, is never clobbered, and can be lost."""

import contextlib
import os
import sqlite3
import time

import pytest

import content
import harness
import oracle
from content import MIB, noise, write


@pytest.fixture
def known(tree, dedupd):
    """A tree with ten pairs that a pass has worked on, so that a store exists."""
    for number in range(10):
        content.write_twins(tree, MIB, seed=number, names=(f"{number}-1", f"{number}-2"))
    harness.check_pass(dedupd)
    return tree


def test_the_store_is_private_and_where_the_report_says(known, dedupd):
    run = dedupd.run()

    assert run.store["path"] == str(dedupd.store_path)
    assert dedupd.store_path.stat().st_mode & 0o777 == 0o600
    assert run.store["objects"] == 20 or dedupd.filesystem.kind == "btrfs"


def test_only_changed_files_are_read_again(known, filesystem, dedupd):
    for number in (2, 5, 7):
        content.overwrite(known / f"{number}-1", 4096 * number, noise(99, 4096))

    done = harness.check_pass(dedupd)

    assert done.first.files["changed"] == 3
    assert done.first.files["read"] == 3
    assert done.first.files["unchanged"] == 17
    assert done.first.read["finding_bytes"] <= 3 * MIB


def test_deleted_files_are_forgotten_and_renamed_ones_are_not_read_again(known, dedupd):
    os.unlink(known / "0-1")
    (known / "sub").mkdir()
    os.rename(known / "1-1", known / "sub/renamed")

    done = harness.check_pass(dedupd)

    assert done.first.files["gone"] == 1
    assert done.first.files["read"] == 0


def test_a_directory_that_moved_is_not_read_again(tree, dedupd):
    (tree / "old").mkdir()
    content.write_twins(tree / "old", MIB)
    harness.check_pass(dedupd)
    os.rename(tree / "old", tree / "new")

    done = harness.check_pass(dedupd)

    assert done.first.files["read"] == 0
    assert done.first.files["gone"] == 0


def test_a_file_whose_ctime_alone_changed_is_doubted_and_not_read_again(known, dedupd):
    os.chmod(known / "3-1", 0o600)
    os.link(known / "4-1", known / "link")

    done = harness.check_pass(dedupd)

    assert done.first.files["doubted"] == 2
    assert done.first.files["read"] == 0


def test_new_content_with_the_old_mtime_is_never_shared_wrongly(known, dedupd):
    path = known / "6-1"
    status = path.stat()
    content.overwrite(path, 0, noise(99, MIB))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    write(known / "copy of the old", noise(6, MIB))

    harness.settle(dedupd.filesystem)
    before = oracle.snapshot(known)
    run = dedupd.run()

    assert run.status == 0, run.stderr
    harness.assert_unchanged(before, known)
    assert not oracle.is_shared(path, known / "copy of the old")


def test_a_file_replaced_by_another_is_read_anew(known, dedupd):
    write(known / "new", noise(50, MIB))
    os.rename(known / "new", known / "8-1")

    done = harness.check_pass(dedupd)

    assert done.first.files["new"] + done.first.files["changed"] == 1
    assert done.first.files["gone"] + done.first.files["changed"] >= 1


def test_a_deleted_inode_number_that_comes_back_is_another_file(tree, filesystem, dedupd):
    write(tree / "old", noise(1, MIB))
    number = (tree / "old").stat().st_ino
    write(tree / "twin", noise(1, MIB))
    harness.check_pass(dedupd)
    os.unlink(tree / "old")
    tries = [write(tree / f"try-{i}", noise(2, MIB)) for i in range(20)]

    done = harness.check_pass(dedupd)

    assert filesystem.kind == "btrfs" or number in [path.stat().st_ino for path in tries]
    assert done.freed_bytes == 19 * MIB


def test_young_files_are_read_again_once(tree, filesystem, dedupd):
    content.write_twins(tree, MIB)
    first = dedupd.run()
    harness.settle(filesystem)
    second = dedupd.run()
    third = dedupd.run()

    assert [run.status for run in (first, second, third)] == [0, 0, 0]
    assert second.shared["calls"] == 0
    assert second.read["finding_bytes"] <= 2 * MIB
    assert third.read["finding_bytes"] == 0 and third.read["compare_bytes"] == 0
    assert first.freed_bytes + second.freed_bytes == MIB


def test_a_lost_store_costs_reading_and_nothing_else(known, dedupd):
    dedupd.store_path.unlink()

    done = harness.check_pass(dedupd)

    assert done.first.shared["calls"] == 0
    assert done.freed_bytes == 0


def foreign(path):
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("DROP TABLE IF EXISTS object")
        database.execute("PRAGMA application_id = 12345")


def foreign_without_id(path):
    path.unlink()
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("CREATE TABLE precious (value)")


def newer(path):
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA user_version = 9999")


def garbage(path):
    path.write_bytes(noise(1, 65536))


@pytest.mark.parametrize("spoil", [foreign, foreign_without_id, newer, garbage],
                         ids=lambda spoil: spoil.__name__)
@pytest.mark.parametrize("kind", ["xfs"])
class TestStoreThatIsNotOurs:
    def test_it_is_refused_by_name_and_left_as_it_is(self, known, dedupd, spoil):
        path = dedupd.store_path
        spoil(path)
        before = path.read_bytes()

        run = dedupd.run()

        assert run.status == 1
        assert str(path) in run.stderr
        assert run.report["outcome"] == "failed"
        assert path.read_bytes() == before

    def test_rebuilding_moves_it_aside(self, known, dedupd, spoil):
        path = dedupd.store_path
        spoil(path)
        before = path.read_bytes()

        run = dedupd.run(rebuild=True)

        assert run.status == 0, run.stderr
        aside = [other for other in dedupd.state_directory.iterdir()
                 if other != path and other.read_bytes() == before]
        assert len(aside) == 1, list(dedupd.state_directory.iterdir())
        assert harness.check_pass(dedupd).first.files["read"] == 0


@pytest.mark.parametrize("kind", ["xfs"])
def test_a_store_with_damaged_pages_never_leads_to_a_wrong_share(known, dedupd):
    path = dedupd.store_path
    before = oracle.snapshot(known)
    size = path.stat().st_size
    for page in range(1, size // 4096, 2):
        content.overwrite(path, page * 4096 + 100, noise(page, 512))

    run = dedupd.run()

    assert run.status in (0, 1)
    harness.assert_unchanged(before, known)
    if run.status == 1:
        assert str(path) in run.stderr


def test_a_second_process_on_the_filesystem_is_refused(known, make_dedupd, filesystem, dedupd):
    content.write_twins(known, 16 * MIB, seed=77)
    filesystem.forget_data()
    slow = dedupd.start(limit_rate="4M")
    try:
        time.sleep(1.5)
        assert slow.poll() is None
        same_state = dedupd.run()
        other_state = make_dedupd(filesystem, state="other").run()
    finally:
        slow.terminate()
        slow.communicate(timeout=10)

    assert same_state.status == 5, same_state.stderr
    assert other_state.status == 5, other_state.stderr
    assert "holds the store of the filesystem" in other_state.stderr
    harness.check_pass(dedupd)


def test_the_state_directory_inside_the_tree_is_never_touched(tree, dedupd):
    dedupd.state_directory = tree / "state"
    dedupd.state_directory.mkdir(mode=0o700)
    content.write_twins(dedupd.state_directory, MIB, names=("mine-1", "mine-2"))
    content.write_twins(tree, MIB, seed=2)

    harness.settle(dedupd.filesystem)
    run = dedupd.run()

    assert run.status == 0, run.stderr
    assert run.skipped["own-state"] >= 1
    assert run.freed_bytes == MIB
    assert not oracle.is_shared(tree / "state/mine-1", tree / "state/mine-2")

    # The store itself may change: the history has each pass.
    def layout_of_others():
        return {path: pieces for path, pieces in oracle.layout(tree).items()
                if not path.startswith("state/") or "mine" in path}

    before = layout_of_others()
    second = dedupd.run()
    assert (second.shared["calls"], second.freed_bytes, second.read["finding_bytes"]) == (0, 0, 0)
    assert layout_of_others() == before


@pytest.mark.parametrize("kind", ["xfs"])
def test_a_state_directory_that_cannot_be_is_refused_by_name(tree, dedupd, tmp_path):
    (tmp_path / "file").write_bytes(b"")
    dedupd.state_directory = tmp_path / "file/state"

    run = dedupd.run()

    assert run.status in (1, 2)
    assert str(tmp_path / "file") in run.stderr


def test_a_pass_over_a_part_keeps_what_was_learned_of_the_rest(tree, filesystem, dedupd):
    for seed, name in enumerate(["in", "out"]):
        (tree / name).mkdir()
        content.write_twins(tree / name, MIB, seed=seed)
    harness.settle(filesystem)
    assert dedupd.run(dry_run=True).freed_bytes == 2 * MIB

    assert dedupd.run(tree / "in").freed_bytes == MIB

    rest = dedupd.run()
    assert rest.read["finding_bytes"] == 0
    assert rest.freed_bytes == MIB
