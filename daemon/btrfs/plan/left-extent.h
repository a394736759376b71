/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/btrfs/plan/extent-plan.h"

/*
 * Defer @extent, for which @plan came to EXTENT_LEFT: nothing has to be shared.  It is no source any more in this pass.
 * A dry run only counts it.
 *
 * Thread: the filesystem's worker.
 */
bool left_extent_defer(Pass *pass, ObjectTable *table, const Object *extent, const ExtentPlan *plan,
		       GError **error) G_GNUC_WARN_UNUSED_RESULT;
