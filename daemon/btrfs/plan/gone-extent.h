/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/btrfs/plan/extent-queue.h"
#include "daemon/context/object-table.h"
#include "daemon/context/pass.h"

/*
 * Forget a data extent of btrfs that is gone, in the store and among the deferred extents.
 *
 * Thread: the filesystem's worker.
 */

/* Somebody else freed @extent, or moved its data, since the pass found it. */
bool gone_extent_forget(Pass *pass, ObjectTable *table, const Object *extent, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* The pass shared all of @planned away, and nothing shows it any more: btrfs gives it back. */
bool gone_extent_note_freed(Pass *pass, ObjectTable *table, PlannedTarget *planned, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
