# SPDX-License-Identifier: GPL-2.0-or-later
"""Every equal run of the promised length is shared, in random trees, by brute force.

DEDUPD_SEEDS chooses the number of trees of each kind (6), DEDUPD_SEED the first of them.
"""

import collections
import os
import random

import pytest

import harness
import ioctls
import oracle
from content import BLOCK, noise
from harness import CERTAIN_BLOCKS_READ as CERTAIN_BLOCKS

pytestmark = pytest.mark.usefixtures("filled_memory")

SEEDS = harness.seeds(6)
CERTAIN_PLACES = 8   # of more equal ones each is tried with two others only
ZEROS = bytes(BLOCK)


class RandomTree:
    """Files made of pieces that come again: copied, shifted, edited, cloned, with holes."""

    def __init__(self, tree, seed):
        self.tree = tree
        self.random = random.Random(seed)
        self.fresh = seed << 32
        self.files = []

    def _noise(self, blocks):
        self.fresh += 1
        return noise(self.fresh, blocks * BLOCK)

    def _repeating(self):
        period = self.random.choice([1, 1, 2])
        return (self._noise(period) * 200)[:self.random.randrange(20, 200) * BLOCK]

    def _part_of_a_file(self):
        if not self.files:
            return self._noise(64)
        data = self.random.choice(self.files).read_bytes()
        blocks = len(data) // BLOCK
        length = self.random.choice([5, 8, 9, 10, 40, blocks])
        start = self.random.randrange(max(1, blocks - length + 1))
        return data[start * BLOCK:(start + length) * BLOCK]

    def _edited(self):
        data = bytearray(self._part_of_a_file())
        for _ in range(self.random.randrange(1, 6)):
            if data:
                data[self.random.randrange(len(data))] ^= 0xff
        return bytes(data)

    def _piece(self):
        choice = self.random.random()
        if choice < 0.35:
            return self._noise(self.random.choice([1, 2, 7, 9, 60, 150]))
        if choice < 0.7:
            return self._part_of_a_file()
        if choice < 0.85:
            return self._edited()
        if choice < 0.95:
            return bytes(self.random.choice([1, 15, 16, 40]) * BLOCK)
        return self._repeating()

    def _write(self, path):
        offset = 0
        with open(path, "wb") as file:
            for _ in range(self.random.randrange(1, 8)):
                piece = self._piece()
                if self.random.random() < 0.1:
                    offset += self.random.randrange(1, 40) * BLOCK  # a hole
                file.seek(offset)
                file.write(piece)
                offset += -(-len(piece) // BLOCK) * BLOCK
                if self.random.random() < 0.3:
                    file.flush()
                    os.fdatasync(file.fileno())
            if self.random.random() < 0.5:
                file.write(noise(self.random.randrange(3), self.random.randrange(BLOCK)))
        return path

    def _clone_into(self, path):
        source_path = self.random.choice(self.files)
        blocks = source_path.stat().st_size // BLOCK
        if blocks < 2:
            return
        start = self.random.randrange(blocks - 1)
        length = self.random.randrange(1, blocks - start) * BLOCK
        with open(source_path, "rb") as source, open(path, "r+b") as target:
            os.fsync(source.fileno())
            place = self.random.randrange(path.stat().st_size // BLOCK + 1) * BLOCK
            if source_path != path or abs(place - start * BLOCK) >= length:
                ioctls.clone_range(source.fileno(), start * BLOCK, length, target.fileno(), place)

    def make(self, count=14):
        for number in range(count):
            self.files.append(self._write(self.tree / f"file-{number}"))
            if self.random.random() < 0.3:
                self._clone_into(self.files[-1])


class Blocks:
    """All whole blocks of some files, with the equal runs among them."""

    def __init__(self, paths):
        self.content = {path: self._read(path) for path in paths}
        self.positions = collections.defaultdict(list)
        for path, blocks in self.content.items():
            for number, block in enumerate(blocks):
                if block != ZEROS:
                    self.positions[block].append((path, number))

    @staticmethod
    def _read(path):
        data = path.read_bytes()
        return [data[at:at + BLOCK] for at in range(0, len(data) - BLOCK + 1, BLOCK)]

    def _equal(self, one, other, step):
        (first, i), (second, j) = one, other
        i, j = i + step, j + step
        return (0 <= i < len(self.content[first]) and 0 <= j < len(self.content[second])
                and self.content[first][i] == self.content[second][j] != ZEROS)

    def certain_runs(self):
        """Each maximal equal run of two places that is long enough, as (place, place, blocks)."""
        for places in self.positions.values():
            for index, one in enumerate(places):
                for other in places[index + 1:]:
                    if not self._equal(one, other, -1):
                        length = 1
                        while self._equal(one, other, length):
                            length += 1
                        if length >= CERTAIN_BLOCKS:
                            yield one, other, length

    def is_rare(self, place, length):
        """Whether some anchor of the run is in so few places that all of them are tried."""
        path, start = place
        rare = 0
        for block in self.content[path][start:start + length]:
            rare = rare + 1 if len(self.positions[block]) <= CERTAIN_PLACES else 0
            if rare == CERTAIN_BLOCKS:
                return True
        return False

    def repeating(self):
        """Contents of blocks in runs that overlap themselves: constant or periodic data."""
        found = set()
        for (first, i), (second, j), length in self.certain_runs():
            if first == second and abs(i - j) < length:
                found.update(self.content[first][i:i + length])
        return found


def _addresses(paths):
    return {path: oracle.block_addresses(path) for path in paths}


def check_runs_are_shared(blocks, addresses):
    """Of each two blocks of a certain run one at least was given up for an equal one.

    Mostly the two lie at one place then.  Where runs of three files overlap, a block can have been
    shared with the third, which has too little in common with the first for all three to meet.
    Data that repeats within itself is judged elsewhere, and data that is in very many places may be
    shared with others than these two.
    """
    repeating = blocks.repeating()
    users = collections.Counter(address for places in addresses.values()
                                for address in places)
    missed = []
    for (first, i), (second, j), length in blocks.certain_runs():
        if not blocks.is_rare((first, i), length):
            continue
        for step in range(length):
            one, other = addresses[first][i + step], addresses[second][j + step]
            if (blocks.content[first][i + step] not in repeating and one != other
                    and users[one] < 2 and users[other] < 2):
                missed.append(f"{first.name}:{i} = {second.name}:{j}, {length} blocks, at {step}")
                break
    assert not missed, f"{len(missed)} runs are not shared:\n" + "\n".join(missed[:20])


def check_repeating_data_is_small(blocks, addresses):
    """Periodic data comes down to a few periods in each stretch of it."""
    for block in blocks.repeating():
        places = blocks.positions[block]
        distinct = {addresses[path][number] for path, number in places}
        assert len(distinct) <= max(2 * CERTAIN_BLOCKS, len(places) // 2), (
            f"{len(places)} equal blocks still lie in {len(distinct)} places")


def check_nothing_else_is_shared(blocks, addresses):
    content_at = {}
    for path, numbers in blocks.content.items():
        for number, block in enumerate(numbers):
            address = addresses[path][number]
            if address is not None:
                assert content_at.setdefault(address, block) == block


@pytest.mark.parametrize("seed", SEEDS)
def test_every_certain_run_of_a_random_tree_is_shared(tree, filesystem, dedupd, seed):
    made = RandomTree(tree, seed)
    made.make()

    done = harness.check_pass(dedupd, zeros="auto", has_clones=True)

    blocks = Blocks(made.files)
    addresses = _addresses(made.files)
    check_nothing_else_is_shared(blocks, addresses)
    assert done.first.shared["differed"] == 0
    assert done.first.shared["capped"] == 0
    if filesystem.kind == "xfs":
        check_runs_are_shared(blocks, addresses)
        check_repeating_data_is_small(blocks, addresses)


@pytest.mark.parametrize("seed", SEEDS[:max(1, len(SEEDS) // 2)])
def test_passes_between_changes_end_where_one_pass_would(tree, filesystem, dedupd, seed):
    made = RandomTree(tree, 1000 + seed)
    for _ in range(3):
        made.make(count=5)
        done = harness.check_pass(dedupd, zeros="hole", has_clones=True)

    if filesystem.kind == "xfs":
        check_runs_are_shared(Blocks(made.files), _addresses(made.files))
