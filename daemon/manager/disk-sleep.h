/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * DiskSleep - whether a disk has been idle for so long that it may have stopped turning.
 *
 * By the counters of all that it was asked for, which sysfs has without asking the disk.  It counts as
 * awake when it is seen first.  What passes ask for counts, too: the disk turns after that.
 *
 * Pure.  Thread: whoever owns it.
 */
typedef struct {
	uint64_t requests;   /* that it had completed when it was seen last */
	int64_t active_usec; /* when that was seen to have grown */
	bool is_seen;
} DiskSleep;

#define DISK_SLEEP_USEC (INT64_C(600) * 1000000)

/* Look at its counters, @requests in all; returns whether it is asleep. */
bool disk_sleep_look(DiskSleep *sleep, uint64_t requests, int64_t now_usec);
