/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/objects/objects.h"

/*
 * EqualList - the part of a store that answers which groups of equal objects have most to free, without reading
 * all objects.  EqualGroups reads it.
 *
 * The list has all groups with at least a bound of bytes to free.  The number of their objects is
 * an upper bound: objects that are dropped or change later stay counted.  Anchors lead to the
 * members of a group.  Loose objects are those that no anchor leads to, as they have nothing but
 * zeros: readers look at each.  The list covers the objects below one id; readers look at each of
 * the others, too.
 *
 * A new store has an empty list, and each pass that finds something new adds what groups_next() met.
 *
 * Thread: the owner's of the store.
 */

/* Readers do without the list if they had to look at more objects one by one. */
#define EQUAL_LIST_LOOSE_MOST 8192

/* The list has at most EQUAL_TOP_MOST groups.  When there are more, the bound rises, and EQUAL_TOP_KEPT stay. */
#define EQUAL_TOP_MOST 8192
#define EQUAL_TOP_KEPT 4096

/* A group. */
typedef struct {
	uint64_t digest;
	uint64_t size_bytes; /* of each object */
	uint64_t n_objects;  /* at most */
} EqualRow;

/* The bytes of all objects but one. */
uint64_t equal_row_spare_bytes(const EqualRow *row);

/* Negative, zero or positive: most spare bytes come first, then the lower digest, then the smaller size. */
int equal_row_compare(const void *a, const void *b);

/* The groups with most to free: all with at least the bound of spare bytes. */
typedef struct {
	GArray *rows; /* EqualRow */
	uint64_t bound_bytes;
} EqualTop;

/*
 * Bring the list up to date after a walk over all groups, before their objects are settled.  Does not commit the
 * change, but may commit earlier ones.  Does nothing after a request to stop, or if the walk did not come to its
 * end.
 */
bool hash_store_update_equal_list(HashStore *store, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The same without a walk, from all objects: for a store that was imported, or is of an earlier version. */
bool hash_store_make_equal_list(HashStore *store, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Note a fingerprinted object for which no anchor over the whole object is put. */
bool hash_store_put_loose_object(HashStore *store, uint32_t id, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* The list that a store keeps. */
typedef struct {
	EqualTop *top;
	GArray *loose; /* uint32_t: loose objects, and those that are not covered; some are no more */
} EqualList;

/* Read it; *ret_usable is false if there is none, or too many objects are loose or not covered. */
bool equal_list_read(HashStore *store, EqualList *ret, bool *ret_usable, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
void equal_list_clear(EqualList *list);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(EqualList, equal_list_clear)
