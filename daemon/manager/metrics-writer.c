/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/manager/metrics-writer.h"

#include "common/metrics/metrics-file.h"
#include "common/metrics/store-figures.h"
#include "daemon/manager/detached-task.h"
#include "kernel-ioctl/call/fd.h"

#include <unistd.h>

/* Callers that take and drop holds change filesystems thousands of times a second. */
#define PAUSE_USEC (G_USEC_PER_SEC / 5)

/* The data that one task writes. */
typedef struct {
	char *path;
	char *state_directory;
	Metrics *metrics;
	GPtrArray *stores; /* StoreFigures */
	GError *error;
} WriteWork;

struct MetricsWriter {
	/* Set at creation, never changed. */
	MainLoop *loop;
	Metrics *(*collect)(void *data);
	void *data;

	sd_event_source *timer;
	char *path; /* NULL: nothing is written */
	Fd claim;   /* of the file; below 0: none */
	char *state_directory;
	GPtrArray *stores;  /* as they were read last; NULL: the task has them */
	DetachedTask *task; /* NULL: none runs */
	bool is_outdated;   /* since the last task began */
	int64_t rests_usec; /* no task begins before, on the monotonic clock */
	bool has_written;
	bool has_failed; /* the last time; it was said */
};

static void write_work_free(void *data)
{
	WriteWork *work = data;

	g_free(work->path);
	g_free(work->state_directory);
	metrics_free(work->metrics);
	g_clear_pointer(&work->stores, g_ptr_array_unref);
	g_clear_error(&work->error);
	g_free(work);
}

static void write_work(void *data)
{
	WriteWork *work = data;

	(void)!metrics_file_write(work->path, work->state_directory, work->metrics, work->stores,
				  &work->error);
}

static const DetachedTaskKind write_kind = {
	.thread_name = "metrics",
	.work = write_work,
	.free_work_data = write_work_free,
	.patience_usec = METRICS_WRITER_USEC,
};

/* The work with @metrics, which are consumed. */
static WriteWork *work_new(MetricsWriter *writer, Metrics *metrics)
{
	WriteWork *work = g_new0(WriteWork, 1);

	work->path = g_strdup(writer->path);
	work->state_directory = g_strdup(writer->state_directory);
	work->metrics = metrics;
	work->stores = g_steal_pointer(&writer->stores);
	return work;
}

/* Log a failure once, until it ends. */
static void say_trouble(MetricsWriter *writer, const GError *error)
{
	if (error && !writer->has_failed)
		g_warning("cannot write metrics: %s", error->message);
	writer->has_failed = error;
}

static void write_in(MetricsWriter *writer, uint64_t usec)
{
	sd_event_source_set_time_relative(writer->timer, usec);
	sd_event_source_set_enabled(writer->timer, writer->path ? SD_EVENT_ONESHOT : SD_EVENT_OFF);
}

/* Write when no task runs, and PAUSE_USEC after the last one began. */
static void write_soon(MetricsWriter *writer)
{
	int64_t wait_usec = writer->rests_usec - g_get_monotonic_time();

	writer->is_outdated = true;
	if (!writer->task)
		write_in(writer, (uint64_t)MAX(wait_usec, 0));
}

static void on_done(void *data)
{
	MetricsWriter *writer = data;
	g_autoptr(DetachedTask) task = g_steal_pointer(&writer->task);
	WriteWork *work = detached_task_work_data(task);

	writer->stores = g_steal_pointer(&work->stores);
	writer->has_written = true;
	say_trouble(writer, work->error);
	/* The file was replaced by another one meanwhile. */
	if (g_strcmp0(work->path, writer->path) != 0)
		unlink(work->path);
	if (writer->is_outdated)
		write_soon(writer);
	else
		write_in(writer, METRICS_WRITER_USEC);
}

static int on_timer(sd_event_source *source, uint64_t usec, void *data)
{
	MetricsWriter *writer = data;
	const DetachedTaskListener listener = { .done = on_done, .data = writer };
	g_autoptr(GError) error = NULL;

	if (writer->claim < 0)
		(void)!metrics_file_claim(writer->path, &writer->claim);
	writer->is_outdated = false;
	writer->rests_usec = g_get_monotonic_time() + PAUSE_USEC;
	writer->task = detached_task_new(writer->loop, &write_kind,
					 work_new(writer, writer->collect(writer->data)), &listener,
					 &error);
	if (writer->task)
		return 0;

	writer->stores = store_figures_new();
	say_trouble(writer, error);
	write_in(writer, METRICS_WRITER_USEC);
	return 0;
}

MetricsWriter *metrics_writer_new(MainLoop *loop, Metrics *(*collect)(void *data), void *data,
				  GError **error)
{
	g_autoptr(MetricsWriter) writer = g_new0(MetricsWriter, 1);
	int failed;

	writer->loop = loop;
	writer->collect = collect;
	writer->data = data;
	writer->claim = -1;
	writer->stores = store_figures_new();
	failed = sd_event_add_time(loop->event, &writer->timer, CLOCK_MONOTONIC, 0, 0, on_timer,
				   writer);
	if (failed >= 0)
		failed = sd_event_source_set_enabled(writer->timer, SD_EVENT_OFF);
	if (failed >= 0)
		return g_steal_pointer(&writer);

	main_loop_failed(failed, "set a timer", error);
	return NULL;
}

void metrics_writer_free(MetricsWriter *writer)
{
	if (!writer)
		return;

	detached_task_free(writer->task);
	sd_event_source_unref(writer->timer);
	fd_close(&writer->claim);
	g_clear_pointer(&writer->stores, g_ptr_array_unref);
	g_free(writer->path);
	g_free(writer->state_directory);
	g_free(writer);
}

void metrics_writer_set_file(MetricsWriter *writer, const char *path, const char *state_directory)
{
	if (writer->path && g_strcmp0(writer->path, path) != 0) {
		unlink(writer->path);
		fd_close(&writer->claim);
	}
	g_free(writer->path);
	g_free(writer->state_directory);
	writer->path = g_strdup(path);
	writer->state_directory = g_strdup(state_directory);
	write_soon(writer);
}

void metrics_writer_outdate(MetricsWriter *writer)
{
	write_soon(writer);
}

void metrics_writer_end(MetricsWriter *writer)
{
	WriteWork *work;

	/* A service that could not start leaves the file to the one that runs.  A task that still runs may hang. */
	if (!writer || !writer->path || !writer->has_written || writer->task)
		return;

	work = work_new(writer, metrics_new(false));
	write_work(work);
	say_trouble(writer, work->error);
	write_work_free(work);
}
