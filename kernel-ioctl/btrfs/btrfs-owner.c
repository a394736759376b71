/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/btrfs/btrfs-owner.h"

#include "kernel-ioctl/btrfs/btrfs-items.h"
#include "kernel-ioctl/btrfs/btrfs-tree.h"

#include <linux/btrfs_tree.h>

bool btrfs_owner_read(int fd, uint64_t bytenr, uint64_t disk_bytes, uint64_t *ret, GError **error)
{
	const BtrfsKey key = { bytenr, BTRFS_EXTENT_ITEM_KEY, disk_bytes };
	const BtrfsTreeRange range = {
		.tree = BTRFS_EXTENT_TREE_OBJECTID,
		.first = key,
		.last = key,
	};
	g_autoptr(BtrfsTree) tree = btrfs_tree_new(BTRFS_TREE_BUFFER_BYTES_MIN);
	const BtrfsTreeItem *found;
	const BtrfsExtentRef *ref;
	BtrfsExtentRefs refs;
	BtrfsExtentItem item;

	*ret = 0;
	btrfs_tree_start(tree, fd, &range);
	if (!btrfs_tree_next_if_any(tree, &found, error))
		return false;
	if (!found || !btrfs_extent_item_read(found->data, found->length, &item) || !item.is_data)
		return true;

	/* The owner record is the first one. */
	btrfs_extent_refs_start(&refs, &item);
	if (btrfs_extent_refs_next(&refs, &ref))
		*ret = refs.owner;
	return true;
}
