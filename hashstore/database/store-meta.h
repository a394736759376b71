/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/database/store-state.h"

/*
 * StoreMeta - the rows of meta: what the store is about, and its counts.
 *
 * Thread: the filesystem's worker.
 */

/* Write the rows of a store that is being made, with a new secret where none is given. */
bool store_meta_begin(HashStore *store, const HashStoreOptions *options, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Read all rows into @store. */
bool store_meta_load(HashStore *store, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Refuse a store that @options do not fit. */
bool store_meta_check(const HashStore *store, const HashStoreOptions *options, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Write those counts that changed since they were saved or loaded. */
bool store_meta_save_counts(HashStore *store, GError **error) G_GNUC_WARN_UNUSED_RESULT;
