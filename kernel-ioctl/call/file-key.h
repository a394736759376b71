/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdint.h>

/*
 * FileKey - a file of a btrfs filesystem as the key of a hash table.
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
static inline guint file_key_hash(gconstpointer key)
{
	const FileKey *file = key;

	return (guint)(file->inode * UINT64_C(0x9e3779b97f4a7c15) >> 32) ^ (guint)file->root;
}

static inline gboolean file_key_equal(gconstpointer one, gconstpointer other)
{
	const FileKey *a = one;
	const FileKey *b = other;

	return a->root == b->root && a->inode == b->inode;
}
