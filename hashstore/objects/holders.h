/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/database/store.h"

/*
 * Holders - sets of read-only subvolumes that hold btrfs extents whose other references were shared
 * elsewhere.
 *
 * Each set is stored once.  The same snapshots hold extents of one age, so there are about as many sets as
 * snapshots.
 *
 * Thread: the filesystem's worker.
 */

/* The id of the set of @n subvolumes (at least 1), by ascending id.  Of very many, only the last is stored. */
bool hash_store_put_holders(HashStore *store, const uint64_t *roots, size_t n, uint64_t *ret_id,
			    GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The set as text: ids and ranges, "256-260,300".  NULL: no set has this id. */
bool hash_store_get_holders(HashStore *store, uint64_t id, char **ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Drop sets that hold nothing. */
bool hash_store_drop_unused_holders(HashStore *store, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The extents that the subvolumes of one set hold. */
typedef struct {
	uint64_t holders; /* id of the set */
	uint64_t extents;
	uint64_t bytes;
} HeldExtents;

/* Read the first set behind the id @after; *ret_found is false if there is none. */
bool hash_store_next_held(HashStore *store, uint64_t after, HeldExtents *ret, bool *ret_found,
			  GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Add up all sets. */
bool hash_store_sum_held(HashStore *store, HeldExtents *ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* All subvolumes that hold an extent (uint64_t, ascending); to be unref'd. */
bool hash_store_list_holders(HashStore *store, GArray **ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* All holders together, as the last pass found them. */
typedef struct {
	uint64_t n;
	uint64_t last;   /* id of the newest; 0: there is none */
	char *last_path; /* escaped; NULL: not known */
} HoldersSummary;

void holders_summary_clear(HoldersSummary *summary);

/* Store @summary for readers of the store.  Sets may still contain deleted subvolumes. */
bool hash_store_note_holders(HashStore *store, const HoldersSummary *summary, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
bool hash_store_sum_holders(HashStore *store, HoldersSummary *ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Parse the text of a set into an array of uint64_t, to be unref'd; NULL: invalid. */
GArray *holders_parse(const char *text);
char *holders_text(const uint64_t *roots, size_t n);

/* Sort @roots (uint64_t) ascending, and remove repetitions. */
void holders_make_unique(GArray *roots);

/* @roots (uint64_t, ascending) contains @root. */
bool holders_has(const GArray *roots, uint64_t root);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(HoldersSummary, holders_summary_clear)
