/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/manager/main-loop.h"

/* Run the loop for @usec, whatever comes meanwhile.  Thread: that of the loop. */
static inline void run_loop_for(const MainLoop *loop, int64_t usec)
{
	int64_t end_usec = g_get_monotonic_time() + usec, now_usec;

	while ((now_usec = g_get_monotonic_time()) < end_usec)
		g_assert_cmpint(sd_event_run(loop->event, (uint64_t)(end_usec - now_usec)), >=, 0);
}
