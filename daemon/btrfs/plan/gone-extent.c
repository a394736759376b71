/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/plan/gone-extent.h"

#include "daemon/btrfs/pinned/deferred-extents.h"
#include "daemon/btrfs/plan/extent-counts.h"
#include "hashstore/objects/open-extents.h"

static bool drop(Pass *pass, ObjectTable *table, const Object *extent, GError **error)
{
	object_table_remove_fact(table, extent->id, FACT_LIVE);
	return hash_store_drop_extent(pass->store, extent->inode, error);
}

bool gone_extent_forget(Pass *pass, ObjectTable *table, const Object *extent, GError **error)
{
	pass->result->files.gone++;
	return deferred_extents_lose(pass->btrfs.deferred, extent->inode, error) &&
	       drop(pass, table, extent, error);
}

bool gone_extent_note_freed(Pass *pass, ObjectTable *table, PlannedTarget *planned, GError **error)
{
	planned->claim = (RemainderClaim){ 0 };
	if (!deferred_extents_take(pass->btrfs.deferred, planned->extent.inode, error))
		return false;
	extent_counts_add_freed(pass, &planned->extent, planned->steps);
	return drop(pass, table, &planned->extent, error);
}
