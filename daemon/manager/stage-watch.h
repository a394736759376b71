/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/context/progress.h"

#include <glib.h>
#include <systemd/sd-event.h>

/*
 * StageWatch - tells the main loop that the worker of a pass began another stage.
 *
 * Thread: main.
 */
typedef struct StageWatch StageWatch;

/*
 * Call it before the worker starts, which has @progress; @changed is called from the loop.  NULL: there is no
 * descriptor left, and nothing will be reported.
 */
StageWatch *stage_watch_new(sd_event *event, Progress *progress, void (*changed)(void *data),
			    void *data);

/* Call it after the worker has ended. */
void stage_watch_free(StageWatch *watch);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(StageWatch, stage_watch_free)
