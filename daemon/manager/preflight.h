/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/manager/filesystem-search.h"

/*
 * Preflight - the look at a mounted filesystem right before a pass, and the tasks that hang on that filesystem.
 *
 * A detached task looks, so that an unresponsive filesystem blocks nobody.  While a task hangs, no other begins.
 *
 * Thread: main.
 */
typedef struct Preflight Preflight;

typedef struct {
	/* The result is there. */
	void (*looked)(void *data);
	/* The filesystem became unresponsive, or responds again. */
	void (*changed)(void *data);
	void *data;
} PreflightListener;

Preflight *preflight_new(MainLoop *loop, const PreflightListener *listener);

/* Never blocks. */
void preflight_free(Preflight *preflight);

/*
 * Look at the filesystem on @mount_point, unless the last result is fresh.  Returns false while the task runs; the
 * listener is told when it ends, or is late.
 */
bool preflight_look(Preflight *preflight, const char *mount_point, bool *ret_is_being_scrubbed);

/* The last result does not hold any more. */
void preflight_forget(Preflight *preflight);

/* Whether a task hangs on the filesystem. */
bool preflight_is_silent(const Preflight *preflight);

/* Give up a search for the paths of the filesystem, which is consumed.  Its thread may hang. */
void preflight_leave(Preflight *preflight, FilesystemSearch *search);
