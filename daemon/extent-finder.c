/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/extent-finder.h"

#include "daemon/anchor-sink.h"
#include "daemon/zeros.h"
#include "hashstore/objects.h"
#include "hashstore/open-extents.h"
#include "kernel-ioctl/btrfs-items.h"
#include "kernel-ioctl/btrfs-tree.h"

#include <linux/btrfs_tree.h>

/* The transaction from which the next pass looks on, and the day of the last look at everything. */
#define GENERATION_NOTE "btrfs-generation"
#define LOOK_NOTE       "btrfs-all-looked-at"

#define LOOK_DAYS    7
#define PIECE_BLOCKS 4096

/* Old items of so many bytes to look through are worth a write, after which no pass sees them. */
#define LOOKED_THROUGH_BYTES (UINT64_C(128) << 10)

/* btrfs preallocates extents of so many bytes; written ones are half as long at most. */
#define EXTENT_BYTES_MAX (UINT64_C(256) << 20)

typedef struct {
	uint64_t bytenr;
	uint64_t length;
	uint64_t generation;
} DataExtent;

typedef struct {
	Pass *pass;
	BtrfsInfo info;
	ExtentSums *sums;
	const HashStoreAbout *about;
	BtrfsTree *tree;
	AnchorSink anchors;
	uint64_t piece[PIECE_BLOCKS];
	uint64_t looked_through_bytes; /* of items in leaves that changed */
} ExtentFinder;

static uint64_t day_of(int64_t usec)
{
	return (uint64_t)usec / G_USEC_PER_SEC / (24 * 60 * 60);
}

static bool get_number(Pass *pass, const char *name, uint64_t *ret, GError **error)
{
	g_autofree char *text = NULL;

	if (!hash_store_get_note(pass->store, name, &text, error))
		return false;
	*ret = text ? g_ascii_strtoull(text, NULL, 10) : 0;
	return true;
}

static bool set_number(Pass *pass, const char *name, uint64_t number, GError **error)
{
	g_autofree char *text = g_strdup_printf("%" G_GUINT64_FORMAT, number);

	return hash_store_set_note(pass->store, name, text, error);
}

/* Read the sums of the extent's blocks from @first on, a piece at most; *ret_n is how many. */
static bool read_piece(ExtentFinder *finder, const DataExtent *extent, uint64_t first,
		       size_t *ret_n, GError **error)
{
	uint32_t block_bytes = finder->info.sector_bytes;

	*ret_n = MIN(extent->length / block_bytes - first, PIECE_BLOCKS);
	return extent_sums_read(finder->sums, extent->bytenr + first * block_bytes, *ret_n,
				finder->piece, error);
}

/* Give ObjectSums the sums of the extent; *ret_known is how many there are. */
static bool add_sums(ExtentFinder *finder, const DataExtent *extent, ObjectSums *to,
		     const ObjectSumsSink *sink, uint64_t *ret_known, GError **error)
{
	uint64_t zeros = extent_sums_of_zeros(finder->sums);
	uint64_t blocks = extent->length / finder->info.sector_bytes;
	size_t n;

	*ret_known = 0;
	for (uint64_t first = 0; first < blocks; first += n) {
		if (!read_piece(finder, extent, first, &n, error))
			return false;

		for (size_t i = 0; i < n; i++) {
			uint64_t sum = finder->piece[i];

			*ret_known += sum != EXTENT_SUM_NONE;
			if (sum == EXTENT_SUM_NONE)
				object_sums_add_hole(to, 1, sink);
			else if (sum == zeros)
				object_sums_add_zeros(to, 1, sink);
			else
				object_sums_add(to, sum, sink);
		}
	}

	return true;
}

/* Whether the extent is open: blocks of it may get checksums, and with them a content. */
static bool note_open(ExtentFinder *finder, const DataExtent *extent, uint64_t known,
		      GError **error)
{
	HashStore *store = finder->pass->store;
	uint64_t open;

	if (known < extent->length / finder->info.sector_bytes)
		return hash_store_put_open_extent(store, extent->bytenr, error);
	if (!hash_store_next_open_extent(store, extent->bytenr, &open, error))
		return false;
	return open != extent->bytenr || hash_store_drop_open_extent(store, open, error);
}

static void leave(ExtentFinder *finder, const DataExtent *extent)
{
	skip_ledger_add(&finder->pass->result->skips, SKIP_NO_SUMS, extent->length, NULL);
}

static bool put_extent(ExtentFinder *finder, const DataExtent *extent, const ObjectSums *sums,
		       uint64_t known, uint64_t digest, GError **error)
{
	Pass *pass = finder->pass;
	Object row = {
		.id = finder->anchors.object,
		.subvolume = OBJECT_EXTENTS,
		.inode = extent->bytenr,
		.size_bytes = extent->length,
		.ctime_nsec = (int64_t)extent->generation,
		.mtime_nsec = (int64_t)known,
		.state = known > 0 ? OBJECT_DONE : OBJECT_SKIPPED,
		.skip_reason = SKIP_NO_SUMS,
		.digest = digest,
	};
	Anchor whole = { digest, row.id, ANCHOR_WHOLE_BLOCK };

	if (sums->n_data > 0 && !hash_store_put_anchor(pass->store, &whole, error))
		return false;
	if (known > 0) {
		pass->result->files.read++;
	} else {
		pass->result->files.set_aside++;
		leave(finder, extent);
	}

	return hash_store_put(pass->store, &row, error) && note_open(finder, extent, known, error);
}

static bool fingerprint_extent(ExtentFinder *finder, const DataExtent *extent, GError **error)
{
	Pass *pass = finder->pass;
	ObjectSumsSink sink = anchor_sink(&finder->anchors);
	uint32_t block_bytes = finder->info.sector_bytes;
	uint64_t known, digest;
	ObjectSums sums;

	if (!hash_store_new_object(pass->store, &finder->anchors.object, error))
		return false;

	object_sums_init(&sums, finder->about->anchor_blocks, finder->about->window_anchors,
			 MAX(ZEROS_RUN_BYTES / block_bytes, 1));
	if (!add_sums(finder, extent, &sums, &sink, &known, error))
		return false;
	digest = object_sums_finish(&sums, extent->length, &sink);
	if (!anchor_sink_take_error(&finder->anchors, error))
		return false;

	atomic_fetch_add(&pass->progress->done_bytes, extent->length);
	return put_extent(finder, extent, &sums, known, digest, error);
}

/* The blocks of the extent that have a checksum now. */
static bool count_known(ExtentFinder *finder, const DataExtent *extent, uint64_t *ret,
			GError **error)
{
	uint64_t blocks = extent->length / finder->info.sector_bytes;
	size_t n;

	*ret = 0;
	for (uint64_t first = 0; first < blocks; first += n) {
		if (!read_piece(finder, extent, first, &n, error))
			return false;
		for (size_t i = 0; i < n; i++)
			*ret += finder->piece[i] != EXTENT_SUM_NONE;
	}

	return true;
}

/* Look at an extent that is there, beside what the store has of it (NULL: nothing). */
static bool look_at(ExtentFinder *finder, const DataExtent *extent, const Object *stored,
		    GError **error)
{
	PassResult *result = finder->pass->result;
	uint64_t blocks = extent->length / finder->info.sector_bytes;
	uint64_t known;

	if (stored && stored->size_bytes == extent->length &&
	    (uint64_t)stored->ctime_nsec == extent->generation) {
		known = (uint64_t)stored->mtime_nsec;
		if (known < blocks && !count_known(finder, extent, &known, error))
			return false;
		if (known == (uint64_t)stored->mtime_nsec) {
			result->files.unchanged++;
			if (known == 0)
				leave(finder, extent);
			return true;
		}
	}

	result->files.changed += stored != NULL;
	result->files.new += stored == NULL;
	return fingerprint_extent(finder, extent, error) &&
	       pass_commit_when_due(finder->pass, error);
}

static bool next_item(ExtentFinder *finder, const BtrfsTreeItem **ret, GError **error)
{
	if (!btrfs_tree_next(finder->tree, ret, error))
		return false;
	if (*ret)
		finder->looked_through_bytes += (*ret)->length;
	return true;
}

/* The next data extent of the search in hand; *ret_found is false at the end. */
static bool next_extent(ExtentFinder *finder, DataExtent *ret, bool *ret_found, GError **error)
{
	for (;;) {
		const BtrfsTreeItem *item;
		BtrfsExtentItem extent;

		*ret_found = false;
		if (!next_item(finder, &item, error))
			return false;
		if (!item)
			return true;

		if (!btrfs_extent_item_read(item->data, item->length, &extent)) {
			g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL,
				    "the extent item at %" G_GUINT64_FORMAT " is not valid",
				    item->key.objectid);
			return false;
		}
		if (!extent.is_data)
			continue;

		*ret = (DataExtent){ item->key.objectid, item->key.offset, extent.generation };
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

/* The next stored extent; NULL when only files follow. */
static bool next_stored(ObjectCursor *cursor, const Object **ret, GError **error)
{
	if (!object_cursor_next(cursor, ret, error))
		return false;
	if (*ret && (*ret)->subvolume != OBJECT_EXTENTS)
		*ret = NULL;
	return true;
}

static bool forget(ExtentFinder *finder, const Object *stored, GError **error)
{
	finder->pass->result->files.gone++;
	return hash_store_drop_extent(finder->pass->store, stored->inode, error);
}

/* All extents, merged with all that are stored: those that are gone are forgotten. */
static bool look_at_all(ExtentFinder *finder, GError **error)
{
	g_autoptr(ObjectCursor) cursor = object_cursor_open(finder->pass->store, error);
	const Object *stored;
	DataExtent extent;
	bool found;

	if (!cursor || !next_stored(cursor, &stored, error))
		return false;

	search_extents(finder, 0);
	while (pass_may_continue(finder->pass)) {
		if (!next_extent(finder, &extent, &found, error))
			return false;
		while (stored && (!found || stored->inode < extent.bytenr))
			if (!forget(finder, stored, error) || !next_stored(cursor, &stored, error))
				return false;
		if (!found)
			break;

		atomic_fetch_add(&finder->pass->progress->files, 1);
		finder->pass->result->files.seen++;
		if (stored && stored->inode == extent.bytenr) {
			if (!look_at(finder, &extent, stored, error) ||
			    !next_stored(cursor, &stored, error))
				return false;
		} else if (!look_at(finder, &extent, NULL, error)) {
			return false;
		}
	}

	return true;
}

static bool look_at_stored(ExtentFinder *finder, const DataExtent *extent, GError **error)
{
	const Object *stored;

	return hash_store_find_at(finder->pass->store, OBJECT_EXTENTS, extent->bytenr, &stored,
				  error) &&
	       look_at(finder, extent, stored, error);
}

/* Extents that were allocated since. */
static bool look_at_new(ExtentFinder *finder, uint64_t since, GError **error)
{
	DataExtent extent;
	bool found;

	search_extents(finder, since);
	while (pass_may_continue(finder->pass)) {
		if (!next_extent(finder, &extent, &found, error))
			return false;
		if (!found)
			break;

		/* The others of the leaf. */
		if (extent.generation < since)
			continue;
		atomic_fetch_add(&finder->pass->progress->files, 1);
		if (!look_at_stored(finder, &extent, error))
			return false;
	}

	return true;
}

/* The open extent at @address as it is stored: its stamp cannot have changed but for the sums. */
static bool look_at_open(ExtentFinder *finder, uint64_t address, GError **error)
{
	const Object *stored;
	DataExtent extent;

	if (!hash_store_find_at(finder->pass->store, OBJECT_EXTENTS, address, &stored, error))
		return false;
	if (!stored)
		return hash_store_drop_open_extent(finder->pass->store, address, error);

	extent = (DataExtent){ address, stored->size_bytes, (uint64_t)stored->ctime_nsec };
	return look_at(finder, &extent, stored, error);
}

/* Open extents whose checksums may lie in the leaves of the checksum tree that changed since. */
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
	while (pass_may_continue(finder->pass)) {
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

/* A generation that went on with little to look through and nothing new is not worth a write. */
static bool is_worth_a_write(const ExtentFinder *finder)
{
	const PassResult *result = finder->pass->result;

	return result->files.read + result->files.set_aside + result->files.gone > 0 ||
	       finder->looked_through_bytes >= LOOKED_THROUGH_BYTES;
}

static bool find(ExtentFinder *finder, uint64_t since, uint64_t looked_day, GError **error)
{
	Pass *pass = finder->pass;
	uint64_t today = day_of(g_get_real_time());
	bool all = since == 0 || since > finder->info.generation + 1 ||
		   today >= looked_day + LOOK_DAYS;
	uint64_t stored;

	if (all) {
		if (!look_at_all(finder, error))
			return false;
	} else if (!look_at_new(finder, since, error) || !look_at_opened(finder, since, error)) {
		return false;
	}
	if (!pass_may_continue(pass))
		return true;

	if (!all) {
		if (!hash_store_count_objects(pass->store, &stored, error))
			return false;
		pass->result->files.seen = stored;
		pass->result->files.unchanged =
			stored - pass->result->files.new - pass->result->files.changed;
	}
	if (all && !set_number(pass, LOOK_NOTE, today, error))
		return false;
	return !(all || is_worth_a_write(finder)) ||
	       set_number(pass, GENERATION_NOTE, finder->info.generation + 1, error);
}

bool extents_find(Pass *pass, const BtrfsInfo *info, ExtentSums *sums, GError **error)
{
	g_autoptr(BtrfsTree) tree = btrfs_tree_new(BTRFS_TREE_BUFFER_BYTES);
	g_autofree ExtentFinder *finder = g_new0(ExtentFinder, 1);
	uint64_t since, looked_day;

	finder->pass = pass;
	finder->info = *info;
	finder->sums = sums;
	finder->about = hash_store_about(pass->store);
	finder->tree = tree;
	finder->anchors.store = pass->store;

	return get_number(pass, GENERATION_NOTE, &since, error) &&
	       get_number(pass, LOOK_NOTE, &looked_day, error) &&
	       find(finder, since, looked_day, error);
}

bool extents_find_anew(Pass *pass, GError **error)
{
	return set_number(pass, GENERATION_NOTE, 0, error);
}
