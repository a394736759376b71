/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/hash-store.h"

/*
 * StoreCheck - verifies a store: SQLite's own check of the file, and dedupd's invariants.  It changes nothing.
 * A pass may write meanwhile without affecting the result.
 *
 * Segments: no page or fence is missing or belongs to no segment; checksums match; the content is ordered and
 * agrees with the segment's row.  Objects: all records can be read, their number equals the stored one, and no id
 * is beyond those assigned.  Records about objects (states of half-read files, holders of pinned extents, pairs
 * that differed) refer to existing objects.
 *
 * Thread: the owner's of the store.
 */

/* At most this many problems are reported. */
#define STORE_PROBLEMS_MOST 100

/*
 * *ret_problems are texts for people, to be unref'd; empty if the store is valid.  An error means that the
 * store could not be checked; HASH_STORE_ERROR_IN_USE, that a pass began to write meanwhile.
 */
bool hash_store_check(HashStore *store, GPtrArray **ret_problems, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
