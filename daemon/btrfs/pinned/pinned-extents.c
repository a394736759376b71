/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/pinned/pinned-extents.h"

#include "daemon/btrfs/pinned/deferred-extents.h"
#include "daemon/btrfs/pinned/pin-watch.h"
#include "daemon/context/compare-uint64.h"
#include "hashstore/objects/objects.h"
#include "kernel-ioctl/btrfs/btrfs-items.h"
#include "kernel-ioctl/btrfs/btrfs-subvolumes.h"
#include "kernel-ioctl/btrfs/btrfs-tree.h"

/*
 * The number of subvolumes, and the newest id, when an extent was last found to have too many references or to be
 * too costly.  Ids are never used again, so fewer of them mean that one is gone.
 */
#define SUBVOLUMES_NOTE "btrfs-pinned-subvolumes"
#define NEWEST_NOTE     "btrfs-pinned-newest-subvolume"

/*
 * A range of ids.  A pass gave them to extents that an earlier pass had pinned, to plan these again.  If that pass was
 * stopped, they are not settled.
 */
#define AGAIN_FIRST_NOTE "btrfs-planned-again-from"
#define AGAIN_END_NOTE   "btrfs-planned-again-below"

/* Limit of the sources of pinned extents that are planned once more in a pass. */
#define REPLANNED_MAX (UINT32_C(1) << 17)

struct PinnedExtents {
	Pass *pass;
	PinWatch *watch;
	BtrfsTree *tree;
	GHashTable *over;      /* addresses */
	GHashTable *replanned; /* address -> marks of others (uint64_t), of this pass */
	GHashTable *later;     /* the same of those that wait */
	GHashTable *old;   /* addresses: pinned by an earlier pass, and planned again in this one */
	GHashTable *own;   /* addresses: pinned for themselves before they are planned again */
	uint32_t first_id; /* of objects that this pass adds or renews */
	uint64_t again_first; /* of the range that an earlier pass noted */
	uint64_t again_end;
	PinnedExtent next; /* the first at the address seen last, or behind it */
	bool has_next;
	bool is_begun;  /* one was seen since they were renewed */
	bool is_again;  /* they were renewed before, in this pass */
	bool has_noted; /* the subvolumes, in this pass */
	bool are_all;   /* all are planned again, in this pass */
};

PinnedExtents *pinned_extents_new(Pass *pass)
{
	PinnedExtents *pinned = g_new0(PinnedExtents, 1);

	pinned->pass = pass;
	pinned->watch = pin_watch_new(pass);
	pinned->first_id = hash_store_next_object(pass->store);
	pinned->tree = btrfs_tree_new(BTRFS_TREE_BUFFER_BYTES);
	pinned->over = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	pinned->replanned = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
	pinned->later = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
	pinned->old = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	pinned->own = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	return pinned;
}

void pinned_extents_free(PinnedExtents *pinned)
{
	if (!pinned)
		return;

	pin_watch_free(pinned->watch);
	btrfs_tree_free(pinned->tree);
	g_hash_table_unref(pinned->over);
	g_hash_table_unref(pinned->replanned);
	g_hash_table_unref(pinned->later);
	g_hash_table_unref(pinned->own);
	g_hash_table_unref(pinned->old);
	g_free(pinned);
}

void pinned_extents_reopen(PinnedExtents *pinned, uint64_t address)
{
	g_hash_table_add(pinned->over, g_memdup2(&address, sizeof(address)));
}

bool pinned_extents_replan(PinnedExtents *pinned, uint64_t address, uint64_t others)
{
	uint64_t *known = g_hash_table_lookup(pinned->replanned, &address);

	if (!known && g_hash_table_size(pinned->replanned) >= REPLANNED_MAX)
		return false;
	if (!known) {
		known = g_new0(uint64_t, 1);
		g_hash_table_insert(pinned->replanned, g_memdup2(&address, sizeof(address)), known);
	}
	if (!(others & ~*known))
		return false;

	*known |= others;
	pinned_extents_reopen(pinned, address);
	return true;
}

void pinned_extents_replan_later(PinnedExtents *pinned, uint64_t address, uint64_t others)
{
	if (g_hash_table_size(pinned->later) < REPLANNED_MAX)
		g_hash_table_insert(pinned->later, g_memdup2(&address, sizeof(address)),
				    g_memdup2(&others, sizeof(others)));
}

uint64_t pinned_extents_replan_waiting(PinnedExtents *pinned)
{
	GHashTableIter iterator;
	gpointer address, others;
	uint64_t n = 0;

	g_hash_table_iter_init(&iterator, pinned->later);
	while (g_hash_table_iter_next(&iterator, &address, &others))
		n += pinned_extents_replan(pinned, *(const uint64_t *)address,
					   *(const uint64_t *)others);

	g_hash_table_remove_all(pinned->later);
	return n;
}

bool pinned_extents_was_replanned(const PinnedExtents *pinned, uint64_t address)
{
	return g_hash_table_contains(pinned->replanned, &address);
}

bool pinned_extents_is_old(const PinnedExtents *pinned, const Object *extent)
{
	bool was_left = extent->id >= pinned->again_first && extent->id < pinned->again_end &&
			extent->id >= hash_store_settled_below(pinned->pass->store);

	return was_left || g_hash_table_contains(pinned->old, &extent->inode);
}

bool pinned_extents_is_untouched(const PinnedExtents *pinned, const Object *extent)
{
	return extent->id < pinned->first_id;
}

static bool check(PinnedExtents *pinned, const PinnedExtent *row, GError **error)
{
	bool is_over;

	if (row->holders > 0
		    ? !deferred_extents_check(pinned->pass->btrfs.deferred, row, &is_over, error)
		    : !pin_watch_is_over(pinned->watch, row, &is_over, error))
		return false;
	if (is_over)
		pinned_extents_reopen(pinned, row->extent.address);
	return true;
}

bool pinned_extents_check_at(PinnedExtents *pinned, uint64_t address, uint64_t refs, GError **error)
{
	if (!pinned->is_begun || (pinned->has_next && pinned->next.extent.address < address)) {
		pinned->is_begun = true;
		if (!hash_store_next_pinned(pinned->pass->store, address, &pinned->next,
					    &pinned->has_next, error))
			return false;
	}
	if (!pinned->has_next || pinned->next.extent.address != address)
		return true;

	/* A deferred extent is looked at when the newest of its snapshots is gone. */
	if (pinned->next.holders > 0)
		return true;
	/* Counting the places of an extent takes the kernel long.  Others change them, so once per pass is enough. */
	if (pinned->is_again && pin_watch_counts_places(pinned->next.cause))
		return true;
	/* Each reference of the item is at least one place, so they need not be counted. */
	return (pinned->next.cause == PIN_TOO_COSTLY && refs > pinned->next.affordable_places) ||
	       check(pinned, &pinned->next, error);
}

/* Check all extents that one file keeps. */
static bool check_file(PinnedExtents *pinned, uint64_t root, uint64_t inode, GError **error)
{
	PinnedExtent row = { 0 };
	bool found = true;

	while (pass_checkpoint(pinned->pass)) {
		if (!hash_store_next_pinned_by(pinned->pass->store, root, inode, row.extent.address,
					       &row, &found, error))
			return false;
		if (!found)
			break;
		if (!check(pinned, &row, error))
			return false;
		row.extent.address++;
	}

	return true;
}

/* The same for all files of a subvolume. */
static bool check_subvolume(PinnedExtents *pinned, uint64_t root, GError **error)
{
	uint64_t inode = 0;

	while (pass_checkpoint(pinned->pass)) {
		if (!hash_store_next_pinning_inode(pinned->pass->store, root, inode, &inode, error))
			return false;
		if (inode == UINT64_MAX)
			break;
		if (!check_file(pinned, root, inode, error))
			return false;
		inode++;
	}

	return true;
}

/*
 * Check files of a subvolume that changed and keep extents.  A removed file is not seen here: the items of its
 * extents have changed.
 */
static bool check_changed_files(PinnedExtents *pinned, uint64_t root, uint64_t since,
				uint64_t *looked_through_bytes, GError **error)
{
	HashStore *store = pinned->pass->store;
	BtrfsTreeRange range = {
		.tree = root,
		.last = { BTRFS_LAST_FREE_OBJECTID, BTRFS_INODE_ITEM_KEY, 0 },
		.min_transid = since,
		.types = { BTRFS_INODE_ITEM_KEY },
	};
	uint64_t next;

	if (!hash_store_next_pinning_inode(store, root, 0, &next, error))
		return false;

	range.first.objectid = next;
	btrfs_tree_start(pinned->tree, pinned->pass->filesystem->fd, &range);
	while (next != UINT64_MAX && pass_checkpoint(pinned->pass)) {
		const BtrfsTreeItem *item;
		BtrfsInodeItem inode;

		if (!btrfs_tree_next_if_any(pinned->tree, &item, error))
			return false;
		if (!item)
			break;

		*looked_through_bytes += item->length;
		if (next < item->key.objectid &&
		    !hash_store_next_pinning_inode(store, root, item->key.objectid, &next, error))
			return false;
		if (next != item->key.objectid ||
		    !btrfs_inode_item_read(item->data, item->length, &inode) ||
		    inode.transid < since)
			continue;
		if (!check_file(pinned, root, next, error))
			return false;
	}

	return true;
}

/* Check the extents of a subvolume that is no longer read-only: that changes none of its files. */
static bool check_no_longer_read_only(PinnedExtents *pinned, uint64_t root, GError **error)
{
	uint64_t first;

	if (!hash_store_next_pinning_root_for(pinned->pass->store, PIN_READ_ONLY_SNAPSHOT, root,
					      &first, error))
		return false;
	return first != root || check_subvolume(pinned, root, error);
}

/* Check what changed in a subvolume that keeps extents. */
static bool check_root(PinnedExtents *pinned, const GArray *subvolumes, uint64_t root,
		       uint64_t since, uint64_t *looked_through_bytes, GError **error)
{
	const BtrfsSubvolume *subvolume = btrfs_subvolumes_find(subvolumes, root);

	if (!subvolume || subvolume->is_dead)
		return check_subvolume(pinned, root, error);
	if (!subvolume->is_read_only && !check_no_longer_read_only(pinned, root, error))
		return false;
	return subvolume->generation < since ||
	       check_changed_files(pinned, root, since, looked_through_bytes, error);
}

/* Check all deferred extents.  With @reopens_others, treat the causes of all others as ended. */
static bool check_deferred(PinnedExtents *pinned, bool reopens_others, GError **error)
{
	PinnedExtent row = { 0 };
	bool found = true;

	while (found && pass_checkpoint(pinned->pass)) {
		if (!hash_store_next_pinned(pinned->pass->store, row.extent.address, &row, &found,
					    error))
			return false;
		if (found && row.holders > 0 && !check(pinned, &row, error))
			return false;
		if (found && row.holders == 0 && reopens_others)
			pinned_extents_reopen(pinned, row.extent.address);
		row.extent.address++;
	}

	return true;
}

/* Check the deferred extents if one of their snapshots is no longer read-only. */
static bool check_holders(PinnedExtents *pinned, const GArray *subvolumes, GError **error)
{
	bool have_writable;

	if (!deferred_extents_have_writable(pinned->pass->btrfs.deferred, subvolumes,
					    &have_writable, error))
		return false;
	return !have_writable || check_deferred(pinned, false, error);
}

static uint64_t count_up_to(const GArray *subvolumes, uint64_t newest)
{
	uint64_t n = 0;

	for (guint i = 0; i < subvolumes->len; i++)
		n += g_array_index(subvolumes, BtrfsSubvolume, i).id <= newest;
	return n;
}

static bool note_subvolumes(PinnedExtents *pinned, GError **error)
{
	HashStore *store = pinned->pass->store;
	const GArray *subvolumes;
	uint64_t newest;

	if (pinned->has_noted)
		return true;
	if (!pin_watch_subvolumes(pinned->watch, &subvolumes, error))
		return false;

	pinned->has_noted = true;
	newest = subvolumes->len == 0
			 ? 0
			 : g_array_index(subvolumes, BtrfsSubvolume, subvolumes->len - 1).id;
	return hash_store_set_number(store, SUBVOLUMES_NOTE, subvolumes->len, error) &&
	       hash_store_set_number(store, NEWEST_NOTE, newest, error);
}

/*
 * Check extents that had too many references.  If snapshots share leaves, a snapshot that is gone changes no item
 * of the extent.
 */
static bool check_counted(PinnedExtents *pinned, const GArray *subvolumes, GError **error)
{
	HashStore *store = pinned->pass->store;
	uint64_t noted, newest;

	if (!hash_store_get_number(store, SUBVOLUMES_NOTE, &noted, error) ||
	    !hash_store_get_number(store, NEWEST_NOTE, &newest, error))
		return false;
	if (count_up_to(subvolumes, newest) >= noted)
		return true;

	return check_subvolume(pinned, 0, error) &&
	       (!pass_checkpoint(pinned->pass) || note_subvolumes(pinned, error));
}

bool pinned_extents_check_changed(PinnedExtents *pinned, uint64_t since,
				  uint64_t *looked_through_bytes, GError **error)
{
	HashStore *store = pinned->pass->store;
	const GArray *subvolumes;
	uint64_t root = 0;

	if (!hash_store_next_pinning_root(store, 0, &root, error))
		return false;
	if (root == UINT64_MAX)
		return true;
	if (!pin_watch_subvolumes(pinned->watch, &subvolumes, error) ||
	    !check_holders(pinned, subvolumes, error) ||
	    (root == 0 && !check_counted(pinned, subvolumes, error)))
		return false;

	root = MAX(root, 1);
	while (pass_checkpoint(pinned->pass)) {
		if (!hash_store_next_pinning_root(store, root, &root, error))
			return false;
		if (root == UINT64_MAX)
			break;
		if (!check_root(pinned, subvolumes, root, since, looked_through_bytes, error))
			return false;
		root++;
	}

	return true;
}

bool pinned_extents_reopen_all(PinnedExtents *pinned, GError **error)
{
	pinned->are_all = true;
	return check_deferred(pinned, true, error);
}

GArray *pinned_extents_list_over(const PinnedExtents *pinned)
{
	GArray *addresses = g_array_new(false, false, sizeof(uint64_t));
	GHashTableIter iterator;
	gpointer address;

	g_hash_table_iter_init(&iterator, pinned->over);
	while (g_hash_table_iter_next(&iterator, &address, NULL))
		g_array_append_vals(addresses, address, 1);
	return addresses;
}

/* Ids of settled objects that get new ones. */
typedef struct {
	GHashTable *others;
	GHashTable *old; /* extents as pinned_extents_is_old() */
} Renewals;

static void add_settled(PinnedExtents *pinned, GHashTable *objects, const Object *object)
{
	if (object && object->state == OBJECT_DONE &&
	    object->id < hash_store_settled_below(pinned->pass->store))
		g_hash_table_add(objects, GUINT_TO_POINTER(object->id));
}

/* Forget that the extent at @address is pinned; add it and its stretch to @renewals. */
static bool take(PinnedExtents *pinned, uint64_t address, const Renewals *renewals, GError **error)
{
	HashStore *store = pinned->pass->store;
	const Object *found;
	PinnedExtent row;
	bool is_pinned, is_old;

	if (!hash_store_find_pinned(store, address, &row, &is_pinned, error) ||
	    !deferred_extents_take(pinned->pass->btrfs.deferred, address, error) ||
	    !hash_store_drop_pinned(store, address, error) ||
	    !hash_store_find_at(store, OBJECT_EXTENTS, address, &found, error))
		return false;

	is_old = !pinned->are_all && is_pinned && row.holders == 0 && found &&
		 pinned_extents_is_untouched(pinned, found);
	if (is_old)
		g_hash_table_add(pinned->old, g_memdup2(&address, sizeof(address)));
	if (is_pinned && !row.is_source)
		g_hash_table_add(pinned->own, g_memdup2(&address, sizeof(address)));
	add_settled(pinned, is_old ? renewals->old : renewals->others, found);
	if (!found || found->parent == 0)
		return true;
	if (!hash_store_find_at(store, OBJECT_STRETCHES, found->parent, &found, error))
		return false;
	add_settled(pinned, renewals->others, found);
	return true;
}

static int compare_ids(const void *a, const void *b)
{
	return compare_uint64(*(const uint32_t *)a, *(const uint32_t *)b);
}

/* Append the keys of @objects to @ids, in order. */
static void list_ids(GArray *ids, GHashTable *objects)
{
	guint first = ids->len;
	GHashTableIter iterator;
	gpointer key;

	g_hash_table_iter_init(&iterator, objects);
	while (g_hash_table_iter_next(&iterator, &key, NULL)) {
		uint32_t id = GPOINTER_TO_UINT(key);

		g_array_append_val(ids, id);
	}

	if (ids->len > first)
		qsort(&g_array_index(ids, uint32_t, first), ids->len - first, sizeof(uint32_t),
		      compare_ids);
}

/* Begin with the first search of the pass.  If that plans all extents again, all are like new. */
static bool begin(PinnedExtents *pinned, GError **error)
{
	HashStore *store = pinned->pass->store;

	pinned->are_all |= hash_store_settled_below(store) == 1;
	return pinned->are_all ||
	       (hash_store_get_number(store, AGAIN_FIRST_NOTE, &pinned->again_first, error) &&
		hash_store_get_number(store, AGAIN_END_NOTE, &pinned->again_end, error));
}

/* Note the last @n ids as those that a pass which is stopped now leaves to the next one. */
static bool note_again(PinnedExtents *pinned, uint32_t n, bool is_again, GError **error)
{
	HashStore *store = pinned->pass->store;
	uint32_t end = hash_store_next_object(store);

	/* The range of an earlier pass counts until it is settled. */
	if (n == 0 || (!is_again && pinned->again_end > hash_store_settled_below(store)))
		return true;

	return hash_store_set_number(store, AGAIN_FIRST_NOTE, end - n, error) &&
	       hash_store_set_number(store, AGAIN_END_NOTE, end, error);
}

/* Each group keeps its order, which decides about sources.  The old ones come last, as a range of ids. */
static bool renew(PinnedExtents *pinned, const Renewals *renewals, bool is_again, GError **error)
{
	g_autoptr(GArray) ids = g_array_new(false, false, sizeof(uint32_t));
	HashStore *store = pinned->pass->store;
	uint32_t first = hash_store_next_object(store);

	list_ids(ids, renewals->others);
	list_ids(ids, renewals->old);
	if (!hash_store_renew(store, (const uint32_t *)(void *)ids->data, ids->len, error))
		return false;

	/* A request to stop has undone it. */
	return hash_store_next_object(store) != first + ids->len ||
	       note_again(pinned, g_hash_table_size(renewals->old), is_again, error);
}

bool pinned_extents_renew(PinnedExtents *pinned, uint64_t *ret_n, GError **error)
{
	g_autoptr(GHashTable) others = g_hash_table_new(NULL, NULL);
	g_autoptr(GHashTable) old = g_hash_table_new(NULL, NULL);
	const Renewals renewals = { others, old };
	bool is_again = pinned->is_again;
	GHashTableIter iterator;
	gpointer address;

	if (!is_again && !begin(pinned, error))
		return false;
	pinned->is_begun = false;
	pinned->is_again = true;
	*ret_n = g_hash_table_size(pinned->over);
	g_hash_table_iter_init(&iterator, pinned->over);
	while (g_hash_table_iter_next(&iterator, &address, NULL))
		if (!take(pinned, *(const uint64_t *)address, &renewals, error))
			return false;

	g_hash_table_remove_all(pinned->over);
	return renew(pinned, &renewals, is_again, error);
}

static void count(PinnedExtents *pinned, const Object *extent, const ExtentPin *pin)
{
	PinLedger *pins = &pinned->pass->result->pins;
	g_autofree char *path = NULL;

	if (pin->place.root != 0 && pin_ledger_wants_example(pins, pin->cause))
		path = extent_scope_path(pinned->pass->btrfs.scope, &pin->place);
	pin_ledger_add(pins, pin->cause, extent->size_bytes, pin->uncovered_bytes, pin->places,
		       path);
}

/*
 * Prepare to store @row instead of the known one; *ret: that is deferred, so it stays.  An extent that was pinned for
 * itself is no mere source later.
 */
static bool is_deferred(PinnedExtents *pinned, PinnedExtent *row, bool *ret, GError **error)
{
	PinnedExtent known;
	bool found;

	*ret = false;
	if (!hash_store_find_pinned(pinned->pass->store, row->extent.address, &known, &found,
				    error))
		return false;
	if (!found || known.extent.generation != row->extent.generation)
		return true;

	row->is_source &= known.is_source;
	*ret = known.holders > 0;
	return true;
}

bool pinned_extents_put(PinnedExtents *pinned, const Object *extent, const ExtentPin *pin,
			bool is_news, GError **error)
{
	PinnedExtent row = pin_watch_row(extent, pin);
	bool deferred, kept;

	row.is_source = !is_news && !g_hash_table_contains(pinned->own, &extent->inode);
	if (is_news)
		count(pinned, extent, pin);
	if (pin->cause == PIN_NONE || pinned->pass->settings->dry_run)
		return true;
	if (!is_deferred(pinned, &row, &deferred, error))
		return false;
	if (deferred)
		return true;

	return hash_store_put_pinned(pinned->pass->store, &row, &kept, error) &&
	       (!pin_watch_counts_places(row.cause) || note_subvolumes(pinned, error));
}
