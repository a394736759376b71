/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/context/change-pace.h"

#include <glib.h>

/* Doublings after which it is more than the most anyway. */
#define DOUBLINGS_MAX 16

uint64_t change_pace_wait_sec(uint32_t changes)
{
	if (changes < CHANGE_PACE_FREE_CHANGES)
		return 0;

	return MIN(CHANGE_PACE_FIRST_SEC << MIN(changes - CHANGE_PACE_FREE_CHANGES, DOUBLINGS_MAX),
		   CHANGE_PACE_MOST_SEC);
}

bool change_pace_waits(uint32_t changes, uint64_t changed_sec, uint64_t now_sec)
{
	return now_sec >= changed_sec && now_sec - changed_sec < change_pace_wait_sec(changes);
}
