/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/client/daemon-client.h"

/*
 * StagePace - how fast the stage of a pass goes, and how long it still takes at that: what was done of it,
 * divided by the time since it began.  Later stages are not in it.
 *
 * Pure.  Thread: any.
 */
typedef struct {
	bool has_rate;       /* else it is too early to say */
	uint64_t rate_bytes; /* per second */
	bool has_left;       /* else how much there is to do is not known, or nothing is done yet */
	int64_t left_usec;
} StagePace;

/* At @now_usec, since 1970. */
StagePace stage_pace(const DaemonFilesystem *filesystem, int64_t now_usec);
