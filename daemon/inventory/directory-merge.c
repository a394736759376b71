/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/inventory/directory-merge.h"

#include "daemon/context/compare-uint64.h"
#include "hashstore/objects/names.h"

#include <string.h>

static int compare_keys(uint64_t subvolume_a, uint64_t inode_a, uint64_t subvolume_b,
			uint64_t inode_b)
{
	int order = compare_uint64(subvolume_a, subvolume_b);

	return order ? order : compare_uint64(inode_a, inode_b);
}

int directory_record_compare(const void *a, const void *b)
{
	const DirectoryRecord *one = a;
	const DirectoryRecord *other = b;

	int order = compare_keys(one->subvolume, one->inode, other->subvolume, other->inode);

	/* If a walk met a directory through several mounts, the first name counts. */
	return order ? order : compare_uint64(one->name_position, other->name_position);
}

/* The next directory that is not @last. */
static bool next_directory(Sorter *directories, const DirectoryRecord *last,
			   const DirectoryRecord **ret, GError **error)
{
	do {
		if (!sorter_next(directories, (const void **)ret, error))
			return false;
	} while (*ret && last &&
		 compare_keys((*ret)->subvolume, (*ret)->inode, last->subvolume, last->inode) == 0);

	return true;
}

static bool is_current(const DirectoryName *known, const DirectoryRecord *seen, const char *name)
{
	return known->parent == seen->parent && known->parent_subvolume == seen->parent_subvolume &&
	       known->name_bytes == strlen(name) &&
	       memcmp(known->name, name, known->name_bytes) == 0;
}

/* @known is the store's record of the same directory, or NULL. */
static bool merge_one(Pass *pass, NameBuffer *names, const DirectoryRecord *seen,
		      const DirectoryName *known, GError **error)
{
	DirectoryName current = {
		.subvolume = seen->subvolume,
		.inode = seen->inode,
		.parent_subvolume = seen->parent_subvolume,
		.parent = seen->parent,
	};
	const char *name;

	if (!name_buffer_get(names, seen->name_position, &name, error))
		return false;
	if (known && is_current(known, seen, name))
		return true;

	current.name = (const uint8_t *)name;
	current.name_bytes = strlen(name);
	return hash_store_put_directory(pass->store, &current, error);
}

bool directory_merge(Pass *pass, const Walk *walk, Sorter *directories, NameBuffer *names,
		     GError **error)
{
	g_autoptr(DirectoryCursor) cursor = directory_cursor_open(pass->store, error);
	const DirectoryName *known;
	const DirectoryRecord *seen;

	if (!cursor || !directory_cursor_next(cursor, &known, error) ||
	    !next_directory(directories, NULL, &seen, error))
		return false;

	while ((seen || known) && pass_checkpoint(pass)) {
		int order = !known  ? -1
			    : !seen ? 1
				    : compare_keys(seen->subvolume, seen->inode, known->subvolume,
						   known->inode);

		if (order <= 0 && !merge_one(pass, names, seen, order == 0 ? known : NULL, error))
			return false;
		if (order > 0 && !pass->keeps_left_out && walk_saw_all_of(walk, known->subvolume) &&
		    !hash_store_drop_directory(pass->store, known->subvolume, known->inode, error))
			return false;
		if (order <= 0) {
			DirectoryRecord last = *seen;

			if (!next_directory(directories, &last, &seen, error))
				return false;
		}
		if (order >= 0 && !directory_cursor_next(cursor, &known, error))
			return false;
	}

	return true;
}
