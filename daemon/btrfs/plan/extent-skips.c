/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/plan/extent-skips.h"

void extent_skips_add(Pass *pass, const Object *target, SkipReason reason, const ExtentRef *place)
{
	SkipLedger *skips = &pass->result->skips;
	g_autofree char *path = NULL;

	if (place && skip_ledger_wants_example(skips, reason))
		path = extent_places_path(pass->btrfs.places, place);
	skip_ledger_add(skips, reason, target->size_bytes, path);
	if (skip_may_pass(reason))
		postponed_add(pass->postponed, pass->store, target->id);
	if (reason == SKIP_READ_ONLY || reason == SKIP_NO_METADATA_SPACE)
		postponed_add_rest(pass->postponed);
}
