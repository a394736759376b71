/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ManagedState, WaitReason - what the service does with a filesystem, and what it waits for, with their names on the
 * bus.
 *
 * Thread: any.
 */
typedef enum {
	MANAGED_DISABLED,  /* no configuration names it */
	MANAGED_UNMOUNTED, /* it was here */
	MANAGED_REFUSED,
	MANAGED_WAITING,
	MANAGED_RUNNING,
	MANAGED_STOPPING, /* a pass was asked to end, and has not yet */
} ManagedState;

#define MANAGED_STATES (MANAGED_STOPPING + 1)

/* "disabled", "unmounted" and so on. */
const char *managed_state_name(ManagedState state);

typedef enum {
	WAIT_NOT, /* begin */
	WAIT_REFUSED,
	WAIT_PAUSED,
	WAIT_ON_HOLD,
	WAIT_DEGRADED,
	WAIT_ON_DEMAND,
	WAIT_BATTERY,
	WAIT_WINDOW,
	WAIT_UNRESPONSIVE,
	WAIT_MAINTENANCE,
	WAIT_LOCKED,
	WAIT_DISK_BUSY,
	WAIT_MEMORY,
	WAIT_RETRY,
	WAIT_UNCHANGED,
	WAIT_LITTLE_CHANGED,
	WAIT_DISK_ASLEEP,
} WaitReason;

#define WAIT_REASONS (WAIT_DISK_ASLEEP + 1)

/* For programs: "window". */
const char *wait_reason_name(WaitReason reason);
