/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/objects/differed.h"

/*
 * Pinned - data extents of btrfs that equal others, and of which sharing would free nothing, as
 * something else shows part of them: why, and where that can be seen.
 *
 * A row goes with its extent (hash_store_drop_extent()), and all but the held ones go when everything is to be
 * matched anew (hash_store_unsettle()).  Addresses, inodes and ids of subvolumes are
 * at most INT64_MAX.
 *
 * Thread: the filesystem's worker.
 */
typedef struct {
	ExtentStamp extent;
	uint32_t cause; /* the engine's number */
	/* A place that keeps the extent; root 0: no single one does. */
	uint64_t root;
	uint64_t inode;
	uint64_t offset;   /* byte in the file where it begins */
	uint64_t position; /* byte of the extent that it shows there */
	uint64_t length; /* bytes that it shows; of root 0: so many places would be worth sharing */
	uint64_t
		uncovered_bytes; /* that the file shows and nothing else has; held: what is freed */
	uint64_t places;         /* that showed the extent */
	uint64_t holders;        /* id of the set of subvolumes that hold it (holders.h); 0: none */
	uint64_t bytes;          /* that the extent takes on the disk */
	bool is_source;          /* others are shared with it, so it would stay in any case */
} PinnedExtent;

/* What is pinned for one cause; docs/quantities.md. */
typedef struct {
	uint64_t extents;
	uint64_t bytes;
	uint64_t uncovered_bytes; /* that the named files show and nothing else has */
} PinnedSum;

/*
 * Of short extents so many are remembered, of some 80 bytes each; the others are looked at again when they
 * change.  Of longer ones all are: that is a thousandth of them; and of those that snapshots hold.
 */
#define PINNED_MAX          (UINT64_C(1) << 17)
#define PINNED_ANYWAY_BYTES (UINT64_C(64) << 10)

/* Remember it instead of what is known of the extent.  *ret_kept is false if there is no room. */
bool hash_store_put_pinned(HashStore *store, const PinnedExtent *pinned, bool *ret_kept,
			   GError **error) G_GNUC_WARN_UNUSED_RESULT;

#define PINNED_ANY_CAUSE UINT32_MAX

/* Add up what is pinned for @cause, or for any, without sources and without what snapshots hold.  Thread: any. */
bool hash_store_sum_pinned(HashStore *store, uint32_t cause, PinnedSum *ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Forget the extent at @address; no error if it is not there. */
bool hash_store_drop_pinned(HashStore *store, uint64_t address, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Forget all that nothing holds. */
bool hash_store_clear_pinned(HashStore *store, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The first one at the address @from or behind it; *ret_found is false if there is none. */
bool hash_store_next_pinned(HashStore *store, uint64_t from, PinnedExtent *ret, bool *ret_found,
			    GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The same of those that the file @inode of the subvolume @root keeps. */
bool hash_store_next_pinned_by(HashStore *store, uint64_t root, uint64_t inode, uint64_t from,
			       PinnedExtent *ret, bool *ret_found, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* The first subvolume from @from on that keeps any; UINT64_MAX: there is none. */
bool hash_store_next_pinning_root(HashStore *store, uint64_t from, uint64_t *ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* The same of those for @cause alone. */
bool hash_store_next_pinning_root_for(HashStore *store, uint32_t cause, uint64_t from,
				      uint64_t *ret, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The first file of @root from @from on that keeps any; UINT64_MAX: there is none. */
bool hash_store_next_pinning_inode(HashStore *store, uint64_t root, uint64_t from, uint64_t *ret,
				   GError **error) G_GNUC_WARN_UNUSED_RESULT;
