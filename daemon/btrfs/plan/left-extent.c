/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/plan/left-extent.h"

#include "daemon/btrfs/pinned/deferred-extents.h"
#include "daemon/btrfs/plan/extent-counts.h"

bool left_extent_defer(Pass *pass, ObjectTable *table, const Object *extent, const ExtentPlan *plan,
		       GError **error)
{
	object_table_add_fact(table, extent->id, FACT_MOVED);
	if (pass->settings->dry_run) {
		extent_counts_estimate(pass, extent, plan);
		return true;
	}
	return deferred_extents_put(pass->btrfs.deferred, extent, extent_plan_holders(plan), error);
}
