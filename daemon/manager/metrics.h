/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/manager/managed-filesystem.h"

/*
 * Metrics - counters of the service for node_exporter's textfile collector, in the text format of Prometheus.
 *
 * They count from the start of the service; the HELP lines explain each.
 *
 * Thread: main.
 */
#define METRICS_PATH "/run/dedupd/metrics.prom"

/* The environment variable with another path. */
#define METRICS_VARIABLE "DEDUPD_METRICS"

/* The whole text, to be freed. */
char *metrics_text(const ManagedView *views, size_t n_views);

/* Replace the file at @path, so that no reader sees half of it. */
bool metrics_write(const char *path, const char *text, GError **error) G_GNUC_WARN_UNUSED_RESULT;
