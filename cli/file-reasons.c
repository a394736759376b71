/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/file-reasons.h"

#include "cli/file-pieces.h"
#include "cli/time-text.h"
#include "daemon/filter.h"
#include "daemon/name-text.h"
#include "daemon/path.h"
#include "daemon/pin-cause.h"
#include "daemon/skip.h"

#include <string.h>

static void reason_clear(void *data)
{
	FileReason *reason = data;

	g_free(reason->evidence);
}

/* Count @bytes for a reason; consumes @evidence. */
static void add_take(GArray *reasons, const char *reason, uint64_t bytes, char *evidence)
{
	FileReason added = { reason, evidence, bytes };

	for (guint i = 0; i < reasons->len; i++) {
		FileReason *known = &g_array_index(reasons, FileReason, i);

		if (strcmp(known->reason, reason) != 0 || strcmp(known->evidence, evidence) != 0)
			continue;
		known->bytes += bytes;
		g_free(evidence);
		return;
	}

	g_array_append_val(reasons, added);
}

static void add(GArray *reasons, const char *reason, uint64_t bytes, const char *evidence)
{
	add_take(reasons, reason, bytes, g_strdup(evidence));
}

/* What the configuration says. */
static void judge_settings(GArray *reasons, const NamedFile *file, const FileJudges *judges)
{
	const Settings *settings = judges->settings;
	const char *top = judges->mount_point ? judges->mount_point : "/";
	g_autoptr(Filter) filter = filter_new(settings->excludes, 0);

	if (settings->patterns)
		filter_set_patterns(filter, settings->patterns, top);
	if (path_lies_in(file->path, top) && filter_excludes_below(filter, file->path, strlen(top)))
		add(reasons, "excluded", file->stat.size_bytes,
		    "the configuration excludes it: see 'dedupctl config'");
	if (settings->min_size_bytes != SETTINGS_MIN_SIZE_UNSET &&
	    file->stat.size_bytes < settings->min_size_bytes)
		add(reasons, "small", file->stat.size_bytes,
		    "it is smaller than MinSize= of the configuration");
	if (file->stat.is_immutable)
		add(reasons, "immutable", file->stat.size_bytes,
		    "it is immutable, so others may share its data, and it cannot share theirs");
}

static bool has_reason(const GArray *reasons, const char *name)
{
	for (guint i = 0; i < reasons->len; i++)
		if (strcmp(g_array_index(reasons, FileReason, i).reason, name) == 0)
			return true;
	return false;
}

/* If the last pass left it alone and named it as an example, say so unless that is clear already. */
static bool judge_examples(GArray *reasons, const NamedFile *file, HashStore *store, GError **error)
{
	g_autofree char *name = name_text(file->path, strlen(file->path));
	g_autoptr(SkipCursor) cursor = skip_cursor_open(store, error);
	const SkipRecord *skip;

	if (!cursor)
		return false;
	while (true) {
		if (!skip_cursor_next(cursor, &skip, error))
			return false;
		if (!skip)
			return true;
		if (!g_strv_contains(skip->examples, name) || has_reason(reasons, skip->reason))
			continue;
		for (SkipReason reason = 0; reason < SKIP_REASONS; reason++)
			if (strcmp(skip_reason_name(reason), skip->reason) == 0)
				add(reasons, skip_reason_name(reason), file->stat.size_bytes,
				    "the last pass left it alone for this");
	}
}

/* Why the store does not have the file, or the extent, as it is now. */
static void judge_unknown(GArray *reasons, const NamedFile *file, const FileJudges *judges,
			  uint64_t bytes)
{
	const PassRecord *last = judges->last;

	if (!last) {
		add(reasons, "never-seen", bytes, "no pass over its filesystem is remembered");
		return;
	}

	g_autofree char *begun = time_text_local(last->started_usec);
	if (file->stat.ctime_nsec / 1000 >= last->started_usec - G_USEC_PER_SEC)
		add_take(reasons, "changed-since", bytes,
			 g_strdup_printf("it was written or changed since the last pass began, %s",
					 begun));
	else
		add_take(
			reasons, "never-seen", bytes,
			g_strdup_printf("the last pass, which began %s, did not come to it: it may "
					"lie outside of what that was over, or be left out by its "
					"options",
					begun));
}

static void judge_pinned(GArray *reasons, const ReportedExtent *extent)
{
	g_autofree char *by =
		extent->pinned_by ? name_text(extent->pinned_by, strlen(extent->pinned_by)) : NULL;

	if (strcmp(extent->pinned, pin_cause_name(PIN_TOO_COSTLY)) == 0) {
		add_take(reasons, "clones", extent->length,
			 g_strdup("so many places show it that sharing all would take more "
				  "comparing than MaxCompare= allows"));
		return;
	}
	if (strcmp(extent->pinned, pin_cause_name(PIN_SNAPSHOTS)) == 0) {
		add_take(reasons, "pinned", extent->length,
			 g_strdup_printf(
				 "it is freed when the snapshots are deleted that show it%s%s",
				 by ? ", the newest of them " : "", by ? by : ""));
		return;
	}

	add_take(reasons, "pinned", extent->length,
		 g_strdup_printf("sharing it would free nothing: %s%s%s", extent->pinned,
				 by ? ", by " : "", by ? by : ""));
}

/* What is known, and nothing keeps it from being shared. */
static void judge_known(GArray *reasons, const FileReport *report, const ReportedExtent *extent)
{
	bool is_shared = extent->flags & PIECE_SHARED ||
			 (extent->places != FILE_REPORT_NOT_ASKED && extent->places > 1);
	bool has_equals = report->is_version ? report->equal_bytes > 0 : extent->equals > 0;

	if (is_shared)
		add(reasons, "shared", extent->length, "it is shared already");
	else if (extent->is_unsettled)
		add(reasons, "unsettled", extent->length,
		    "it was not matched with all that is known yet, as a pass was cut "
		    "short, shared nothing (--dry-run), or put it off");
	else if (has_equals)
		add(reasons, "equal", extent->length,
		    "what equals it lies elsewhere: the last pass shared nothing (--dry-run), or "
		    "was kept from it by its policies");
	else if (report->is_in_use)
		add(reasons, "not-asked", extent->length,
		    "a pass works on the filesystem, so what equals it was not asked");
	else if (extent->has_differed)
		add(reasons, "differs", extent->length,
		    "what has its checksums was found to be different");
	else
		add(reasons, "unique", extent->length,
		    report->is_version ? "no other file equals it as a whole"
				       : "no other extent equals it as a whole");
}

static void judge_extent(GArray *reasons, const NamedFile *file, const FileReport *report,
			 const ReportedExtent *extent, const FileJudges *judges)
{
	if (extent->flags & PIECE_INLINE) {
		add(reasons, "inline", extent->length,
		    "its data lies inside metadata, where nothing can be shared");
		return;
	}
	if (extent->pinned) {
		judge_pinned(reasons, extent);
		return;
	}

	switch (extent->state) {
	case FILE_NO_STORE:
	case FILE_UNKNOWN:
		judge_unknown(reasons, file, judges, extent->length);
		break;
	case FILE_STALE:
		add(reasons, "changed-since", extent->length,
		    "it is not as it was when a pass looked at it");
		break;
	case FILE_SKIPPED:
		add(reasons, skip_reason_name((SkipReason)extent->skip_reason), extent->length,
		    "a pass left it alone for this, and it is as it was");
		break;
	case FILE_SEEN:
		add(reasons, "unique", extent->length,
		    "no other file had its size, or its size and first bytes, so it was not read");
		break;
	default:
		judge_known(reasons, report, extent);
	}
}

GArray *file_reasons_find(const NamedFile *file, const FileReport *report, const FileJudges *judges,
			  GError **error)
{
	g_autoptr(GArray) reasons = g_array_new(false, true, sizeof(FileReason));

	g_array_set_clear_func(reasons, reason_clear);
	judge_settings(reasons, file, judges);
	if (report->data_bytes == 0)
		add(reasons, "empty", 0, "it has no data: it is empty, or all holes");
	for (guint i = 0; i < report->extents->len; i++)
		judge_extent(reasons, file, report,
			     &g_array_index(report->extents, ReportedExtent, i), judges);
	if (judges->store && !judge_examples(reasons, file, judges->store, error))
		return NULL;

	return g_steal_pointer(&reasons);
}
