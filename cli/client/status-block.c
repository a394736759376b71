/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/client/status-block.h"

#include "cli/client/disk-limits.h"
#include "cli/client/filesystem-status.h"
#include "cli/client/hold-table.h"
#include "cli/client/stage-pace.h"
#include "cli/terminal/bytes-text.h"
#include "cli/terminal/message.h"
#include "cli/terminal/time-text.h"

#include <stdio.h>
#include <string.h>

#define NAME_COLUMNS 11

__attribute__((format(printf, 2, 3))) static void print_line(const char *name, const char *format,
							     ...)
{
	va_list arguments;

	va_start(arguments, format);
	g_autofree char *value = g_strdup_vprintf(format, arguments);
	va_end(arguments);

	g_autofree char *text = message_terminal_text(value);
	printf("%*s%s %s\n", NAME_COLUMNS, name, name[0] != '\0' ? ":" : " ", text);
}

static void print_state(const FilesystemStatus *status)
{
	const DaemonFilesystem *live = status->live;

	if (!live)
		return;

	g_autofree char *why = filesystem_why_text(live);
	g_autofree char *since = live->pass_started_usec > 0
					 ? time_text_local((int64_t)live->pass_started_usec)
					 : NULL;

	if (since)
		print_line("State", "%s since %s", live->state, since);
	else
		print_line("State", "%s%s%s", live->state, why[0] != '\0' ? ": " : "", why);
}

static void print_stage(const DaemonFilesystem *live, bool in_bytes)
{
	g_autofree char *done = bytes_text(live->stage_bytes, in_bytes);
	g_autofree char *total = bytes_text(live->stage_total_bytes, in_bytes);

	if (live->stage_total_bytes > 0)
		print_line("Stage", "%s, %s of %s (%.0f %%)", live->stage, done, total,
			   MIN(100.0, 100.0 * (double)live->stage_bytes /
					      (double)live->stage_total_bytes));
	else
		print_line("Stage", "%s, %" G_GUINT64_FORMAT " files met", live->stage,
			   live->stage_files);
}

static void print_pace(const DaemonFilesystem *live, bool in_bytes)
{
	StagePace pace = stage_pace(live, g_get_real_time());
	g_autofree char *rate = bytes_text(pace.rate_bytes, in_bytes);
	g_autofree char *left = duration_text(pace.left_usec);

	if (pace.has_rate)
		print_line("Rate", "%s/s since the stage began", rate);
	else
		print_line("Rate", "-");
	if (pace.has_left)
		print_line("Left", "%s of this stage, at that rate", left);
	else
		print_line("Left", "-");
}

static void print_pass(const FilesystemStatus *status, bool in_bytes)
{
	const DaemonFilesystem *live = status->live;

	if (!filesystem_status_is_running(status))
		return;

	g_autofree char *freed = bytes_text(live->pass_freed_bytes, in_bytes);
	g_autofree char *deadline =
		live->deadline_usec > 0 ? time_text_local((int64_t)live->deadline_usec) : NULL;

	print_stage(live, in_bytes);
	print_pace(live, in_bytes);
	print_line("Freed", "%s by this pass so far", freed);
	if (deadline)
		print_line("Ends", "at %s at the latest", deadline);
}

static void print_disk(const char *heading, const char *name, const DaemonDisk *disk, bool in_bytes)
{
	g_autofree char *rate = bytes_text(disk ? disk->rate_bytes : 0, in_bytes);
	g_autoptr(GString) text = g_string_new(NULL);

	if (disk && disk->rate_bytes > 0)
		g_string_append_printf(text, ", %s/s", rate);
	if (disk && disk->rate_requests > 0)
		g_string_append_printf(text, ", %" G_GUINT64_FORMAT " requests/s",
				       disk->rate_requests);
	if (text->len == 0)
		g_string_append(text, ", no limit");
	if (disk && disk->is_set)
		g_string_append(text, " (set)");
	if (disk && disk->makes_way)
		g_string_append(text, ", makes way for others");
	if (disk && disk->is_rotating)
		g_string_append(text, ", rotating");
	print_line(heading, "%s%s", name, text->str);
}

static void print_next(const FilesystemStatus *status)
{
	int64_t next_usec = filesystem_status_next_usec(status);
	g_autofree char *next = next_usec > 0 ? time_text_local(next_usec) : NULL;

	if (!status->live || filesystem_status_is_running(status))
		return;
	print_line("Next pass", "%s", next ? next : "-");
}

static void print_last(const FilesystemStatus *status, bool in_bytes)
{
	g_autofree char *started = time_text_local(status->last_started_usec);
	g_autofree char *took = duration_text(status->last_ended_usec - status->last_started_usec);
	g_autofree char *freed = bytes_text(status->last_freed_bytes, in_bytes);
	g_autofree char *net = bytes_text((uint64_t)ABS(status->last_net_bytes), in_bytes);

	if (status->has_last && started && status->has_last_net)
		print_line("Last pass", "%s, %s in %s, freed %s (%s%s net of metadata)", started,
			   status->last_outcome, took, freed, status->last_net_bytes < 0 ? "-" : "",
			   net);
	else if (status->has_last && started)
		print_line("Last pass", "%s, %s in %s, freed %s", started, status->last_outcome,
			   took, freed);
	else
		print_line("Last pass", "-");
}

static const char *passes(uint64_t n)
{
	return n == 1 ? "pass" : "passes";
}

static void print_sums(const FilesystemStatus *status, bool in_bytes)
{
	const DaemonFilesystem *live = status->live;
	g_autofree char *total = bytes_text(status->totals.freed_bytes, in_bytes);
	g_autofree char *since = bytes_text(live ? live->freed_bytes : 0, in_bytes);
	g_autofree char *store = bytes_text(status->store_bytes, in_bytes);
	g_autofree char *pinned = bytes_text(status->pinned.bytes, in_bytes);
	g_autofree char *deferred = bytes_text(status->deferred.bytes, in_bytes);
	g_autofree char *last = filesystem_status_last_holder(status);

	if (status->has_store)
		print_line("In all", "freed %s by %" G_GUINT64_FORMAT " %s of the history", total,
			   status->totals.passes, passes(status->totals.passes));
	if (status->pinned.extents > 0)
		print_line(
			"Pinned",
			"%s in %" G_GUINT64_FORMAT
			" extents duplicate other data but cannot be freed yet ('dedupctl waste')",
			pinned, status->pinned.extents);
	if (status->deferred.bytes > 0)
		print_line("Deferred",
			   "%s will be freed when %" G_GUINT64_FORMAT " %s deleted (last: %s)",
			   deferred, status->holders.n,
			   status->holders.n == 1 ? "snapshot is" : "snapshots are", last);
	if (live)
		print_line("This run",
			   "freed %s since the service began, in %" G_GUINT64_FORMAT
			   " %s with those that found nothing",
			   since, live->passes, passes(live->passes));
	if (status->has_store)
		print_line("Store", "%s, %s, %" G_GUINT64_FORMAT " objects", status->store_path,
			   store, status->n_objects);
}

static void print_holds(const DaemonFilesystem *live)
{
	for (guint i = 0; live && i < live->holds->len; i++) {
		g_autofree char *text = hold_text(live->holds->pdata[i]);

		print_line(i == 0 ? "Held by" : "", "%s", text);
	}
}

void status_block_print(const StatusList *list, const FilesystemStatus *status, bool in_bytes)
{
	g_autofree char *mount_point = message_text(status->mount_point);
	g_autofree char *trouble = filesystem_status_trouble(status);
	g_autofree char *kind = message_text(status->kind);

	print_line("Mount", "%s", mount_point[0] != '\0' ? mount_point : "-");
	print_line("UUID", "%s", status->uuid);
	print_line("Kind", "%s", kind);
	print_state(status);
	print_pass(status, in_bytes);
	print_next(status);
	for (char **disk = status->live ? status->live->disks : NULL; disk && *disk; disk++)
		print_disk(disk == status->live->disks ? "Disks" : "", *disk,
			   disk_limits_find(list->disks, *disk), in_bytes);
	print_last(status, in_bytes);
	print_sums(status, in_bytes);
	print_holds(status->live);
	print_line("Trouble", "%s", trouble ? trouble : "-");
}
