/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdint.h>

/*
 * FileKey - a file of a btrfs filesystem as the key of a hash table, during a pass.
 *
 * A pointer to a struct whose first member is a FileKey serves as a key, too.
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
