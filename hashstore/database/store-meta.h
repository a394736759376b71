/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/database/store-state.h"

/*
 * StoreMeta - the rows of the table meta: the properties of the store, and its counts.
 *
 * Thread: as HashStore.
 */

/* Write the rows of a new store, with a new secret if none is given. */
bool store_meta_begin(HashStore *store, const HashStoreOptions *options, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Read all rows into @store. */
bool store_meta_load(HashStore *store, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Fail if the store does not match @options. */
bool store_meta_check(const HashStore *store, const HashStoreOptions *options, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Write the counts that changed since they were saved or loaded. */
bool store_meta_save_counts(HashStore *store, GError **error) G_GNUC_WARN_UNUSED_RESULT;
