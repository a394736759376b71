/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/database/store.h"

/*
 * Read sums - the block sums of btrfs's data extents that have no checksums, as they were when the files that
 * show them were read.
 *
 * Each extent has one row, by its address, which goes with the extent: see hash_store_drop_extent().  A sum of 0
 * says that the block is not known.  A row is new until the extent was fingerprinted from it.
 *
 * Addresses are at most INT64_MAX.  Thread: the filesystem's worker.
 */

/* Whether there are any. */
bool hash_store_has_read_sums(HashStore *store, bool *ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Replace those of the extent at @address; the row is new.  With @n_sums 0 the extent has lost them. */
bool hash_store_put_read_sums(HashStore *store, uint64_t address, const uint64_t *sums,
			      size_t n_sums, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * Those of the last extent that begins at @address or before: *ret_address is where, *ret has an array of
 * uint64_t.  *ret is NULL if there is none.
 */
bool hash_store_get_read_sums(HashStore *store, uint64_t address, uint64_t *ret_address,
			      GBytes **ret, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The first new row at or after @from; UINT64_MAX: there is none. */
bool hash_store_next_new_read_sums(HashStore *store, uint64_t from, uint64_t *ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* The row is not new any more. */
bool hash_store_take_read_sums(HashStore *store, uint64_t address, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

bool hash_store_drop_read_sums(HashStore *store, uint64_t address, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
