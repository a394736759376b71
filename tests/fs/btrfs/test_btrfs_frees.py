# SPDX-License-Identifier: GPL-2.0-or-later
"""What one pass over a btrfs frees, beside what could be freed of it.

A smaller tests/bench/btrfs-frees: extent_corpus.py and extent_oracle.py there say what the corpus
is and what can be had of it.
"""

import array
import collections
import itertools
import os
import pathlib
import random
import sys

import pytest

import harness
from filesystem import FilesystemUnavailable, LoopFilesystem

sys.path.append(str(pathlib.Path(__file__).parents[2] / "bench"))
import extent_oracle  # noqa: E402 (the path is set above)
import extent_planner  # noqa: E402
from extent_census import BLOCK_BYTES, Extent, Numbers, by_part, take_census  # noqa: E402
from extent_corpus import SHARES, ExtentCorpus  # noqa: E402

MIB = 1 << 20
CORPUS_BYTES = 256 * MIB
LEAST_OF_EXTENTS = 0.95
LEAST_OF_BLOCKS = 0.80
LEAST_OF_PLAN = 0.95
MOST_WRITTEN = 0.25
MOST_ANCHORS = 1.25
LEAST_BY_REWRITING = 1.15
# A plan that can be had is so much of the bound at least, else the bound says little.
LEAST_OF_BOUND = 0.95


class Result:
    """A corpus before and after the one pass that all tests here look at."""

    def __init__(self, before, after, unwritten, passed, later):
        self.unwritten = unwritten  # what a pass that rewrites nothing says that it would do
        self.passed = passed
        self.later = later  # what a pass with a new store sees afterwards
        self.before = by_part(before)
        self.after = by_part(after, before)
        self.bounds = extent_oracle.bounds_of(before)

    def new_bytes(self):
        """What extents take that were not there before."""
        there = {extent.key for extents in self.before.values() for extent in extents}
        return sum(extent.disk_bytes for extents in self.after.values() for extent in extents
                   if extent.key not in there)

    def freed_bytes(self, part):
        """What the extents of a part take less than before."""
        return (sum(extent.disk_bytes for extent in self.before[part]) -
                sum(extent.disk_bytes for extent in self.after[part]))


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    if "DEDUPD" not in os.environ:
        pytest.skip("DEDUPD does not name the program to test")
    try:
        with LoopFilesystem("btrfs", 3 * CORPUS_BYTES) as filesystem:
            ExtentCorpus(filesystem, CORPUS_BYTES, source=None).make()
            numbers = Numbers()
            before = take_census(filesystem.mount_point, numbers)
            dedupd, other, latest = (
                harness.Dedupd(os.environ["DEDUPD"], tmp_path_factory.mktemp(name), filesystem)
                for name in ("state", "other-state", "latest-state"))
            unwritten = other.run(find="checksums", rewrite="never", dry_run=True)
            passed = harness.check_pass(dedupd, find="checksums", may_note=True)
            later = latest.run(find="checksums", dry_run=True)
            after = take_census(filesystem.mount_point, numbers)
            filesystem.check()
            yield Result(before, after, unwritten, passed, later)
    except FilesystemUnavailable as unavailable:
        pytest.skip(str(unavailable))


def test_what_is_freed_is_what_the_extents_of_the_parts_take_less(result):
    assert sum(map(result.freed_bytes, SHARES)) == result.passed.freed_bytes
    assert min(map(result.freed_bytes, SHARES)) >= 0


def test_the_bounds_of_the_corpus_can_nearly_be_had(result):
    bounds = result.bounds

    assert bounds.reachable <= bounds.ideal_extents <= bounds.ideal_blocks < bounds.disk_bytes
    assert bounds.reachable >= LEAST_OF_BOUND * bounds.ideal_extents
    assert bounds.reachable > bounds.reachable_unwritten


@pytest.mark.parametrize("part", SHARES)
def test_one_pass_frees_of_a_part_what_a_plan_can(result, part):
    could = extent_oracle.bounds_of(result.before[part]).reachable

    assert result.freed_bytes(part) >= LEAST_OF_PLAN * could


def test_one_pass_frees_nearly_what_whole_extents_allow(result):
    assert result.passed.freed_bytes >= LEAST_OF_EXTENTS * result.bounds.ideal_extents


def test_one_pass_frees_most_of_what_equal_blocks_allow(result):
    assert result.passed.freed_bytes >= LEAST_OF_BLOCKS * result.bounds.ideal_blocks


def test_one_pass_writes_little_and_says_how_much(result):
    said = result.passed.first.rewritten["bytes"]

    assert 0 < result.new_bytes() <= said <= MOST_WRITTEN * result.passed.freed_bytes


def test_writing_a_little_frees_a_good_deal_more(result):
    assert result.unwritten.status == 0, result.unwritten.stderr
    assert result.unwritten.rewritten["bytes"] == 0
    assert 0 < LEAST_BY_REWRITING * result.unwritten.freed_bytes <= result.passed.freed_bytes


def test_one_pass_leaves_few_anchors_of_what_is_gone(result):
    assert result.later.status == 0, result.later.stderr
    assert result.passed.first.store["anchors"] <= MOST_ANCHORS * result.later.store["anchors"]


# What follows tests the bounds themselves, on extents that lie nowhere.


def extent(*shown, hidden=0):
    """An extent that shows blocks of these numbers, and hides some more."""
    made = Extent(0, BLOCK_BYTES * (len(shown) + hidden), 1, False, 0)
    made.shown = array.array("q", shown)
    return made


def best_by_trying_all(extents):
    """The most blocks that can be freed: every choice of what stays is tried."""
    blocks = [each.distinct() for each in extents]
    holders = collections.Counter(itertools.chain.from_iterable(blocks))
    alone = [sum(holders[block] == 1 for block in own) for own in blocks]
    best = 0
    for kept in itertools.product((True, False), repeat=len(extents)):
        if any(not stays and alone[number] * BLOCK_BYTES >
               extent_oracle.MOST_REWRITTEN * extents[number].disk_bytes
               for number, stays in enumerate(kept)):
            continue
        held = set().union(*(own for own, stays in zip(blocks, kept) if stays))
        written = BLOCK_BYTES * len(set().union(*blocks) - held)
        best = max(best, sum(each.disk_bytes for each, stays in zip(extents, kept) if not stays) -
                   written)
    return best


@pytest.mark.parametrize("extents, could", [
    pytest.param([extent(1, 2), extent(1, 2)], 2, id="twins"),
    pytest.param([extent(1, 2), extent(3, 4)], 0, id="strangers"),
    pytest.param([extent(1, 2, 3, 4, 5), extent(1, 2, 3, 4)], 4, id="a part of a larger one"),
    pytest.param([extent(1, 2, 3, 4), extent(1, 2, 3, 5)], 3, id="one block differs"),
    pytest.param([extent(1, 2, 4), extent(1, 2, 5)], 2, id="a third differs"),
    pytest.param([extent(1, 4, 6), extent(1, 5, 7)], 0, id="too much differs"),
    pytest.param([extent(1, 2, 3), extent(4, 5), extent(1, 2), extent(3, 4, 5)], 5,
                 id="cut at other places"),
    pytest.param([extent(1, 2, hidden=2), extent(1, 2)], 4, id="what is hidden goes, too"),
    pytest.param([extent(0, 0, 0)], 3, id="zeros may be holes"),
])
def test_what_can_be_freed_of_a_few_extents(extents, could):
    bounds = extent_oracle.bounds_of(extents)

    assert bounds.reachable == could * BLOCK_BYTES
    assert best_by_trying_all(extents) == could * BLOCK_BYTES
    assert bounds.ideal_extents == could * BLOCK_BYTES


def test_no_choice_of_what_stays_frees_more_than_the_bounds_say():
    chance = random.Random(1)
    for _ in range(400):
        data = [chance.randrange(9) for _ in range(24)]
        extents = []
        for _ in range(chance.randrange(2, 9)):
            first = chance.randrange(20)
            shown = data[first:first + chance.randrange(1, 9)]
            if chance.randrange(3) == 0:
                shown[chance.randrange(len(shown))] = 100 + len(extents)
            extents.append(extent(*shown, hidden=chance.randrange(4) // 2))
        bounds, best = extent_oracle.bounds_of(extents), best_by_trying_all(extents)

        assert bounds.reachable <= best <= bounds.ideal_extents <= bounds.ideal_blocks
        assert 0 <= bounds.reachable_unwritten


# The planner of tests/bench/plan-losses, in the same way.


def frees_by_rule(extents, gone, share):
    """What is freed if the extents numbered @gone go; None if the rule has one of them stay."""
    blocks = [each.distinct() for each in extents]
    held = set().union(*(own for number, own in enumerate(blocks) if number not in gone))
    freed = 0
    for number in gone:
        written = len(blocks[number] - held)
        held |= blocks[number]
        if written * BLOCK_BYTES > share * extents[number].disk_bytes:
            return None
        freed += extents[number].disk_bytes - written * BLOCK_BYTES
    return freed


@pytest.mark.parametrize("share", [0, 0.25])
@pytest.mark.parametrize("seed", range(12))
def test_the_planner_finds_the_best_of_few_extents(seed, share):
    chance = random.Random(seed)
    extents = [extent(*(chance.randrange(1, 14) for _ in range(chance.randrange(2, 9))))
               for _ in range(6)]
    plan = extent_planner.Plan(extents, share, improve_seconds=0.2)
    orders = (order for count in range(len(extents) + 1)
              for order in itertools.permutations(range(len(extents)), count))
    best = max(filter(None, (frees_by_rule(extents, order, share) for order in orders)), default=0)

    assert plan.freed_bytes == best


def test_the_planner_keeps_what_would_leave_too_many_pieces():
    """Each block of the long one is in a short one that has another beside it."""
    long = extent(*range(1, 1001))
    short = [extent(block, 2000 + block) for block in range(1, 1001)]

    assert extent_planner.Plan([long, *short], 0, 64 << 10, 0.1).freed_bytes == 0
    assert extent_planner.Plan([long, *short], 0, 0, 0.1).freed_bytes == long.disk_bytes


def test_the_planner_keeps_what_is_reserved_or_compressed():
    kinds = [extent(1, 2, 3), extent(1, 2, 3)]
    kinds[0].is_reserved = kinds[1].is_compressed = True

    assert extent_planner.Plan(kinds, 0.25, improve_seconds=0.1).gone == []
