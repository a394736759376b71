/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/btrfs/btrfs-named-refs.h"

#include "kernel-ioctl/btrfs/btrfs-tree.h"

static void take(BtrfsNamedRefs *named, const BtrfsExtentRef *ref, size_t most)
{
	if (ref->kind != BTRFS_EXTENT_REF_FILE) {
		named->has_leaves = true;
		return;
	}
	if (named->refs->len < most)
		g_array_append_vals(named->refs, ref, 1);
	else
		named->is_all = false;
}

/* Take the inline references of the extent's own item, if it is an item of data. */
static void take_inline(BtrfsNamedRefs *named, const BtrfsTreeItem *found, size_t most,
			bool *ret_has_items)
{
	const BtrfsExtentRef *ref;
	BtrfsExtentItem item;
	BtrfsExtentRefs next;
	uint64_t left;

	if (!btrfs_extent_item_read(found->data, found->length, &item) || !item.is_data)
		return;

	named->generation = item.generation;
	named->is_all = true;
	named->n_refs = left = item.refs;
	btrfs_extent_refs_start(&next, &item);
	do {
		if (!btrfs_extent_refs_next(&next, &ref))
			named->is_all = false;
		else if (ref) {
			take(named, ref, most);
			left -= MIN(left, ref->count);
		}
	} while (ref && named->is_all);
	*ret_has_items = left > 0;
}

bool btrfs_named_refs_read(int fd, uint64_t bytenr, uint64_t disk_bytes, size_t most,
			   BtrfsNamedRefs *ret, GError **error)
{
	const BtrfsTreeRange range = {
		.tree = BTRFS_EXTENT_TREE_OBJECTID,
		.first = { bytenr, BTRFS_EXTENT_ITEM_KEY, disk_bytes },
		.last = { bytenr, BTRFS_SHARED_DATA_REF_KEY, UINT64_MAX },
	};
	g_autoptr(GArray) refs = g_array_new(false, false, sizeof(BtrfsExtentRef));
	g_autoptr(BtrfsTree) tree = btrfs_tree_new(BTRFS_TREE_BUFFER_BYTES_MIN);
	BtrfsNamedRefs named = { .refs = refs };
	const BtrfsTreeItem *found;
	bool has_items = true;

	btrfs_tree_start(tree, fd, &range);
	do {
		BtrfsExtentRef ref;

		if (!btrfs_tree_next_if_any(tree, &found, error))
			return false;
		if (found && found->key.type == BTRFS_EXTENT_ITEM_KEY)
			take_inline(&named, found, most, &has_items);
		else if (found && btrfs_extent_ref_item_read(found->key.type, found->key.offset,
							     found->data, found->length, &ref))
			take(&named, &ref, most);
		/* All references from here on are of leaves. */
	} while (found && has_items && named.is_all &&
		 found->key.type != BTRFS_SHARED_DATA_REF_KEY);

	*ret = named;
	g_steal_pointer(&refs);
	return true;
}

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
