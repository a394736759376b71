/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdint.h>

/*
 * FileKey - which file of a btrfs, as long as a pass looks at it, to be looked up.
 *
 * For what has one as its first member a pointer to that serves as a key, too.
 *
 * Pure.  Thread: any.
 */
typedef struct {
	uint64_t root; /* id of the subvolume */
	uint64_t inode;
} FileKey;

/* For GHashTable. */
guint file_key_hash(gconstpointer key);
gboolean file_key_equal(gconstpointer one, gconstpointer other);
