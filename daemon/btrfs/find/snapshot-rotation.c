/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/find/snapshot-rotation.h"

#include "common/system/look-day.h"
#include "kernel-ioctl/btrfs/btrfs-subvolumes.h"

#define COUNT_NOTE   "btrfs-snapshots"
#define NEWEST_NOTE  "btrfs-newest-snapshot"
#define DELETED_NOTE "btrfs-snapshot-deleted-day"

#define ROTATING_DAYS 60

/* How many read-only subvolumes there are up to @newest, and the id of the last of all. */
typedef struct {
	uint64_t count;
	uint64_t newest;
} Snapshots;

static Snapshots count_snapshots(const GArray *all, uint64_t newest)
{
	Snapshots snapshots = { 0 };

	for (guint i = 0; i < all->len; i++) {
		const BtrfsSubvolume *one = &g_array_index(all, BtrfsSubvolume, i);

		if (!one->is_read_only || one->is_dead)
			continue;
		snapshots.count += one->id <= newest;
		snapshots.newest = MAX(snapshots.newest, one->id);
	}

	return snapshots;
}

static bool note(Pass *pass, const char *name, uint64_t known, uint64_t now, GError **error)
{
	return known == now || pass->settings->dry_run ||
	       hash_store_set_number(pass->store, name, now, error);
}

bool snapshot_rotation_look(Pass *pass, GError **error)
{
	HashStore *store = pass->store;
	g_autoptr(GArray) all = NULL;
	uint64_t count, newest, deleted_day, day;
	Snapshots known, now;

	if (!hash_store_get_number(store, COUNT_NOTE, &count, error) ||
	    !hash_store_get_number(store, NEWEST_NOTE, &newest, error) ||
	    !hash_store_get_number(store, DELETED_NOTE, &deleted_day, error) ||
	    !btrfs_subvolumes_read(pass->filesystem->fd, &all, error))
		return false;

	known = count_snapshots(all, newest);
	now = count_snapshots(all, UINT64_MAX);
	day = known.count < count ? pass_day(pass) : deleted_day;
	pass->btrfs.snapshots_rotate =
		day > 0 && !look_day_is_due(day, pass_day(pass), ROTATING_DAYS + 1);

	return note(pass, COUNT_NOTE, count, now.count, error) &&
	       note(pass, NEWEST_NOTE, newest, now.newest, error) &&
	       note(pass, DELETED_NOTE, deleted_day, day, error);
}
