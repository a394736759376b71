/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/plan/target-copy.h"

#include "daemon/btrfs/plan/checksum-trust.h"
#include "daemon/btrfs/plan/extent-outcome.h"

static uint64_t kept_bytes(const TargetCopy *target)
{
	return target->copy && target->is_kept ? extent_copy_disk_bytes(target->copy) : 0;
}

/* Equal sums of @extent have different blocks.  *ret_kept is false if that cannot be remembered. */
static bool note_difference(Pass *pass, const Object *extent, uint64_t wasted_bytes, bool *ret_kept,
			    GError **error)
{
	ExtentStamp stamp = checksum_trust_stamp(extent);

	pass->result->compare_bytes += wasted_bytes;
	return checksum_trust_add(pass, &stamp, &stamp, wasted_bytes, ret_kept, error);
}

bool target_copy_make(TargetCopy *target, Pass *pass, ExtentFiles *files,
		      const PlannedTarget *planned, CopyOutcome *ret, CopyFailure *ret_failure,
		      GError **error)
{
	bool kept = false;

	target_copy_drop(target, pass);
	target->is_for_deferred = planned->holders->len > 0;
	*ret = COPY_MADE;
	if (planned->parts->len == 0)
		return true;

	target->copy = extent_copy_new(pass, files, &planned->extent, planned->parts, ret_failure);
	if (target->copy)
		return true;

	if (ret_failure->reason == SKIP_DIFFERS &&
	    !note_difference(pass, &planned->extent, ret_failure->wasted_bytes, &kept, error))
		return false;
	*ret = kept ? COPY_DOUBTED : COPY_FAILED;
	return true;
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
