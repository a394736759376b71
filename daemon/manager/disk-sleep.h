/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * DiskSleep - whether a disk has been idle for so long that it may have stopped turning.
 *
 * It uses the counters of all requests to the disk, which sysfs has without asking the disk.  The disk counts as
 * awake when it is seen first.  Requests of passes count, too: the disk turns after them.
 *
 * Pure.  Thread: the owner's.
 */
typedef struct {
	uint64_t requests;   /* that it had completed when it was seen last */
	int64_t active_usec; /* when that was seen to have grown */
	bool is_seen;
} DiskSleep;

#define DISK_SLEEP_USEC (INT64_C(600) * 1000000)

/* Look at its counters, @requests in all; returns whether it is asleep. */
bool disk_sleep_look(DiskSleep *sleep, uint64_t requests, int64_t now_usec);
