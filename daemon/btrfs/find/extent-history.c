/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/find/extent-history.h"

#include "daemon/btrfs/find/extent-finder.h"
#include "daemon/btrfs/find/extent-fingerprint.h"
#include "daemon/btrfs/find/inode-inventory.h"
#include "daemon/btrfs/refs/state-files.h"
#include "hashstore/objects/objects.h"
#include "kernel-ioctl/btrfs/btrfs-inode.h"
#include "kernel-ioctl/btrfs/btrfs-subvolumes.h"
#include "kernel-ioctl/btrfs/btrfs-tree.h"

/* Limits of the items of all types that are looked through for witnesses, in all subvolumes and in each. */
#define ITEMS_MAX           16384
#define ITEMS_SUBVOLUME_MAX 4096
#define ITEMS_BUFFER_BYTES  ((size_t)64 << 10)

/* Read the inode of a witness; *ret is false if it is gone. */
static bool measure(const Pass *pass, const Witness *witness, uint64_t *ret_values, bool *ret,
		    GError **error)
{
	BtrfsInodeItem inode;

	if (!btrfs_inode_read(pass->filesystem->fd, witness->subvolume, witness->inode, &inode, ret,
			      error))
		return false;
	if (*ret) {
		ret_values[0] = inode.transid;
		ret_values[1] = (uint64_t)inode.ctime_nsec;
	}
	return true;
}

/* *ret_proven: the latest transaction that is still the same; 0: none. */
static bool hear(const Pass *pass, const Witnesses *witnesses, uint64_t *ret_proven,
		 bool *ret_is_continued, GError **error)
{
	*ret_proven = 0;
	*ret_is_continued = true;
	for (size_t i = 0; i < witnesses_count(witnesses) && pass_checkpoint(pass); i++) {
		const Witness *one = witnesses_at(witnesses, i);
		uint64_t now[2];
		bool found;

		if (!measure(pass, one, now, &found, error))
			return false;
		if (!found || now[0] > witnesses->until)
			continue;
		if (now[0] != one->values[0] || now[1] != one->values[1]) {
			*ret_is_continued = false;
			return true;
		}
		*ret_proven = MAX(*ret_proven, now[0]);
	}

	return true;
}

typedef struct {
	Pass *pass;
	ExtentFingerprinter *fingerprinter;
	StateFiles *own;
	uint64_t proven;
	uint64_t next; /* the store has all extents of earlier transactions */
} Comparison;

/* Whether the store knows the extent, or may lack it. */
static bool is_expected(const Comparison *comparison, const DataExtent *extent,
			const BtrfsExtentItem *item, bool *ret, GError **error)
{
	uint64_t known, digest;
	const Object *stored;
	Object row;

	if (!hash_store_find_at(comparison->pass->store, OBJECT_EXTENTS, extent->bytenr, &stored,
				error))
		return false;
	if (!stored || object_extent_generation(stored) != extent->generation ||
	    stored->size_bytes != extent->length) {
		/* Extents of dedupd's own files are not recorded, and snapshots may reference them by now. */
		*ret = extent->generation >= comparison->next ||
		       (!stored && state_files_are_here(comparison->own)) ||
		       state_files_have_extent(comparison->own, item);
		return true;
	}

	*ret = true;
	if (stored->state != OBJECT_DONE)
		return true;
	row = *stored;
	if (!extent_digest(comparison->fingerprinter, extent, &known, &digest, error))
		return false;
	/* Preallocated blocks get checksums later. */
	*ret = known != object_extent_summed_blocks(&row) || digest == row.digest;
	return true;
}

/* Compare all extents that are younger than the proven transaction with the store. */
static bool compare(const Comparison *comparison, bool *ret_is_continued, GError **error)
{
	g_autoptr(BtrfsTree) tree = btrfs_tree_new(BTRFS_TREE_BUFFER_BYTES);
	const BtrfsTreeRange range = {
		.tree = BTRFS_EXTENT_TREE_OBJECTID,
		.last = { UINT64_MAX, UINT8_MAX, UINT64_MAX },
		.min_transid = comparison->proven + 1,
		.types = { BTRFS_EXTENT_ITEM_KEY },
	};

	*ret_is_continued = true;
	btrfs_tree_start(tree, comparison->pass->filesystem->fd, &range);
	while (*ret_is_continued && pass_checkpoint(comparison->pass)) {
		const BtrfsTreeItem *item;
		BtrfsExtentItem read;
		DataExtent extent;

		if (!btrfs_tree_next(tree, &item, error))
			return false;
		if (!item)
			break;
		/* The finder reports invalid items. */
		if (!btrfs_extent_item_read(item->data, item->length, &read) || !read.is_data ||
		    read.generation <= comparison->proven)
			continue;
		extent = (DataExtent){ item->key.objectid, item->key.offset, read.generation };
		if (!is_expected(comparison, &extent, &read, ret_is_continued, error))
			return false;
	}

	return true;
}

bool extent_history_check(Pass *pass, const Witnesses *witnesses, bool *ret_is_continued,
			  GError **error)
{
	int fd = pass->filesystem->fd;
	g_autoptr(ExtentSums) sums = NULL;
	g_autoptr(ExtentFingerprinter) fingerprinter = NULL;
	g_autoptr(StateFiles) own = NULL;
	Comparison comparison = { .pass = pass };
	BtrfsInfo info;

	if (!hear(pass, witnesses, &comparison.proven, ret_is_continued, error) ||
	    !extents_find_next(pass, &comparison.next, error) || !btrfs_info_read(fd, &info, error))
		return false;
	if (comparison.next > info.generation + 1)
		*ret_is_continued = false;
	/* A pass that was cut short may have looked further than its witnesses. */
	if (!*ret_is_continued || (witnesses->until > 0 && comparison.proven == witnesses->until &&
				   comparison.next <= witnesses->until + 1))
		return true;

	sums = extent_sums_new(fd, &info, hash_store_about(pass->store)->secret);
	fingerprinter = extent_fingerprinter_new(pass, &info, sums);
	own = state_files_new(pass->filesystem, pass->settings->state_directory);
	comparison.fingerprinter = fingerprinter;
	comparison.own = own;
	if (!compare(&comparison, ret_is_continued, error))
		return false;
	/* The other searches of the pass begin at the proven transaction, too. */
	return !*ret_is_continued || (extents_find_since(pass, comparison.proven, error) &&
				      inode_inventory_begin_since(pass, comparison.proven, error));
}

/* The last transaction that is on the disk, and that the store knows. */
static bool find_end(Pass *pass, uint64_t *ret, GError **error)
{
	BtrfsInfo info;
	uint64_t next;

	if (witness_sample_count(&pass->shared) == 0) {
		if (!extents_find_next(pass, &next, error))
			return false;
		*ret = next - MIN(next, 1);
		return true;
	}

	if (!btrfs_info_read(pass->filesystem->fd, &info, error) ||
	    !filesystem_flush(pass->filesystem, error))
		return false;
	*ret = info.generation;
	return true;
}

typedef struct {
	Pass *pass;
	uint64_t until;
} Renewal;

static bool renew(Witness *witness, void *data, bool *ret, GError **error)
{
	const Renewal *renewal = data;

	/* A witness is an inode, not a place in it. */
	witness->offset = 0;
	if (!measure(renewal->pass, witness, witness->values, ret, error))
		return false;
	*ret &= witness->values[0] <= renewal->until;
	return true;
}

/* Choose inodes of one subvolume that changed after transaction @since. */
static bool sample_subvolume(Pass *pass, BtrfsTree *tree, uint64_t root, uint64_t since,
			     unsigned items, WitnessSample *sample, GError **error)
{
	const BtrfsTreeRange range = {
		.tree = root,
		.first = { BTRFS_FIRST_FREE_OBJECTID, BTRFS_INODE_ITEM_KEY, 0 },
		.last = { BTRFS_LAST_FREE_OBJECTID, BTRFS_INODE_ITEM_KEY, 0 },
		.min_transid = since + 1,
	};

	btrfs_tree_start(tree, pass->filesystem->fd, &range);
	for (unsigned i = 0; i < items && pass_checkpoint(pass); i++) {
		const BtrfsTreeItem *item;
		BtrfsInodeItem inode;

		if (!btrfs_tree_next_if_any(tree, &item, error))
			return false;
		if (!item)
			break;
		if (item->key.type == BTRFS_INODE_ITEM_KEY &&
		    btrfs_inode_item_read(item->data, item->length, &inode) &&
		    inode.transid > since)
			witness_sample_add(sample, root, item->key.objectid, 0);
	}

	return true;
}

static bool sample_all(Pass *pass, uint64_t since, WitnessSample *sample, GError **error)
{
	g_autoptr(BtrfsTree) tree = btrfs_tree_new(ITEMS_BUFFER_BYTES);
	g_autoptr(GArray) subvolumes = NULL;
	unsigned items = 0;

	if (!btrfs_subvolumes_read(pass->filesystem->fd, &subvolumes, error))
		return false;

	for (guint i = 0; i < subvolumes->len && items < ITEMS_MAX; i++) {
		const BtrfsSubvolume *one = &g_array_index(subvolumes, BtrfsSubvolume, i);

		if (one->is_dead || one->generation <= since)
			continue;
		items += ITEMS_SUBVOLUME_MAX;
		if (!sample_subvolume(pass, tree, one->id, since, ITEMS_SUBVOLUME_MAX, sample,
				      error))
			return false;
	}

	return true;
}

bool extent_history_remember(Pass *pass, Witnesses *witnesses, bool *ret_is_changed, GError **error)
{
	Renewal renewal = { .pass = pass };
	WitnessSample changed = { 0 };
	uint64_t since = witnesses->until;

	if (!find_end(pass, &renewal.until, error))
		return false;
	*ret_is_changed = renewal.until > since;
	if (!*ret_is_changed)
		return true;

	witnesses->until = renewal.until;
	return witnesses_filter(witnesses, renew, &renewal, error) &&
	       sample_all(pass, since, &changed, error) &&
	       witnesses_add_sample(witnesses, &changed, renew, &renewal, error) &&
	       witnesses_add_sample(witnesses, &pass->shared, renew, &renewal, error);
}
