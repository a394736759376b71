/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/database/store.h"

/*
 * Differed - pairs of btrfs data extents that have equal checksums, but that the kernel found different.  A pair
 * of an extent with itself tells of ranges within it.
 *
 * A pair is valid while both extents have their stamps.  It is dropped with either of them
 * (hash_store_drop_extent()).  Addresses are at most INT64_MAX.
 *
 * Thread: the filesystem's worker.
 */
typedef struct {
	uint64_t address;
	uint64_t generation; /* the transaction that allocated it */
} ExtentStamp;

/* The limit of stored pairs, of some 40 bytes each. */
#define DIFFERED_PAIRS_MAX 65536

/* Store the pair, in any order.  *ret_kept is false if it is known, or there is no room. */
bool hash_store_put_differed(HashStore *store, const ExtentStamp *one, const ExtentStamp *other,
			     bool *ret_kept, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* *ret tells whether the pair is stored. */
bool hash_store_has_differed(HashStore *store, const ExtentStamp *one, const ExtentStamp *other,
			     bool *ret, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Count the pairs with @extent, up to @most. */
bool hash_store_count_differed(HashStore *store, const ExtentStamp *extent, uint64_t most,
			       uint64_t *ret, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Drop all pairs with the extent at @address, of any generation. */
bool hash_store_drop_differed(HashStore *store, uint64_t address, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
