/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * RootSets - sets of subvolumes, each stored once.
 *
 * Few different sets hold millions of blocks and extents, so each block or extent stores the number of its set.
 * A set takes one bit per subvolume.  Recent unions are cached.
 *
 * Thread: any, one at a time.
 */
typedef struct RootSets RootSets;

/* The number of a set: 0 is the empty set, others follow without gaps. */
typedef uint32_t RootSet;

#define ROOT_SET_EMPTY 0

/* Sets of the members 0 to @n_members - 1. */
RootSets *root_sets_new(guint n_members);
void root_sets_free(RootSets *sets);

RootSet root_sets_of_one(RootSets *sets, guint member);
RootSet root_sets_union(RootSets *sets, RootSet a, RootSet b);

/*
 * The union of many sets, without storing intermediate ones.  Gather each set, then take the union, which also
 * resets the gathering.
 */
void root_sets_gather(RootSets *sets, RootSet set);
RootSet root_sets_gathered(RootSets *sets);

/* The number of sets, including the empty one. */
guint root_sets_count(const RootSets *sets);

/* The bits of a set, in root_sets_words() words of 64 bits, lowest bit first.  Valid until a set is made. */
const uint64_t *root_sets_bits(const RootSets *sets, RootSet set);
guint root_sets_words(const RootSets *sets);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(RootSets, root_sets_free)
