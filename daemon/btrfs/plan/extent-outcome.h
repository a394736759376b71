/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/btrfs/plan/extent-plan.h"
#include "daemon/btrfs/plan/extent-queue.h"
#include "daemon/context/object-table.h"
#include "daemon/context/pass.h"

/*
 * Record what became of an extent of btrfs: in the result and the progress of the pass, in the store, and among
 * the deferred extents.
 *
 * Thread: the filesystem's worker.
 */

/* @bytes were shared; @is_run: they end a range that was planned as one. */
void extent_outcome_note_shared(Pass *pass, uint64_t bytes, bool is_run);

/*
 * @bytes were written to free an extent, even if it was not freed after all.  @is_deferred: it is freed when
 * snapshots are deleted.
 */
void extent_outcome_note_rewritten(Pass *pass, uint64_t bytes, bool is_deferred);

/* Another process freed @extent, or moved its data, since the pass found it. */
bool extent_outcome_note_gone(Pass *pass, ObjectTable *table, const Object *extent, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* The pass shared all of @planned away, and no file references it any more: btrfs frees it. */
bool extent_outcome_note_freed(Pass *pass, ObjectTable *table, PlannedTarget *planned,
			       GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * @target is skipped for @reason; @place is where, or NULL.  If the reason may pass, the next pass tries
 * again.
 */
void extent_outcome_note_skipped(Pass *pass, const Object *target, SkipReason reason,
				 const ExtentRef *place);

/* In a dry run: the expected effect of @plan. */
void extent_outcome_estimate(Pass *pass, ObjectTable *table, const Object *extent,
			     const ExtentPlan *plan);
