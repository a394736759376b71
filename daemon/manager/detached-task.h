/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/manager/main-loop.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * DetachedTask - work that may hang for good, done by a thread while the main loop goes on.
 *
 * A call into a filesystem may hang beyond any signal: on a disk that died, or on a network or FUSE filesystem
 * without a server.  So a thread that nobody ever joins makes the call.  A caller that does not want the result
 * any more frees the task, and the thread is left to itself.  The task's data is freed with the last of both.  The
 * process cannot end before a thread that the kernel holds.
 *
 * Thread: main, except for @work, as said there.
 */
typedef struct DetachedTask DetachedTask;

typedef struct {
	const char *thread_name;
	void (*work)(void *work_data); /* Thread: the errand's */
	GDestroyNotify free_work_data; /* Thread: any */
	uint64_t patience_usec;        /* until it is said to be late */
} DetachedTaskKind;

/* Told once each, from the loop, unless the errand is freed before, which may be done in here. */
typedef struct {
	void (*done)(void *data);
	void (*late)(
		void *data); /* the work may still end, and @done is told then; NULL: it does not matter */
	void *data;
} DetachedTaskListener;

/* @kind is borrowed, for ever; @work_data is consumed, also if there is an error. */
DetachedTask *detached_task_new(MainLoop *loop, const DetachedTaskKind *kind, void *work_data,
				const DetachedTaskListener *listener, GError **error);

/* Have somebody else told from now on. */
void detached_task_set_listener(DetachedTask *errand, const DetachedTaskListener *listener);

bool detached_task_is_done(const DetachedTask *errand);

/* The data that the work was done on, owned by the task; NULL: it is not done yet. */
void *detached_task_work_data(const DetachedTask *errand);

/* Never waits. */
void detached_task_free(DetachedTask *errand);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(DetachedTask, detached_task_free)
