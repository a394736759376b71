/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/manager/main-loop.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * DetachedTask - work that may hang for ever, done by a thread while the main loop goes on.
 *
 * A call into a filesystem may hang beyond any signal: on a disk that died, or on a network or FUSE filesystem
 * without a server.  So a thread that nobody joins makes the call.  A caller that does not want the result any more
 * frees the task and leaves the thread to itself.  The last of both frees the task's data.  The process cannot end
 * before a thread that the kernel holds.
 *
 * Thread: main, except for the functions of DetachedTaskKind.
 */
typedef struct DetachedTask DetachedTask;

typedef struct {
	const char *thread_name;
	void (*work)(void *work_data); /* Thread: the task's */
	GDestroyNotify free_work_data; /* Thread: any */
	uint64_t patience_usec;        /* then it counts as late */
} DetachedTaskKind;

/* Each is called once, from the loop, unless the task is freed before.  The task may be freed in here. */
typedef struct {
	void (*done)(void *data);
	void (*late)(void *data); /* @done may still be called later; NULL: do not care */
	void *data;
} DetachedTaskListener;

/* @kind is borrowed for ever.  @work_data is consumed, also if there is an error. */
DetachedTask *detached_task_new(MainLoop *loop, const DetachedTaskKind *kind, void *work_data,
				const DetachedTaskListener *listener, GError **error);

/* Replace the listener. */
void detached_task_set_listener(DetachedTask *task, const DetachedTaskListener *listener);

bool detached_task_is_done(const DetachedTask *task);

/* The data of the work, owned by the task; NULL: the work is not done. */
void *detached_task_work_data(const DetachedTask *task);

/* Never blocks. */
void detached_task_free(DetachedTask *task);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(DetachedTask, detached_task_free)
