/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/journal.h"

#include "daemon/name-text.h"
#include "daemon/size-text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

GLogWriterOutput journal_write(GLogLevelFlags level, const GLogField *fields, gsize n_fields,
			       gpointer data)
{
	bool is_verbose = *(const bool *)data;

	if (level & (G_LOG_LEVEL_DEBUG | G_LOG_LEVEL_INFO) && !is_verbose)
		return G_LOG_WRITER_HANDLED;
	if (g_log_writer_is_journald(fileno(stderr)) &&
	    g_log_writer_journald(level, fields, n_fields, NULL) == G_LOG_WRITER_HANDLED)
		return G_LOG_WRITER_HANDLED;

	for (gsize i = 0; i < n_fields; i++)
		if (g_strcmp0(fields[i].key, "MESSAGE") == 0)
			fprintf(stderr, "dedupd: %s%s\n",
				level & G_LOG_LEVEL_WARNING ? "warning: " : "",
				(const char *)fields[i].value);

	return G_LOG_WRITER_HANDLED;
}

/* "freed 24 MiB of /srv: complete in 1.3 s, 48 MiB read from disk" */
static char *line_of(const char *mount_point, const PassResult *result)
{
	g_autofree char *name = name_text(mount_point, strlen(mount_point));
	g_autofree char *freed = size_text(result->freed.bytes);
	g_autofree char *read = size_text(result->disk_bytes);
	double seconds = (double)(result->ended_usec - result->started_usec) / G_USEC_PER_SEC;

	if (result->error)
		return g_strdup_printf("a pass over %s failed: %s", name, result->error->message);

	return g_strdup_printf("freed %s of %s: %s in %.1f s, %s read from disk%s%s", freed, name,
			       pass_outcome_name(result->outcome), seconds, read,
			       result->stopped_reason ? ", " : "",
			       result->stopped_reason ? result->stopped_reason : "");
}

/* What found nothing says nothing, or an idle machine's journal would fill. */
static GLogLevelFlags level_of(const PassResult *result)
{
	if (result->error)
		return G_LOG_LEVEL_WARNING;

	return result->outcome == PASS_COMPLETE && result->files.read + result->shared.runs == 0
		       ? G_LOG_LEVEL_INFO
		       : G_LOG_LEVEL_MESSAGE;
}

void journal_pass(const char *uuid, const char *mount_point, const PassResult *result)
{
	g_autofree char *line = line_of(mount_point, result);
	g_autofree char *seconds = g_strdup_printf(
		"%.3f", (double)(result->ended_usec - result->started_usec) / G_USEC_PER_SEC);
	g_autofree char *read = g_strdup_printf("%" PRIu64, result->disk_bytes);
	g_autofree char *shared = g_strdup_printf("%" PRIu64, result->shared.bytes);
	g_autofree char *freed = g_strdup_printf("%" PRIu64, result->freed.bytes);

	g_log_structured(G_LOG_DOMAIN, level_of(result), "MESSAGE_ID",
			 result->error ? JOURNAL_PASS_FAILED_ID : JOURNAL_PASS_ENDED_ID,
			 "DEDUPD_UUID", uuid, "DEDUPD_MOUNT_POINT", mount_point, "DEDUPD_OUTCOME",
			 pass_outcome_name(result->outcome), "DEDUPD_SECONDS", seconds,
			 "DEDUPD_READ_BYTES", read, "DEDUPD_SHARED_BYTES", shared,
			 "DEDUPD_FREED_BYTES", freed, "MESSAGE", "%s", line);
}
