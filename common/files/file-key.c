/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/files/file-key.h"

guint file_key_hash(gconstpointer key)
{
	const FileKey *file = key;

	return (guint)(file->inode * UINT64_C(0x9e3779b97f4a7c15) >> 32) ^ (guint)file->root;
}

gboolean file_key_equal(gconstpointer one, gconstpointer other)
{
	const FileKey *a = one;
	const FileKey *b = other;

	return a->root == b->root && a->inode == b->inode;
}
