/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/share/dedupe-window.h"
#include "hashstore/anchors/sorter.h"

/*
 * ClonePairs - pairs of equal ranges whose target has several references.
 *
 * XFS frees a block when its last reference is redirected.  So all files with such a target matter: it waits until
 * all other targets are done, and is then decided on as a whole (CloneSharer).
 *
 * Memory: that of the sorter, which spills the rest.  Thread: as Pass.
 */
typedef struct {
	uint64_t target_place; /* on the disk, in blocks */
	uint64_t source_place; /* the same; CLONE_PLACE_HOLE: a hole */
	uint64_t blocks;
	uint64_t target_block; /* in the files */
	uint64_t source_block;
	uint32_t target; /* objects; the source may be RUN_HOLE */
	uint32_t source;
	uint32_t source_is_shared;
	uint32_t padding;
} ClonePair;

#define CLONE_PLACE_HOLE UINT64_MAX

typedef struct ClonePairs ClonePairs;

ClonePairs *clone_pairs_new(size_t memory_bytes, const char *directory, const atomic_bool *stop);
void clone_pairs_free(ClonePairs *pairs);

/* Add the blocks of the window in @state that have other references, and mark them BLOCK_DEFERRED. */
bool clone_pairs_add_window(ClonePairs *pairs, DedupeWindow *window, BlockState state,
			    GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Blocks of @object were shared in this pass, or found shared: it references blocks of others. */
void clone_pairs_touch(ClonePairs *pairs, uint32_t object);
bool clone_pairs_is_touched(const ClonePairs *pairs, uint32_t object);

uint64_t clone_pairs_count(const ClonePairs *pairs);

/* Sort them by the place of the target, after the last one was added. */
bool clone_pairs_sort(ClonePairs *pairs, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The next pair, once each; NULL at the end. */
bool clone_pairs_next(ClonePairs *pairs, const ClonePair **ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(ClonePairs, clone_pairs_free)
