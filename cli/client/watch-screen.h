/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/client/daemon-client.h"
#include "cli/client/watch-samples.h"

/*
 * WatchScreen - the page of 'status --watch': each enabled filesystem, a bar for each running pass, and the
 * bytes read and freed in the last minutes.
 *
 * Pure.  Thread: main.
 */
typedef struct {
	const GPtrArray *all; /* DaemonFilesystem */
	const WatchSamples *samples;
	int64_t now_usec; /* since 1970 */
	unsigned width;   /* columns */
	unsigned height;  /* lines; 0: unlimited, and nothing is drawn */
	bool utf8;
	bool coloured;
	bool in_bytes;
} WatchView;

/* The lines of the page, within @width and @height; NULL-terminated, to be freed with g_strfreev(). */
char **watch_screen_lines(const WatchView *view);

/* Whether a pass runs over any of @all. */
bool watch_screen_is_busy(const GPtrArray *all);
