/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/manager/disk-sleep.h"

bool disk_sleep_look(DiskSleep *sleep, uint64_t requests, int64_t now_usec)
{
	if (!sleep->is_seen || sleep->requests != requests)
		sleep->active_usec = now_usec;
	sleep->is_seen = true;
	sleep->requests = requests;
	return now_usec - sleep->active_usec >= DISK_SLEEP_USEC;
}
