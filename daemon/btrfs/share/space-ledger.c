/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/share/space-ledger.h"

#include "daemon/context/pass-note.h"
#include "kernel-ioctl/btrfs/btrfs-items.h"
#include "kernel-ioctl/btrfs/btrfs-subvolumes.h"
#include "kernel-ioctl/btrfs/btrfs-tree.h"

/* Times of inodes may be so much behind the clock: they are taken at ticks of at most 10 ms. */
#define TICK_NSEC INT64_C(20000000)

static bool has_dead(const GArray *subvolumes)
{
	for (guint i = 0; i < subvolumes->len; i++)
		if (g_array_index(subvolumes, BtrfsSubvolume, i).is_dead)
			return true;

	return false;
}

bool space_ledger_begin(Pass *pass, const BtrfsInfo *info, SpaceLedger *ret, GError **error)
{
	g_autoptr(GArray) subvolumes = NULL;
	int fd = pass->filesystem->fd;

	ret->generation = info->generation;
	ret->begun_nsec = g_get_real_time() * 1000 - TICK_NSEC;
	if (!filesystem_flush(pass->filesystem, error) ||
	    !btrfs_subvolumes_read(fd, &subvolumes, error) ||
	    !btrfs_space_read(fd, &ret->before, error))
		return false;

	ret->is_deleting = has_dead(subvolumes);
	pass->result->freed.used_before_bytes = ret->before.data_used_bytes;
	pass->result->freed.used_after_bytes = ret->before.data_used_bytes;
	return true;
}

/* Whether another process changed an inode of one subvolume since the pass began. */
static bool is_written_in(const Pass *pass, const SpaceLedger *ledger, uint64_t root,
			  BtrfsTree *tree, bool *ret, GError **error)
{
	const BtrfsTreeRange range = {
		.tree = root,
		.first = { BTRFS_FIRST_FREE_OBJECTID, BTRFS_INODE_ITEM_KEY, 0 },
		.last = { BTRFS_LAST_FREE_OBJECTID, BTRFS_INODE_ITEM_KEY, 0 },
		.min_transid = ledger->generation,
		.types = { BTRFS_INODE_ITEM_KEY },
	};
	const BtrfsTreeItem *item;
	BtrfsInodeItem inode;

	btrfs_tree_start(tree, pass->filesystem->fd, &range);
	while (!*ret && pass_checkpoint(pass)) {
		if (!btrfs_tree_next_if_any(tree, &item, error))
			return false;
		if (!item)
			break;
		*ret = btrfs_inode_item_read(item->data, item->length, &inode) &&
		       inode.transid >= ledger->generation &&
		       inode.ctime_nsec >= ledger->begun_nsec;
	}

	return true;
}

static bool is_written(const Pass *pass, const SpaceLedger *ledger, const GArray *subvolumes,
		       bool *ret, GError **error)
{
	g_autoptr(BtrfsTree) tree = btrfs_tree_new(BTRFS_TREE_BUFFER_BYTES);

	*ret = false;
	for (guint i = 0; i < subvolumes->len && !*ret; i++) {
		const BtrfsSubvolume *subvolume = &g_array_index(subvolumes, BtrfsSubvolume, i);

		if (subvolume->generation >= ledger->generation &&
		    !is_written_in(pass, ledger, subvolume->id, tree, ret, error))
			return false;
	}

	return true;
}

/* Why the counts of the pass cannot be compared with those of the filesystem; NULL: they can. */
static bool find_hindrance(const Pass *pass, const SpaceLedger *ledger, const char **ret,
			   GError **error)
{
	g_autoptr(GArray) subvolumes = NULL;
	int fd = pass->filesystem->fd;
	bool written;

	*ret = "the store lies on it";
	if (pass_writes_to_itself(pass))
		return true;

	if (!btrfs_subvolumes_read(fd, &subvolumes, error))
		return false;
	*ret = "a deleted subvolume is being given back";
	if (ledger->is_deleting || has_dead(subvolumes))
		return true;

	if (!is_written(pass, ledger, subvolumes, &written, error))
		return false;
	*ret = written                  ? "others wrote to it meanwhile"
	       : !pass_checkpoint(pass) ? "the pass was interrupted"
					: NULL;
	return true;
}

static void check(PassResult *result)
{
	int64_t gained =
		(int64_t)(result->freed.used_before_bytes - result->freed.used_after_bytes);

	result->ledger.is_checked = true;
	result->ledger.drift_bytes =
		gained - (int64_t)(result->freed.bytes - result->rewritten.bytes);
}

/* A dry run stores nothing: its pinned extents are added to those in the store. */
static bool sum_pinned(Pass *pass, GError **error)
{
	PassResult *result = pass->result;

	for (uint32_t cause = PIN_NONE + 1; cause < PIN_CAUSES; cause++) {
		const PinEntry *found = &result->pins.entries[cause];
		PinnedSum *sum = &result->ledger.pinned[cause];

		if (!hash_store_sum_pinned(pass->store, cause, sum, error))
			return false;
		if (!pass->settings->dry_run)
			continue;
		sum->extents += found->count;
		sum->bytes += found->bytes;
		sum->uncovered_bytes += found->uncovered_bytes;
	}

	return true;
}

bool space_ledger_end(Pass *pass, const SpaceLedger *ledger, GError **error)
{
	PassResult *result = pass->result;
	BtrfsSpace after;

	if (!sum_pinned(pass, error))
		return false;
	if (result->shared.runs == 0 || pass->settings->dry_run)
		return true;

	/* btrfs gives space back when a transaction commits. */
	result->ledger.unchecked_reason = "the pass was interrupted";
	if (pass_checkpoint(pass) && !filesystem_flush(pass->filesystem, error))
		return false;
	if (!btrfs_space_read(pass->filesystem->fd, &after, error))
		return false;
	result->freed.used_after_bytes = after.data_used_bytes;
	result->ledger.metadata_delta_bytes =
		(int64_t)(after.metadata_used_bytes - ledger->before.metadata_used_bytes);
	result->freed.kept_bytes = btrfs_space_metadata_growth(&ledger->before, &after);
	if (!pass_checkpoint(pass))
		return true;

	if (!find_hindrance(pass, ledger, &result->ledger.unchecked_reason, error))
		return false;
	if (!result->ledger.unchecked_reason)
		check(result);
	return true;
}
