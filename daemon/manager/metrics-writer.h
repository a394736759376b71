/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/metrics/metrics.h"
#include "daemon/manager/main-loop.h"

/*
 * MetricsWriter - writes the service's MetricsFile=.
 *
 * A detached task reads the stores and writes the file, since both may hang with their disks.  At most one task runs
 * at a time.
 *
 * Thread: main.
 */
typedef struct MetricsWriter MetricsWriter;

/* The file is written at least that often. */
#define METRICS_WRITER_USEC (300 * G_USEC_PER_SEC)

/* @collect makes what the service itself says.  It is called from the loop. */
MetricsWriter *metrics_writer_new(MainLoop *loop, Metrics *(*collect)(void *data), void *data,
				  GError **error);
void metrics_writer_free(MetricsWriter *writer);

/*
 * Write to @path from now on, with the stores of @state_directory.  NULL: write nothing.  The file at an earlier path
 * is deleted, since nobody would update it.
 */
void metrics_writer_set_file(MetricsWriter *writer, const char *path, const char *state_directory);

/* Write soon, at most five times a second: something changed. */
void metrics_writer_outdate(MetricsWriter *writer);

/* Write what the stores say, without a service, since it ends.  Passes have ended.  It blocks on the disks of both. */
void metrics_writer_end(MetricsWriter *writer);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(MetricsWriter, metrics_writer_free)
