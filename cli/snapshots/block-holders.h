/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/snapshots/root-sets.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * BlockHolders - for each block of trees the set of subvolumes that hold it.
 *
 * A table in memory: 12 bytes for each place in it, of which half to three quarters are in use.
 *
 * Thread: any, one at a time.
 */
typedef struct BlockHolders BlockHolders;

/* @sets is borrowed. */
BlockHolders *block_holders_new(RootSets *sets);
void block_holders_free(BlockHolders *holders);

/* Have the block at @bytenr held by those of @set as well; no block lies at 0. */
void block_holders_add(BlockHolders *holders, uint64_t bytenr, RootSet set);

/* Who holds the block at @bytenr.  False: it is not known. */
bool block_holders_find(const BlockHolders *holders, uint64_t bytenr, RootSet *ret);

/* How many blocks each set holds, by its number; to be unref'd. */
GArray *block_holders_counts(const BlockHolders *holders);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(BlockHolders, block_holders_free)
