/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/content/remainder.h"
#include "daemon/btrfs/plan/extent-copy.h"
#include "daemon/context/pass.h"

/*
 * RemainderPlan - what of one target has to be copied, and from where.
 *
 * Thread: the filesystem's worker.
 */
typedef struct RemainderPlan RemainderPlan;

RemainderPlan *remainder_plan_new(Pass *pass); /* which is borrowed */
void remainder_plan_free(RemainderPlan *plan);

/* Nothing has to be copied. */
void remainder_plan_clear(RemainderPlan *plan);

/*
 * Lay out the part of the references to @target that @cover leaves.  *ret is false if no copy of it
 * would do.  A range that repeats within it is copied once, unless the target's equal sums turned
 * out to have different blocks.
 */
bool remainder_plan_lay(RemainderPlan *plan, const Object *target, const ExtentCover *cover,
			const ExtentRef *refs, size_t n_refs, bool *ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Choose the places that are copied, and compared with the copy, among the same references. */
void remainder_plan_choose_parts(RemainderPlan *plan, const ExtentRef *refs, size_t n_refs);

bool remainder_plan_is_empty(const RemainderPlan *plan);

/* Whether ranges of it equal others of it. */
bool remainder_plan_repeats(const RemainderPlan *plan);

/* The space of the copy on the disk, in whole blocks. */
uint64_t remainder_plan_bytes(const RemainderPlan *plan);

/* The piece with byte @position of the target; NULL: none. */
const RemainderPiece *remainder_plan_find(const RemainderPlan *plan, uint64_t position);

/* The chosen parts (CopyPart), as for extent_copy_new(); empty if nothing is copied. */
const GArray *remainder_plan_parts(const RemainderPlan *plan);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(RemainderPlan, remainder_plan_free)
