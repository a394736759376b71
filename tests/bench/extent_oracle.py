# SPDX-License-Identifier: GPL-2.0-or-later
"""How much of a btrfs could be freed: bounds that no plan can pass, and a plan that can be had.

All is derived from a census of extents (extent_census.py); nothing is shared with what it judges.

Let D be the bytes on disk of all data extents, hidden parts included.  btrfs gives an extent back
as a whole, once nothing shows a byte of it.  So whatever is shared, what is left is a set K of the
extents that there were, whole, and what was written anew, R; and every distinct block that files
show (but zeros, which may be holes) lies in K or in R.

ideal_blocks: each distinct block stays once, at its price.  That is 4096 bytes where data is not
compressed.  A compressed block has the price of the cheapest extent that shows it, divided by the
distinct blocks that this one shows.  The prices of the blocks that an extent shows never make up
more than its bytes on disk, so K and R take at least the sum of all prices, and no more than D less
that sum can be freed.  (Of rewritten blocks that supposes that they compress no better than in the
best of the extents they were in.)

ideal_extents: the same for plans that free an extent only if they have to write no more than half
of its bytes on disk for that.  Of an extent that goes, each distinct block that no other
extent shows has to be written.  So an extent of which these are more than half is in K
whatever the plan, and takes all of its bytes there, its copies of others' blocks and what it hides
included.  What it shows needs nothing else.  Every other distinct block takes its price, as before,
among extents of which none is bound to stay.  It is a bound and no plan: it supposes that the
extents that stay have no block in common, and it counts no block to be written that several extents
show, even if all of them go.  Both can only make it higher than what can be had.

reachable: a plan.  Extents are kept, always that of which the largest share is not in those kept
already, of equals the largest, until none lacks more than half.  All others go, and the rest
of each is written.  What is best lies between this and ideal_extents.
"""

import collections
import heapq
import typing

from extent_census import BLOCK_BYTES, HIDDEN, ZEROS

MOST_REWRITTEN = 0.5


class Bounds(typing.NamedTuple):
    """Bytes that can be freed, and what they are less of."""

    disk_bytes: int
    hidden_bytes: int
    zero_bytes: int
    ideal_blocks: int
    ideal_extents: int
    reachable: int
    reachable_written: int
    reachable_unwritten: int


def bounds_of(extents):
    """The Bounds of @extents, which are all that show what they show."""
    written = Plan(extents, MOST_REWRITTEN)
    plain = Plan(extents, 0)
    disk_bytes = sum(extent.disk_bytes for extent in extents)
    plain_extents = [extent for extent in extents if not extent.is_compressed]
    return Bounds(
        disk_bytes,
        sum(extent.disk_bytes - BLOCK_BYTES * (len(extent.shown) - extent.shown.count(HIDDEN))
            for extent in plain_extents),
        sum(BLOCK_BYTES * extent.shown.count(ZEROS) for extent in plain_extents),
        disk_bytes - _least_bytes(extents, 1),
        disk_bytes - _least_bytes(extents, MOST_REWRITTEN),
        written.freed_bytes, written.written_bytes, plain.freed_bytes)


def _least_bytes(extents, most_rewritten):
    """What must be left: see above; with 1 for @most_rewritten no extent is bound to stay."""
    blocks = [extent.distinct() for extent in extents]
    holders = collections.Counter()
    for own in blocks:
        holders.update(own)
    least, held = 0, set()
    movable = []
    for extent, own in zip(extents, blocks):
        alone = sum(holders[block] == 1 for block in own)
        if alone * _block_bytes(extent, own) > most_rewritten * extent.disk_bytes:
            least += extent.disk_bytes
            held |= own
        else:
            movable.append((extent, own))
    prices = {}
    for extent, own in movable:
        price = _block_bytes(extent, own)
        for block in own - held:
            prices[block] = min(price, prices.get(block, price))
    return least + sum(prices.values())


def _block_bytes(extent, own):
    """What one of the distinct blocks @own of @extent takes at least, there or written anew."""
    if not extent.is_compressed:
        return BLOCK_BYTES
    return min(BLOCK_BYTES, extent.disk_bytes / max(1, len(own)))


class Plan:
    """Which extents stay, and what is written so that the others can go."""

    def __init__(self, extents, most_rewritten):
        self.kept, self.gone = [], []
        self.written_bytes = 0
        blocks = [extent.distinct() for extent in extents]
        held = set()
        queue = [(-1.0, -extent.disk_bytes, number) for number, extent in enumerate(extents)]
        heapq.heapify(queue)
        while queue:
            share, size, number = heapq.heappop(queue)
            lacking = blocks[number] - held
            rewritten = len(lacking) * _block_bytes(extents[number], blocks[number])
            now = rewritten / extents[number].disk_bytes
            if now < -share and now > most_rewritten:
                # Somebody has part of it since it was queued.
                heapq.heappush(queue, (-now, size, number))
            elif now > most_rewritten:
                self.kept.append(extents[number])
                held |= blocks[number]
            elif -share > most_rewritten:
                # One that is still to be kept may have the rest.
                heapq.heappush(queue, (-now, size, number))
            else:
                self.gone.append(extents[number])
                self.written_bytes += rewritten
                held |= lacking
        self.freed_bytes = (sum(extent.disk_bytes for extent in self.gone) -
                            int(self.written_bytes))
