/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/find/unsummed-extents.h"

#include "daemon/btrfs/find/inode-inventory.h"
#include "hashstore/objects/objects.h"
#include "kernel-ioctl/btrfs/btrfs-inode.h"
#include "kernel-ioctl/btrfs/btrfs-refs.h"

struct UnsummedExtents {
	Pass *pass;
	BtrfsRefs *refs;
	/* The file asked about last, which often shows the next extent too. */
	uint64_t root;
	uint64_t inode;
	bool is_found;
	bool is_no_sum;
	uint64_t transid;
};

UnsummedExtents *unsummed_extents_new(Pass *pass)
{
	UnsummedExtents *extents = g_new0(UnsummedExtents, 1);

	extents->pass = pass;
	extents->refs = btrfs_refs_new();
	btrfs_refs_set_most(extents->refs, EXTENT_SCOPE_MOST);
	btrfs_refs_set_bound(extents->refs, pass->btrfs.ref_bound);
	return extents;
}

void unsummed_extents_free(UnsummedExtents *extents)
{
	if (!extents)
		return;

	btrfs_refs_free(extents->refs);
	g_free(extents);
}

/* Look at the file of @ref. */
static bool look_at(UnsummedExtents *extents, const BtrfsRef *ref, GError **error)
{
	BtrfsInodeItem inode = { 0 };

	if (ref->root == extents->root && ref->inode == extents->inode)
		return true;
	if (!btrfs_inode_read(extents->pass->filesystem->fd, ref->root, ref->inode, &inode,
			      &extents->is_found, error))
		return false;

	extents->root = ref->root;
	extents->inode = ref->inode;
	extents->is_no_sum = inode.is_no_sum;
	extents->transid = inode.transid;
	return true;
}

bool unsummed_extents_are_of_files(UnsummedExtents *extents, uint64_t bytenr, bool *ret,
				   GError **error)
{
	BtrfsRefsOutcome outcome;
	const BtrfsRef *refs;
	size_t n;

	*ret = false;
	if (!btrfs_refs_read(extents->refs, extents->pass->filesystem->fd, bytenr, &outcome, error))
		return false;

	refs = btrfs_refs_list(extents->refs, &n);
	for (size_t i = 0; i < n; i++) {
		if (!read_only_subvolumes_may_be_source(extents->pass->subvolumes, refs[i].root))
			continue;
		if (!look_at(extents, &refs[i], error))
			return false;
		if (extents->is_found) {
			*ret = extents->is_no_sum;
			return true;
		}
	}

	return true;
}

bool unsummed_extents_read_again(UnsummedExtents *extents, GError **error)
{
	HashStore *store = extents->pass->store;
	g_autofree char *name = NULL;
	const Object *known;
	Object row;

	if (!hash_store_find_at(store, extents->root, extents->inode, &known, error))
		return false;
	if (!known || !(known->flags & OBJECT_READ_SUMS))
		return true;

	name = g_strndup((const char *)known->name, known->name_bytes);
	row = *known;
	row.name = (const uint8_t *)name;
	row.flags &= ~(unsigned)OBJECT_READ_SUMS;
	return hash_store_put(store, &row, error) &&
	       inode_inventory_begin_since(extents->pass, extents->transid, error);
}
