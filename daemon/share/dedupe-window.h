/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/share/open-object.h"
#include "kernel-ioctl/file/extent-map.h"

/*
 * DedupeWindow - some blocks of a target beside those of its source: their addresses, and whether they are equal.
 *
 * A window has at most 16 MiB, so that its data is still in the page cache when the kernel compares it again.
 * First it looks up the addresses, which reads no data, and excludes blocks that are shared already or cannot be
 * shared.  Then it reads and compares the rest.
 *
 * Thread: one at a time.
 */
typedef enum {
	BLOCK_UNUSABLE,   /* a hole, unwritten, inline or not yet written out, on either side */
	BLOCK_SAME_PLACE, /* the two are one block already */
	BLOCK_CANDIDATE,  /* not compared yet */
	BLOCK_EQUAL,
	BLOCK_ZERO, /* equal, and in a long run of zeros: a hole is the better source */
	BLOCK_DIFFERENT,
	BLOCK_DEFERRED, /* it has other references: see ClonePairs */
} BlockState;

typedef struct {
	uint32_t block_bytes;
	size_t n_max;
	OpenObject *target;
	OpenObject *source;  /* NULL: a hole */
	bool zeros_are_data; /* they do not become a hole */
	bool is_all_wanted;  /* also share holes of the source and short pieces */
	uint64_t first;      /* block of the target */
	uint64_t diagonal;   /* target block less source block, mod 2^64 */
	size_t n;
	uint8_t *states; /* BlockState */
	uint64_t *target_places;
	uint64_t *source_places;
	bool *target_shared;    /* other files, or places, use the target's block too */
	bool *source_shared;    /* the same of the source's */
	uint32_t *target_costs; /* space of the target's block on the disk */
	uint8_t *target_buffer;
	uint8_t *source_buffer;
	uint64_t read_bytes; /* of both sides, since they were charged last */
	ExtentMap *extents;
} DedupeWindow;

DedupeWindow *dedupe_window_new(uint32_t block_bytes);
void dedupe_window_free(DedupeWindow *window);

/*
 * Look up the addresses of the blocks [@first, @first + @n) of @target, n at most n_max, and of the blocks
 * @diagonal before in @source.
 */
bool dedupe_window_map(DedupeWindow *window, OpenObject *target, OpenObject *source,
		       uint64_t diagonal, uint64_t first, size_t n, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Look up the target's addresses again, after the kernel shared blocks.  For dedupe_window_is_shared(). */
bool dedupe_window_map_again(DedupeWindow *window, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/*
 * Choose how zeros of @target are shared.  With --read=same-size they are shared like other data: they become a
 * hole only if the other file has one.
 */
void dedupe_window_choose_zeros(DedupeWindow *window, const Pass *pass, const OpenObject *target);

/* Whether the equal range [@first, @end) is long enough to be shared, or continues another. */
bool dedupe_window_is_long_enough(const DedupeWindow *window, size_t first, size_t end,
				  size_t min_blocks);

/* Whether the block becomes a hole when it is shared. */
bool dedupe_window_becomes_hole(const DedupeWindow *window, size_t i);

bool dedupe_window_is_shared(const DedupeWindow *window, size_t i);

/*
 * The places of @n blocks of @object from block @first on, as in target_places.  *ret_usable: all of them are
 * written, at addresses of their own.
 */
bool dedupe_window_places(DedupeWindow *window, const OpenObject *object, uint64_t first, size_t n,
			  uint64_t *places, bool *ret_usable, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Start reading the window's blocks [@first, @end) on both sides. */
void dedupe_window_fetch(DedupeWindow *window, size_t first, size_t end);

/*
 * Read and compare all candidates.  If the outcome is READ_UNREADABLE or READ_SHORT, *ret_unreadable is the object
 * that could not be read.
 */
ReadOutcome dedupe_window_compare(DedupeWindow *window, OpenObject **ret_unreadable);

/* The first range of blocks in @state at or after @from; false: there is none. */
bool dedupe_window_next(const DedupeWindow *window, BlockState state, size_t from,
			size_t *ret_first, size_t *ret_end);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(DedupeWindow, dedupe_window_free)
