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
 * ExtentPlan - how one data extent of btrfs can be freed: the source for every range of every reference.
 *
 * All or nothing: if any referenced byte cannot be shared, nothing is freed, so there is no plan.  But references
 * from read-only snapshots may be left to the deletion of these (RefChoice).  A remainder that equals nothing is
 * copied first, if it is small compared with the gain.  ExtentPlan reads only btrfs's trees, no data.
 *
 * Thread: the filesystem's worker, never while it deduplicates.
 */
typedef struct ExtentPlan ExtentPlan;

typedef enum {
	EXTENT_PLANNED,
	EXTENT_PINNED,  /* for *ret_reason */
	EXTENT_GONE,    /* no file references it any more */
	EXTENT_ALONE,   /* no file has equal data any more: it is no duplicate */
	EXTENT_STOPPED, /* nothing is known, since the pass was told to stop */
} ExtentPlanOutcome;

/* All arguments are borrowed. */
ExtentPlan *extent_plan_new(Pass *pass, ExtentSums *sums, ObjectTable *table, ExtentFiles *files);
void extent_plan_free(ExtentPlan *plan);

/* Plan for @target, whose @runs (of Run) are in the order of RunOrder. */
bool extent_plan_make(ExtentPlan *plan, const Object *target, const GArray *runs,
		      ExtentPlanOutcome *ret, SkipReason *ret_reason, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/*
 * If sharing @target costs more metadata than it frees (SKIP_METADATA) only because of read-only snapshots: plan
 * without their references.  The target is freed when they are deleted.  Otherwise *ret does not change.
 */
bool extent_plan_defer(ExtentPlan *plan, const Object *target, const GArray *runs,
		       ExtentPlanOutcome *ret, SkipReason *ret_reason, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* The caller shared something: forget what was read of files. */
void extent_plan_note_sharing(ExtentPlan *plan);

/*
 * Whether the plan is worth its cost to files and to metadata; otherwise the target is pinned.  A plan has to be
 * judged once before it is run.
 */
void extent_plan_judge(ExtentPlan *plan, ExtentPlanOutcome *ret, SkipReason *ret_reason);

/*
 * The steps (ExtentStep) of the last plan.  Those from a copy come last: if a source turns out to differ, nothing
 * was shared with the copy yet.
 */
const GArray *extent_plan_steps(const ExtentPlan *plan);

/*
 * The read-only subvolumes (uint64_t: ids, ascending) that hold the target also after all steps: it is freed when
 * these are deleted.  Empty: it is freed at once.
 */
const GArray *extent_plan_holders(const ExtentPlan *plan);

/* The bytes to compare, on both sides, to share all references to a target that costs too much. */
uint64_t extent_plan_costly_bytes(const ExtentPlan *plan);

/* The bytes to write. */
uint64_t extent_plan_rest_bytes(const ExtentPlan *plan);

/*
 * The room in the pass's RemainderAccount that it claimed when it was judged; to be given back if the target is not
 * freed.
 */
RemainderClaim extent_plan_claim(const ExtentPlan *plan);

/* The parts of its copy (CopyPart); empty if it needs none. */
const GArray *extent_plan_parts(const ExtentPlan *plan);

/* The cover of the target; NULL: the target is compressed, and others equal it as a whole. */
const ExtentCover *extent_plan_cover(const ExtentPlan *plan);

/* The ids of its sources: they have to stay, even if their own turn as targets comes later. */
GHashTable *extent_plan_locked(const ExtentPlan *plan);

/* The ids of sources that were not used, because they are going to be shared away themselves. */
GHashTable *extent_plan_moved(const ExtentPlan *plan);

/* The reference to report for the last target: the one that keeps it, if one does; NULL if none is known. */
const ExtentRef *extent_plan_blamed(const ExtentPlan *plan);

/* Why the last target is pinned; PIN_NONE: *ret_reason says it all. */
const ExtentPin *extent_plan_pin(const ExtentPlan *plan);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(ExtentPlan, extent_plan_free)
