/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/database/store.h"

/*
 * Open extents - addresses of btrfs data extents some of whose blocks have no checksum yet: their content may
 * change.
 *
 * Addresses are at most INT64_MAX.  Thread: the filesystem's worker.
 */
bool hash_store_put_open_extent(HashStore *store, uint64_t address, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
bool hash_store_drop_open_extent(HashStore *store, uint64_t address, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Drop all records of the extent at @address, open or not; no error if there are none. */
bool hash_store_drop_extent(HashStore *store, uint64_t address, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* The first address at or after @from; UINT64_MAX: none. */
bool hash_store_next_open_extent(HashStore *store, uint64_t from, uint64_t *ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
