/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/database/store.h"

/*
 * Open extents - addresses of btrfs's data extents of which some blocks have no checksum yet, so
 * that the same extent may have another content later.
 *
 * Addresses are at most INT64_MAX.  Thread: the filesystem's worker.
 */
bool hash_store_put_open_extent(HashStore *store, uint64_t address, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
bool hash_store_drop_open_extent(HashStore *store, uint64_t address, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Forget the extent at @address, open or not; no error if it is not there. */
bool hash_store_drop_extent(HashStore *store, uint64_t address, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* The first one at or after @from; UINT64_MAX: there is none. */
bool hash_store_next_open_extent(HashStore *store, uint64_t from, uint64_t *ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
