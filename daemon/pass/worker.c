/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/pass/worker.h"

#include "common/threads/thread.h"
#include "daemon/pass/pass-run.h"
#include "kernel-ioctl/machine/thread-priority.h"

struct Worker {
	const Settings *settings;
	Filesystem *filesystem;
	DiskTable *disks;
	atomic_bool *stop;
	Progress *progress;
	PassResult *result;
	Receiver *finished;
	GThread *thread;
};

static void *worker_main(void *data)
{
	Worker *worker = data;

	if (worker->settings->priority == PRIORITY_IDLE)
		thread_priority_lower();
	pass_run(worker->settings, worker->filesystem, worker->disks, worker->stop,
		 worker->progress, worker->result);
	filesystem_close(worker->filesystem);
	receiver_send(worker->finished, NULL);
	return NULL;
}

Worker *worker_start(const Settings *settings, Filesystem *filesystem, DiskTable *disks,
		     atomic_bool *stop, Progress *progress, PassResult *result, Receiver *finished,
		     GError **error)
{
	Worker *worker = g_new0(Worker, 1);

	worker->settings = settings;
	worker->filesystem = filesystem;
	worker->disks = disks;
	worker->stop = stop;
	worker->progress = progress;
	worker->result = result;
	worker->finished = finished;
	worker->thread = thread_new("worker", worker_main, worker, error);
	if (!worker->thread)
		g_clear_pointer(&worker, g_free);

	return worker;
}

void worker_join(Worker *worker)
{
	g_thread_join(worker->thread);
	g_free(worker);
}
