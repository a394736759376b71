/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/report/journal.h"

#include "common/text/name-text.h"
#include "common/text/size-text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool journal_is_written(void)
{
	return g_log_writer_is_journald(fileno(stderr));
}

/* The name for "journalctl -t", whichever thread logs. */
static bool write_named(GLogLevelFlags level, const GLogField *fields, gsize n_fields)
{
	g_autofree GLogField *named = g_new(GLogField, n_fields + 1);

	memcpy(named, fields, n_fields * sizeof(*fields));
	named[n_fields] = (GLogField){ "SYSLOG_IDENTIFIER", "dedupd", -1 };
	return g_log_writer_journald(level, named, n_fields + 1, NULL) == G_LOG_WRITER_HANDLED;
}

GLogWriterOutput journal_write(GLogLevelFlags level, const GLogField *fields, gsize n_fields,
			       gpointer data)
{
	bool is_verbose = *(const bool *)data;

	if (level & (G_LOG_LEVEL_DEBUG | G_LOG_LEVEL_INFO) && !is_verbose)
		return G_LOG_WRITER_HANDLED;
	if (journal_is_written() && write_named(level, fields, n_fields))
		return G_LOG_WRITER_HANDLED;

	for (gsize i = 0; i < n_fields; i++)
		if (g_strcmp0(fields[i].key, "MESSAGE") == 0)
			fprintf(stderr, "dedupd: %s%s\n",
				level & G_LOG_LEVEL_WARNING ? "warning: " : "",
				(const char *)fields[i].value);

	return G_LOG_WRITER_HANDLED;
}

static uint64_t unreadable_of(const PassResult *result)
{
	return result->skips.entries[SKIP_UNREADABLE].count;
}

/* "freed 24 MiB of /srv: complete in 1.3 s, 48 MiB read from disk" */
static char *line_of(const char *mount_point, const PassResult *result)
{
	g_autofree char *name = name_text(mount_point, strlen(mount_point));
	g_autofree char *freed = size_text(result->freed.bytes);
	g_autofree char *read = size_text(result->disk_bytes);
	g_autofree char *unreadable = NULL;
	double seconds = (double)(result->ended_usec - result->started_usec) / G_USEC_PER_SEC;

	if (result->error)
		return g_strdup_printf("a pass over %s failed: %s", name, result->error->message);

	if (unreadable_of(result) > 0)
		unreadable = g_strdup_printf(", %" PRIu64 " files could not be read",
					     unreadable_of(result));
	return g_strdup_printf("%s %s of %s: %s in %.1f s, %s read from disk%s%s%s",
			       result->is_dry_run ? "would free" : "freed", freed, name,
			       pass_outcome_name(result->outcome), seconds, read,
			       result->stopped_reason ? ", " : "",
			       result->stopped_reason ? result->stopped_reason : "",
			       unreadable ? unreadable : "");
}

/* A pass that read so much gets a line. */
#define MUCH_READ_BYTES (UINT64_C(64) << 20)

/*
 * A pass with little to tell is only a detail.  If the journal lies on a managed filesystem, its line would be a
 * change for the next pass, which would log again.
 */
static GLogLevelFlags level_of(const PassResult *result)
{
	if (result->error || unreadable_of(result) > 0)
		return G_LOG_LEVEL_WARNING;

	return result->outcome == PASS_COMPLETE && result->shared.runs == 0 &&
			       result->disk_bytes < MUCH_READ_BYTES
		       ? G_LOG_LEVEL_INFO
		       : G_LOG_LEVEL_MESSAGE;
}

void journal_pass(const char *uuid, const char *mount_point, const PassResult *result)
{
	g_autofree char *line = line_of(mount_point, result);
	g_autofree char *seconds = g_strdup_printf(
		"%.3f", (double)(result->ended_usec - result->started_usec) / G_USEC_PER_SEC);
	g_autofree char *read = g_strdup_printf("%" PRIu64, result->disk_bytes);
	bool has_shared = !result->is_dry_run;
	g_autofree char *shared =
		g_strdup_printf("%" PRIu64, has_shared ? result->shared.bytes : 0);
	g_autofree char *freed = g_strdup_printf("%" PRIu64, has_shared ? result->freed.bytes : 0);

	g_log_structured(G_LOG_DOMAIN, level_of(result), "MESSAGE_ID",
			 result->error ? JOURNAL_PASS_FAILED_ID : JOURNAL_PASS_ENDED_ID,
			 "DEDUPD_UUID", uuid, "DEDUPD_MOUNT_POINT", mount_point, "DEDUPD_OUTCOME",
			 pass_outcome_name(result->outcome), "DEDUPD_SECONDS", seconds,
			 "DEDUPD_READ_BYTES", read, "DEDUPD_SHARED_BYTES", shared,
			 "DEDUPD_FREED_BYTES", freed, "MESSAGE", "%s", line);
}

void journal_pass_not_begun(const char *uuid, const char *mount_point, const GError *error)
{
	g_autofree char *name = name_text(mount_point, strlen(mount_point));

	g_log_structured(G_LOG_DOMAIN, G_LOG_LEVEL_WARNING, "MESSAGE_ID", JOURNAL_PASS_FAILED_ID,
			 "DEDUPD_UUID", uuid, "DEDUPD_MOUNT_POINT", mount_point, "MESSAGE",
			 "cannot begin a pass over %s: %s", name, error->message);
}

void journal_config_refused(const GError *error)
{
	g_log_structured(G_LOG_DOMAIN, G_LOG_LEVEL_WARNING, "MESSAGE_ID", JOURNAL_CONFIG_REFUSED_ID,
			 "MESSAGE", "the configuration stays as it was: %s", error->message);
}
