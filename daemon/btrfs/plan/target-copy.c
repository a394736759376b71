/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/plan/target-copy.h"

#include "daemon/btrfs/plan/extent-outcome.h"

static uint64_t kept_bytes(const TargetCopy *target)
{
	return target->copy && target->is_kept ? extent_copy_disk_bytes(target->copy) : 0;
}

bool target_copy_make(TargetCopy *target, Pass *pass, ExtentFiles *files,
		      const PlannedTarget *planned, CopyFailure *ret_failure)
{
	target_copy_drop(target, pass);
	target->is_for_deferred = planned->holders->len > 0;
	if (planned->parts->len == 0)
		return true;

	target->copy =
		extent_copy_new(pass, files, &planned->extent, planned->parts, ret_failure);
	return target->copy;
}

void target_copy_drop(TargetCopy *target, Pass *pass)
{
	uint64_t bytes = kept_bytes(target);

	if (bytes > 0)
		extent_outcome_note_rewritten(pass, bytes, target->is_for_deferred);
	g_clear_pointer(&target->copy, extent_copy_free);
	target->is_kept = false;
}

void target_copy_give_back(const TargetCopy *target, Pass *pass, PlannedTarget *planned)
{
	if (planned->claim.freed_bytes == 0)
		return;

	remainder_account_give_back(&pass->btrfs.remainders, &planned->claim);
	remainder_account_claim(&pass->btrfs.remainders, 0, kept_bytes(target),
				target->is_for_deferred);
}
