/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * RootSets - sets of the subvolumes that hold something, each kept once.
 *
 * Millions of blocks and extents are held by few different sets, so each of them has the number of
 * its set.  A set takes a bit for each subvolume; a union that was asked for lately is remembered.
 *
 * Thread: any, one at a time.
 */
typedef struct RootSets RootSets;

/* The number of a set: 0 is the empty one, others follow without gaps. */
typedef uint32_t RootSet;

#define ROOT_SET_EMPTY 0

/* Sets of the members 0 to @n_members - 1. */
RootSets *root_sets_new(guint n_members);
void root_sets_free(RootSets *sets);

RootSet root_sets_of_one(RootSets *sets, guint member);
RootSet root_sets_union(RootSets *sets, RootSet a, RootSet b);

/*
 * The union of many, without keeping those on the way: gather each, then take the union, which begins the next.
 */
void root_sets_gather(RootSets *sets, RootSet set);
RootSet root_sets_gathered(RootSets *sets);

/* How many there are, the empty one too. */
guint root_sets_count(const RootSets *sets);

/*
 * The bits of a set, in words of 64 of which the lowest is the first; root_sets_words() of them.
 * Valid until a set is made.
 */
const uint64_t *root_sets_bits(const RootSets *sets, RootSet set);
guint root_sets_words(const RootSets *sets);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(RootSets, root_sets_free)
