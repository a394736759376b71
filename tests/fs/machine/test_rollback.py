# SPDX-License-Identifier: GPL-2.0-or-later
"""A filesystem that is set back, replaced or copied: the next pass frees what a new store would free.

A device that is rolled back to a snapshot of it (LVM, a virtual machine's disk) is what an image is that
an older copy of it replaces.
"""

import os
import shutil
import subprocess

import pytest

import content
import harness
from content import MIB
from subvolumes import btrfs, make_subvolume, snapshot, wait_for_deleted

# How passes find equal data: kind of filesystem, and --find.
WAYS = {"checksums": ("btrfs", "checksums"), "btrfs-read": ("btrfs", "read"), "xfs": ("xfs", "read")}
BTRFS_WAYS = ["checksums", "btrfs-read"]
YEAR_HOURS = 365 * 24
SET_BACK = "the filesystem was set back to an earlier state: all of it is looked at again"


@pytest.fixture(params=WAYS)
def way(request):
    return request.param


@pytest.fixture
def kind(way):
    return WAYS[way][0]


@pytest.fixture
def find(way):
    return WAYS[way][1]


class Images:
    """Copies of what one filesystem lies in, by name."""

    def __init__(self, filesystem, directory):
        self._filesystem = filesystem
        self._directory = directory

    def save(self, name):
        """Keep the filesystem as it is."""
        self._filesystem.unmount()
        _run("cp", "--sparse=always", "--reflink=never", self._filesystem.image, self._directory / name)
        self._filesystem.mount()

    def save_with(self, name, *command):
        """The same by a command, which is given the device and the file."""
        self._filesystem.unmount()
        _run(*command, self._filesystem.device, self._directory / name)
        self._filesystem.mount()

    def restore(self, name):
        """Set it back to what was saved."""
        image = self._filesystem.directory + "/restored"
        _run("cp", "--sparse=always", "--reflink=never", self._directory / name, image)
        os.remove(self._filesystem.move_to(image))
        os.rename(image, image + "-" + name)
        self._filesystem.image = image + "-" + name


def _run(*command):
    subprocess.run([str(word) for word in command], check=True, stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL)


@pytest.fixture
def images(filesystem, tmp_path):
    return Images(filesystem, tmp_path)


@pytest.fixture
def known(learn, find):
    """A pass after which the store knows what was written."""
    return lambda **options: learn(find=find, **options)


@pytest.fixture
def compare(filesystem, dedupd, make_dedupd, images, find):
    """Have a pass, and one with a new store over the same state: both free as much; the first one's Run."""
    def compare(least_bytes, **options):
        options.setdefault("find", find)
        harness.settle(filesystem)
        images.save("compared")
        old = dedupd.run(**options)
        assert old.status == 0, old.stderr
        images.restore("compared")
        fresh = make_dedupd(filesystem, state="new")
        new = fresh.run(**options)
        assert new.status == 0, new.stderr
        shutil.rmtree(fresh.state_directory)
        assert new.freed_bytes >= least_bytes, new.filesystem
        assert old.freed_bytes == new.freed_bytes, (old.filesystem, new.filesystem)
        assert SET_BACK not in new.stderr
        return old
    return compare


def write_synced(path, data):
    content.write(path, data)
    _run("sync", "-f", path)
    return path


def write_pair(tree, seed, size, names=("b", "b2")):
    data = content.noise(seed, size)
    for name in names:
        write_synced(tree / name, data)


def commit(tree, count, name="ticks"):
    """Have the filesystem commit so many transactions."""
    for number in range(count):
        with open(tree / name, "a", encoding="ascii") as file:
            file.write(f"{number}\n")
        _run("sync", "-f", tree)


def write_lost_history(tree, known, images):
    """What is saved, and what comes after that and is to be undone."""
    content.write_twins(tree, MIB)
    known()
    images.save("saved")
    for number in range(6):
        write_synced(tree / f"lost-{number}", content.noise(100 + number, 64 << 10))
    known()


# An image, or a volume, that is restored


@pytest.mark.parametrize("transactions", [0, 2, 30])
def test_what_was_written_after_a_restored_image_is_found(tree, images, known, compare, transactions):
    write_lost_history(tree, known, images)

    images.restore("saved")
    write_pair(tree, 7, 8 * MIB)
    commit(tree, transactions)

    compare(8 * MIB)


@pytest.mark.parametrize("transactions", [0, 40])
def test_what_was_shared_and_is_not_any_more_is_shared_again(tree, images, known, compare, filesystem, transactions):
    content.write_twins(tree, 4 * MIB)
    harness.settle(filesystem)
    images.save("saved")
    assert known().freed_bytes == 4 * MIB

    images.restore("saved")
    commit(tree, transactions)

    assert SET_BACK in compare(4 * MIB).stderr


def test_among_many_files_the_shared_ones_tell(tree, images, known, compare, filesystem):
    """More inodes changed than are looked through for witnesses."""
    for number in range(3000):
        content.write(tree / f"single-{number}", content.noise(number, 5000))
    (tree / "last").mkdir()
    content.write_twins(tree / "last", 4 * MIB)
    harness.settle(filesystem)
    images.save("saved")
    assert known().freed_bytes == 4 * MIB

    images.restore("saved")
    commit(tree, 40)

    compare(4 * MIB)


def test_other_data_in_the_same_places_is_not_taken_for_what_was_there(tree, images, known, compare):
    content.write_twins(tree, MIB)
    known()
    images.save("saved")
    write_synced(tree / "b", content.noise(1, 4 * MIB))
    write_synced(tree / "b2", content.noise(2, 4 * MIB))
    commit(tree, 4)
    write_synced(tree / "c", content.noise(4, MIB))
    known()

    images.restore("saved")
    write_pair(tree, 3, 4 * MIB)
    commit(tree, 20)

    compare(4 * MIB)


def test_one_file_that_is_written_all_the_time_hides_nothing(tree, images, known, compare):
    """No file is left that tells of the past that was undone."""
    content.write(tree / "image", content.noise(1, 8 * MIB))
    known()
    images.save("saved")
    for number in range(8):
        content.overwrite(tree / "image", number * MIB, content.noise(10 + number, MIB))
        commit(tree, 1, "log")
    known()

    images.restore("saved")
    content.overwrite(tree / "image", 0, content.noise(5, 2 * MIB))
    commit(tree, 1, "log")
    content.overwrite(tree / "image", 4 * MIB, content.noise(5, 2 * MIB))
    commit(tree, 30, "log")
    content.overwrite(tree / "image", 7 * MIB, b"x")

    compare(2 * MIB)


@pytest.mark.parametrize("way", ["checksums"], indirect=True)
def test_files_without_checksums_are_looked_at_again(tree, images, known, compare):
    content.write_no_cow(tree / "one", content.noise(1, 2 * MIB))
    content.write_no_cow(tree / "two", content.noise(2, 2 * MIB))
    known(no_data_cow="share")
    images.save("saved")
    commit(tree, 6)
    content.write_no_cow(tree / "lost", content.noise(3, MIB))
    known(no_data_cow="share")

    images.restore("saved")
    content.overwrite(tree / "two", 0, content.noise(1, 2 * MIB))
    commit(tree, 20)

    compare(2 * MIB, no_data_cow="share")


def test_each_rollback_is_found(tree, images, known, compare):
    write_lost_history(tree, known, images)
    for seed in range(2):
        images.restore("saved")
        write_pair(tree, 20 + seed, 4 * MIB)
        commit(tree, 10)
        compare(4 * MIB)


def test_two_copies_that_are_mounted_in_turn_are_both_looked_after(tree, images, known, compare):
    content.write_twins(tree, MIB)
    known()
    images.save("one")
    images.save("other")
    for seed in range(2):
        for name in ("one", "other"):
            images.restore(name)
            write_pair(tree, f"{seed}{name}", 2 * MIB, (f"b{seed}", f"c{seed}"))
            images.save(name)
            compare(2 * MIB)


def test_a_dry_run_after_a_rollback_tells_what_a_pass_frees(tree, images, known, dedupd, filesystem, find):
    content.write_twins(tree, 4 * MIB)
    harness.settle(filesystem)
    images.save("saved")
    known()

    images.restore("saved")

    assert dedupd.run(find=find, dry_run=True).freed_bytes == 4 * MIB
    assert dedupd.run(find=find).freed_bytes == 4 * MIB


# What snapshots keep


@pytest.mark.parametrize("way", ["checksums"], indirect=True)
@pytest.mark.parametrize("is_shared", [False, True], ids=["before-it-was-shared", "after"])
def test_what_is_deferred_after_a_rollback_is_what_snapshots_hold(tree, images, dedupd, make_dedupd, filesystem,
                                                                  is_shared):
    options = {"find": "checksums", "read_only_snapshots": "writable"}
    live = make_subvolume(tree / "live")
    for name in ("one", "two"):
        content.write_extent(live / name, content.noise(1, MIB))
    snapshot(live, tree / "kept")
    harness.settle(filesystem)
    if not is_shared:
        images.save("saved")
    assert dedupd.run(**options).filesystem["deferred"]["waiting_bytes"] == MIB
    if is_shared:
        images.save("saved")
    # Another snapshot of the same id will be there in the end.
    for name in ("three", "four"):
        content.write_extent(live / name, content.noise(2, MIB))
    snapshot(live, tree / "lost")
    harness.settle(filesystem)
    assert dedupd.run(**options).filesystem["deferred"]["waiting_bytes"] == 2 * MIB

    images.restore("saved")
    content.write(live / "five", content.noise(3, MIB))
    snapshot(live, tree / "other")
    commit(tree, 20)

    harness.settle(filesystem)
    images.save("compared")
    old = dedupd.run(**options).filesystem
    images.save("after")
    images.restore("compared")
    fresh = make_dedupd(filesystem, state="new")
    new = fresh.run(**options).filesystem
    kept = ("waiting_bytes", "waiting_extents", "snapshots", "last_snapshot")
    assert [old["deferred"][name] for name in kept] == [new["deferred"][name] for name in kept]
    assert old["deferred"]["waiting_bytes"] == MIB
    assert old["deferred"]["released_bytes"] == 0

    # It goes on from here.
    images.restore("after")
    btrfs("subvolume", "delete", tree / "kept", tree / "other")
    wait_for_deleted(tree)
    released = dedupd.run(**options).filesystem["deferred"]
    assert (released["waiting_bytes"], released["released_bytes"]) == (0, MIB)


# Subvolumes that take the place of others


@pytest.mark.parametrize("way", BTRFS_WAYS, indirect=True)
def test_another_default_subvolume_is_looked_at(tree, known, compare, filesystem):
    make_subvolume(tree / "first")
    content.write_twins(tree / "first", MIB)
    snapshot(tree / "first", tree / "second", read_only=False)
    btrfs("subvolume", "set-default", tree / "first")
    filesystem.unmount()
    filesystem.mount()
    known()
    filesystem.mount_options = ["subvolid=5"]
    filesystem.unmount()
    filesystem.mount()
    write_pair(tree / "second", 2, 2 * MIB)
    btrfs("subvolume", "set-default", tree / "second")
    filesystem.mount_options = []
    filesystem.unmount()
    filesystem.mount()

    compare(2 * MIB)


@pytest.mark.parametrize("way", BTRFS_WAYS, indirect=True)
def test_a_snapshot_in_the_place_of_its_subvolume_is_looked_at(tree, known, compare):
    make_subvolume(tree / "live")
    content.write_twins(tree / "live", MIB)
    snapshot(tree / "live", tree / "saved")
    known()
    write_pair(tree / "live", 2, 2 * MIB)
    known()

    btrfs("subvolume", "delete", tree / "live")
    wait_for_deleted(tree)
    snapshot(tree / "saved", tree / "live", read_only=False)
    write_pair(tree / "live", 3, 2 * MIB)
    commit(tree, 5)

    compare(2 * MIB)


# Copies, and other filesystems with the UUID


@pytest.mark.parametrize("way", ["xfs"], indirect=True)
def test_a_copy_by_xfs_copy_is_looked_at_again(tree, images, known, compare, filesystem, tmp_path):
    content.write_twins(tree, 4 * MIB)
    harness.settle(filesystem)
    images.save_with("saved", "xfs_copy", "-d", "-L", tmp_path / "log")
    known()

    images.restore("saved")
    write_pair(tree, 7, 2 * MIB)

    compare(6 * MIB)


@pytest.mark.parametrize("way", ["xfs"], indirect=True)
def test_an_xfs_that_was_made_anew_with_its_uuid_and_restored_is_looked_at_again(tree, known, compare, filesystem,
                                                                                 tmp_path):
    if not shutil.which("xfsrestore"):
        pytest.skip("xfsrestore is not installed")
    for directory in ("a", "b"):
        (tree / directory).mkdir()
        content.write_twins(tree / directory, 2 * MIB, seed=directory)
    harness.settle(filesystem)
    _run("xfsdump", "-F", "-l", "0", "-L", "session", "-M", "media", "-f", tmp_path / "dump", tree)
    write_pair(tree, 7, MIB, ("lost", "lost-too"))
    known()

    uuid = subprocess.run(["findmnt", "-no", "UUID", tree], check=True, capture_output=True, text=True).stdout.strip()
    filesystem.unmount()
    _run("mkfs.xfs", "-q", "-f", "-m", f"reflink=1,uuid={uuid}", filesystem.device)
    filesystem.mount()
    _run("xfsrestore", "-f", tmp_path / "dump", tree)
    write_pair(tree / "b", 8, MIB, ("one-more", "another"))

    compare(5 * MIB)


RENAMED = {
    "btrfstune-u": ("btrfs", ["btrfstune", "-f", "-u"]),
    "btrfstune-m": ("btrfs", ["btrfstune", "-f", "-m"]),
    "xfs_admin-U": ("xfs", ["xfs_admin", "-U", "generate"]),
}


@pytest.mark.parametrize("tool", RENAMED)
def test_a_copy_with_another_uuid_has_a_store_of_its_own(make_filesystem, make_dedupd, tmp_path, tool):
    kind, command = RENAMED[tool]
    filesystem = make_filesystem(kind)
    find = harness.FIND[kind]
    tree = tmp_path.__class__(filesystem.mount_point)
    dedupd = make_dedupd(filesystem)
    content.write_twins(tree, 4 * MIB)
    harness.settle(filesystem)
    images = Images(filesystem, tmp_path)
    images.save("saved")
    assert dedupd.run(find=find).freed_bytes == 4 * MIB
    images.save("shared")

    images.restore("saved")
    filesystem.unmount()
    _run(*command, filesystem.device)
    filesystem.mount()
    assert dedupd.run(find=find).freed_bytes == 4 * MIB
    assert len(list(dedupd.state_directory.glob("*.sqlite"))) == 2

    # The store of the other one is as true as it was.
    images.restore("shared")
    again = dedupd.run(find=find)
    assert again.shared["calls"] == again.files["new"] == 0


# A clock that jumps


@pytest.mark.parametrize("hours", [10 * YEAR_HOURS, -10 * YEAR_HOURS], ids=["ahead", "behind"])
def test_a_rollback_is_found_whatever_the_clock_said(tree, images, known, compare, hours):
    if not harness.clock.can_feign:
        pytest.skip("FEIGNED_CLOCK does not name what is preloaded")
    content.write_twins(tree, MIB)
    write_synced(tree / "b", content.noise(1, 2 * MIB))
    with harness.clock.ahead(hours):
        known()
    images.save("saved")
    for seed in range(5):
        write_synced(tree / "b", content.noise(seed, 2 * MIB))
        with harness.clock.ahead(hours):
            known()

    images.restore("saved")
    write_pair(tree, 9, 2 * MIB)
    commit(tree, 20)

    compare(2 * MIB)


# No rollback


@pytest.fixture
def is_continued(dedupd, find, filesystem):
    """Whether a pass after mounting anew goes on where the last one ended, with so many new or changed files."""
    def is_continued(new, looks_at_all=False):
        harness.settle(filesystem)
        filesystem.unmount()
        filesystem.mount()
        run = dedupd.run(find=find)
        assert run.status == 0, run.stderr
        assert run.files["new"] + run.files["changed"] == new, run.files
        assert (run.found["full_look_seconds"] is not None) == looks_at_all
        assert SET_BACK not in run.stderr
        return run
    return is_continued


def test_mounting_anew_is_no_rollback(tree, known, dedupd, is_continued):
    content.write_twins(tree, 4 * MIB)
    known()
    known()
    run = is_continued(0)
    assert run.shared["calls"] == run.read["finding_bytes"] == run.read["compare_bytes"] == 0

    # Where it stays mounted the next pass writes nothing.
    store = dedupd.store_contents()
    known()
    assert dedupd.store_contents() == store


@pytest.mark.parametrize("way", ["checksums"], indirect=True)
@pytest.mark.parametrize("is_all", [False, True], ids=["lately", "ever"])
def test_a_btrfs_where_all_that_changed_changes_again_is_not_taken_for_another(tree, known, is_continued, is_all):
    """Few witnesses tell of the past, or none."""
    for number in range(40):
        content.write_extent(tree / f"file-{number}", content.noise(number, 64 << 10))
    known()
    content.write_twins(tree, 4 * MIB)
    known()
    for path in tree.iterdir():
        if is_all or not path.name.startswith("file-"):
            path.chmod(0o600)
    content.write_extent(tree / "new", content.noise("new", MIB))

    run = is_continued(1, looks_at_all=is_all)
    assert run.shared["calls"] == 0


def overwrite(tree):
    """Give each of the twins content of its own."""
    for name in ("one", "two"):
        with open(tree / name, "r+b") as file:
            file.write(content.noise(name, 64 << 10))


def test_a_shared_file_that_was_changed_since_is_no_rollback(tree, known, is_continued):
    content.write_twins(tree, MIB)
    known()
    overwrite(tree)
    known()

    run = is_continued(0)
    assert run.shared["calls"] == run.read["finding_bytes"] == run.read["compare_bytes"] == 0


@pytest.mark.parametrize("way", ["btrfs-read", "xfs"], indirect=True)
def test_a_shared_file_that_a_failed_pass_read_again_is_no_rollback(tree, known, dedupd, find, filesystem,
                                                                    failing_calls, is_continued):
    content.write_twins(tree, MIB)
    content.write_twins(tree, MIB, seed=2, names=("same", "as-ever"))
    known()
    overwrite(tree)
    content.write_twins(tree, MIB, seed=3, names=("new", "copy"))
    harness.settle(filesystem)
    # It has shared the new files, and flushes them before it settles.
    dedupd.feigned = {"LD_PRELOAD": failing_calls, "FAIL_SET": "syncfs", "FAIL_AT": "2"}
    run = dedupd.run(find=find)
    dedupd.feigned = {}
    assert run.status == 1 and run.shared["runs"] > 0, run.stderr

    is_continued(0)


@pytest.mark.parametrize("way", ["btrfs-read", "xfs"], indirect=True)
def test_a_rollback_is_noticed_by_files_that_were_young(tree, known, compare, images, filesystem):
    """A pass reads another file meanwhile, and leaves these alone."""
    content.write_twins(tree, MIB)
    harness.settle(filesystem)
    images.save("before")
    known()
    content.write(tree / "other", content.noise(3, MIB))
    os.utime(tree / "other", (0, 0))
    overwrite(tree)
    assert known(min_age="1h").files["read"] == 1
    images.restore("before")

    compare(MIB)


@pytest.mark.parametrize("way", ["checksums"], indirect=True)
def test_a_store_on_the_btrfs_itself_is_not_taken_for_another_past(tree, known, dedupd, is_continued):
    dedupd.state_directory = tree / "state"
    dedupd.state_directory.mkdir(mode=0o700)
    content.write_twins(tree, 4 * MIB)
    for _ in range(4):
        known()
    assert is_continued(0).shared["calls"] == 0
    assert is_continued(0).shared["calls"] == 0


@pytest.mark.parametrize("way", ["checksums"], indirect=True)
def test_a_balance_is_not_taken_for_a_rollback(tree, known, dedupd, find, filesystem):
    for number in range(8):
        content.write_extent(tree / f"single-{number}", content.noise(100 + number, MIB))
    content.write_twins(tree, 4 * MIB)
    known()
    secret = dedupd.note("btrfs-all-looked-at")
    btrfs("balance", "start", "--full-balance", tree)
    filesystem.unmount()
    filesystem.mount()
    run = dedupd.run(find=find)
    assert run.status == 0, run.stderr
    assert run.freed_bytes == 0
    assert run.found["full_look_seconds"] is None
    assert dedupd.note("btrfs-all-looked-at") == secret


def test_what_took_the_place_of_all_files_is_found(tree, known, compare):
    """No witness is left, though nothing was set back."""
    content.write_twins(tree, MIB)
    known()
    for name in ("one", "two"):
        (tree / name).unlink()
    write_pair(tree, 5, 2 * MIB)
    compare(2 * MIB)
