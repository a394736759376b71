/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/manager/detached-task.h"

#include "common/threads/thread.h"

#include <stdatomic.h>

/* State that the task and its thread share; the last of both frees it. */
typedef struct {
	/* Set at creation, never changed. */
	const DetachedTaskKind *kind;
	MessageQueue *queue; /* of main, which may end before the thread */
	Receiver *finished;

	void *data; /* Thread: the task's, until has_ended. */

	atomic_bool has_ended;
	atomic_uint n_holders; /* ThreadSanitizer does not see the counts of GLib */
} Work;

struct DetachedTask {
	Work *work;
	DetachedTaskListener listener;
	Receiver *finished;
	sd_event_source *too_late;
};

static void work_unref(Work *work)
{
	if (atomic_fetch_sub(&work->n_holders, 1) > 1)
		return;

	work->kind->free_work_data(work->data);
	receiver_unref(work->finished);
	message_queue_unref(work->queue);
	g_free(work);
}

static void *detached_task_main(void *data)
{
	Work *work = data;

	work->kind->work(work->data);
	atomic_store(&work->has_ended, true);
	receiver_send(work->finished, NULL);
	work_unref(work);
	return NULL;
}

static void on_finished(void *content, void *data)
{
	DetachedTask *task = data;

	task->too_late = sd_event_source_unref(task->too_late);
	task->listener.done(task->listener.data);
}

static int on_too_late(sd_event_source *source, uint64_t usec, void *data)
{
	DetachedTask *task = data;

	task->too_late = sd_event_source_unref(task->too_late);
	if (task->listener.late)
		task->listener.late(task->listener.data);
	return 0;
}

static bool start_thread(Work *work, GError **error)
{
	GThread *thread;

	atomic_fetch_add(&work->n_holders, 1);
	thread = thread_new(work->kind->thread_name, detached_task_main, work, error);
	if (!thread) {
		work_unref(work);
		return false;
	}

	g_thread_unref(thread);
	return true;
}

DetachedTask *detached_task_new(MainLoop *loop, const DetachedTaskKind *kind, void *work_data,
				const DetachedTaskListener *listener, GError **error)
{
	g_autoptr(DetachedTask) task = g_new0(DetachedTask, 1);
	int failed;

	task->listener = *listener;
	task->work = g_new0(Work, 1);
	atomic_store(&task->work->n_holders, 1);
	task->work->kind = kind;
	task->work->data = work_data;
	task->finished = receiver_new(loop->messages, on_finished, NULL, task);
	task->work->queue = message_queue_ref(loop->messages);
	task->work->finished = receiver_ref(task->finished);
	failed = sd_event_add_time_relative(loop->event, &task->too_late, CLOCK_MONOTONIC,
					    kind->patience_usec, 0, on_too_late, task);
	if (failed < 0)
		main_loop_failed(failed, "wait for a thread", error);
	else if (start_thread(task->work, error))
		return g_steal_pointer(&task);
	return NULL;
}

void detached_task_set_listener(DetachedTask *task, const DetachedTaskListener *listener)
{
	task->listener = *listener;
}

bool detached_task_is_done(const DetachedTask *task)
{
	return atomic_load(&task->work->has_ended);
}

void *detached_task_work_data(const DetachedTask *task)
{
	return detached_task_is_done(task) ? task->work->data : NULL;
}

void detached_task_free(DetachedTask *task)
{
	if (!task)
		return;

	receiver_close(task->finished);
	sd_event_source_unref(task->too_late);
	work_unref(task->work);
	g_free(task);
}
