/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/btrfs/plan/extent-plan.h"

/*
 * RoleSwap - which of two extents of btrfs is freed, if each equals the other except for a remainder.
 *
 * The order of ranks decides this before the common data is known: within a class of length, the
 * first one stays.  If that one is the shorter, its remainder is the smaller one.  RoleSwap
 * therefore plans for it, too, with the runs in reverse.
 *
 * Thread: the filesystem's worker, never while it shares.
 */
typedef struct RoleSwap RoleSwap;

/* All is borrowed; @other is a second plan to work with. */
RoleSwap *role_swap_new(Pass *pass, ObjectTable *table, ExtentPlan *other);
void role_swap_free(RoleSwap *swap);

/*
 * If that leaves less to copy, plan for the main source of @target instead.  @plan has a plan for
 * @target from @runs that was not judged.  *ret is true if the roles were swapped.  Then *@plan is
 * judged, and with @target and @runs belongs to the extent that is freed.
 */
bool role_swap_try(RoleSwap *swap, ExtentPlan **plan, Object *target, GArray *runs, bool *ret,
		   GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * The extent that most blocks of @runs come from, if it may be freed itself; else RUN_HOLE.  *ret_blocks: their
 * number.
 */
uint32_t role_swap_main_source(ObjectTable *table, const GArray *runs, uint64_t *ret_blocks);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(RoleSwap, role_swap_free)
