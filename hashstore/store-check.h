/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/hash-store.h"

/*
 * StoreCheck - whether a store is what it is to be: SQLite's own check of the file, and what
 * dedupd relies on beyond that.  Nothing is changed, and a pass that writes meanwhile is not in the
 * way nor in doubt.
 *
 * Of segments: their pages and fences are all there, belong to one of them, have their checksums,
 * and hold what the segment's row says in order.  Of objects: all records can be read, the number of
 * them is that which is kept, no id was not given yet.  What is said of objects (states of half-read
 * files, what pins an extent, pairs that differed) is of objects that are there.
 *
 * Thread: the owner's of the store.
 */

/* Problems that are told at most. */
#define STORE_PROBLEMS_MOST 100

/*
 * *ret_problems are texts for people, to be unref'd; empty if all is well.  An error says that it
 * could not be checked; HASH_STORE_ERROR_IN_USE, that a pass began to write meanwhile.
 */
bool hash_store_check(HashStore *store, GPtrArray **ret_problems, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
