/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/client/daemon-client.h"

/*
 * StagePace - the speed of the current stage of a pass, and the time it still takes at that speed.  The speed
 * is the work done in the stage, divided by the time since it began.  Later stages are not included.
 *
 * Pure.  Thread: any.
 */
typedef struct {
	bool has_rate;       /* false: it is too early to say */
	uint64_t rate_bytes; /* per second */
	bool has_left;       /* false: the total is not known, or nothing is done yet */
	int64_t left_usec;
} StagePace;

/* At @now_usec, since 1970. */
StagePace stage_pace(const DaemonFilesystem *filesystem, int64_t now_usec);
