/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/file-reasons.h"

#include "cli/file-pieces.h"
#include "cli/time-text.h"
#include "daemon/advice.h"
#include "daemon/filter.h"
#include "daemon/name-text.h"
#include "daemon/path.h"
#include "daemon/pin-cause.h"
#include "daemon/skip.h"

#include <string.h>

/* What was found so far. */
typedef struct {
	GPtrArray *list;   /* FileReason */
	GHashTable *known; /* those by themselves */
} Reasons;

static void reason_free(void *data)
{
	FileReason *reason = data;

	g_free(reason->evidence);
	g_free(reason);
}

static guint reason_hash(const void *data)
{
	const FileReason *reason = data;

	return g_str_hash(reason->reason) * 31 + g_str_hash(reason->evidence);
}

static gboolean reason_equal(const void *a, const void *b)
{
	const FileReason *one = a, *other = b;

	return one->pin_cause == other->pin_cause && strcmp(one->reason, other->reason) == 0 &&
	       strcmp(one->evidence, other->evidence) == 0;
}

/* The reason that equals @wanted, of which the evidence is consumed. */
static FileReason *find_take(Reasons *reasons, const FileReason *wanted)
{
	FileReason *known = g_hash_table_lookup(reasons->known, wanted);

	if (known) {
		g_free(wanted->evidence);
		return known;
	}

	known = g_memdup2(wanted, sizeof(*wanted));
	g_hash_table_add(reasons->known, known);
	g_ptr_array_add(reasons->list, known);
	return known;
}

/* Count @bytes for a reason; consumes @evidence. */
static void add_take(Reasons *reasons, const char *reason, uint64_t bytes, char *evidence)
{
	const FileReason wanted = { .reason = reason, .evidence = evidence };

	find_take(reasons, &wanted)->bytes += bytes;
}

static void add(Reasons *reasons, const char *reason, uint64_t bytes, const char *evidence)
{
	add_take(reasons, reason, bytes, g_strdup(evidence));
}

/* What the configuration says.  As everywhere, bytes are those of data, without holes. */
static void judge_settings(Reasons *reasons, const NamedFile *file, const FileReport *report,
			   const FileJudges *judges)
{
	uint64_t bytes = report->data_bytes;
	const Settings *settings = judges->settings;
	const char *top = judges->mount_point ? judges->mount_point : "/";
	g_autoptr(Filter) filter = filter_new(settings->excludes, 0);

	if (settings->patterns)
		filter_set_patterns(filter, settings->patterns, top);
	if (path_lies_in(file->path, top) && filter_excludes_below(filter, file->path, strlen(top)))
		add(reasons, "excluded", bytes,
		    "the configuration excludes it: see 'dedupctl config'");
	if (settings->min_size_bytes != SETTINGS_MIN_SIZE_UNSET &&
	    file->stat.size_bytes < settings->min_size_bytes)
		add(reasons, "small", bytes, "it is smaller than MinSize= of the configuration");
	if (file->stat.is_immutable)
		add(reasons, "immutable", bytes,
		    "it is immutable, so others may share its data, and it cannot share theirs");
}

static bool has_reason(const GPtrArray *reasons, const char *name)
{
	for (guint i = 0; i < reasons->len; i++)
		if (strcmp(((const FileReason *)reasons->pdata[i])->reason, name) == 0)
			return true;
	return false;
}

/* If the last pass left it alone and named it as an example, say so unless that is clear already. */
static bool judge_examples(Reasons *reasons, const NamedFile *file, const FileReport *report,
			   HashStore *store, GError **error)
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
		if (!g_strv_contains(skip->examples, name) ||
		    has_reason(reasons->list, skip->reason))
			continue;
		SkipReason reason;

		if (skip_reason_parse(skip->reason, &reason))
			add_take(reasons, skip_reason_name(reason), report->data_bytes,
				 g_strdup_printf("the last pass left it alone: %s",
						 advice_of_skip(reason)));
	}
}

/* Why the store does not have the file, or the extent, as it is now. */
static void judge_unknown(Reasons *reasons, const NamedFile *file, const FileJudges *judges,
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

/* The extents that are pinned for one cause by one file are one reason. */
static void judge_pinned(Reasons *reasons, const ReportedExtent *extent)
{
	const FileReason wanted = {
		.reason = extent->pin_cause == PIN_TOO_COSTLY ? "clones" : "pinned",
		.evidence = extent->pinned_by
				    ? name_text(extent->pinned_by, strlen(extent->pinned_by))
				    : g_strdup(""),
		.pin_cause = extent->pin_cause,
	};
	FileReason *it = find_take(reasons, &wanted);

	it->bytes += extent->length;
	it->extents += extent->is_first;
	it->uncovered_bytes += extent->is_first ? extent->uncovered_bytes : 0;
	it->places = MAX(it->places, extent->pin_places);
}

/* What is known, shared with nothing, and nothing keeps it from being shared. */
static void judge_lone(Reasons *reasons, const FileReport *report, const ReportedExtent *extent,
		       uint64_t bytes)
{
	bool has_equals = report->is_version ? report->equal_bytes > 0 : extent->equals > 0;

	if (extent->is_unsettled)
		add(reasons, "unsettled", bytes,
		    "it was not matched with all that is known yet, as a pass was cut "
		    "short, shared nothing (--dry-run), or put it off");
	else if (has_equals)
		add(reasons, "equal", bytes,
		    "what equals it lies elsewhere: the last pass shared nothing (--dry-run), or "
		    "was kept from it by its policies");
	else if (report->is_in_use)
		add(reasons, "not-asked", bytes,
		    "a pass works on the filesystem, so what equals it was not asked");
	else if (extent->has_differed)
		add(reasons, "differs", bytes, "what has its checksums was found to be different");
	else if (extent->is_source)
		add(reasons, "source", bytes,
		    "it is the copy that stays: what equals parts of it is shared with it where "
		    "that frees space");
	else
		add(reasons, "unique", bytes,
		    report->is_version ? "no other file equals it as a whole"
				       : "no other extent equals it as a whole");
}

static void judge_known(Reasons *reasons, const FileReport *report, const ReportedExtent *extent)
{
	if (extent->shared_bytes > 0)
		add(reasons, "shared", extent->shared_bytes, "it is shared already");
	if (extent->shared_bytes < extent->length)
		judge_lone(reasons, report, extent, extent->length - extent->shared_bytes);
}

static void judge_extent(Reasons *reasons, const NamedFile *file, const FileReport *report,
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

/* Make the sentences of what is pinned, of which the evidence is the path of the file until now. */
static void explain_pinned(Reasons *reasons)
{
	for (guint i = 0; i < reasons->list->len; i++) {
		FileReason *it = reasons->list->pdata[i];
		g_autofree char *by = NULL;

		if (it->pin_cause == PIN_NONE)
			continue;
		by = g_steal_pointer(&it->evidence);
		it->evidence =
			advice_of_extents((PinCause)it->pin_cause, it->extents, it->uncovered_bytes,
					  it->places, by[0] != '\0' ? by : NULL);
	}
}

static bool judge(Reasons *reasons, const NamedFile *file, FileReport *report,
		  const FileJudges *judges, GError **error)
{
	const ReportedExtent *extent;

	judge_settings(reasons, file, report, judges);
	if (report->data_bytes == 0)
		add(reasons, "empty", 0, "it has no data: it is empty, or all holes");
	do {
		if (!file_report_next(report, &extent, error))
			return false;
		if (extent)
			judge_extent(reasons, file, report, extent, judges);
	} while (extent);
	/* Pinned reasons are found by their path no more from here on. */
	g_hash_table_remove_all(reasons->known);
	explain_pinned(reasons);

	return !judges->store || judge_examples(reasons, file, report, judges->store, error);
}

GPtrArray *file_reasons_find(const NamedFile *file, FileReport *report, const FileJudges *judges,
			     GError **error)
{
	g_autoptr(GHashTable) known = g_hash_table_new(reason_hash, reason_equal);
	g_autoptr(GPtrArray) list = g_ptr_array_new_with_free_func(reason_free);
	Reasons reasons = { list, known };

	return judge(&reasons, file, report, judges, error) ? g_steal_pointer(&list) : NULL;
}
