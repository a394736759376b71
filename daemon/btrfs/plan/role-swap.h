/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/btrfs/plan/extent-plan.h"

/*
 * RoleSwap - which of two extents of btrfs goes, if each equals the other but for a rest.
 *
 * The order of planning says so before it is known what they have in common: within a class of length
 * that one stays that comes first.  If it is the shorter of the two, its rest is the smaller one; so it is
 * planned for, too, with the runs of the other turned round.
 *
 * Thread: the filesystem's worker, never while it shares.
 */
typedef struct RoleSwap RoleSwap;

/* All is borrowed; @other is a plan to be used for that. */
RoleSwap *role_swap_new(Pass *pass, ObjectTable *table, ExtentPlan *other);
void role_swap_free(RoleSwap *swap);

/*
 * If less is to be copied so, plan for the main source of @target, by what @plan has planned for the latter
 * from @runs, which is not judged: then *ret is true, the plan that is judged has been exchanged for
 * *@plan, @target is the one that goes, and @runs are its.
 */
bool role_swap_try(RoleSwap *swap, ExtentPlan **plan, Object *target, GArray *runs, bool *ret,
		   GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * The extent that most of the blocks that @runs tell of are from, *ret_blocks of them, if it may go itself; else
 * RUN_HOLE.
 */
uint32_t role_swap_main_source(ObjectTable *table, const GArray *runs, uint64_t *ret_blocks);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(RoleSwap, role_swap_free)
