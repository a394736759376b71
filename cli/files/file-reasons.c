/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/files/file-reasons.h"

#include "cli/files/equal-choice.h"
#include "cli/files/file-pieces.h"
#include "cli/files/file-rules.h"
#include "cli/files/sharer-text.h"
#include "cli/terminal/time-text.h"
#include "common/files/advice.h"
#include "common/files/pin-cause.h"
#include "common/files/skip.h"
#include "common/text/name-text.h"

#include <string.h>

/* The file, and the results so far. */
typedef struct {
	const NamedFile *file;
	const FileReport *report;
	const FileJudges *judges;
	const FileRules *rules;
	EqualChoice equal;
	bool is_excluded;
	bool is_small;
	bool has_asked; /* its extents in the store and on the filesystem */
	bool is_no_cow; /* if it is skipped for @no_cow_reason */
	SkipReason no_cow_reason;
	uint64_t shared_bytes;
	uint64_t others_bytes; /* of these, certainly referenced by other files */

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

	return one->pin_cause == other->pin_cause && one->is_own_pin == other->is_own_pin &&
	       strcmp(one->reason, other->reason) == 0 &&
	       strcmp(one->evidence, other->evidence) == 0;
}

/* Find or add the reason that equals @wanted.  Consumes its evidence. */
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

/* Find reasons in the configuration.  As everywhere, bytes are those of data, without holes. */
static void judge_settings(Reasons *reasons)
{
	const FileRules *rules = reasons->rules;
	const char *pattern = file_rules_find_pattern(rules, reasons->file->path);

	reasons->is_excluded = pattern;
	reasons->is_small = file_rules_make_small(rules, reasons->file);
	if (pattern) {
		g_autofree char *text = setting_text_of_pattern(&rules->origins, pattern);

		add_take(reasons, "excluded", reasons->report->data_bytes,
			 g_strdup_printf("%s excludes it", text));
	}
	if (reasons->is_small) {
		g_autofree char *text = setting_text(&rules->origins, "MinSize");

		add_take(reasons, "small", reasons->report->data_bytes,
			 g_strdup_printf("it is smaller than MinSize= says (%s)", text));
	}
}

static bool has_reason(const GPtrArray *reasons, const char *name)
{
	for (guint i = 0; i < reasons->len; i++)
		if (strcmp(((const FileReason *)reasons->pdata[i])->reason, name) == 0)
			return true;
	return false;
}

/* A pass skipped it for this reason. */
static void add_skip(Reasons *reasons, SkipReason reason, uint64_t bytes)
{
	bool is_over = reason == SKIP_IMMUTABLE && !reasons->file->stat.is_immutable;
	g_autofree char *text = is_over ? g_strdup("it was immutable then, and is not now: the "
						   "next pass takes it")
					: file_rules_text(reasons->rules, reason);

	add_take(reasons, skip_reason_name(reason), bytes,
		 g_strdup_printf("a pass skipped it: %s", text));
}

/* Whether the reason is clear without the last pass. */
static bool is_told(const Reasons *reasons, const char *name)
{
	SkipReason reason;

	if (!skip_reason_parse(name, &reason) || has_reason(reasons->list, name))
		return true;
	if (reason == SKIP_NO_SUMS)
		return reasons->is_no_cow || reasons->report->is_version;
	if (reason == SKIP_PINNED)
		return reasons->has_asked;
	return reason == SKIP_NO_COW && reasons->is_no_cow;
}

static void drop_reason(Reasons *reasons, const char *name)
{
	for (guint i = reasons->list->len; i > 0; i--)
		if (strcmp(((const FileReason *)reasons->list->pdata[i - 1])->reason, name) == 0)
			g_ptr_array_remove_index(reasons->list, i - 1);
}

/* If the last pass skipped the file and named it as an example, report that, unless it is clear already. */
static bool judge_examples(Reasons *reasons, GError **error)
{
	g_autofree char *name = name_text(reasons->file->path, strlen(reasons->file->path));
	g_autoptr(SkipCursor) cursor = skip_cursor_open(reasons->judges->store, error);
	const SkipRecord *skip;

	if (!cursor)
		return false;
	while (true) {
		SkipReason reason;

		if (!skip_cursor_next(cursor, &skip, error))
			return false;
		if (!skip)
			return true;
		if (!g_strv_contains(skip->examples, name) || is_told(reasons, skip->reason) ||
		    !skip_reason_parse(skip->reason, &reason))
			continue;
		drop_reason(reasons, "never-seen");
		add_skip(reasons, reason, reasons->report->data_bytes);
	}
}

/* Why the store does not have the file, or the extent, as it is now. */
static void judge_unknown(Reasons *reasons, uint64_t bytes)
{
	const PassRecord *last = reasons->judges->last;

	/* Then the configuration tells why. */
	if (reasons->is_excluded || reasons->is_small)
		return;
	if (!last) {
		add(reasons, "never-seen", bytes,
		    "no pass over its filesystem is remembered (those of --dry-run are not)");
		return;
	}

	g_autofree char *begun = time_text_local(last->started_usec);
	if (reasons->file->stat.ctime_nsec / 1000 >= last->started_usec - G_USEC_PER_SEC)
		add_take(reasons, "changed-since", bytes,
			 g_strdup_printf("it was written or changed since the last pass began, %s",
					 begun));
	else
		add_take(reasons, "never-seen", bytes,
			 g_strdup_printf(
				 "the last pass, which began %s, did not reach it: it may lie "
				 "outside of the paths of that pass, or its options exclude it",
				 begun));
}

/* The extents that are pinned for one cause by one file are one reason. */
static void judge_pinned(Reasons *reasons, const ReportedExtent *extent)
{
	const FileReason wanted = {
		.reason = extent->pin_cause == PIN_TOO_COSTLY ? skip_reason_name(SKIP_CLONES)
							      : "pinned",
		.evidence = extent->pinned_by
				    ? name_text(extent->pinned_by, strlen(extent->pinned_by))
				    : g_strdup(""),
		.pin_cause = extent->pin_cause,
		.is_own_pin = extent->is_pinned_by_own,
	};
	FileReason *it = find_take(reasons, &wanted);

	it->bytes += extent->length;
	it->extents += extent->is_first;
	it->extent_bytes += extent->is_first ? extent->extent_bytes : 0;
	it->uncovered_bytes += extent->is_first ? extent->uncovered_bytes : 0;
	it->places = MAX(it->places, extent->pin_places);
}

/* Count data that was not matched with the whole store, with what is known of it, or NULL. */
static void add_unsettled(Reasons *reasons, uint64_t bytes, const char *known)
{
	/* For an excluded file, this is intended. */
	if (reasons->is_excluded)
		return;
	add_take(reasons, "unsettled", bytes,
		 g_strdup_printf(
			 "%s%sno pass has matched it with all known files yet: a pass ended early, "
			 "shared nothing (--dry-run), deferred it, or excluded its duplicates",
			 known ? known : "", known ? "; " : ""));
}

/* Equal data exists, and is not shared. */
static void add_equal(Reasons *reasons, bool is_unsettled, uint64_t bytes)
{
	bool is_limited = reasons->rules->settings->across_owners == WITHIN_OWNERS;
	const EqualChoice *equal = &reasons->equal;
	g_autofree char *name = equal->path ? name_text(equal->path, strlen(equal->path))
					    : g_strdup("another file");
	g_autofree char *setting = NULL;
	g_autofree char *said = g_strdup_printf("it equals data of %s", name);

	if (equal->cause == EQUAL_EXCLUDED) {
		setting = setting_text_of_pattern(&reasons->rules->origins, equal->pattern);
		add_take(reasons, "equal", bytes,
			 g_strdup_printf("%s, which %s excludes", said, setting));
	} else if (equal->cause == EQUAL_FOREIGN && (is_limited || !is_unsettled)) {
		setting = file_rules_text(reasons->rules, SKIP_OTHER_OWNER);
		add_take(reasons, skip_reason_name(SKIP_OTHER_OWNER), bytes,
			 g_strdup_printf("%s: %s", said, setting));
	} else if (reasons->is_excluded) {
		add(reasons, "equal", bytes, said);
	} else {
		add_take(reasons, "equal", bytes,
			 g_strdup_printf("%s: the last pass shared nothing (--dry-run), ended "
					 "early, or its policies prevented it",
					 said));
	}
}

/* No equal data is known. */
static void add_unique(Reasons *reasons, const ReportedExtent *extent, uint64_t bytes)
{
	const FileReport *report = reasons->report;
	bool may_read = reasons->rules->settings->compressed == COMPRESSED_SUMS;
	guint n_changed = 0;

	if (extent->extent_bytes > 0 && !report->is_version) {
		add(reasons, "unique", bytes,
		    may_read && (extent->flags & PIECE_ENCODED || reasons->judges->is_compressing)
			    ? "no other extent has its checksums, which cannot find data that is "
			      "compressed differently, or not at all; Compressed=read would look "
			      "for it"
			    : "no other extent has its checksums");
		return;
	}

	for (guint i = 0; i < report->others->len; i++)
		n_changed += g_array_index(report->others, ReportedFile, i).relation > OTHER_EQUALS;
	if (n_changed == 0)
		add(reasons, "unique", bytes,
		    "no file that the store knows equals it as a whole; dedupctl does not look for "
		    "equal parts here");
	else
		add_take(
			reasons, "unique", bytes,
			g_strdup_printf("no file that the store knows equals it as a whole, but %u "
					"file%s that did changed since, or %s gone: make a pass",
					n_changed, n_changed == 1 ? "" : "s",
					n_changed == 1 ? "is" : "are"));
}

/* Count data that is known and not shared, though nothing prevents sharing. */
static void judge_lone(Reasons *reasons, const ReportedExtent *extent, uint64_t bytes)
{
	const FileReport *report = reasons->report;
	bool is_unsettled = extent->is_unsettled || (report->is_version && report->is_unsettled);

	if (report->has_equal_version || extent->equals > 0)
		add_equal(reasons, is_unsettled, bytes);
	else if (is_unsettled)
		add_unsettled(reasons, bytes,
			      report->is_version
				      ? "no file that the store knows equals it as a whole"
				      : NULL);
	else if (report->is_in_use)
		add(reasons, "not-asked", bytes,
		    "a pass works on the filesystem, so dedupctl did not look for its duplicates");
	else if (extent->has_differed)
		add(reasons, "differs", bytes,
		    "the data with the same checksums turned out to be different");
	else if (extent->is_source)
		add(reasons, "source", bytes,
		    "it is the copy that stays: passes share its duplicates with it if that frees "
		    "space");
	else
		add_unique(reasons, extent, bytes);
}

/* Count data without other references, of a file or an extent in that state. */
static void judge_state(Reasons *reasons, const ReportedExtent *extent, FileState state,
			uint32_t skip_reason, uint64_t bytes)
{
	switch (state) {
	case FILE_NO_STORE:
	case FILE_UNKNOWN:
		judge_unknown(reasons, bytes);
		break;
	case FILE_STALE:
		add(reasons, "changed-since", bytes,
		    "it changed after a pass looked at it: its data, owner or mode");
		break;
	case FILE_FRESH:
		add(reasons, "changed-since", bytes,
		    "it was written shortly before the last pass, so the next one looks at it "
		    "again");
		break;
	case FILE_HALF:
		add_unsettled(reasons, bytes, "a part of it was read");
		break;
	case FILE_SKIPPED:
		add_skip(reasons, (SkipReason)skip_reason, bytes);
		break;
	case FILE_SEEN:
		add(reasons, "unique", bytes,
		    "no other file had its size, or its size and first bytes, so it was not read");
		break;
	default:
		judge_lone(reasons, extent, bytes);
	}
}

/* Whether the configuration skips it, or the last pass skipped it since it is overwritten in place. */
static bool is_left_no_cow(const Reasons *reasons, const ReportedExtent *extent)
{
	if (!reasons->is_no_cow || extent->state == FILE_NO_STORE)
		return false;
	return reasons->no_cow_reason != SKIP_NO_COW ||
	       reasons->rules->settings->no_data_cow == NO_COW_SKIP ||
	       (extent->state == FILE_SKIPPED && !reasons->report->is_version);
}

/* An equal of all of it cannot cover it. */
static bool is_pinned_by_policy(const ReportedExtent *extent)
{
	return extent->pin_cause == PIN_UNCOVERED && extent->equals > 0 &&
	       extent->uncovered_bytes >= extent->extent_bytes;
}

static void judge_extent(Reasons *reasons, const ReportedExtent *extent)
{
	const FileReport *report = reasons->report;
	uint64_t bytes = extent->length - extent->shared_bytes;
	/* On btrfs, the file is then known as a file, or skipped. */
	bool has_no_sums = extent->extent_bytes > 0 && extent->state == FILE_SKIPPED;

	reasons->has_asked |= extent->extent_bytes > 0;
	if (extent->flags & PIECE_INLINE) {
		add(reasons, "inline", extent->length,
		    "its data lies inside metadata, where nothing can be shared");
		return;
	}
	if (extent->pinned && !is_pinned_by_policy(extent)) {
		judge_pinned(reasons, extent);
		return;
	}

	reasons->shared_bytes += extent->shared_bytes;
	reasons->others_bytes += extent->others_bytes;
	if (bytes == 0)
		return;
	if (is_left_no_cow(reasons, extent))
		add_skip(reasons, reasons->no_cow_reason, bytes);
	else if (has_no_sums && report->is_version)
		judge_state(reasons, extent, report->version_state, report->skip_reason, bytes);
	else
		judge_state(reasons, extent, extent->state, extent->skip_reason, bytes);
}

/* Say first with whom it is shared. */
static void add_shared(Reasons *reasons, guint place)
{
	guint n_before = reasons->list->len;
	uint64_t others, own;

	others = MIN(MAX(reasons->others_bytes, reasons->report->mapped_others_bytes),
		     reasons->shared_bytes);
	own = reasons->shared_bytes - others;
	if (others > 0)
		add_take(reasons, "shared", others, sharer_text(reasons->report, reasons->file));
	if (own > 0)
		add(reasons, "shared", own,
		    reasons->report->is_mapped
			    ? "the file itself has this data in several places; dedupctl cannot "
			      "tell whether other files have it, too"
			    : "only with itself: the file repeats this data");

	for (guint i = n_before; i < reasons->list->len; i++)
		g_ptr_array_insert(reasons->list, (int)place++,
				   g_ptr_array_steal_index(reasons->list, i));
}

static char *text_of_pin(const Reasons *reasons, const FileReason *it, const char *by)
{
	g_autofree char *text =
		it->is_own_pin ? advice_of_own_extents((PinCause)it->pin_cause, it->extents,
						       it->uncovered_bytes, it->extent_bytes)
			       : NULL;

	if (!text)
		text = advice_of_extents((PinCause)it->pin_cause, it->extents, it->uncovered_bytes,
					 it->places, by[0] != '\0' ? by : NULL);
	/* More than the setting decides what is copied. */
	if (it->is_own_pin && reasons->rules->settings->rewrite != REWRITE_NEVER)
		return g_steal_pointer(&text);
	return setting_text_of_advice(&reasons->rules->origins, text);
}

/* Make the sentences of pinned reasons, whose evidence was the path of the file until now. */
static void explain_pinned(Reasons *reasons)
{
	for (guint i = 0; i < reasons->list->len; i++) {
		FileReason *it = reasons->list->pdata[i];
		g_autofree char *by = NULL;

		if (it->pin_cause == PIN_NONE)
			continue;
		by = g_steal_pointer(&it->evidence);
		it->evidence = text_of_pin(reasons, it, by);
	}
}

static bool judge_extents(Reasons *reasons, FileReport *report, GError **error)
{
	const ReportedExtent *extent;

	do {
		if (!file_report_next(report, &extent, error))
			return false;
		if (extent)
			judge_extent(reasons, extent);
	} while (extent);

	return true;
}

static bool judge(Reasons *reasons, FileReport *report, GError **error)
{
	guint n_settings;

	judge_settings(reasons);
	if (report->data_bytes == 0)
		add(reasons, "empty", 0, "it has no data: it is empty, or all holes");
	n_settings = reasons->list->len;
	if (!judge_extents(reasons, report, error))
		return false;
	add_shared(reasons, n_settings);
	/* Pinned reasons are found by their path no more from here on. */
	g_hash_table_remove_all(reasons->known);
	explain_pinned(reasons);

	/* A file that shares all of its data needs no more reasons. */
	if (report->data_bytes > 0 && reasons->shared_bytes == report->data_bytes)
		return true;
	if (reasons->file->stat.is_immutable)
		add(reasons, "immutable", report->data_bytes - reasons->shared_bytes,
		    "others may share its data, but it cannot share theirs before 'chattr -i' and "
		    "another pass");
	return !reasons->judges->store || judge_examples(reasons, error);
}

GPtrArray *file_reasons_find(const NamedFile *file, FileReport *report, const FileJudges *judges,
			     GError **error)
{
	g_autoptr(GHashTable) known = g_hash_table_new(reason_hash, reason_equal);
	g_autoptr(GPtrArray) list = g_ptr_array_new_with_free_func(reason_free);
	g_autoptr(FileRules) rules =
		file_rules_new(judges->settings, judges->origins, judges->mount_point);
	Reasons reasons = {
		.file = file,
		.report = report,
		.judges = judges,
		.rules = rules,
		.list = list,
		.known = known,
	};

	reasons.equal = equal_choice_make(report, file, rules);
	reasons.is_no_cow = file_rules_has_no_cow(file, &reasons.no_cow_reason);
	return judge(&reasons, report, error) ? g_steal_pointer(&list) : NULL;
}
