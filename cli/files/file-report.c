/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/files/file-report.h"

#define MEMORY_BYTES ((size_t)16 << 20)

static const char *const state_names[] = {
	[FILE_NO_STORE] = "no store", [FILE_UNKNOWN] = "unknown", [FILE_STALE] = "stale",
	[FILE_FRESH] = "fresh",       [FILE_HALF] = "half",       [FILE_SKIPPED] = "skipped",
	[FILE_SEEN] = "seen",         [FILE_KNOWN] = "known",
};

static const char *const relation_names[] = {
	[OTHER_SHARES] = "shared",
	[OTHER_EQUALS] = "equal",
	[OTHER_FRESH] = "fresh",
	[OTHER_STALE] = "stale",
};

const char *file_state_name(FileState state)
{
	return state_names[state];
}

const char *other_relation_name(OtherRelation relation)
{
	return relation_names[relation];
}

static int compare_extents(const void *a, const void *b)
{
	const ReportedExtent *one = a, *other = b;

	return (one->logical > other->logical) - (one->logical < other->logical);
}

static void other_clear(void *data)
{
	ReportedFile *other = data;

	g_free(other->path);
}

FileReport *file_report_new(void)
{
	FileReport *report = g_new0(FileReport, 1);

	report->extents = sorter_new(sizeof(ReportedExtent), compare_extents, MEMORY_BYTES,
				     g_get_tmp_dir(), NULL);
	report->names = g_string_chunk_new(1024);
	report->others = g_array_new(false, true, sizeof(ReportedFile));
	g_array_set_clear_func(report->others, other_clear);
	return report;
}

void file_report_free(FileReport *report)
{
	if (!report)
		return;

	sorter_free(report->extents);
	g_string_chunk_free(report->names);
	g_array_unref(report->others);
	g_free(report);
}

bool file_report_next(FileReport *report, const ReportedExtent **ret, GError **error)
{
	return sorter_next(report->extents, (const void **)ret, error);
}

void file_report_add_other_take(FileReport *report, OtherRelation relation, char *path,
				uint64_t bytes)
{
	ReportedFile other = { relation, path, bytes };

	report->n_others++;
	if (report->others->len < FILE_REPORT_OTHERS)
		g_array_append_val(report->others, other);
	else
		g_free(path);
}
