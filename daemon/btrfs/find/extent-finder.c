/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/find/extent-finder.h"

#include "common/system/look-day.h"
#include "daemon/btrfs/find/extent-fingerprint.h"
#include "daemon/btrfs/find/stretch-finder.h"
#include "daemon/btrfs/pinned/deferred-extents.h"
#include "daemon/btrfs/pinned/pinned-extents.h"
#include "daemon/btrfs/refs/extent-refcount.h"
#include "daemon/btrfs/refs/state-files.h"
#include "hashstore/objects/differed.h"
#include "hashstore/objects/objects.h"
#include "hashstore/objects/open-extents.h"
#include "hashstore/objects/pinned.h"
#include "hashstore/objects/read-sums.h"
#include "kernel-ioctl/btrfs/btrfs-items.h"
#include "kernel-ioctl/btrfs/btrfs-tree.h"

#include <linux/btrfs_tree.h>

/* The transaction from which the next pass looks, and the day of the last look at all extents. */
#define GENERATION_NOTE "btrfs-generation"
#define LOOK_NOTE       "btrfs-all-looked-at"
#define LOOK_DAYS       7

/*
 * Note a new transaction once the next pass would look through so many bytes of old items again.  If the store is
 * on this filesystem, the write itself changes fewer bytes, so that it causes no further write.
 */
#define LOOKED_THROUGH_BYTES     (UINT64_C(128) << 10)
#define LOOKED_THROUGH_BYTES_OWN (UINT64_C(512) << 10)

/* btrfs preallocates extents of this length; written ones are half as long at most. */
#define EXTENT_BYTES_MAX (UINT64_C(256) << 20)

typedef struct {
	Pass *pass;
	BtrfsInfo info;
	BtrfsTree *tree;
	ExtentFingerprinter *fingerprinter;
	StretchFinder *stretches;
	ExtentRefcount *refcount;
	StateFiles *own;
	bool looks_at_all;
	uint64_t looked_through_bytes; /* of items in changed leaves */
	uint64_t n_renewed;            /* extents that were pinned */
} ExtentFinder;

/*
 * Nothing happened to the extent.  It is put anew, maybe into another stretch, if its stretch is gone: the file is,
 * or references another extent there.
 */
static bool leave_unchanged(ExtentFinder *finder, const DataExtent *extent,
			    const BtrfsExtentItem *item, const Object *stored, GError **error)
{
	const Object *stretch;

	if (object_extent_summed_blocks(stored) == 0)
		return extent_leave_unknown(finder->fingerprinter, extent, error);
	/* An extent that snapshots hold is going to be freed. */
	if (!finder->looks_at_all || stored->parent == 0 || stored->flags & OBJECT_HELD)
		return true;

	return hash_store_find_at(finder->pass->store, OBJECT_STRETCHES, stored->parent, &stretch,
				  error) &&
	       (stretch || stretch_finder_add(finder->stretches, extent, item, error));
}

/* Whether the store has room for the extent; if not, it is counted as skipped. */
static bool has_room(ExtentFinder *finder, const DataExtent *extent)
{
	Pass *pass = finder->pass;
	SkipReason reason;
	uint64_t taken;

	if (!store_room_take(pass->room, extent->length, true, &taken, &reason)) {
		skip_ledger_add(&pass->result->skips, reason, extent->length, NULL);
		return false;
	}

	store_room_give_back(pass->room, taken);
	return true;
}

/* Whether the extent becomes part of a stretch.  One without sums does not: such a stretch would be empty. */
static bool wants_stretch(ExtentFinder *finder, const DataExtent *extent, bool *ret, GError **error)
{
	uint64_t known = 0;

	if (stretch_finder_wants(finder->stretches, extent) &&
	    !extent_count_known(finder->fingerprinter, extent, &known, error))
		return false;
	*ret = known > 0;
	return true;
}

/* Put an extent that is new, or replaces another one at its address. */
static bool put(ExtentFinder *finder, const DataExtent *extent, const BtrfsExtentItem *item,
		GError **error)
{
	DataExtent new = *extent;
	bool is_small;

	if (!has_room(finder, extent))
		return true;
	if (item && !extent_refcount_is_shared(finder->refcount, item, &new.is_shared, error))
		return false;
	if (!wants_stretch(finder, &new, &is_small, error))
		return false;
	if (is_small)
		return stretch_finder_add(finder->stretches, &new, item, error);
	return extent_fingerprint(finder->fingerprinter, &new, NULL, error) &&
	       pass_commit_when_due(finder->pass, error);
}

static bool forget(ExtentFinder *finder, const Object *stored, GError **error)
{
	finder->pass->result->files.gone++;
	return deferred_extents_lose(finder->pass->btrfs.deferred, stored->inode, error) &&
	       hash_store_drop_extent(finder->pass->store, stored->inode, error);
}

/* Forget what was known of the former extent at this address: pairs that differ, and the cause that pinned it. */
static bool forget_content(ExtentFinder *finder, uint64_t bytenr, GError **error)
{
	HashStore *store = finder->pass->store;

	return deferred_extents_lose(finder->pass->btrfs.deferred, bytenr, error) &&
	       hash_store_drop_differed(store, bytenr, error) &&
	       hash_store_drop_pinned(store, bytenr, error);
}

/* Look at an extent, with its item if that is known, and with the store's record (NULL: none). */
static bool look_at(ExtentFinder *finder, const DataExtent *extent, const BtrfsExtentItem *item,
		    const Object *stored, GError **error)
{
	PassResult *result = finder->pass->result;
	uint64_t blocks = extent->length / finder->info.sector_bytes;
	bool is_same = stored && stored->size_bytes == extent->length &&
		       object_extent_generation(stored) == extent->generation;
	uint64_t known;

	if (is_same) {
		known = object_extent_summed_blocks(stored);
		if (known < blocks &&
		    !extent_count_known(finder->fingerprinter, extent, &known, error))
			return false;
		if (known == object_extent_summed_blocks(stored))
			return leave_unchanged(finder, extent, item, stored, error);
	}

	/*
	 * A look at all extents causes a write in any case.  It also records equal extents of dedupd's own files,
	 * to say why they are skipped.
	 */
	if (item && !finder->looks_at_all && state_files_have_extent(finder->own, item))
		return !stored || forget(finder, stored, error);

	result->files.changed += stored != NULL;
	result->files.new += stored == NULL;
	if (stored && !forget_content(finder, extent->bytenr, error))
		return false;
	/* Sums that were read belong to the former extent. */
	if (!is_same && !hash_store_drop_read_sums(finder->pass->store, extent->bytenr, error))
		return false;
	return put(finder, extent, item, error);
}

static bool next_item(ExtentFinder *finder, const BtrfsTreeItem **ret, GError **error)
{
	if (!btrfs_tree_next(finder->tree, ret, error))
		return false;
	if (*ret)
		finder->looked_through_bytes += (*ret)->length;
	return true;
}

static bool item_is_wrong(const BtrfsTreeItem *item, GError **error)
{
	g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL,
		    "the extent item at %" G_GUINT64_FORMAT " is not valid", item->key.objectid);
	return false;
}

/* Whether an undamaged btrfs filesystem can have the extent. */
static bool is_possible(const ExtentFinder *finder, const DataExtent *extent)
{
	uint32_t sector_bytes = finder->info.sector_bytes;

	return extent->bytenr <= INT64_MAX && extent->bytenr % sector_bytes == 0 &&
	       extent->length % sector_bytes == 0 && extent->length > 0 &&
	       extent->length <= OBJECT_EXTENT_BYTES_MAX;
}

/*
 * The next data extent of the present search, and its item, whose references are valid until the next call;
 * *ret_found is false at the end.
 */
static bool next_extent(ExtentFinder *finder, DataExtent *ret, BtrfsExtentItem *ret_item,
			bool *ret_found, GError **error)
{
	for (;;) {
		const BtrfsTreeItem *item;

		*ret_found = false;
		if (!next_item(finder, &item, error))
			return false;
		if (!item)
			return true;

		if (!btrfs_extent_item_read(item->data, item->length, ret_item))
			return item_is_wrong(item, error);
		if (!ret_item->is_data)
			continue;

		*ret = (DataExtent){ item->key.objectid, item->key.offset, ret_item->generation };
		if (!is_possible(finder, ret))
			return item_is_wrong(item, error);
		*ret_found = true;
		return true;
	}
}

static void search_extents(ExtentFinder *finder, uint64_t since)
{
	BtrfsTreeRange range = {
		.tree = BTRFS_EXTENT_TREE_OBJECTID,
		.last = { UINT64_MAX, UINT8_MAX, UINT64_MAX },
		.min_transid = since,
		.types = { BTRFS_EXTENT_ITEM_KEY },
	};

	btrfs_tree_start(finder->tree, finder->pass->filesystem->fd, &range);
}

static bool is_extent(const Object *stored)
{
	return stored && stored->subvolume == OBJECT_EXTENTS;
}

/* Stretches come after the extents: @stored is the first of them, if there is any. */
static bool check_stretches(ExtentFinder *finder, ObjectCursor *cursor, const Object *stored,
			    GError **error)
{
	while (stored && stored->subvolume == OBJECT_STRETCHES && pass_checkpoint(finder->pass))
		if (!stretch_finder_check(finder->stretches, stored, error) ||
		    !object_cursor_next(cursor, &stored, error))
			return false;

	return true;
}

/* Merge all extents with all that are stored, and forget those that are gone. */
static bool look_at_all(ExtentFinder *finder, GError **error)
{
	g_autoptr(ObjectCursor) cursor = object_cursor_open(finder->pass->store, error);
	const Object *stored;
	DataExtent extent;
	BtrfsExtentItem item;
	bool found;

	if (!cursor || !object_cursor_next(cursor, &stored, error))
		return false;

	search_extents(finder, 0);
	while (pass_checkpoint(finder->pass)) {
		if (!next_extent(finder, &extent, &item, &found, error))
			return false;
		while (is_extent(stored) && (!found || stored->inode < extent.bytenr))
			if (!forget(finder, stored, error) ||
			    !object_cursor_next(cursor, &stored, error))
				return false;
		if (!found)
			break;

		atomic_fetch_add(&finder->pass->progress->files, 1);
		if (is_extent(stored) && stored->inode == extent.bytenr) {
			if (!look_at(finder, &extent, &item, stored, error) ||
			    !object_cursor_next(cursor, &stored, error))
				return false;
		} else if (!look_at(finder, &extent, &item, NULL, error)) {
			return false;
		}
	}

	return check_stretches(finder, cursor, stored, error);
}

static DataExtent extent_of(const Object *stored)
{
	return (DataExtent){
		.bytenr = stored->inode,
		.length = stored->size_bytes,
		.generation = object_extent_generation(stored),
		.is_shared = stored->flags & OBJECT_SHARED,
	};
}

/*
 * The extent at @address existed before.  Put it anew if it has no anchors of its own and its stretch no longer
 * contains it.
 */
static bool put_if_stray(ExtentFinder *finder, uint64_t address, GError **error)
{
	HashStore *store = finder->pass->store;
	const Object *stored;
	DataExtent extent;
	bool is_shown;

	if (!hash_store_find_at(store, OBJECT_EXTENTS, address, &stored, error))
		return false;
	/* An extent that snapshots hold is going to be freed. */
	if (!stored || stored->parent == 0 || stored->flags & OBJECT_HELD)
		return true;

	extent = extent_of(stored);
	if (!stretch_finder_shows(finder->stretches, stored->parent, address, &is_shown, error))
		return false;
	/* Its row stays until it is put anew, because the pass may be stopped before. */
	return is_shown || stretch_finder_add(finder->stretches, &extent, NULL, error);
}

static bool look_at_stored(ExtentFinder *finder, const DataExtent *extent,
			   const BtrfsExtentItem *item, GError **error)
{
	const Object *stored;

	return hash_store_find_at(finder->pass->store, OBJECT_EXTENTS, extent->bytenr, &stored,
				  error) &&
	       look_at(finder, extent, item, stored, error);
}

/* Extents that were allocated since the transaction @since. */
static bool look_at_new(ExtentFinder *finder, uint64_t since, GError **error)
{
	DataExtent extent;
	BtrfsExtentItem item;
	bool found;

	search_extents(finder, since);
	while (pass_checkpoint(finder->pass)) {
		if (!next_extent(finder, &extent, &item, &found, error))
			return false;
		if (!found)
			break;

		if (!pinned_extents_check_at(finder->pass->btrfs.pinned, extent.bytenr, item.refs,
					     error))
			return false;
		/* The other extents of the leaf. */
		if (extent.generation < since) {
			if (stretch_finder_wants(finder->stretches, &extent) &&
			    !put_if_stray(finder, extent.bytenr, error))
				return false;
			continue;
		}
		atomic_fetch_add(&finder->pass->progress->files, 1);
		if (!look_at_stored(finder, &extent, &item, error))
			return false;
	}

	return true;
}

/* Look at the open extent at @address as it is stored: only its sums can be new. */
static bool look_at_open(ExtentFinder *finder, uint64_t address, GError **error)
{
	const Object *stored;
	DataExtent extent;

	if (!hash_store_find_at(finder->pass->store, OBJECT_EXTENTS, address, &stored, error))
		return false;
	if (!stored)
		return hash_store_drop_open_extent(finder->pass->store, address, error);

	extent = (DataExtent){ address, stored->size_bytes, object_extent_generation(stored) };
	return look_at(finder, &extent, NULL, stored, error);
}

/* Look at open extents whose checksums may be in leaves of the checksum tree that changed. */
static bool look_at_opened(ExtentFinder *finder, uint64_t since, GError **error)
{
	BtrfsTreeRange range = {
		.tree = BTRFS_CSUM_TREE_OBJECTID,
		.first = { BTRFS_EXTENT_CSUM_OBJECTID, BTRFS_EXTENT_CSUM_KEY, 0 },
		.last = { BTRFS_EXTENT_CSUM_OBJECTID, BTRFS_EXTENT_CSUM_KEY, UINT64_MAX },
		.min_transid = since,
	};
	uint64_t open;

	if (!hash_store_next_open_extent(finder->pass->store, 0, &open, error))
		return false;
	if (open == UINT64_MAX)
		return true;

	btrfs_tree_start(finder->tree, finder->pass->filesystem->fd, &range);
	while (pass_checkpoint(finder->pass)) {
		const BtrfsTreeItem *item;
		uint64_t end;

		if (!next_item(finder, &item, error))
			return false;
		if (!item)
			break;

		end = item->key.offset +
		      (uint64_t)item->length / finder->info.sum_bytes * finder->info.sector_bytes;
		open = MAX(open, item->key.offset - MIN(item->key.offset, EXTENT_BYTES_MAX));
		for (;; open++) {
			if (!hash_store_next_open_extent(finder->pass->store, open, &open, error))
				return false;
			if (open >= end)
				break;
			if (!look_at_open(finder, open, error))
				return false;
		}
	}

	return true;
}

/* Whether to note the transaction: not if little was looked through and nothing is new. */
static bool is_worth_a_write(const ExtentFinder *finder)
{
	const PassResult *result = finder->pass->result;
	uint64_t most =
		state_files_are_here(finder->own) ? LOOKED_THROUGH_BYTES_OWN : LOOKED_THROUGH_BYTES;

	return result->files.read + result->files.set_aside + result->files.gone +
			       finder->n_renewed >
		       0 ||
	       finder->looked_through_bytes >= most;
}

/* Pinned extents whose cause has ended are matched again. */
static bool look_at_pinned(ExtentFinder *finder, uint64_t since, GError **error)
{
	PinnedExtents *pinned = finder->pass->btrfs.pinned;
	g_autoptr(GArray) over = NULL;

	if (finder->looks_at_all ? !pinned_extents_reopen_all(pinned, error)
				 : !pinned_extents_check_changed(
					   pinned, since, &finder->looked_through_bytes, error))
		return false;

	over = pinned_extents_list_over(pinned);
	for (guint i = 0; i < over->len && pass_checkpoint(finder->pass); i++)
		if (!put_if_stray(finder, g_array_index(over, uint64_t, i), error))
			return false;
	return true;
}

static bool find(ExtentFinder *finder, uint64_t since, uint64_t looked_day, GError **error)
{
	Pass *pass = finder->pass;
	uint64_t today = pass_day(pass);
	bool all = since == 0 || since > finder->info.generation + 1 ||
		   (!pass->settings->only_changed && look_day_is_due(looked_day, today, LOOK_DAYS));

	finder->looks_at_all = all;
	if (all) {
		int64_t begun_usec = g_get_monotonic_time();

		if (!look_at_all(finder, error))
			return false;
		pass->result->looked_at_all_usec = g_get_monotonic_time() - begun_usec;
	} else if (!look_at_new(finder, since, error) || !look_at_opened(finder, since, error)) {
		return false;
	}
	if (!pass_checkpoint(pass))
		return true;
	if (!look_at_pinned(finder, since, error) ||
	    !stretch_finder_finish(finder->stretches, error))
		return false;
	if (!pass_checkpoint(pass))
		return true;
	if (!pinned_extents_renew(pass->btrfs.pinned, &finder->n_renewed, error))
		return false;
	if (!pass_checkpoint(pass))
		return true;

	/* The next pass has to meet the extents again that were not recorded. */
	if (store_room_was_short(pass->room))
		return true;
	if (all && !hash_store_set_number(pass->store, LOOK_NOTE, today, error))
		return false;
	return !(all || is_worth_a_write(finder)) ||
	       hash_store_set_number(pass->store, GENERATION_NOTE, finder->info.generation + 1,
				     error);
}

/* Put the extent at @address anew: its sums from reading are new, or lost. */
static bool put_read(ExtentFinder *finder, uint64_t address, GError **error)
{
	HashStore *store = finder->pass->store;
	g_autoptr(GBytes) read = NULL;
	const Object *stored;
	DataExtent extent;
	uint64_t found;

	if (!hash_store_find_at(store, OBJECT_EXTENTS, address, &stored, error))
		return false;
	if (!stored)
		return hash_store_drop_read_sums(store, address, error);
	extent = extent_of(stored);
	if (!hash_store_get_read_sums(store, address, &found, &read, error))
		return false;
	if (read && g_bytes_get_size(read) == 0 &&
	    !hash_store_drop_read_sums(store, address, error))
		return false;
	return forget_content(finder, address, error) && put(finder, &extent, NULL, error);
}

static bool find_read(ExtentFinder *finder, GError **error)
{
	HashStore *store = finder->pass->store;
	uint64_t address;

	for (uint64_t from = 0; pass_checkpoint(finder->pass); from = address + 1) {
		if (!hash_store_next_new_read_sums(store, from, &address, error))
			return false;
		if (address == UINT64_MAX)
			return stretch_finder_finish(finder->stretches, error);
		if (!put_read(finder, address, error))
			return false;
	}

	return true;
}

/* A step finds extents that are new, or those whose files were read. */
typedef bool (*Find)(ExtentFinder *finder, GError **error);

static bool run(Pass *pass, const BtrfsInfo *info, ExtentSums *sums, Find step, GError **error)
{
	g_autoptr(BtrfsTree) tree = btrfs_tree_new(BTRFS_TREE_BUFFER_BYTES);
	g_autoptr(ExtentFingerprinter) fingerprinter = extent_fingerprinter_new(pass, info, sums);
	g_autoptr(ExtentRefcount) refcount = extent_refcount_new(pass->filesystem->fd);
	const char *state = pass->settings->state_directory;
	g_autoptr(StateFiles) own = state_files_new(pass->filesystem, state);
	g_autoptr(StretchFinder) stretches = NULL;
	ExtentFinder finder = {
		.pass = pass,
		.info = *info,
		.tree = tree,
		.fingerprinter = fingerprinter,
		.refcount = refcount,
		.own = own,
	};
	uint64_t stored;

	if (!hash_store_count_objects(pass->store, &stored, error))
		return false;
	finder.stretches = stretches = stretch_finder_new(pass, info, fingerprinter, stored == 0);
	return step(&finder, error);
}

static bool find_new(ExtentFinder *finder, GError **error)
{
	HashStore *store = finder->pass->store;
	uint64_t since, looked_day;

	return hash_store_get_number(store, GENERATION_NOTE, &since, error) &&
	       hash_store_get_number(store, LOOK_NOTE, &looked_day, error) &&
	       find(finder, since, looked_day, error);
}

bool extents_find(Pass *pass, const BtrfsInfo *info, ExtentSums *sums, GError **error)
{
	return run(pass, info, sums, find_new, error);
}

bool extents_find_read(Pass *pass, const BtrfsInfo *info, ExtentSums *sums, GError **error)
{
	uint64_t address;

	if (!hash_store_next_new_read_sums(pass->store, 0, &address, error))
		return false;
	if (address == UINT64_MAX)
		return true;

	extent_sums_forget(sums);
	return run(pass, info, sums, find_read, error);
}

bool extents_find_next(Pass *pass, uint64_t *ret_since, GError **error)
{
	return hash_store_get_number(pass->store, GENERATION_NOTE, ret_since, error);
}

bool extents_find_since(Pass *pass, uint64_t since, GError **error)
{
	return hash_store_lower_number(pass->store, GENERATION_NOTE, since, error);
}

bool extents_find_anew(Pass *pass, GError **error)
{
	return extents_find_since(pass, 0, error);
}
