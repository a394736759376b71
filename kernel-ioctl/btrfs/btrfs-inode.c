/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/btrfs/btrfs-inode.h"

#include "kernel-ioctl/btrfs/btrfs-tree.h"

/* Report a malformed item.  Returns false. */
static bool damaged(uint64_t root, uint64_t inode, GError **error)
{
	g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_IO,
		    "cannot read inode %" G_GUINT64_FORMAT " of subvolume %" G_GUINT64_FORMAT
		    ": its item is damaged",
		    inode, root);
	return false;
}

bool btrfs_inode_read(int fd, uint64_t root, uint64_t inode, BtrfsInodeItem *ret, bool *ret_found,
		      GError **error)
{
	const BtrfsKey key = { inode, BTRFS_INODE_ITEM_KEY, 0 };
	const BtrfsTreeRange range = { .tree = root, .first = key, .last = key };
	g_autoptr(BtrfsTree) tree = btrfs_tree_new(BTRFS_TREE_BUFFER_BYTES_MIN);
	const BtrfsTreeItem *item;

	*ret_found = false;
	btrfs_tree_start(tree, fd, &range);
	if (!btrfs_tree_next_if_any(tree, &item, error))
		return false;
	if (!item)
		return true;
	if (!btrfs_inode_item_read(item->data, item->length, ret))
		return damaged(root, inode, error);

	*ret_found = true;
	return true;
}
