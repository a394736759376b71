/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/content/extent-sums.h"
#include "common/content/remainder.h"
#include "common/content/run.h"
#include "daemon/btrfs/pinned/extent-pin.h"
#include "daemon/btrfs/plan/checksum-trust.h"
#include "daemon/btrfs/plan/extent-copy.h"
#include "daemon/btrfs/plan/extent-sources.h"
#include "daemon/btrfs/refs/extent-step.h"

/*
 * ExtentPlan - how one data extent of btrfs can be freed: the source for every range, in every place that refers
 * to it.
 *
 * All or nothing: if any referenced byte cannot be shared, nothing would be freed, so there is no plan.  But
 * references from read-only snapshots may be left to their deletion (ExtentChoice).  A remainder that equals
 * nothing is copied first, if it is little beside what is freed.  The planner reads btrfs's trees only, no data.
 *
 * Thread: the filesystem's worker, never while it deduplicates.
 */
typedef struct ExtentPlan ExtentPlan;

typedef enum {
	EXTENT_PLANNED,
	EXTENT_PINNED, /* for *ret_reason */
	EXTENT_GONE,   /* nothing shows it any more */
	EXTENT_LEFT, /* others have all of it, and read-only snapshots alone show it: it is deferred */
	EXTENT_KEPT,    /* its equals are left to snapshots, so it has to stay */
	EXTENT_ALONE,   /* no file shows what equalled it: it is no duplicate any more */
	EXTENT_STOPPED, /* nothing is known, since the pass was told to stop */
} ExtentPlanOutcome;

/* All arguments are borrowed. */
ExtentPlan *extent_plan_new(Pass *pass, ExtentSums *sums, ObjectTable *table, ExtentFiles *files);
void extent_plan_free(ExtentPlan *plan);

/* Plan for @target, of which @runs (of Run) are known, in the order of the planner. */
bool extent_plan_make(ExtentPlan *plan, const Object *target, const GArray *runs,
		      ExtentPlanOutcome *ret, SkipReason *ret_reason, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/*
 * The same without what read-only snapshots show, if they are all that makes sharing @target cost more metadata
 * than it frees (SKIP_METADATA): it is freed when they are deleted.  *ret stays as it is where that is not so.
 */
bool extent_plan_defer(ExtentPlan *plan, const Object *target, const GArray *runs,
		       ExtentPlanOutcome *ret, SkipReason *ret_reason, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Something was shared: forget what was read of files. */
void extent_plan_note_sharing(ExtentPlan *plan);

/*
 * Whether what the plan would free is worth what it does to files and to metadata: else the target is
 * pinned.  A plan that is to be done has to be judged, once.
 */
void extent_plan_judge(ExtentPlan *plan, ExtentPlanOutcome *ret, SkipReason *ret_reason);

/*
 * The steps (ExtentStep) of the last plan.  Those from a copy come last: when a source turns out to differ,
 * nothing is kept yet that was copied in vain.
 */
const GArray *extent_plan_steps(const ExtentPlan *plan);

/*
 * The read-only subvolumes (uint64_t: ids, ascending) that hold the target also when all steps are done: it
 * is freed when these are deleted.  Empty: it is freed at once.
 */
const GArray *extent_plan_holders(const ExtentPlan *plan);

/* The bytes to compare, on both sides, to share all places of a target that costs too much. */
uint64_t extent_plan_costly_bytes(const ExtentPlan *plan);

/* The bytes to write for it. */
uint64_t extent_plan_rest_bytes(const ExtentPlan *plan);

/*
 * The part of the pass's account that it claimed when it was judged; to be given back if it comes to nothing.
 */
RemainderClaim extent_plan_claim(const ExtentPlan *plan);

/* The parts of its copy (CopyPart); empty if it needs none. */
const GArray *extent_plan_parts(const ExtentPlan *plan);

/* Ids (uint32_t) of its sources: they are to stay, also if their own turn as targets would come later. */
const GArray *extent_plan_locked(const ExtentPlan *plan);

/* Ids (uint32_t) of sources that it did without, as they are to be shared away themselves. */
const GArray *extent_plan_moved(const ExtentPlan *plan);

/*
 * A place of the last target to name for what came of it: the one that keeps the target, if one does;
 * NULL if none is known.
 */
const ExtentRef *extent_plan_blamed(const ExtentPlan *plan);

/* Why the last target is pinned; PIN_NONE where *ret_reason says all there is to say. */
const ExtentPin *extent_plan_pin(const ExtentPlan *plan);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(ExtentPlan, extent_plan_free)
