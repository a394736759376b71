/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/share/open-object.h"
#include "kernel-ioctl/file/extent-map.h"

/*
 * DedupeWindow - some blocks of a target beside those of its source: where each lies, and whether the two
 * are equal.
 *
 * At most 16 MiB, so that what is compared here is still in the page cache when the kernel compares
 * it again.  First the places are looked up, which reads no data and sorts out what is shared
 * already or cannot be shared; then what is left is read and compared.
 *
 * Thread: the filesystem's worker.
 */
typedef enum {
	BLOCK_UNUSABLE,   /* a hole, unwritten, inline or not yet written out, on either side */
	BLOCK_SAME_PLACE, /* the two are one block already */
	BLOCK_CANDIDATE,  /* not compared yet */
	BLOCK_EQUAL,
	BLOCK_ZERO, /* equal, and part of a long run of zeros: a hole serves better */
	BLOCK_DIFFERENT,
	BLOCK_DEFERRED, /* it has other references: see ClonePairs */
} BlockState;

typedef struct {
	uint32_t block_bytes;
	size_t n_max;
	OpenObject *target;
	OpenObject *source;  /* NULL: a hole */
	bool zeros_are_data; /* no hole will be put in their place */
	bool is_all_wanted; /* holes of the source are shared like data, and so is every short piece */
	uint64_t first;     /* block of the target */
	uint64_t
		diagonal; /* to be subtracted from a target's block to get the source's, mod 2^64 */
	size_t n;
	uint8_t *states; /* BlockState */
	uint64_t *target_places;
	uint64_t *source_places;
	bool *target_shared;    /* other files, or places, use the target's block too */
	bool *source_shared;    /* the same of the source's */
	uint32_t *target_costs; /* bytes that the target's block takes on the disk */
	uint8_t *target_buffer;
	uint8_t *source_buffer;
	uint64_t read_bytes; /* since the window was made, both sides */
	ExtentMap *extents;
} DedupeWindow;

DedupeWindow *dedupe_window_new(uint32_t block_bytes);
void dedupe_window_free(DedupeWindow *window);

/*
 * Look up the places of blocks [@first, @first + @n) of @target, n at most n_max, and of those
 * @diagonal before in @source.
 */
bool dedupe_window_map(DedupeWindow *window, OpenObject *target, OpenObject *source,
		       uint64_t diagonal, uint64_t first, size_t n, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Look up the target's places anew; whether block @i now lies where its source does, or nowhere. */
bool dedupe_window_map_again(DedupeWindow *window, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/*
 * How zeros of @target are shared: where only files are looked for that are equal as a whole, like other
 * data, as no hole is made of them unless the other file has one.
 */
void dedupe_window_choose_zeros(DedupeWindow *window, const Pass *pass, const OpenObject *target);

/* Whether the equal stretch [@first, @end) is long enough to be shared, or continues another. */
bool dedupe_window_is_worth_it(const DedupeWindow *window, size_t first, size_t end,
			       size_t min_blocks);

/* Whether the block is a hole once it is shared. */
bool dedupe_window_becomes_hole(const DedupeWindow *window, size_t i);

bool dedupe_window_is_shared(const DedupeWindow *window, size_t i);

/*
 * The places of @n blocks of @object from block @first on, in the terms of the window.  *ret_usable: all of them
 * are written, at addresses of their own.
 */
bool dedupe_window_places(DedupeWindow *window, const OpenObject *object, uint64_t first, size_t n,
			  uint64_t *places, bool *ret_usable, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Start reading the window's blocks [@first, @end) on both sides. */
void dedupe_window_fetch(DedupeWindow *window, size_t first, size_t end);

/*
 * Read and compare all candidates.  *ret_unreadable is the object that could not be read, when the
 * outcome is READ_UNREADABLE or READ_SHORT.
 */
ReadOutcome dedupe_window_compare(DedupeWindow *window, OpenObject **ret_unreadable);

/* The stretch of blocks in @state at or after @from; false: there is none. */
bool dedupe_window_stretch(const DedupeWindow *window, BlockState state, size_t from,
			   size_t *ret_first, size_t *ret_end);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(DedupeWindow, dedupe_window_free)
