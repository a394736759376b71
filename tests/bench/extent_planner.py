# SPDX-License-Identifier: GPL-2.0-or-later
"""A planner that has nothing in common with dedupd's, to hold it against.

The rule is that of btrfs: an extent is freed once nothing shows a byte of it.  So it may go if every
block that files show of it, but zeros, is in an extent that stays, or is written anew; what is
written for it is no more than a share of the extent.  What may stay and what goes is a set cover, of
which no best solution is to be had.  So several orders are tried and the best result is made better
by bringing back some extents and deciding anew about these and what has to do with them.

A file whose data is taken from many places is slow to read, so a limit may be set as dedupd has one:
of an extent longer than a MiB each piece that it would leave, but a few, has to free so many bytes.
Pieces are counted beside what stays.

All is derived from a census of extents (extent_census.py).  Extents never go that are
compressed, or of which a file keeps a part for what is not written yet.
"""

import array
import collections
import random
import time

import extent_oracle
from extent_census import BLOCK_BYTES

ORDERS = 3
LONG_BYTES = 1 << 20
FREE_PIECES = 16
MOST_SOURCES = 64
IMPROVE_SECONDS = 20


class Plan:
    """What goes of @extents if at most @most_rewritten of each is written anew.

    With @min_run_bytes those stay of which each piece would free less than that.
    """

    def __init__(self, extents, most_rewritten, min_run_bytes=0, improve_seconds=IMPROVE_SECONDS):
        self.extents = extents
        self.most_rewritten = most_rewritten
        self.blocks = [array.array("q", extent.distinct()) for extent in extents]
        self.chance = random.Random(1)
        self.bound = {number for number, extent in enumerate(extents)
                      if extent.is_compressed or extent.is_reserved}
        self.places = self._places() if min_run_bytes else {}
        while True:
            best = max((self._delete(order) for order in self._orders()), key=self._freed)
            best = self._improve(best, improve_seconds)
            scattered = self._scattered(best, min_run_bytes) if min_run_bytes else None
            if scattered is None:
                break
            self.bound.add(scattered)
        self.gone = [extents[number] for number in sorted(best.written)]
        self.written_bytes = BLOCK_BYTES * sum(map(len, best.written.values()))
        self.freed_bytes = self._freed(best)

    def _freed(self, state, numbers=None):
        """What is freed by those that are gone, or those of them that are among @numbers."""
        return sum(self.extents[number].disk_bytes - BLOCK_BYTES * len(state.written[number])
                   for number in (numbers or state.written) if number in state.written)

    def _places(self):
        """Where the blocks of long extents are, by number."""
        wanted = set().union(*(blocks for extent, blocks in zip(self.extents, self.blocks)
                               if extent.disk_bytes > LONG_BYTES))
        places = collections.defaultdict(list)
        for number, extent in enumerate(self.extents):
            for position, block in enumerate(extent.shown):
                if block in wanted:
                    places[block].append((number, position))
        return places

    def _scattered(self, state, min_run_bytes):
        """The long extent that goes and would leave the most pieces too many; None if none does."""
        worst, most = None, 0
        for number in state.written:
            if self.extents[number].disk_bytes <= LONG_BYTES:
                continue
            pieces, alone = self._pieces(number, state)
            gained = self.extents[number].disk_bytes - BLOCK_BYTES * alone
            beyond = pieces - FREE_PIECES - gained / min_run_bytes
            if beyond > most:
                worst, most = number, beyond
        return worst

    def _pieces(self, number, state):
        """How many pieces the extent would be in, and how many blocks no other one has that stays."""
        shown = self.extents[number].shown
        pieces = alone = block = 0
        was_alone = False
        while block < len(shown):
            length = 1
            if shown[block] > 0:
                sources = [place for place in self.places[shown[block]]
                           if place[0] != number and place[0] not in state.written]
                pieces += bool(sources) or not was_alone
                alone += not sources
                was_alone = not sources
                length = max((self._common(shown, block, *place)
                              for place in sources[:MOST_SOURCES]), default=1)
            block += length
        return pieces, alone

    def _common(self, shown, block, source, position):
        """For how many blocks the two go on alike."""
        other = self.extents[source].shown
        length = 1
        while block + length < len(shown) and position + length < len(other) and \
                shown[block + length] == other[position + length]:
            length += 1
        return length

    def _orders(self):
        """In what order extents are tried, each as long as it may go."""
        numbers = range(len(self.extents))
        sizes = [extent.disk_bytes for extent in self.extents]
        # Those that the greedy choice of what stays gives up come first.
        greedy = extent_oracle.Plan(self.extents, self.most_rewritten)
        gone = {id(extent) for extent in greedy.gone}
        yield sorted(numbers, key=lambda number: (id(self.extents[number]) not in gone,
                                                  sizes[number]))
        yield sorted(numbers, key=lambda number: sizes[number])
        yield sorted(numbers, key=lambda number: -sizes[number])
        yield sorted(numbers, key=lambda number: self.extents[number].places)
        for _ in range(ORDERS):
            yield sorted(numbers, key=lambda number: sizes[number] * self.chance.random())

    def _delete(self, order):
        state = _State(self.blocks)
        for number in order:
            self._try(state, number)
        return state

    def _try(self, state, number):
        """Have the extent go if it may."""
        extent = self.extents[number]
        alone = [block for block in self.blocks[number] if state.holders[block] == 1]
        if number in self.bound or \
                len(alone) * BLOCK_BYTES > self.most_rewritten * extent.disk_bytes:
            return
        state.remove(number, self.blocks[number], alone)

    def _improve(self, state, seconds):
        """Bring some back, so that others that they were kept for may go in their stead."""
        holders = collections.defaultdict(list)
        for number, own in enumerate(self.blocks):
            for block in own:
                holders[block].append(number)
        deadline = time.monotonic() + seconds
        shared = [number for number, own in enumerate(self.blocks)
                  if any(len(holders[block]) > 1 for block in own)]
        while shared and time.monotonic() < deadline:
            near = self._near(self.chance.choice(shared), holders)
            before = self._freed(state, near)
            undo = state.copy_of(near)
            for number in undo:
                state.restore(number, self.blocks[number])
            self.chance.shuffle(near)
            if self.chance.random() < 0.5:
                near.sort(key=lambda number: -self.extents[number].disk_bytes *
                          self.chance.random())
            for number in near:
                self._try(state, number)
            if self._freed(state, near) < before:
                state.go_back(undo, near, self.blocks)
        return state

    def _near(self, begin, holders):
        """Some extents that have blocks in common, directly or by others."""
        found, queue = {begin}, [begin]
        while queue and len(found) < 40:
            number = queue.pop(0)
            own = self.blocks[number]
            for block in self.chance.sample(own, min(8, len(own))):
                for other in holders[block][:8]:
                    if other not in found:
                        found.add(other)
                        queue.append(other)
        return sorted(found)


class _State:
    """Which extents are gone, with what was written for each, and how often each block is held."""

    def __init__(self, blocks):
        self.holders = collections.Counter()
        for own in blocks:
            self.holders.update(own)
        self.written = {}

    def remove(self, number, own, alone):
        """What is alone is held by a copy from now on."""
        for block in own:
            self.holders[block] -= 1
        for block in alone:
            self.holders[block] += 1
        self.written[number] = alone

    def restore(self, number, own):
        """The extent is there again; its copy goes."""
        for block in self.written.pop(number):
            self.holders[block] -= 1
        for block in own:
            self.holders[block] += 1

    def copy_of(self, numbers):
        """What go_back() needs."""
        return {number: self.written[number] for number in numbers if number in self.written}

    def go_back(self, undo, numbers, blocks):
        """All of @numbers are as they were."""
        for number in numbers:
            if number in self.written:
                self.restore(number, blocks[number])
        for number, alone in undo.items():
            self.remove(number, blocks[number], alone)
