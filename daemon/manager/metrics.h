/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/manager/managed-filesystem.h"

/*
 * Metrics - what the service did, for node_exporter's textfile collector and its like, in the text
 * format of Prometheus.
 *
 * Counters are from the start of the service on; the HELP lines say what each is.
 *
 * Thread: main.
 */
#define METRICS_PATH "/run/dedupd/metrics.prom"

/* The environment variable that has another path. */
#define METRICS_VARIABLE "DEDUPD_METRICS"

/* The whole text, to be freed. */
char *metrics_text(const ManagedView *views, size_t n_views);

/* Put it in place of what is at @path, so that no reader sees half of it. */
bool metrics_write(const char *path, const char *text, GError **error) G_GNUC_WARN_UNUSED_RESULT;
