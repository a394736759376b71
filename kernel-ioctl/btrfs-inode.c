/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/btrfs-inode.h"

#include "kernel-ioctl/btrfs-tree.h"

/* The item is not what it should be. */
static bool damaged(uint64_t root, uint64_t inode, GError **error)
{
	g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_IO,
		    "cannot read inode %" G_GUINT64_FORMAT " of subvolume %" G_GUINT64_FORMAT
		    ": its item is damaged",
		    inode, root);
	return false;
}

/* The next item of the search; none also where the tree does not exist any more. */
static bool next_item(BtrfsTree *tree, const BtrfsTreeItem **ret, GError **error)
{
	g_autoptr(GError) cause = NULL;

	*ret = NULL;
	if (btrfs_tree_next(tree, ret, &cause) ||
	    g_error_matches(cause, G_FILE_ERROR, G_FILE_ERROR_NOENT))
		return true;

	g_propagate_error(error, g_steal_pointer(&cause));
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
	if (!next_item(tree, &item, error))
		return false;
	if (!item)
		return true;
	if (!btrfs_inode_item_read(item->data, item->length, ret))
		return damaged(root, inode, error);

	*ret_found = true;
	return true;
}

bool btrfs_inode_name_read(int fd, uint64_t root, uint64_t inode, uint64_t *ret_directory,
			   char **ret_name, GError **error)
{
	const BtrfsTreeRange range = {
		.tree = root,
		.first = { inode, BTRFS_INODE_REF_KEY, 0 },
		.last = { inode, BTRFS_INODE_REF_KEY, UINT64_MAX },
	};
	g_autoptr(BtrfsTree) tree = btrfs_tree_new(BTRFS_TREE_BUFFER_BYTES_MIN);
	const BtrfsTreeItem *item;
	BtrfsInodeRef ref;

	*ret_name = NULL;
	*ret_directory = 0;
	btrfs_tree_start(tree, fd, &range);
	if (!next_item(tree, &item, error))
		return false;
	if (!item)
		return true;
	if (!btrfs_inode_ref_read(item->data, item->length, &ref))
		return damaged(root, inode, error);

	*ret_directory = item->key.offset;
	*ret_name = g_strndup((const char *)ref.name, ref.name_bytes);
	return true;
}
