/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/btrfs/btrfs-file-extent.h"

/*
 * An item's key has its first byte only, and the kernel searches forward only.  Most items begin no further
 * before a byte than a compressed extent is long.  For others the search begins earlier and earlier.
 */
#define FIRST_STEP_BYTES (UINT64_C(128) << 10)
#define STEP_FACTOR      16

/* Items that the kernel returns at a time. */
#define MOST_ITEMS 48

struct BtrfsFileExtents {
	/* The search. */
	int fd;
	uint64_t root;
	uint64_t inode;
	uint64_t offset;
	uint64_t end;
	bool is_begun; /* the first item was searched for; the tree continues there */
	bool is_at_end;

	BtrfsTree *tree;
	BtrfsFileExtent current;
};

BtrfsFileExtents *btrfs_file_extents_new(void)
{
	BtrfsFileExtents *extents = g_new0(BtrfsFileExtents, 1);

	extents->fd = -1;
	extents->is_at_end = true;
	extents->tree = btrfs_tree_new(BTRFS_TREE_BUFFER_BYTES_MIN);
	btrfs_tree_set_most_items(extents->tree, MOST_ITEMS);
	return extents;
}

void btrfs_file_extents_free(BtrfsFileExtents *extents)
{
	if (!extents)
		return;
	btrfs_tree_free(extents->tree);
	g_free(extents);
}

void btrfs_file_extents_start(BtrfsFileExtents *extents, int fd, uint64_t root, uint64_t inode,
			      uint64_t offset, uint64_t length)
{
	extents->fd = fd;
	extents->root = root;
	extents->inode = inode;
	extents->offset = offset;
	extents->end = length > UINT64_MAX - offset ? UINT64_MAX : offset + length;
	extents->is_begun = false;
	extents->is_at_end = length == 0;
}

/* Search for items that begin at or behind @first in the file. */
static void search(BtrfsFileExtents *extents, uint64_t first)
{
	const BtrfsTreeRange range = {
		.tree = extents->root,
		.first = { extents->inode, BTRFS_EXTENT_DATA_KEY, first },
		.last = { extents->inode, BTRFS_EXTENT_DATA_KEY, extents->end - 1 },
	};

	btrfs_tree_start(extents->tree, extents->fd, &range);
}

bool btrfs_file_extent_take(const BtrfsTreeItem *item, BtrfsFileExtent *ret, GError **error)
{
	BtrfsFileExtentItem extent;

	if (!btrfs_file_extent_item_read(item->data, item->length, &extent)) {
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_IO,
			    "cannot read the extents of inode %" G_GUINT64_FORMAT
			    ": the item at %" G_GUINT64_FORMAT " is damaged",
			    item->key.objectid, item->key.offset);
		return false;
	}

	*ret = (BtrfsFileExtent){
		.logical = item->key.offset,
		.disk_bytes = extent.disk_bytes,
		.ram_bytes = extent.ram_bytes,
		.offset = extent.offset,
		.length = extent.length,
		.bytenr = extent.bytenr,
		.generation = extent.generation,
		.transid = item->transid,
		.kind = extent.kind,
		.is_encoded = extent.is_encoded,
	};
	return true;
}

/*
 * Search from the offset, then from earlier and earlier positions, for the item that contains the
 * offset.  *ret is the first item found.
 */
static bool begin(BtrfsFileExtents *extents, const BtrfsTreeItem **ret, GError **error)
{
	/* Callers often know where an item begins, so try that first: each further item costs. */
	uint64_t step = 0;

	extents->is_begun = true;
	for (;;) {
		uint64_t first = extents->offset - MIN(extents->offset, step);

		search(extents, first);
		if (!btrfs_tree_next(extents->tree, ret, error))
			return false;
		if (first == 0 || (*ret && (*ret)->key.offset <= extents->offset))
			return true;
		step = step > UINT64_MAX / STEP_FACTOR ? UINT64_MAX : step * STEP_FACTOR;
		step = MAX(step, FIRST_STEP_BYTES);
	}
}

static bool is_before_range(const BtrfsFileExtents *extents)
{
	const BtrfsFileExtent *current = &extents->current;

	return current->logical < extents->offset &&
	       extents->offset - current->logical >= current->length;
}

static bool reaches_end(const BtrfsFileExtents *extents)
{
	const BtrfsFileExtent *current = &extents->current;

	return current->logical >= extents->end ||
	       extents->end - current->logical <= current->length;
}

bool btrfs_file_extents_next(BtrfsFileExtents *extents, const BtrfsFileExtent **ret, GError **error)
{
	*ret = NULL;

	while (!extents->is_at_end) {
		const BtrfsTreeItem *item;

		if (!(extents->is_begun ? btrfs_tree_next(extents->tree, &item, error)
					: begin(extents, &item, error)))
			return false;
		if (!item)
			break;
		if (!btrfs_file_extent_take(item, &extents->current, error))
			return false;
		if (is_before_range(extents))
			continue;

		extents->is_at_end = reaches_end(extents);
		*ret = &extents->current;
		return true;
	}

	extents->is_at_end = true;
	return true;
}

bool btrfs_file_extents_next_if_any(BtrfsFileExtents *extents, const BtrfsFileExtent **ret,
				    GError **error)
{
	g_autoptr(GError) cause = NULL;

	if (btrfs_file_extents_next(extents, ret, &cause) ||
	    g_error_matches(cause, G_FILE_ERROR, G_FILE_ERROR_NOENT))
		return true;

	g_propagate_error(error, g_steal_pointer(&cause));
	return false;
}

bool btrfs_file_extent_read(int fd, uint64_t inode, uint64_t position, BtrfsFileExtent *ret,
			    GError **error)
{
	g_autoptr(BtrfsFileExtents) extents = btrfs_file_extents_new();
	const BtrfsFileExtent *extent;

	btrfs_file_extents_start(extents, fd, 0, inode, position, 1);
	if (!btrfs_file_extents_next(extents, &extent, error))
		return false;
	if (!extent || extent->bytenr == 0) {
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_NOENT,
			    "cannot read the extents of a file: none at %" G_GUINT64_FORMAT,
			    position);
		return false;
	}

	*ret = *extent;
	return true;
}
