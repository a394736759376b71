/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/client/daemon-client.h"
#include "cli/client/watch-samples.h"

/*
 * WatchScreen - what 'status --watch' shows: each filesystem that the service works on, with a bar for
 * each pass that runs, and what was read and freed in the last minutes.
 *
 * Pure.  Thread: main.
 */
typedef struct {
	const GPtrArray *all; /* DaemonFilesystem */
	const WatchSamples *samples;
	int64_t now_usec; /* since 1970 */
	unsigned width;   /* columns */
	unsigned height;  /* lines; 0: however many, and nothing is drawn */
	bool utf8;
	bool coloured;
	bool in_bytes;
} WatchView;

/* The lines, none wider or more than that, NULL-terminated, to be freed with g_strfreev(). */
char **watch_screen_lines(const WatchView *view);

/* Whether a pass runs over any of @all. */
bool watch_screen_is_busy(const GPtrArray *all);
