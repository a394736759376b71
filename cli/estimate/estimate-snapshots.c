/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/estimate/estimate-snapshots.h"

#include "kernel-ioctl/btrfs/btrfs-items.h"
#include "kernel-ioctl/btrfs/btrfs-subvolumes.h"
#include "kernel-ioctl/btrfs/btrfs-tree.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

typedef struct {
	const BtrfsSubvolume *subvolume;
	char *path;
	size_t root_bytes;
	uint64_t since; /* it may have data of its own from this transaction on; 0: all of it */
} Snapshot;

struct EstimateSnapshots {
	/* Set at creation, never changed. */
	const EstimateTask *task;
	const AddressSet *met;
	GArray *subvolumes; /* BtrfsSubvolume */
	GHashTable *outer;  /* ids of subvolumes that others lie in; they point into these */

	GArray *taken; /* Snapshot; in the order of creation when they are searched */
	/* The search. */
	BtrfsTree *tree;
	bool is_begun;
	guint next; /* in taken */
	SnapshotFile file;
};

static void snapshot_clear(void *data)
{
	Snapshot *snapshot = data;

	g_free(snapshot->path);
}

/* Write out dirty data, which is in no tree yet. */
static bool write_out(const EstimateTask *task, GError **error)
{
	if (syncfs(task->fd) == 0)
		return true;
	g_set_error(error, G_FILE_ERROR, (int)g_file_error_from_errno(errno),
		    "cannot write out the data of %s: %s", task->mount_point, g_strerror(errno));
	return false;
}

EstimateSnapshots *estimate_snapshots_new(const EstimateTask *task, const AddressSet *met,
					  GError **error)
{
	g_autoptr(EstimateSnapshots) snapshots = g_new0(EstimateSnapshots, 1);

	snapshots->task = task;
	snapshots->met = met;
	snapshots->outer = g_hash_table_new(g_int64_hash, g_int64_equal);
	snapshots->taken = g_array_new(false, false, sizeof(Snapshot));
	g_array_set_clear_func(snapshots->taken, snapshot_clear);
	snapshots->tree = btrfs_tree_new(BTRFS_TREE_BUFFER_BYTES);
	if (!write_out(task, error) ||
	    !btrfs_subvolumes_read(task->fd, &snapshots->subvolumes, error))
		return NULL;

	for (guint i = 0; i < snapshots->subvolumes->len; i++)
		g_hash_table_add(
			snapshots->outer,
			&g_array_index(snapshots->subvolumes, BtrfsSubvolume, i).parent_id);
	return g_steal_pointer(&snapshots);
}

void estimate_snapshots_free(EstimateSnapshots *snapshots)
{
	if (!snapshots)
		return;

	g_clear_pointer(&snapshots->tree, btrfs_tree_free);
	g_clear_pointer(&snapshots->taken, g_array_unref);
	g_clear_pointer(&snapshots->outer, g_hash_table_unref);
	g_clear_pointer(&snapshots->subvolumes, g_array_unref);
	g_free(snapshots);
}

/* A search would not find the subvolumes in it. */
bool estimate_snapshots_take(EstimateSnapshots *snapshots, uint64_t id, const char *path,
			     size_t root_bytes)
{
	Snapshot snapshot = {
		.subvolume = btrfs_subvolumes_find(snapshots->subvolumes, id),
		.root_bytes = root_bytes,
	};

	if (!snapshot.subvolume || !snapshot.subvolume->is_read_only ||
	    snapshot.subvolume->otransid == 0 || !fs_uuid_is_set(snapshot.subvolume->parent_uuid) ||
	    g_hash_table_contains(snapshots->outer, &id))
		return false;

	snapshot.path = g_strdup(path);
	g_array_append_val(snapshots->taken, snapshot);
	return true;
}

static int compare_creation(const void *a, const void *b)
{
	const BtrfsSubvolume *one = ((const Snapshot *)a)->subvolume;
	const BtrfsSubvolume *other = ((const Snapshot *)b)->subvolume;

	if (one->otransid != other->otransid)
		return one->otransid < other->otransid ? -1 : 1;
	return (one->id > other->id) - (one->id < other->id);
}

/*
 * An older snapshot is a base of a younger one if it has all data that the younger one has from before its own last
 * change.  Either the younger one was made from it, and it has not changed since; or both have the same source, and
 * nobody wrote to the older one.
 */
static void find_bases(EstimateSnapshots *snapshots)
{
	g_autoptr(GHashTable) by_uuid = g_hash_table_new(fs_uuid_hash, fs_uuid_equal);
	/* The newest one that nobody wrote to, by its source. */
	g_autoptr(GHashTable) untouched = g_hash_table_new(fs_uuid_hash, fs_uuid_equal);

	for (guint i = 0; i < snapshots->taken->len; i++) {
		Snapshot *snapshot = &g_array_index(snapshots->taken, Snapshot, i);
		const BtrfsSubvolume *own = snapshot->subvolume;
		const BtrfsSubvolume *source = g_hash_table_lookup(by_uuid, own->parent_uuid);
		const BtrfsSubvolume *sibling = g_hash_table_lookup(untouched, own->parent_uuid);

		if (source && source->generation <= own->otransid)
			snapshot->since = source->generation;
		if (sibling)
			snapshot->since = MAX(snapshot->since, sibling->generation);
		g_hash_table_insert(by_uuid, (void *)own->uuid, (void *)own);
		if (own->generation == own->otransid)
			g_hash_table_insert(untouched, (void *)own->parent_uuid, (void *)own);
	}
}

static void search_next(EstimateSnapshots *snapshots)
{
	const Snapshot *snapshot = &g_array_index(snapshots->taken, Snapshot, snapshots->next);
	const BtrfsTreeRange range = {
		.tree = snapshot->subvolume->id,
		.first = { BTRFS_FIRST_FREE_OBJECTID, BTRFS_EXTENT_DATA_KEY, 0 },
		.last = { BTRFS_LAST_FREE_OBJECTID, BTRFS_EXTENT_DATA_KEY, UINT64_MAX },
		.min_transid = snapshot->since,
		.types = { BTRFS_EXTENT_DATA_KEY },
	};

	snapshots->file = (SnapshotFile){
		.snapshot = snapshot->path,
		.root_bytes = snapshot->root_bytes,
		.subvolume = snapshot->subvolume->id,
	};
	btrfs_tree_start(snapshots->tree, snapshots->task->fd, &range);
	snapshots->next++;
}

/* Whether the item references a block that was not met. */
static bool is_new(const EstimateSnapshots *snapshots, const BtrfsTreeItem *item)
{
	uint64_t block = snapshots->task->identity.block_bytes;
	BtrfsFileExtentItem extent;

	if (!btrfs_file_extent_item_read(item->data, item->length, &extent) ||
	    extent.kind != BTRFS_FILE_EXTENT_IS_REGULAR || extent.bytenr == 0)
		return false;
	if (extent.is_encoded)
		return !address_set_has(snapshots->met, extent.bytenr);

	for (uint64_t i = 0; i < extent.length; i += block)
		if (!address_set_has(snapshots->met, extent.bytenr + extent.offset + i))
			return true;
	return false;
}

bool estimate_snapshots_next(EstimateSnapshots *snapshots, const SnapshotFile **ret, GError **error)
{
	const BtrfsTreeItem *item = NULL;

	if (!snapshots->is_begun) {
		g_array_sort(snapshots->taken, compare_creation);
		find_bases(snapshots);
	}
	snapshots->is_begun = true;
	*ret = NULL;
	while (estimate_goes_on(snapshots->task)) {
		if (snapshots->next > 0 && !btrfs_tree_next_if_any(snapshots->tree, &item, error))
			return false;
		if (!item && snapshots->next == snapshots->taken->len)
			return true;
		if (!item) {
			search_next(snapshots);
			continue;
		}
		/* Files that the walk left out stay left out. */
		if (item->key.objectid == snapshots->file.inode || !is_new(snapshots, item))
			continue;

		snapshots->file.inode = item->key.objectid;
		*ret = &snapshots->file;
		return true;
	}

	return true;
}
