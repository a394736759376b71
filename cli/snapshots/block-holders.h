/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/snapshots/root-sets.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * BlockHolders - maps each block of trees to the set of subvolumes that hold it.
 *
 * It is a table in memory with 12 bytes per slot.  Half to three quarters of the slots are in use.
 *
 * Thread: any, one at a time.
 */
typedef struct BlockHolders BlockHolders;

/* @sets is borrowed. */
BlockHolders *block_holders_new(RootSets *sets);
void block_holders_free(BlockHolders *holders);

/* Add the subvolumes of @set to the holders of the block at @bytenr.  No block lies at 0. */
void block_holders_add(BlockHolders *holders, uint64_t bytenr, RootSet set);

/* Find the holders of the block at @bytenr.  Returns false if the block is not known. */
bool block_holders_find(const BlockHolders *holders, uint64_t bytenr, RootSet *ret);

/* The number of blocks that each set holds, indexed by set; to be unref'd. */
GArray *block_holders_counts(const BlockHolders *holders);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(BlockHolders, block_holders_free)
