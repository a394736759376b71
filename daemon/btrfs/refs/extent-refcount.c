/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/refs/extent-refcount.h"

#include "kernel-ioctl/btrfs/btrfs-subvolumes.h"

#include <string.h>

/* A subvolume.  It has extents up to transaction @until in common with a snapshot. */
typedef struct {
	uint64_t id;
	uint8_t uuid[FS_UUID_BYTES];
	uint64_t until; /* transaction; 0: it has no snapshots */
} Common;

struct ExtentRefcount {
	int fd;
	GHashTable *by_id;   /* Common; NULL: not looked at yet */
	GHashTable *by_uuid; /* the same */
};

ExtentRefcount *extent_refcount_new(int fd)
{
	ExtentRefcount *refcount = g_new0(ExtentRefcount, 1);

	refcount->fd = fd;
	return refcount;
}

void extent_refcount_free(ExtentRefcount *refcount)
{
	if (!refcount)
		return;

	g_clear_pointer(&refcount->by_uuid, g_hash_table_unref);
	g_clear_pointer(&refcount->by_id, g_hash_table_unref);
	g_free(refcount);
}

static void add(ExtentRefcount *refcount, const BtrfsSubvolume *subvolume)
{
	Common *common = g_new0(Common, 1);

	common->id = subvolume->id;
	memcpy(common->uuid, subvolume->uuid, sizeof(common->uuid));
	g_hash_table_insert(refcount->by_id, &common->id, common);
	g_hash_table_insert(refcount->by_uuid, common->uuid, common);
}

/* A snapshot and its origin have in common what existed when it was made. */
static void join(ExtentRefcount *refcount, const BtrfsSubvolume *snapshot)
{
	Common *own = g_hash_table_lookup(refcount->by_id, &snapshot->id);
	Common *origin = g_hash_table_lookup(refcount->by_uuid, snapshot->parent_uuid);

	if (!fs_uuid_is_set(snapshot->parent_uuid))
		return;

	own->until = MAX(own->until, snapshot->otransid);
	if (origin)
		origin->until = MAX(origin->until, snapshot->otransid);
}

static bool look(ExtentRefcount *refcount, GError **error)
{
	g_autoptr(GArray) all = NULL;

	if (!btrfs_subvolumes_read(refcount->fd, &all, error))
		return false;

	refcount->by_id = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, g_free);
	refcount->by_uuid = g_hash_table_new(fs_uuid_hash, fs_uuid_equal);
	for (guint i = 0; i < all->len; i++)
		add(refcount, &g_array_index(all, BtrfsSubvolume, i));
	for (guint i = 0; i < all->len; i++)
		join(refcount, &g_array_index(all, BtrfsSubvolume, i));
	return true;
}

/*
 * The only file that references the extent by its item, possibly with several pieces; its root is 0 if there are
 * others, or the item does not tell.
 */
static BtrfsExtentRef only_file(const BtrfsExtentItem *item)
{
	static const BtrfsExtentRef none;
	const BtrfsExtentRef *ref;
	BtrfsExtentRefs refs;

	btrfs_extent_refs_start(&refs, item);
	if (!btrfs_extent_refs_next(&refs, &ref) || !ref || ref->kind != BTRFS_EXTENT_REF_FILE ||
	    ref->count != item->refs)
		return none;

	return *ref;
}

bool extent_refcount_is_shared(ExtentRefcount *refcount, const BtrfsExtentItem *item, bool *ret,
			       GError **error)
{
	BtrfsExtentRef only = only_file(item);
	const Common *common;

	*ret = true;
	if (only.root == 0)
		return true;
	if (!refcount->by_id && !look(refcount, error))
		return false;

	common = g_hash_table_lookup(refcount->by_id, &only.root);
	*ret = common && item->generation <= common->until;
	return true;
}
