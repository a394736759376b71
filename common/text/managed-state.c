/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/text/managed-state.h"

const char *managed_state_name(ManagedState state)
{
	static const char *const names[MANAGED_STATES] = {
		[MANAGED_DISABLED] = "disabled", [MANAGED_UNMOUNTED] = "unmounted",
		[MANAGED_REFUSED] = "refused",   [MANAGED_WAITING] = "waiting",
		[MANAGED_RUNNING] = "running",   [MANAGED_STOPPING] = "stopping",
	};

	return names[state];
}

const char *wait_reason_name(WaitReason reason)
{
	static const char *const names[WAIT_REASONS] = {
		[WAIT_NOT] = "",
		[WAIT_REFUSED] = "refused",
		[WAIT_PAUSED] = "paused",
		[WAIT_ON_HOLD] = "on-hold",
		[WAIT_ON_DEMAND] = "on-demand",
		[WAIT_DEGRADED] = "degraded",
		[WAIT_BATTERY] = "battery",
		[WAIT_WINDOW] = "window",
		[WAIT_UNRESPONSIVE] = "unresponsive",
		[WAIT_MAINTENANCE] = "maintenance",
		[WAIT_LOCKED] = "locked",
		[WAIT_DISK_BUSY] = "disk-busy",
		[WAIT_MEMORY] = "memory",
		[WAIT_RETRY] = "retry",
		[WAIT_UNCHANGED] = "unchanged",
		[WAIT_LITTLE_CHANGED] = "little-changed",
		[WAIT_DISK_ASLEEP] = "disk-asleep",
	};

	return names[reason];
}
