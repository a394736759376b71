/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/client/filesystem-status.h"

#include "cli/terminal/message.h"
#include "cli/terminal/skipped-table.h"
#include "cli/terminal/time-text.h"
#include "hashstore/objects/objects.h"

#include <string.h>

FilesystemStatus *filesystem_status_new_take(DaemonFilesystem *live)
{
	FilesystemStatus *status = g_new0(FilesystemStatus, 1);

	status->live = live;
	status->uuid = g_strdup(live->uuid);
	status->kind = g_strdup(live->kind);
	status->mount_point = g_strdup(live->mount_point);
	status->has_last = live->last_outcome[0] != '\0';
	status->last_started_usec = (int64_t)live->last_started_usec;
	status->last_ended_usec = (int64_t)live->last_ended_usec;
	status->last_outcome = live->last_outcome;
	status->last_freed_bytes = live->last_freed_bytes;
	return status;
}

/* A pass that found nothing may be missing in the store.  A pass before the service started is only there. */
static void take_last_pass(FilesystemStatus *status, const PassRecord *pass)
{
	if (!status->mount_point)
		status->mount_point = g_strdup(pass->mount_point);
	if (status->has_last && status->last_started_usec > pass->started_usec)
		return;

	status->has_last_net = pass->has_net;
	status->last_net_bytes = pass->net_bytes;
	if (status->has_last && status->last_started_usec == pass->started_usec)
		return;

	status->has_last = true;
	status->last_started_usec = pass->started_usec;
	status->last_ended_usec = pass->ended_usec;
	status->last_outcome = pass_outcome_name(pass->outcome);
	status->last_freed_bytes = pass->freed_bytes;
}

bool filesystem_status_add_store(FilesystemStatus *status, const StoreEntry *entry,
				 const Options *options, GError **error)
{
	const HashStoreAbout *about = hash_store_about(entry->store);

	if (!hash_store_count_objects(entry->store, &status->n_objects, error) ||
	    !hash_store_pass_totals(entry->store, &status->totals, error) ||
	    !hash_store_sum_held(entry->store, &status->deferred, error) ||
	    !hash_store_sum_pinned(entry->store, PINNED_ANY_CAUSE, &status->pinned, error) ||
	    !hash_store_sum_holders(entry->store, &status->holders, error))
		return false;
	status->skipped = skipped_table_read(entry->store, options, error);
	if (!status->skipped)
		return false;

	status->has_store = true;
	status->store_path = g_strdup(hash_store_path(entry->store));
	status->store_bytes = hash_store_file_bytes(entry->store);
	status->anchor_blocks = about->anchor_blocks;
	status->window_anchors = about->window_anchors;
	status->has_stored_pass = entry->has_pass;
	if (entry->has_pass)
		take_last_pass(status, &entry->last_pass);
	return true;
}

FilesystemStatus *filesystem_status_new_stored(const StoreEntry *entry, const Options *options,
					       GError **error)
{
	g_autoptr(FilesystemStatus) status = g_new0(FilesystemStatus, 1);
	const HashStoreAbout *about = hash_store_about(entry->store);

	status->uuid = g_strdup(about->uuid);
	status->kind = g_strdup(about->kind);
	if (!filesystem_status_add_store(status, entry, options, error))
		return NULL;

	return g_steal_pointer(&status);
}

void filesystem_status_free(FilesystemStatus *status)
{
	if (!status)
		return;

	daemon_filesystem_free(status->live);
	table_free(status->skipped);
	holders_summary_clear(&status->holders);
	g_free(status->uuid);
	g_free(status->kind);
	g_free(status->mount_point);
	g_free(status->store_path);
	g_free(status);
}

char *filesystem_status_last_holder(const FilesystemStatus *status)
{
	return status->holders.last_path
		       ? message_text(status->holders.last_path)
		       : g_strdup_printf("subvolume %" G_GUINT64_FORMAT, status->holders.last);
}

static void append(GString *text, const char *what)
{
	g_autofree char *safe = message_text(what);

	g_string_append_printf(text, "%s%s", text->len > 0 ? "; " : "", safe);
}

static void append_pause(GString *text, const DaemonFilesystem *live)
{
	bool has_end = live->waits_until_usec > 0 && strcmp(live->wait_reason, "paused") == 0;
	g_autofree char *until = has_end ? time_text_local((int64_t)live->waits_until_usec) : NULL;
	g_autofree char *what =
		until ? g_strdup_printf("paused until %s: 'dedupctl resume' ends the pause earlier",
					until)
		      : g_strdup("paused: 'dedupctl resume' ends the pause");

	append(text, what);
}

/* The problem that the service reports now. */
static void append_live(GString *text, const DaemonFilesystem *live)
{
	if (strcmp(live->state, "unmounted") == 0)
		append(text, "not mounted");
	if (strcmp(live->state, "refused") == 0)
		append(text, live->refusal);
	if (live->is_paused)
		append_pause(text, live);
	else if (g_strv_contains((const char *const[]){ "degraded", "retry", NULL },
				 live->wait_reason))
		append(text, live->waits_for);
}

char *filesystem_status_trouble(const FilesystemStatus *status)
{
	const DaemonFilesystem *live = status->live;
	g_autoptr(GString) text = g_string_new(NULL);

	if (status->config_is_wrong)
		append(text, live ? "the configuration is wrong, and the service keeps the "
				    "previous one: 'dedupctl config --check'"
				  : "the configuration is wrong, no pass can begin: 'dedupctl "
				    "config --check'");
	if (live)
		append_live(text, live);
	/* The reason for the retry is included. */
	if (live && live->last_error[0] != '\0' && strcmp(live->wait_reason, "retry") != 0)
		append(text, live->last_error);
	else if (status->has_last && strcmp(status->last_outcome, "failed") == 0 && text->len == 0)
		append(text, "the last pass failed");

	return text->len > 0 ? g_string_free(g_steal_pointer(&text), false) : NULL;
}

int64_t filesystem_status_next_usec(const FilesystemStatus *status)
{
	return status->live ? (int64_t)status->live->waits_until_usec : 0;
}

bool filesystem_status_is_running(const FilesystemStatus *status)
{
	return status->live && status->live->stage[0] != '\0';
}

static char *stage_text(const DaemonFilesystem *filesystem)
{
	g_autofree char *stage = message_text(filesystem->stage);

	if (filesystem->stage_total_bytes == 0)
		return g_steal_pointer(&stage);

	return g_strdup_printf("%s, %.0f %%", stage,
			       100.0 * (double)filesystem->stage_bytes /
				       (double)filesystem->stage_total_bytes);
}

char *filesystem_why_text(const DaemonFilesystem *filesystem)
{
	if (filesystem->stage[0] != '\0')
		return stage_text(filesystem);
	if (filesystem->refusal[0] != '\0')
		return message_text(filesystem->refusal);
	if (filesystem->is_paused)
		return g_strdup("paused");

	return message_text(filesystem->waits_for);
}
