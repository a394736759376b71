/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/pass/extent-pass.h"

#include "daemon/btrfs/find/extent-finder.h"
#include "daemon/btrfs/find/extent-limits.h"
#include "daemon/btrfs/find/inode-inventory.h"
#include "daemon/btrfs/find/snapshot-rotation.h"
#include "daemon/btrfs/pinned/deferred-extents.h"
#include "daemon/btrfs/pinned/pinned-extents.h"
#include "daemon/btrfs/plan/sharing-cost.h"
#include "daemon/btrfs/plan/zero-source.h"
#include "daemon/btrfs/share/extent-rounds.h"
#include "daemon/btrfs/share/space-ledger.h"
#include "daemon/context/object-table.h"
#include "daemon/context/store-room.h"
#include "daemon/fingerprint/fingerprint.h"
#include "hashstore/objects/objects.h"
#include "kernel-ioctl/btrfs/btrfs-info.h"
#include "kernel-ioctl/btrfs/btrfs-tree.h"

#include <linux/btrfs_tree.h>
#include <string.h>

/*
 * Sharing copies may need copies again, but only of copies.  Most are at most a quarter as long as their originals:
 * after so many rounds from 128 MiB, they are too short to be worth it.  REWRITE_MORE makes longer ones in the first
 * rounds only.
 */
#define REWRITTEN_ROUNDS      6
#define REWRITTEN_MORE_ROUNDS 3

/* Whether the kernel lets this process search the trees. */
static bool may_search(const Filesystem *filesystem)
{
	g_autoptr(BtrfsTree) tree = btrfs_tree_new(BTRFS_TREE_BUFFER_BYTES_MIN);
	g_autoptr(GError) refused = NULL;
	const BtrfsTreeItem *item;
	BtrfsTreeRange range = {
		.tree = BTRFS_CSUM_TREE_OBJECTID,
		.first = { BTRFS_EXTENT_CSUM_OBJECTID, 0, 0 },
		.last = { BTRFS_EXTENT_CSUM_OBJECTID, 0, 0 },
	};

	btrfs_tree_start(tree, filesystem->fd, &range);
	return btrfs_tree_next(tree, &item, &refused);
}

bool extent_pass_is_possible(const Pass *pass, const char **ret_reason)
{
	const Filesystem *filesystem = pass->filesystem;

	*ret_reason = NULL;
	if (filesystem->identity.kind != FS_KIND_BTRFS)
		*ret_reason = "the filesystem keeps no checksums of data";
	else if (!filesystem->opens_by_id || !may_search(filesystem))
		*ret_reason = "it takes CAP_SYS_ADMIN";

	return !*ret_reason;
}

/* The number of ids that are not settled.  Some of these objects may be dropped by now. */
static uint64_t n_unsettled(const Pass *pass)
{
	return hash_store_next_object(pass->store) - hash_store_settled_below(pass->store);
}

/* Settle all that was matched, except postponed objects. */
static bool settle(Pass *pass, ObjectTable *table, GError **error)
{
	if (!extent_limits_keep(pass, table, error) ||
	    !postponed_add_stretches(pass->postponed, pass->store, error))
		return false;
	if (postponed_is_all(pass->postponed, n_unsettled(pass)))
		return true;

	progress_begin(pass->progress, STAGE_SETTLE, 0);
	return pass_flush_shared(pass, error) &&
	       hash_store_settle(pass->store, object_table_is_kept, table, error) &&
	       object_table_take_error(table, error) &&
	       postponed_renew(pass->postponed, pass->store, error);
}

static bool match_and_share(Pass *pass, ExtentSums *sums, GError **error)
{
	g_autoptr(ObjectTable) table = object_table_new(pass->store, RANK_BY_SIZE, pass->settings,
							pass->subvolumes, error);

	if (!table || !extent_limits_apply(pass, table, error) ||
	    !zero_source_choose(pass, sums, table, error) ||
	    !extent_rounds_share(pass, sums, table, error))
		return false;
	if (!pass_checkpoint(pass))
		return true;
	if (!extent_limits_mark(pass, table, error))
		return false;
	if (!pass_checkpoint(pass) || pass->settings->dry_run)
		return true;

	return settle(pass, table, error);
}

/* Read the files whose data has no checksums, if they are new or changed. */
static bool read_files(Pass *pass, const BtrfsInfo *info, ExtentSums *sums, GError **error)
{
	g_autoptr(FileOpener) opener = file_opener_new(pass->filesystem, pass->store);
	g_autoptr(InodeInventory) inventory = inode_inventory_build(pass, info, opener, error);

	return inventory &&
	       fingerprint_all(pass, inode_inventory_to_read(inventory), sums, opener, error) &&
	       (!pass_checkpoint(pass) || (inode_inventory_end(inventory, error) &&
					   extents_find_read(pass, info, sums, error)));
}

/* Extents that were not examined, because nothing near them changed, are unchanged. */
static bool count_seen(Pass *pass, GError **error)
{
	PassResult *result = pass->result;
	uint64_t n_touched = result->files.new + result->files.changed + result->files.doubted;
	uint64_t stored, stretches;

	if (!hash_store_count_objects(pass->store, &stored, error) ||
	    !hash_store_count_objects_of(pass->store, OBJECT_STRETCHES, &stretches, error))
		return false;

	result->files.seen = MAX(stored - stretches, n_touched);
	result->files.unchanged = result->files.seen - n_touched;
	return true;
}

static bool find_and_share(Pass *pass, const BtrfsInfo *info, ExtentSums *sums, GError **error)
{
	progress_begin(pass->progress, STAGE_WALK, 0);
	/* Copies lie where other data was before, or none. */
	extent_sums_forget(sums);
	if (!read_only_subvolumes_read(pass->subvolumes, pass->filesystem->fd, error) ||
	    !extents_find(pass, info, sums, error) ||
	    !deferred_extents_recover(pass->btrfs.deferred, error) ||
	    (pass_checkpoint(pass) && !read_files(pass, info, sums, error)) ||
	    !count_seen(pass, error))
		return false;
	if (!pass_checkpoint(pass) || n_unsettled(pass) == 0)
		return true;

	return pass_commit(pass, error) && match_and_share(pass, sums, error);
}

/*
 * Find and share once more.  Skips were counted before, so they are dropped: only copies are new, and they can only
 * be pinned.
 */
static bool find_again(Pass *pass, const BtrfsInfo *info, ExtentSums *sums, GError **error)
{
	SkipLedger *skips = &pass->result->skips;
	SkipLedger said = *skips;
	SkipEntry pinned;
	bool done;

	memset(skips, 0, sizeof(*skips));
	done = find_and_share(pass, info, sums, error);
	pinned = skips->entries[SKIP_PINNED];
	skip_ledger_clear(skips);
	*skips = said;
	skips->entries[SKIP_PINNED].count += pinned.count;
	skips->entries[SKIP_PINNED].bytes += pinned.bytes;
	return done;
}

/*
 * Find new copies like any other new extent: copies equal to each other or to older data are not left to the next
 * pass.  The same goes for extents whose keepers were shared, and for deferred ones that became sources.  An extent that
 * this pass pins has its sources planned again, these have theirs, and so on through all data of one kind.  So these are
 * a reason for one more round only after a round that shared something.
 */
static bool find_rewritten(Pass *pass, ExtentSums *sums, GError **error)
{
	const PassResult *result = pass->result;
	uint64_t known = 0, n_replanned = 0, n_runs = UINT64_MAX;
	BtrfsInfo info;

	for (unsigned i = 0; i < REWRITTEN_ROUNDS; i++) {
		uint64_t now, n_renewed;

		if (result->shared.runs != n_runs)
			n_replanned = pass->btrfs.n_replanned;
		n_runs = result->shared.runs;
		now = result->rewritten.extents + pass->n_file_runs + pass->btrfs.n_revived +
		      pass->btrfs.n_waited + n_replanned;
		/* Without room for all, the store does not know how far the first round looked. */
		if (now == known || pass->settings->dry_run || result->stopped_reason ||
		    store_room_was_short(pass->room) || !pass_checkpoint(pass))
			break;
		known = now;
		pass->btrfs.remainders.writes_more &= i < REWRITTEN_MORE_ROUNDS;
		/*
		 * If the pass is stopped from now on, the next one plans them.  A stop amid the renewal undoes all
		 * that is not committed.
		 */
		if (!pass_commit(pass, error) ||
		    !pinned_extents_renew(pass->btrfs.pinned, &n_renewed, error) ||
		    !pass_commit(pass, error) ||
		    !btrfs_info_read(pass->filesystem->fd, &info, error) ||
		    !filesystem_flush(pass->filesystem, error) ||
		    !find_again(pass, &info, sums, error))
			return false;
	}

	return true;
}

/* Extents that were freed, or planned again, left their former anchors in the store. */
static bool drop_dead(Pass *pass, GError **error)
{
	g_autoptr(ObjectTable) table = NULL;
	bool has_many;

	if (pass->settings->dry_run || !pass_checkpoint(pass))
		return true;
	if (!hash_store_has_many_dead(pass->store, pass->result->freed.bytes / pass->block_bytes,
				      &has_many, error))
		return false;
	if (!has_many)
		return true;

	progress_begin(pass->progress, STAGE_SETTLE, 0);
	/* The table has what is committed, and postponed objects may have new ids that are not. */
	if (!pass_commit(pass, error))
		return false;
	table = object_table_new(pass->store, RANK_BY_SIZE, pass->settings, pass->subvolumes,
				 error);
	if (!table)
		return false;
	return !pass_checkpoint(pass) ||
	       (hash_store_drop_dead(pass->store, object_table_is_kept, table, error) &&
		object_table_take_error(table, error));
}

static SharingCost *new_cost(const Pass *pass, const BtrfsInfo *info, const BtrfsSpace *space)
{
	const SharingCostLimits limits = {
		.min_run_bytes = pass->settings->min_run_bytes,
		.node_bytes = info->node_bytes,
		.metadata_copies = space->metadata_copies,
		.data_copies = space->data_copies,
	};

	return sharing_cost_new(&limits);
}

static bool do_steps(Pass *pass, GError **error)
{
	g_autoptr(ExtentSums) sums = NULL;
	int fd = pass->filesystem->fd;
	BtrfsInfo info;
	SpaceLedger ledger;

	/* First wait for a scrub: a flush beside it takes long and cannot be ended. */
	if (!pass_checkpoint(pass))
		return true;

	pass->btrfs.ref_bound = btrfs_ref_bound_new(fd);
	pass->btrfs.scope = extent_scope_new(pass->filesystem, pass->settings, pass->filter,
					     pass->btrfs.ref_bound, pass->stop);
	pass->btrfs.pinned = pinned_extents_new(pass);
	pass->btrfs.deferred = deferred_extents_new(pass);
	if (!extent_limits_begin(pass, error))
		return false;

	/*
	 * Data that is not written out has no extents.  The flush ends the transaction that was read before it.  So
	 * this pass sees all of that transaction, and the next one can begin after it.
	 */
	if (!btrfs_info_read(fd, &info, error) || !space_ledger_begin(pass, &info, &ledger, error))
		return false;

	if (!snapshot_rotation_look(pass, error) ||
	    !deferred_extents_begin(pass->btrfs.deferred, error))
		return false;
	pass->btrfs.cost = new_cost(pass, &info, &ledger.before);
	pass->btrfs.remainders.held_most_bytes = fs_free_bytes(fd) / REST_HELD_SHARE;
	pass->btrfs.remainders.held_room_bytes = pass->btrfs.remainders.held_most_bytes;
	pass->btrfs.remainders.writes_more = pass->settings->rewrite == REWRITE_MORE;
	/*
	 * The flush ended that transaction, so its extents are older than this pass, also those of an earlier pass.
	 */
	pass->btrfs.remainders.generation = ledger.generation + 1;
	sums = extent_sums_new(fd, &info, hash_store_about(pass->store)->secret);
	extent_sums_use_store(sums, pass->store);
	if (!find_and_share(pass, &info, sums, error) || !find_rewritten(pass, sums, error) ||
	    !drop_dead(pass, error))
		return false;
	if (pass_checkpoint(pass))
		extent_limits_warn(pass);
	return deferred_extents_end(pass->btrfs.deferred, error) &&
	       space_ledger_end(pass, &ledger, error);
}

/*
 * Subtract the copies from what was freed.  Only now: a copy may come before anything is freed, and stays even if nothing
 * is.  If data was deferred, copies beyond what was freed at once pay when snapshots are deleted.
 */
static void subtract_copies(PassResult *result)
{
	uint64_t written = result->rewritten.bytes - result->deferred.written_bytes;
	uint64_t paid = MIN(written, result->freed.bytes);

	result->freed.bytes -= paid;
	if (result->deferred.bytes > 0)
		result->deferred.written_bytes += written - paid;
}

bool extent_pass_steps(Pass *pass, GError **error)
{
	bool done = do_steps(pass, error);

	subtract_copies(pass->result);
	return done;
}
