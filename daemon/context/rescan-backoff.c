/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/context/rescan-backoff.h"

#include <glib.h>

/* After so many doublings the wait is longer than the limit. */
#define DOUBLINGS_MAX 16

uint64_t rescan_backoff_wait_sec(uint32_t changes)
{
	if (changes < RESCAN_BACKOFF_FREE_CHANGES)
		return 0;

	return MIN(RESCAN_BACKOFF_FIRST_SEC
			   << MIN(changes - RESCAN_BACKOFF_FREE_CHANGES, DOUBLINGS_MAX),
		   RESCAN_BACKOFF_MOST_SEC);
}

bool rescan_backoff_waits(uint32_t changes, uint64_t changed_sec, uint64_t now_sec)
{
	return now_sec >= changed_sec && now_sec - changed_sec < rescan_backoff_wait_sec(changes);
}
