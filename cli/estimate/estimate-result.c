/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/estimate/estimate-result.h"

#include <unistd.h>

const uint64_t estimate_block_bytes[ESTIMATE_BLOCK_SIZES] = { 4096, 16384, 65536, 131072, 1048576 };

bool estimate_goes_on(const EstimateTask *task)
{
	throttle_settle(task->throttle, task->stop);
	return !atomic_load(task->stop);
}

bool estimate_is_by_checksums(const EstimateTask *task)
{
	return task->identity.kind == FS_KIND_BTRFS && geteuid() == 0;
}

void estimate_clear(Estimate *estimate)
{
	g_clear_pointer(&estimate->unreadable, g_free);
}

void estimate_add_unreadable(Estimate *estimate, const char *why)
{
	estimate->n_unreadable++;
	if (!estimate->unreadable)
		estimate->unreadable = g_strdup(why);
}
