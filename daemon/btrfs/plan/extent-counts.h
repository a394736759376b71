/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/btrfs/plan/extent-plan.h"
#include "daemon/context/pass.h"

/*
 * Counts of the extents of a btrfs filesystem that a pass shares, writes and frees, in its result and its
 * progress.
 *
 * Thread: the filesystem's worker.
 */

/* Count @bytes as shared; @is_run: they end a stretch that was planned as one. */
void extent_counts_add_shared(Pass *pass, uint64_t bytes, bool is_run);

/*
 * So much was written so that an extent is freed, be it that it could not be freed after all; @is_deferred: when
 * snapshots are deleted.
 */
void extent_counts_add_rewritten(Pass *pass, uint64_t bytes, bool is_deferred);

/* @extent was freed by @steps (ExtentStep). */
void extent_counts_add_freed(Pass *pass, const Object *extent, const GArray *steps);

/* Count the expected effect of @plan. */
void extent_counts_estimate(Pass *pass, const Object *extent, const ExtentPlan *plan);
