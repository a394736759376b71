# SPDX-License-Identifier: GPL-2.0-or-later
"""Files that change while a pass runs: what their owner wrote is what is there."""

import mmap
import os
import random
import threading
import time

import pytest

import content
import harness
import oracle
from content import BLOCK, KIB, MIB, noise, write

SECONDS = float(os.environ.get("DEDUPD_CHANGE_SECONDS", "6"))
FILES = 12
FILE_BYTES = MIB
ROUND_BYTES = 16 * MIB
POOL = [noise(number, 64 * KIB) for number in range(6)]


class Writer(threading.Thread):
    """Changes files at random, and keeps a model of what must be in them."""

    def __init__(self, tree, seed):
        super().__init__()
        self.tree = tree
        self.random = random.Random(seed)
        self.model = {}
        self.stop = threading.Event()
        self.operations = 0
        self.failure = None
        for number in range(FILES):
            self._store(f"{seed}-{number}", bytearray(b"".join(self._piece() for _ in range(16))))

    def _piece(self):
        return self.random.choice(POOL)

    def _store(self, name, data):
        write(self.tree / name, bytes(data))
        self.model[name] = data

    def run(self):
        changes = [self._overwrite, self._overwrite, self._map, self._truncate, self._append,
                   self._replace, self._rename, self._make_anew]
        try:
            while not self.stop.is_set():
                self.random.choice(changes)(self.random.choice(sorted(self.model)))
                self.operations += 1
                time.sleep(self.random.uniform(0, 0.01))
        except Exception as failure:
            self.failure = failure

    def _overwrite(self, name):
        data = self.model[name]
        offset = self.random.randrange(0, len(data) + 1, BLOCK)
        piece = self._piece()[:self.random.choice([1, 100, BLOCK, 64 * KIB])]
        content.overwrite(self.tree / name, offset, piece)
        data[offset:offset + len(piece)] = piece

    def _map(self, name):
        data = self.model[name]
        if not data:
            return
        offset = self.random.randrange(len(data))
        with open(self.tree / name, "r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
            mapped[offset] = data[offset] = self.random.randrange(256)

    def _truncate(self, name):
        size = self.random.randrange(FILE_BYTES)
        os.truncate(self.tree / name, size)
        data = self.model[name]
        del data[size:]
        data.extend(bytes(size - len(data)))

    def _append(self, name):
        if len(self.model[name]) < 2 * FILE_BYTES:
            piece = self._piece()
            with open(self.tree / name, "ab") as file:
                file.write(piece)
            self.model[name] += piece

    def _replace(self, name):
        other = self.random.choice(sorted(self.model))
        data = bytearray(self.model[other])
        write(self.tree / "new", bytes(data))
        os.rename(self.tree / "new", self.tree / name)
        self.model[name] = data

    def _rename(self, name):
        new_name = f"{name.split('+')[0]}+{self.operations}"
        os.rename(self.tree / name, self.tree / new_name)
        self.model[new_name] = self.model.pop(name)

    def _make_anew(self, name):
        os.unlink(self.tree / name)
        del self.model[name]
        self._store(name, bytearray(self._piece() * 16))

    def differing(self):
        return [name for name, data in self.model.items()
                if (self.tree / name).read_bytes() != bytes(data)]


def test_a_busy_tree_keeps_what_its_writers_wrote(tree, filesystem, dedupd):
    writers = []
    for seed in range(2):
        (tree / str(seed)).mkdir()
        writers.append(Writer(tree / str(seed), seed))
    for writer in writers:
        writer.start()
    runs = []
    try:
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            runs.append(dedupd.run())
    finally:
        for writer in writers:
            writer.stop.set()
            writer.join()

    assert [writer.failure for writer in writers] == [None, None]
    assert [run.status for run in runs] == [0] * len(runs), [run.stderr for run in runs]
    assert [writer.differing() for writer in writers] == [[], []]
    filesystem.forget_data()
    assert [writer.differing() for writer in writers] == [[], []]
    assert sum(writer.operations for writer in writers) > 100
    harness.check_pass(dedupd, has_clones=True)
    assert [writer.differing() for writer in writers] == [[], []]


def truncated(path):
    os.truncate(path, 1000)


def grown(path):
    with open(path, "ab") as file:
        file.write(noise(9, MIB))


def rewritten_with_old_mtime(path):
    status = path.stat()
    content.overwrite(path, 0, noise(9, MIB))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def deleted(path):
    path.unlink()


def replaced(path):
    write(path.with_name("new"), noise(9, 2 * MIB))
    os.rename(path.with_name("new"), path)


def linked_elsewhere(path):
    os.link(path, path.with_name("link"))
    path.unlink()


def made_a_fifo(path):
    path.unlink()
    os.mkfifo(path)


def made_a_symlink(path):
    path.unlink()
    os.symlink("/etc/passwd", path)


CHANGES = [truncated, grown, rewritten_with_old_mtime, deleted, replaced, linked_elsewhere,
           made_a_fifo, made_a_symlink]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_file_that_changes_after_it_was_read_is_survived(tree, filesystem, dedupd, change):
    content.write_twins(tree, 2 * MIB)
    content.write_twins(tree, 2 * MIB, seed=2, names=("other-1", "other-2"))
    harness.settle(filesystem)
    filesystem.forget_data()
    process = dedupd.start(limit_rate="12M")
    time.sleep(0.5)

    change(tree / "two")
    before = oracle.snapshot(tree)
    run = dedupd.finish(process)

    assert run.status == 0, run.stderr
    harness.assert_unchanged(before, tree)
    harness.check_pass(dedupd)
    assert oracle.is_shared(tree / "other-1", tree / "other-2")


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_file_that_changes_between_passes_is_survived(tree, filesystem, dedupd, change):
    content.write_twins(tree, 2 * MIB)
    harness.settle(filesystem)
    assert dedupd.run(dry_run=True).status == 0

    change(tree / "two")

    harness.check_pass(dedupd)


def made_a_swap_file(path):
    content.overwrite(path, mmap.PAGESIZE - 10, b"SWAPSPACE2")


def made_unreadable(path):
    path.chmod(0)


@pytest.mark.parametrize("is_target", [True, False], ids=["target", "source"])
@pytest.mark.parametrize("change", [made_a_swap_file, truncated])
def test_a_file_that_changes_while_it_is_shared_is_left_alone(tree, filesystem, dedupd, change,
                                                               is_target):
    shared, changed = change_between_rounds(tree, filesystem, dedupd, change, is_target)

    assert shared.status == 0, shared.stderr
    assert shared.skip_of("changed")["examples"] == [str(changed)]
    assert shared.freed_bytes == ROUND_BYTES
    harness.check_pass(dedupd, has_clones=True)


def test_a_file_of_which_ctime_alone_changes_is_shared_to_its_end_later(tree, filesystem, dedupd):
    run, _ = change_between_rounds(tree, filesystem, dedupd, made_unreadable, is_target=True)

    assert run.skipped == {"changed": 1}
    assert run.freed_bytes == ROUND_BYTES
    done = harness.check_pass(dedupd)
    assert done.first.read["finding_bytes"] == 0
    assert done.freed_bytes == 2 * ROUND_BYTES


def change_between_rounds(tree, filesystem, dedupd, change, is_target):
    """Twins of three rounds, one changed after the first round; returns the run and that file."""
    twins = content.write_twins(tree, 3 * ROUND_BYTES)
    harness.settle(filesystem)
    assert dedupd.run(dry_run=True).freed_bytes == 3 * ROUND_BYTES
    # On XFS the first block is shared before the rest of its round.
    last = ROUND_BYTES // oracle.BLOCK_BYTES - 1
    places = [oracle.block_addresses(path)[last] for path in twins]
    filesystem.forget_data()

    process = dedupd.start(limit_rate="24M")
    deadline = time.monotonic() + 30
    while [oracle.block_addresses(path)[last] for path in twins] == places:
        assert time.monotonic() < deadline, "nothing was shared"
        time.sleep(0.02)
    time.sleep(0.2)  # until the pass has seen it, too; the next round takes a second to read
    target = twins[oracle.block_addresses(twins[0])[last] == places[0]]
    changed = target if is_target else twins[target == twins[0]]
    change(changed)

    return dedupd.finish(process), changed


@pytest.mark.alone
def test_a_pass_evicts_nothing_that_was_in_the_page_cache(tree, filesystem, dedupd):
    content.write_twins(tree, 4 * MIB)
    hot = write(tree / "hot", noise(3, 4 * MIB))
    harness.settle(filesystem)
    filesystem.forget_data()
    drops = harness.cache_drops()
    hot.read_bytes()
    run = dedupd.run()
    after_pass = filesystem.read_bytes()

    hot.read_bytes()

    assert run.status == 0, run.stderr
    if harness.cache_drops() != drops:
        pytest.skip("somebody else emptied the page cache meanwhile")
    assert filesystem.read_bytes() - after_pass < MIB
    assert run.device_bytes < 17 * MIB, "it read twice what it needs"
