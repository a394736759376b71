/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/snapshots/extent-holders.h"

#include "kernel-ioctl/btrfs/btrfs-items.h"
#include "kernel-ioctl/btrfs/btrfs-tree.h"

/* The maximum uncompressed length of a compressed extent. */
#define COMPRESSED_SHOWN_MAX (UINT64_C(128) << 10)

/*
 * The maximum number of items looked up in all.  Many clones of pieces of large extents make each lookup a
 * search through many items.
 */
#define LOOKED_UP_MAX UINT64_C(20000000)

typedef struct {
	int fd;
	const SubvolumeTrees *trees;
	RootSets *sets;
	BtrfsTree *items; /* of subvolumes */
	uint64_t n_looked_up;
	ProgressLine *progress;
	ExtentHolders *result;
	/* The current extent, whose holders are being gathered. */
	uint64_t bytenr;
	uint64_t disk_bytes; /* 0: there is none */
} Scan;

void extent_holders_clear(ExtentHolders *holders)
{
	g_clear_pointer(&holders->bytes, g_array_unref);
}

static void hold(Scan *scan, uint64_t leaf)
{
	RootSet set;

	if (block_holders_find(subvolume_trees_blocks(scan->trees), leaf, &set))
		root_sets_gather(scan->sets, set);
	else
		scan->result->n_unsure++;
}

/* List all leaves of the subvolume that may have the keys; returns their number. */
static guint hold_all(Scan *scan, guint member, const BtrfsKey *first, const BtrfsKey *last)
{
	OwnLeaves leaves;
	uint64_t leaf;
	guint n = 0;

	own_leaves_start(&leaves, scan->trees, member, first, last);
	for (; own_leaves_next(&leaves, &leaf); n++)
		hold(scan, leaf);
	return n;
}

static bool is_meant(const Scan *scan, const BtrfsExtentRef *ref, const BtrfsTreeItem *item)
{
	BtrfsFileExtentItem shown;

	return btrfs_file_extent_item_read(item->data, item->length, &shown) &&
	       shown.kind != BTRFS_FILE_EXTENT_IS_INLINE && shown.bytenr == scan->bytenr &&
	       item->key.offset - shown.offset == ref->offset;
}

/*
 * Add the holders of all candidate leaves, since the leaves that reference the extent cannot be determined.
 * The result is certain only if the same subvolumes hold each of them.
 */
static void hold_any(Scan *scan, guint member, const BtrfsKey *first, const BtrfsKey *last)
{
	const BlockHolders *blocks = subvolume_trees_blocks(scan->trees);
	RootSet common = 0, set = 0;
	bool is_sure = true;
	OwnLeaves leaves;
	uint64_t leaf;
	guint n = 0;

	own_leaves_start(&leaves, scan->trees, member, first, last);
	for (; own_leaves_next(&leaves, &leaf); n++) {
		is_sure = is_sure && block_holders_find(blocks, leaf, &set) &&
			  (n == 0 || set == common);
		common = set;
	}
	if (n == 0 || !is_sure) {
		scan->result->n_unsure++;
		root_sets_gather(scan->sets, root_sets_of_one(scan->sets, member));
	}
	hold_all(scan, member, first, last);
}

/*
 * Find the leaves whose items reference the extent.  Returns false if some are missing: the subvolume is being
 * deleted, so its tree cannot be searched, or its files change.
 */
static bool look_up(Scan *scan, guint member, const BtrfsExtentRef *ref, const BtrfsKey *first,
		    const BtrfsKey *last)
{
	const BtrfsTreeRange range = {
		.tree = ref->root,
		.first = *first,
		.last = *last,
		.types = { BTRFS_EXTENT_DATA_KEY },
	};
	const BtrfsTreeItem *item;
	uint32_t n_left = ref->count;

	btrfs_tree_start(scan->items, scan->fd, &range);
	while (n_left > 0 && scan->n_looked_up < LOOKED_UP_MAX) {
		if (!btrfs_tree_next(scan->items, &item, NULL) || !item)
			return false;
		scan->n_looked_up++;
		if (!is_meant(scan, ref, item))
			continue;
		n_left--;
		if (hold_all(scan, member, &item->key, &item->key) == 0)
			return false;
	}

	return n_left == 0;
}

static guint count_leaves(const Scan *scan, guint member, const BtrfsKey *first,
			  const BtrfsKey *last, uint64_t *ret_leaf)
{
	OwnLeaves leaves;
	uint64_t leaf;
	guint n = 0;

	own_leaves_start(&leaves, scan->trees, member, first, last);
	while (n < 2 && own_leaves_next(&leaves, &leaf))
		if (n++ == 0)
			*ret_leaf = leaf;
	return n;
}

static void add_file_ref(Scan *scan, const BtrfsExtentRef *ref)
{
	const uint64_t shown = MAX(scan->disk_bytes, COMPRESSED_SHOWN_MAX);
	BtrfsKey first = { ref->inode, BTRFS_EXTENT_DATA_KEY, ref->offset };
	BtrfsKey last = first;
	uint64_t leaf;
	guint member, n;

	/* The trees of other roots hold caches and logs, which belong to no subvolume. */
	if (!subvolume_trees_find(scan->trees, ref->root, &member))
		return;

	last.offset = ref->offset + shown - 1;
	/* The extent's beginning would lie before the file's. */
	if (last.offset < first.offset)
		first.offset = 0;

	n = count_leaves(scan, member, &first, &last, &leaf);
	if (n == 1)
		hold(scan, leaf);
	else if (n == 0 || !look_up(scan, member, ref, &first, &last))
		hold_any(scan, member, &first, &last);
}

static void add_ref(Scan *scan, const BtrfsExtentRef *ref)
{
	if (ref->kind == BTRFS_EXTENT_REF_LEAF)
		hold(scan, ref->parent);
	else
		add_file_ref(scan, ref);
}

static void finish_extent(Scan *scan)
{
	GArray *bytes = scan->result->bytes;
	RootSet holders = root_sets_gathered(scan->sets);

	if (scan->disk_bytes == 0)
		return;

	if (holders >= bytes->len)
		g_array_set_size(bytes, root_sets_count(scan->sets));
	g_array_index(bytes, uint64_t, holders) += scan->disk_bytes;
	scan->result->n_extents++;
	scan->disk_bytes = 0;
}

static bool damaged(const BtrfsKey *key, GError **error)
{
	g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_IO,
		    "cannot read the extent tree of the btrfs: the item at %" G_GUINT64_FORMAT
		    " is damaged or of an unknown kind",
		    key->objectid);
	return false;
}

static bool begin_extent(Scan *scan, const BtrfsTreeItem *item, GError **error)
{
	const BtrfsExtentRef *ref;
	BtrfsExtentItem extent;
	BtrfsExtentRefs refs;

	if (!btrfs_extent_item_read(item->data, item->length, &extent))
		return damaged(&item->key, error);
	if (!extent.is_data)
		return true;

	scan->bytenr = item->key.objectid;
	scan->disk_bytes = item->key.offset;
	btrfs_extent_refs_start(&refs, &extent);
	for (;;) {
		if (!btrfs_extent_refs_next(&refs, &ref))
			return damaged(&item->key, error);
		if (!ref)
			return true;
		add_ref(scan, ref);
	}
}

static bool take_item(Scan *scan, const BtrfsTreeItem *item, GError **error)
{
	BtrfsExtentRef ref;

	if (item->key.type == BTRFS_EXTENT_ITEM_KEY) {
		finish_extent(scan);
		if (progress_line_is_due(scan->progress))
			progress_line_show(scan->progress,
					   "%" G_GUINT64_FORMAT " extents were looked at",
					   scan->result->n_extents);
		return begin_extent(scan, item, error);
	}
	if (scan->disk_bytes == 0 || item->key.objectid != scan->bytenr)
		return true;
	if (!btrfs_extent_ref_item_read(item->key.type, item->key.offset, item->data, item->length,
					&ref))
		return damaged(&item->key, error);

	add_ref(scan, &ref);
	return true;
}

static bool walk(Scan *scan, GError **error)
{
	const BtrfsTreeRange range = {
		.tree = BTRFS_EXTENT_TREE_OBJECTID,
		.last = { UINT64_MAX, UINT8_MAX, UINT64_MAX },
		.types = { BTRFS_EXTENT_ITEM_KEY, BTRFS_EXTENT_DATA_REF_KEY,
			   BTRFS_SHARED_DATA_REF_KEY },
	};
	g_autoptr(BtrfsTree) extents = btrfs_tree_new(BTRFS_TREE_BUFFER_BYTES);
	const BtrfsTreeItem *item;

	btrfs_tree_start(extents, scan->fd, &range);
	for (;;) {
		if (!btrfs_tree_next(extents, &item, error))
			return false;
		if (!item)
			break;
		if (!take_item(scan, item, error))
			return false;
	}

	finish_extent(scan);
	return true;
}

bool extent_holders_read(int fd, const SubvolumeTrees *trees, RootSets *sets,
			 ProgressLine *progress, ExtentHolders *ret, GError **error)
{
	g_autoptr(BtrfsTree) items = btrfs_tree_new(BTRFS_TREE_BUFFER_BYTES_MIN);
	Scan scan = { .fd = fd,
		      .trees = trees,
		      .sets = sets,
		      .items = items,
		      .progress = progress,
		      .result = ret };

	*ret = (ExtentHolders){ .bytes = g_array_new(false, true, sizeof(uint64_t)) };
	g_array_set_size(ret->bytes, root_sets_count(sets));
	if (!walk(&scan, error)) {
		extent_holders_clear(ret);
		return false;
	}

	/* Unions came up during the walk. */
	g_array_set_size(ret->bytes, root_sets_count(sets));
	return true;
}
