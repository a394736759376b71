/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/database/store.h"

/*
 * Read sums - the block sums of btrfs data extents without checksums, from reading their files.
 *
 * Each extent has one row, by its address, which is dropped with the extent: see hash_store_drop_extent().  A
 * sum of 0 means that the block is not known.  A row is new until the extent was fingerprinted from it.
 *
 * Addresses are at most INT64_MAX.  Thread: the filesystem's worker.
 */

/* *ret tells whether there are any. */
bool hash_store_has_read_sums(HashStore *store, bool *ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Replace the sums of the extent at @address; the row is new.  @n_sums 0: the extent has lost them. */
bool hash_store_put_read_sums(HashStore *store, uint64_t address, const uint64_t *sums,
			      size_t n_sums, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * Read the sums (uint64_t) of the last extent that begins at or before @address.  *ret_address is its begin;
 * *ret is NULL if there is none.
 */
bool hash_store_get_read_sums(HashStore *store, uint64_t address, uint64_t *ret_address,
			      GBytes **ret, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The first new row at or after @from; UINT64_MAX: none. */
bool hash_store_next_new_read_sums(HashStore *store, uint64_t from, uint64_t *ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Mark the row as no longer new. */
bool hash_store_take_read_sums(HashStore *store, uint64_t address, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

bool hash_store_drop_read_sums(HashStore *store, uint64_t address, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
