/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/context/progress.h"

#include <glib.h>
#include <stdbool.h>

/*
 * ProgressDisplay - shows a Progress on standard error: on a terminal one line that is overwritten, else a plain
 * line per stage and every ten seconds.
 *
 * Thread: main.
 */
typedef struct ProgressDisplay ProgressDisplay;

ProgressDisplay *progress_display_new(const Progress *progress, const char *mount_point);
void progress_display_free(ProgressDisplay *display);

/* Show how far it is; to be called a few times a second. */
void progress_display_update(ProgressDisplay *display);

/* Remove the line from the terminal, so that something else can be written. */
void progress_display_clear(ProgressDisplay *display);

/* How often to update, in microseconds. */
#define PROGRESS_DISPLAY_USEC 200000

G_DEFINE_AUTOPTR_CLEANUP_FUNC(ProgressDisplay, progress_display_free)
