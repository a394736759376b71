/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Metrics - all metrics as text, in the text format of Prometheus.
 *
 * Thread: one at a time.
 */
typedef struct Metrics Metrics;

/* @has_service: the service makes them, or was asked. */
Metrics *metrics_new(bool has_service);
void metrics_free(Metrics *metrics);

/*
 * One filesystem, as the service reports it, or --once after its pass.  Times are in microseconds
 * since 1970.
 */
typedef struct {
	const char *uuid;
	const char *kind;         /* "btrfs" or "XFS" */
	const char *mount_point;  /* raw bytes, or escaped as on the bus */
	const char *state;        /* a name of ManagedState; NULL: there is no service */
	const char *wait_reason;  /* a name of WaitReason; "": it does not wait */
	int64_t next_usec;        /* 0: time does not decide that */
	const char *last_outcome; /* a name of PassOutcome; NULL or "": there was no pass */
	int64_t last_started_usec, last_ended_usec;
	bool is_disk_failing; /* the last pass ended for that reason, or none begins */
} FilesystemMetrics;

/* Add a filesystem; all texts are copied. */
void metrics_add_filesystem(Metrics *metrics, const FilesystemMetrics *filesystem);

void metrics_add_disk(Metrics *metrics, const char *name, uint64_t charged_bytes);

/*
 * The whole text, to be freed, with the figures of @stores (StoreFigures).  It leaves out a filesystem that is
 * disabled and has no store.
 */
char *metrics_text(const Metrics *metrics, const GPtrArray *stores);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Metrics, metrics_free)
