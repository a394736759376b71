/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/objects/equal-list.h"
#include "hashstore/objects/objects.h"

/*
 * KeptGroups - the groups of equal objects that the store keeps a list of (equal-list.h), by descending bytes that
 * could be freed, with their members as of now.  EqualGroups reads all others.
 *
 * Thread: the owner's of the store.
 */
typedef struct KeptGroups KeptGroups;

/*
 * The groups of files, or of extents, of at least @min_bytes.  *ret is NULL if the list is of no
 * use.  The store may have none, or it may not cover many objects, or have extents when the caller
 * asks for files.
 */
bool kept_groups_open(HashStore *store, bool are_files, uint64_t min_bytes, KeptGroups **ret,
		      GError **error) G_GNUC_WARN_UNUSED_RESULT;
void kept_groups_close(KeptGroups *kept);

/*
 * The next group; @ids are its objects (uint32_t), rising.  *ret_found is false at the end of the list: the store
 * may have groups with less to free.
 */
bool kept_groups_next(KeptGroups *kept, EqualRow *ret, GArray *ids, bool *ret_found, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Whether the list has all groups. */
bool kept_groups_are_all(const KeptGroups *kept);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(KeptGroups, kept_groups_close)
