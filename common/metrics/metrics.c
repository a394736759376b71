/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/metrics/metrics.h"

#include "common/metrics/store-figures.h"
#include "common/text/managed-state.h"
#include "common/text/name-text.h"

#include <string.h>

typedef struct {
	const char *name;
	uint64_t charged_bytes;
} DiskMetrics;

struct Metrics {
	bool has_service;
	GArray *filesystems; /* FilesystemMetrics */
	GArray *disks;       /* DiskMetrics */
	GStringChunk *texts; /* of both */
};

/* One filesystem: either is NULL if there is none. */
typedef struct {
	const char *uuid;
	const FilesystemMetrics *live;
	const StoreFigures *stored; /* also one in trouble */
	const StoreFigures *store;  /* the same, unless it is in trouble */
} Shown;

typedef struct {
	GString *text;
	const Metrics *metrics;
	const char *name; /* of the metric */
	const char *uuid; /* NULL: the metric is of no filesystem */
} Samples;

typedef struct {
	const char *name;
	const char *type;
	const char *help;
	/* Adds the samples of one filesystem. */
	void (*add)(const Samples *to, const Shown *shown);
	/* If @add is NULL: adds all samples. */
	void (*add_all)(const Samples *to);
	/* If both are NULL: of a uint64_t in StoreFigures. */
	size_t offset;
} Metric;

Metrics *metrics_new(bool has_service)
{
	Metrics *metrics = g_new0(Metrics, 1);

	metrics->has_service = has_service;
	metrics->filesystems = g_array_new(false, false, sizeof(FilesystemMetrics));
	metrics->disks = g_array_new(false, false, sizeof(DiskMetrics));
	metrics->texts = g_string_chunk_new(1024);
	return metrics;
}

void metrics_free(Metrics *metrics)
{
	if (!metrics)
		return;

	g_array_unref(metrics->filesystems);
	g_array_unref(metrics->disks);
	g_string_chunk_free(metrics->texts);
	g_free(metrics);
}

static const char *keep(Metrics *metrics, const char *text)
{
	return text ? g_string_chunk_insert_const(metrics->texts, text) : NULL;
}

void metrics_add_filesystem(Metrics *metrics, const FilesystemMetrics *filesystem)
{
	FilesystemMetrics copy = *filesystem;

	copy.uuid = keep(metrics, copy.uuid);
	copy.kind = keep(metrics, copy.kind);
	copy.mount_point = keep(metrics, copy.mount_point);
	copy.state = keep(metrics, copy.state);
	copy.wait_reason = keep(metrics, copy.wait_reason);
	copy.last_outcome = copy.last_outcome && copy.last_outcome[0] != '\0'
				    ? keep(metrics, copy.last_outcome)
				    : NULL;
	g_array_append_val(metrics->filesystems, copy);
}

void metrics_add_disk(Metrics *metrics, const char *name, uint64_t charged_bytes)
{
	DiskMetrics disk = { keep(metrics, name), charged_bytes };

	g_array_append_val(metrics->disks, disk);
}

/* Append a label; characters that would end it or the line are escaped. */
static void append_label(GString *text, const char *name, const char *value)
{
	g_string_append_printf(text, "%s=\"", name);
	for (const char *byte = value; *byte; byte++) {
		if (*byte == '\n')
			g_string_append(text, "\\n");
		else if (*byte == '"' || *byte == '\\')
			g_string_append_printf(text, "\\%c", *byte);
		else
			g_string_append_c(text, *byte);
	}
	g_string_append_c(text, '"');
}

/*
 * A mount point as node_exporter has it, so that both labels are equal.  Only one that is not UTF-8, or has
 * control characters, is escaped: no label can have the former, and the latter would reach a terminal.
 */
static char *mount_label(const char *mount_point)
{
	bool is_plain = g_utf8_validate(mount_point, -1, NULL);

	for (const char *at = mount_point; is_plain && *at; at = g_utf8_next_char(at))
		is_plain = *at == '\n' || !g_unichar_iscntrl(g_utf8_get_char(at));

	return is_plain ? g_strdup(mount_point) : name_text(mount_point, strlen(mount_point));
}

/* Add a sample with the label @label, besides that of the filesystem; NULL: without it. */
static void add(const Samples *to, const char *label, const char *value, double number)
{
	char digits[G_ASCII_DTOSTR_BUF_SIZE];

	g_string_append_printf(to->text, "%s{", to->name);
	if (to->uuid)
		append_label(to->text, "uuid", to->uuid);
	if (to->uuid && label)
		g_string_append_c(to->text, ',');
	if (label)
		append_label(to->text, label, value);
	g_string_append_printf(to->text, "} %s\n",
			       g_ascii_formatd(digits, sizeof(digits), "%.17g", number));
}

static double seconds(int64_t usec)
{
	return (double)usec / G_USEC_PER_SEC;
}

static void add_build_info(const Samples *to)
{
	add(to, "version", DEDUPD_VERSION, 1);
}

static void add_service(const Samples *to)
{
	g_string_append_printf(to->text, "%s %d\n", to->name, to->metrics->has_service);
}

static void add_charged(const Samples *to)
{
	for (guint i = 0; i < to->metrics->disks->len; i++) {
		const DiskMetrics *disk = &g_array_index(to->metrics->disks, DiskMetrics, i);

		add(to, "device", disk->name, (double)disk->charged_bytes);
	}
}

static void add_info(const Samples *to, const Shown *shown)
{
	const char *kind = shown->live ? shown->live->kind : shown->stored->kind;
	const char *mount_point =
		shown->live ? shown->live->mount_point : shown->stored->last.mount_point;
	g_autofree char *type = g_ascii_strdown(kind ? kind : "", -1);
	g_autofree char *mount = mount_label(mount_point ? mount_point : "");

	g_string_append_printf(to->text, "%s{", to->name);
	append_label(to->text, "uuid", to->uuid);
	g_string_append_c(to->text, ',');
	append_label(to->text, "mountpoint", mount);
	g_string_append_c(to->text, ',');
	append_label(to->text, "fstype", type);
	g_string_append(to->text, "} 1\n");
}

/* Add a sample for each of several names: 1 for @present, 0 for the others. */
static void add_one_of(const Samples *to, const char *label, const char *name, const char *present)
{
	add(to, label, name, strcmp(name, present) == 0);
}

static void add_state(const Samples *to, const Shown *shown)
{
	for (ManagedState state = 0; shown->live && shown->live->state && state < MANAGED_STATES;
	     state++)
		add_one_of(to, "state", managed_state_name(state), shown->live->state);
}

static void add_wait_reason(const Samples *to, const Shown *shown)
{
	for (WaitReason reason = WAIT_NOT + 1;
	     shown->live && shown->live->state && reason < WAIT_REASONS; reason++)
		add_one_of(to, "reason", wait_reason_name(reason), shown->live->wait_reason);
}

static void add_next(const Samples *to, const Shown *shown)
{
	if (shown->live && shown->live->next_usec > 0)
		add(to, NULL, NULL, seconds(shown->live->next_usec));
}

/* Whether the caller knows a later pass than the store, which may lack those that found nothing. */
static bool is_last_live(const Shown *shown)
{
	return shown->live && shown->live->last_outcome &&
	       !(shown->store && shown->store->has_last &&
		 shown->store->last.started_usec > shown->live->last_started_usec);
}

static bool has_last(const Shown *shown)
{
	return is_last_live(shown) || (shown->store && shown->store->has_last);
}

static void add_last_end(const Samples *to, const Shown *shown)
{
	if (has_last(shown))
		add(to, NULL, NULL,
		    seconds(is_last_live(shown) ? shown->live->last_ended_usec
						: shown->store->last.ended_usec));
}

static void add_last_duration(const Samples *to, const Shown *shown)
{
	if (is_last_live(shown))
		add(to, NULL, NULL,
		    seconds(shown->live->last_ended_usec - shown->live->last_started_usec));
	else if (has_last(shown))
		add(to, NULL, NULL,
		    seconds(shown->store->last.ended_usec - shown->store->last.started_usec));
}

static void add_last_outcome(const Samples *to, const Shown *shown)
{
	for (PassOutcome outcome = PASS_COMPLETE; has_last(shown) && outcome <= PASS_FAILED;
	     outcome++)
		add_one_of(to, "outcome", pass_outcome_name(outcome),
			   is_last_live(shown) ? shown->live->last_outcome
					       : pass_outcome_name(shown->store->last.outcome));
}

static void add_last_success(const Samples *to, const Shown *shown)
{
	bool is_live = is_last_live(shown) &&
		       strcmp(shown->live->last_outcome, pass_outcome_name(PASS_COMPLETE)) == 0;

	if (is_live)
		add(to, NULL, NULL, seconds(shown->live->last_ended_usec));
	else if (shown->store && shown->store->success_usec > 0)
		add(to, NULL, NULL, seconds(shown->store->success_usec));
}

static void add_disk_failing(const Samples *to, const Shown *shown)
{
	if (shown->live)
		add(to, NULL, NULL, shown->live->is_disk_failing);
}

static void add_usable(const Samples *to, const Shown *shown)
{
	if (shown->stored)
		add(to, NULL, NULL, shown->store != NULL);
}

static void add_passes(const Samples *to, const Shown *shown)
{
	const PassTotals *totals;

	if (!shown->store)
		return;
	totals = &shown->store->totals;
	/* Nothing keeps a damaged store from counting more failures than passes. */
	add(to, "outcome", pass_outcome_name(PASS_COMPLETE),
	    MAX(0, (double)totals->passes - (double)totals->interrupted - (double)totals->failed));
	add(to, "outcome", pass_outcome_name(PASS_INTERRUPTED), (double)totals->interrupted);
	add(to, "outcome", pass_outcome_name(PASS_FAILED), (double)totals->failed);
}

static void add_drift(const Samples *to, const Shown *shown)
{
	if (shown->store && shown->store->has_drift)
		add(to, NULL, NULL, (double)shown->store->drift_bytes);
}

static void add_skipped(const Samples *to, const Shown *shown)
{
	for (guint i = 0; shown->store && i < shown->store->skipped->len; i++) {
		const SkippedBytes *skipped =
			&g_array_index(shown->store->skipped, SkippedBytes, i);

		add(to, "reason", skipped->reason, (double)skipped->bytes);
	}
}

/* A figure of stores as it is. */
#define STORE_FIGURE(member) NULL, NULL, offsetof(StoreFigures, member)

static const Metric metrics_all[] = {
	{ "dedupd_build_info", "gauge", "The version of dedupd, as a label.", NULL,
	  add_build_info },
	{ "dedupd_service_running", "gauge", "Whether the service runs.", NULL, add_service },
	{ "dedupd_disk_charged_bytes_total", "counter",
	  "I/O that was charged to the limits of a disk since the service began.", NULL,
	  add_charged },
	{ "dedupd_filesystem_info", "gauge",
	  "The mount point and the type of a filesystem, as labels.", add_info, NULL },
	{ "dedupd_state", "gauge", "State of the filesystem in the service.", add_state, NULL },
	{ "dedupd_wait_reason", "gauge", "Reason that the service waits before the next pass.",
	  add_wait_reason, NULL },
	{ "dedupd_next_pass_timestamp_seconds", "gauge",
	  "When the service next checks whether to begin a pass, if time decides that.", add_next,
	  NULL },
	{ "dedupd_last_pass_end_timestamp_seconds", "gauge", "When the last pass ended.",
	  add_last_end, NULL },
	{ "dedupd_last_pass_duration_seconds", "gauge", "How long the last pass took.",
	  add_last_duration, NULL },
	{ "dedupd_last_pass_outcome", "gauge", "How the last pass ended.", add_last_outcome, NULL },
	{ "dedupd_last_success_timestamp_seconds", "gauge", "When the last complete pass ended.",
	  add_last_success, NULL },
	{ "dedupd_disk_failing", "gauge",
	  "Whether a disk fails or is missing, or the filesystem became read-only, so that no pass "
	  "runs to its end.",
	  add_disk_failing, NULL },
	{ "dedupd_store_usable", "gauge", "Whether the store of the filesystem can be read.",
	  add_usable, NULL },
	{ "dedupd_store_size_bytes", "gauge", "Size of the store on the disk.",
	  STORE_FIGURE(file_bytes) },
	{ "dedupd_passes_total", "counter", "Recorded passes, by outcome.", add_passes, NULL },
	{ "dedupd_freed_bytes_total", "counter", "Bytes on the disk that passes freed.",
	  STORE_FIGURE(totals.freed_bytes) },
	{ "dedupd_finding_read_bytes_total", "counter", "Bytes read to find equal data.",
	  STORE_FIGURE(totals.finding_bytes) },
	{ "dedupd_compare_read_bytes_total", "counter",
	  "Bytes that the kernel read to compare data, of both sides.",
	  STORE_FIGURE(totals.compare_bytes) },
	{ "dedupd_compare_wasted_bytes_total", "counter",
	  "The part of compared bytes of btrfs extents that turned out to differ.",
	  STORE_FIGURE(totals.wasted_bytes) },
	{ "dedupd_drift_bytes", "gauge",
	  "Bytes freed by the filesystem's own count, beyond those that the last pass with an "
	  "undisturbed count claims.",
	  add_drift, NULL },
	{ "dedupd_pinned_bytes", "gauge",
	  "Bytes of btrfs extents that duplicate other data but cannot be freed yet.",
	  STORE_FIGURE(pinned_bytes) },
	{ "dedupd_deferred_bytes", "gauge", "Bytes that are freed when snapshots are deleted.",
	  STORE_FIGURE(deferred_bytes) },
	{ "dedupd_skipped_bytes", "gauge",
	  "Bytes that the last pass with new data skipped, by reason.", add_skipped, NULL },
};

static const FilesystemMetrics *find_live(const Metrics *metrics, const char *uuid)
{
	for (guint i = 0; i < metrics->filesystems->len; i++) {
		const FilesystemMetrics *live =
			&g_array_index(metrics->filesystems, FilesystemMetrics, i);

		if (g_ascii_strcasecmp(live->uuid, uuid) == 0)
			return live;
	}

	return NULL;
}

/* All filesystems to show: those with a store by UUID, then others. */
static GArray *find_shown(const Metrics *metrics, const GPtrArray *stores)
{
	GArray *all = g_array_new(false, false, sizeof(Shown));
	g_autoptr(GHashTable) has_store = g_hash_table_new(g_direct_hash, g_direct_equal);

	for (guint i = 0; i < stores->len; i++) {
		const StoreFigures *stored = stores->pdata[i];
		const FilesystemMetrics *live = find_live(metrics, stored->uuid);
		Shown shown = { stored->uuid, live, stored, stored->trouble ? NULL : stored };

		g_hash_table_add(has_store, (void *)live);
		g_array_append_val(all, shown);
	}
	for (guint i = 0; i < metrics->filesystems->len; i++) {
		const FilesystemMetrics *live =
			&g_array_index(metrics->filesystems, FilesystemMetrics, i);
		Shown shown = { .uuid = live->uuid, .live = live };
		bool is_disabled =
			g_strcmp0(live->state, managed_state_name(MANAGED_DISABLED)) == 0;

		if (!is_disabled && !g_hash_table_contains(has_store, live))
			g_array_append_val(all, shown);
	}

	return all;
}

static double store_figure(const StoreFigures *store, size_t offset)
{
	uint64_t value;

	memcpy(&value, (const char *)store + offset, sizeof(value));
	return (double)value;
}

char *metrics_text(const Metrics *metrics, const GPtrArray *stores)
{
	g_autoptr(GArray) all = find_shown(metrics, stores);
	GString *text = g_string_new(NULL);

	for (size_t i = 0; i < G_N_ELEMENTS(metrics_all); i++) {
		const Metric *metric = &metrics_all[i];
		Samples samples = { text, metrics, metric->name, NULL };

		g_string_append_printf(text, "# HELP %s %s\n# TYPE %s %s\n", metric->name,
				       metric->help, metric->name, metric->type);
		if (metric->add_all)
			metric->add_all(&samples);
		for (guint j = 0; !metric->add_all && j < all->len; j++) {
			const Shown *shown = &g_array_index(all, Shown, j);

			samples.uuid = shown->uuid;
			if (metric->add)
				metric->add(&samples, shown);
			else if (shown->store)
				add(&samples, NULL, NULL,
				    store_figure(shown->store, metric->offset));
		}
	}

	return g_string_free(text, FALSE);
}
