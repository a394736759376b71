/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * CloneRefs - which files reference some blocks of the disk, and where in them.
 *
 * First the caller names the blocks, then the references to them, in any order; then it asks.  The references to a
 * block are dropped when it has more than a limit.  So memory grows with the blocks, not with the references.
 *
 * Memory: 24 bytes per reference, of at most 1 MiB of data, up to a limit; 32 bytes per range of blocks.  Thread:
 * one at a time.
 */
typedef struct CloneRefs CloneRefs;

typedef struct {
	uint64_t place; /* on the disk, in blocks */
	uint64_t block; /* in the file */
	uint32_t blocks;
	uint32_t object;
} CloneRef;

/* The references to one range of blocks, each to the first of them. */
typedef struct {
	uint64_t blocks;
	size_t n;     /* more than clone_refs_most(): too many, and not listed */
	GArray *refs; /* CloneRef */
} CloneRefSet;

/* At most @most references to a block are kept. */
CloneRefs *clone_refs_new(size_t memory_bytes, size_t most);
void clone_refs_free(CloneRefs *refs);

size_t clone_refs_most(const CloneRefs *refs);

/* Name the blocks [@first, @end) of the disk.  False: there is no room for more. */
bool clone_refs_want(CloneRefs *refs, uint64_t first, uint64_t end);

/* No more blocks are named. */
void clone_refs_begin(CloneRefs *refs);

/* @blocks blocks of @object from @block on lie at @place.  False: there is no room for more. */
bool clone_refs_add(CloneRefs *refs, uint32_t object, uint64_t block, uint64_t place,
		    uint64_t blocks);

/* No more references are named. */
void clone_refs_end(CloneRefs *refs);

/*
 * The references to the block at @place, and to as many blocks after it, at most @max_blocks, as have the same
 * ones.  ret->refs is filled anew.
 */
void clone_refs_at(const CloneRefs *refs, uint64_t place, uint64_t max_blocks, CloneRefSet *ret);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(CloneRefs, clone_refs_free)
