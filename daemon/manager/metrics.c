/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/manager/metrics.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

typedef enum {
	METRIC_COUNTER,
	METRIC_GAUGE,
} MetricType;

/* One metric: a line for each filesystem. */
typedef struct {
	const char *name;
	MetricType type;
	const char *help;
	/* False: the filesystem has no value. */
	bool (*value)(const ManagedView *view, double *ret);
} Metric;

static bool passes(const ManagedView *view, double *ret)
{
	*ret = (double)view->n_passes;
	return true;
}

static bool freed_bytes(const ManagedView *view, double *ret)
{
	*ret = (double)view->freed_bytes;
	return true;
}

static bool read_bytes(const ManagedView *view, double *ret)
{
	*ret = (double)view->read_bytes;
	return true;
}

static bool is_running(const ManagedView *view, double *ret)
{
	*ret = view->state == MANAGED_RUNNING || view->state == MANAGED_STOPPING;
	return true;
}

static bool is_refused(const ManagedView *view, double *ret)
{
	*ret = view->state == MANAGED_REFUSED;
	return true;
}

static bool last_ended(const ManagedView *view, double *ret)
{
	*ret = (double)view->last->ended_usec / G_USEC_PER_SEC;
	return view->has_last;
}

static bool last_seconds(const ManagedView *view, double *ret)
{
	*ret = (double)(view->last->ended_usec - view->last->started_usec) / G_USEC_PER_SEC;
	return view->has_last;
}

static bool last_failed(const ManagedView *view, double *ret)
{
	*ret = view->last->outcome == PASS_FAILED;
	return view->has_last;
}

static bool last_pinned_bytes(const ManagedView *view, double *ret)
{
	*ret = (double)pass_result_pinned(view->last).bytes;
	return view->has_last;
}

static bool store_bytes(const ManagedView *view, double *ret)
{
	*ret = (double)view->last->store.bytes;
	return view->has_last;
}

static const Metric metrics[] = {
	{ "dedupd_passes_total", METRIC_COUNTER, "Passes that ended.", passes },
	{ "dedupd_freed_bytes_total", METRIC_COUNTER, "Bytes of the disk that passes freed.",
	  freed_bytes },
	{ "dedupd_read_bytes_total", METRIC_COUNTER, "Bytes that passes read from disks.",
	  read_bytes },
	{ "dedupd_running", METRIC_GAUGE, "Whether a pass runs.", is_running },
	{ "dedupd_refused", METRIC_GAUGE, "Whether nothing can be deduplicated there.",
	  is_refused },
	{ "dedupd_last_pass_end_timestamp_seconds", METRIC_GAUGE, "When the last pass ended.",
	  last_ended },
	{ "dedupd_last_pass_duration_seconds", METRIC_GAUGE, "How long the last pass took.",
	  last_seconds },
	{ "dedupd_last_pass_failed", METRIC_GAUGE, "Whether the last pass failed.", last_failed },
	{ "dedupd_last_pass_pinned_bytes", METRIC_GAUGE,
	  "Bytes that have equals and stay, as sharing them would free nothing.",
	  last_pinned_bytes },
	{ "dedupd_store_bytes", METRIC_GAUGE, "Size of what is remembered.", store_bytes },
};

/* Append a label in UTF-8; characters that would end it or the line are escaped. */
static void append_label(GString *text, const char *name, const char *value)
{
	g_autofree char *valid = g_utf8_make_valid(value, -1);

	g_string_append_printf(text, "%s=\"", name);
	for (const char *byte = valid; *byte; byte++) {
		if (*byte == '\n')
			g_string_append(text, "\\n");
		else if (*byte == '"' || *byte == '\\')
			g_string_append_printf(text, "\\%c", *byte);
		else
			g_string_append_c(text, *byte);
	}
	g_string_append_c(text, '"');
}

static void append_sample(GString *text, const Metric *metric, const ManagedView *view,
			  double value)
{
	char digits[G_ASCII_DTOSTR_BUF_SIZE];

	g_string_append_printf(text, "%s{", metric->name);
	append_label(text, "uuid", view->uuid);
	g_string_append_c(text, ',');
	append_label(text, "mount_point", view->mount_point);
	g_string_append_printf(text, "} %s\n",
			       g_ascii_formatd(digits, sizeof(digits), "%.17g", value));
}

char *metrics_text(const ManagedView *views, size_t n_views)
{
	GString *text = g_string_new(NULL);

	for (size_t i = 0; i < G_N_ELEMENTS(metrics); i++) {
		const Metric *metric = &metrics[i];

		g_string_append_printf(text, "# HELP %s %s\n# TYPE %s %s\n", metric->name,
				       metric->help, metric->name,
				       metric->type == METRIC_COUNTER ? "counter" : "gauge");
		for (size_t j = 0; j < n_views; j++) {
			double value;

			if (views[j].state != MANAGED_DISABLED && metric->value(&views[j], &value))
				append_sample(text, metric, &views[j], value);
		}
	}

	return g_string_free(text, FALSE);
}

bool metrics_write(const char *path, const char *text, GError **error)
{
	if (!g_file_set_contents_full(path, text, (gssize)strlen(text),
				      G_FILE_SET_CONTENTS_CONSISTENT, 0644, error))
		return false;

	/* Readable with any umask of the service: it has no names of files. */
	chmod(path, 0644);
	return true;
}
