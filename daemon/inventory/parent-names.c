/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/inventory/parent-names.h"

#include "kernel-ioctl/xfs/xfs-bulkstat.h"
#include "kernel-ioctl/xfs/xfs-parents.h"

#include <string.h>
#include <xxhash.h>

struct ParentNames {
	XfsParents *parents;
	GString *best; /* the name that was found */
	uint64_t best_parent;
	uint64_t best_hash;
};

ParentNames *parent_names_new(int fd, uint64_t top_inode)
{
	ParentNames *names;
	XfsInode top;

	if (!xfs_inode_read(fd, top_inode, &top) ||
	    xfs_parents_try(fd, top.inode, top.generation) != 0)
		return NULL;

	names = g_new0(ParentNames, 1);
	names->parents = xfs_parents_new(fd);
	names->best = g_string_new(NULL);
	return names;
}

void parent_names_free(ParentNames *names)
{
	if (!names)
		return;

	xfs_parents_free(names->parents);
	g_string_free(names->best, true);
	g_free(names);
}

static void take_if_better(ParentNames *names, const XfsParent *parent)
{
	uint64_t hash = XXH3_64bits(parent->name, strlen(parent->name));

	if (names->best->len > 0 &&
	    (parent->parent > names->best_parent ||
	     (parent->parent == names->best_parent && hash >= names->best_hash)))
		return;

	g_string_assign(names->best, parent->name);
	names->best_parent = parent->parent;
	names->best_hash = hash;
}

bool parent_names_find(ParentNames *names, uint64_t inode, uint32_t generation,
		       uint64_t *ret_parent, const char **ret_name)
{
	XfsParent parent;

	g_string_truncate(names->best, 0);
	xfs_parents_begin(names->parents, inode, generation);
	while (xfs_parents_next(names->parents, &parent) == XFS_PARENTS_NEXT)
		take_if_better(names, &parent);

	*ret_parent = names->best_parent;
	*ret_name = names->best->str;
	return names->best->len > 0;
}
