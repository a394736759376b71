/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/arguments/named-place.h"
#include "cli/stores/duplicate-printer.h"
#include "cli/stores/duplicate-stores.h"
#include "cli/terminal/message.h"
#include "cli/verbs/verb.h"

#include <string.h>

/* The number of groups in a table by default. */
#define TABLE_LIMIT 100

/* The maximum number of groups that wait for groups with more to reclaim. */
#define WAITING_MOST 1000

static const char *const format_names[] = { "table", "fdupes", "json", "csv" };
static const DuplicateFormat formats[] = { DUPLICATES_TABLE, DUPLICATES_FDUPES, DUPLICATES_JSON,
					   DUPLICATES_CSV };

typedef struct {
	const Options *options;
	DuplicateFormat format;
	DuplicateLimits limits;
	uint64_t n_left; /* groups that may still be printed */
	char *under;     /* from the limits */
	/* The only filesystem, or none.  Each group has a file below its directory. */
	NamedPlace place;
	DuplicatePrinter *printer;
	bool has_store; /* a store was searched */
	uint64_t n_printed;
	uint64_t n_hidden; /* groups with nothing to reclaim */
} Query;

static void query_clear(Query *query)
{
	g_free(query->under);
	named_place_clear(&query->place);
	duplicate_printer_free(query->printer);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Query, query_clear)

static bool take_format(Query *query, const Options *options)
{
	const char *typed = options->format;

	query->format = options->json  ? DUPLICATES_JSON
			: options->nul ? DUPLICATES_NUL
				       : DUPLICATES_TABLE;
	if (!typed || (options->nul && strcmp(typed, "fdupes") == 0))
		return true;
	for (size_t i = 0; i < G_N_ELEMENTS(format_names) && !options->nul; i++) {
		if (strcmp(typed, format_names[i]) != 0)
			continue;
		query->format = formats[i];
		return true;
	}

	message_print("duplicates: --format %s%s: table, fdupes, json or csv", typed,
		      options->nul ? " cannot be had with -0" : " is unknown");
	return false;
}

/* The filesystem of the directory, if it is a directory. */
static bool take_place(Query *query, const char *typed)
{
	g_autoptr(GError) error = NULL;

	if (named_place_read(typed, &query->place, &error))
		return true;

	message_print_error(error);
	return false;
}

static bool take_under(Query *query, const char *typed)
{
	g_autoptr(GError) error = NULL;

	query->under = named_directory_path(typed, &error);
	query->limits.under = query->under;
	if (!query->under)
		message_print_error(error);
	return query->under;
}

static bool take_options(Query *query, const Options *options)
{
	query->options = options;
	query->limits.min_bytes = options->min_size_bytes;
	query->limits.with_shared = options->show_all;
	if (options->names && options->names[1]) {
		message_print("duplicates: it takes one directory, or none");
		return false;
	}
	if (!take_format(query, options))
		return false;

	query->n_left = options->limit >= 0                 ? (uint64_t)options->limit
			: query->format == DUPLICATES_TABLE ? TABLE_LIMIT
							    : 0;
	if (query->n_left == 0)
		query->n_left = UINT64_MAX;
	return (!options->under || take_under(query, options->under)) &&
	       (!options->names || take_place(query, options->names[0]));
}

static int compare_reclaimable(const void *a, const void *b)
{
	const DuplicateGroup *one = *(DuplicateGroup *const *)a;
	const DuplicateGroup *other = *(DuplicateGroup *const *)b;

	return (one->reclaimable_bytes > other->reclaimable_bytes) -
	       (one->reclaimable_bytes < other->reclaimable_bytes);
}

static bool is_wanted(Query *query, const DuplicateGroup *group)
{
	if (query->place.below && !duplicate_group_has_below(group, query->place.below))
		return false;
	if (group->reclaimable_bytes > 0 || query->options->show_all)
		return true;

	query->n_hidden++;
	return false;
}

/*
 * Keep the group with most to reclaim at the end of @waiting.  The store bounds how much other groups can have.
 */
static bool fill(DuplicateFinder *finder, Query *query, GPtrArray *waiting, GError **error)
{
	bool has_more = true;

	while (has_more && waiting->len < WAITING_MOST) {
		g_autoptr(GPtrArray) found =
			g_ptr_array_new_with_free_func((GDestroyNotify)duplicate_group_free);
		const DuplicateGroup *most =
			waiting->len > 0 ? waiting->pdata[waiting->len - 1] : NULL;

		if (most && most->reclaimable_bytes >= duplicate_finder_most(finder))
			return true;
		if (!duplicate_finder_next(finder, found, &has_more, error))
			return false;
		if (found->len == 0)
			continue;
		while (found->len > 0) {
			DuplicateGroup *group = g_ptr_array_steal_index(found, found->len - 1);

			if (is_wanted(query, group))
				g_ptr_array_add(waiting, group);
			else
				duplicate_group_free(group);
		}
		g_ptr_array_sort(waiting, compare_reclaimable);
	}

	return true;
}

static bool show_store(DuplicateFinder *finder, HashStore *store, void *data, GError **error)
{
	g_autoptr(GPtrArray) waiting =
		g_ptr_array_new_with_free_func((GDestroyNotify)duplicate_group_free);
	Query *query = data;

	query->has_store = true;
	for (; query->n_left > 0; query->n_left--) {
		if (!fill(finder, query, waiting, error))
			return false;
		if (waiting->len == 0)
			break;
		duplicate_printer_print(query->printer, waiting->pdata[waiting->len - 1],
					hash_store_about(store)->uuid);
		query->n_printed++;
		g_ptr_array_set_size(waiting, (int)waiting->len - 1);
	}

	return true;
}

static void say_what_is_not_there(const Query *query)
{
	bool is_one = query->n_hidden == 1;

	if (query->n_hidden > 0)
		message_print("%s: %" G_GUINT64_FORMAT " group%s of equal files share%s all of "
			      "%s data already (--all shows %s)",
			      query->n_printed > 0 ? "not shown" : "nothing to reclaim",
			      query->n_hidden, is_one ? "" : "s", is_one ? "s" : "",
			      is_one ? "its" : "their", is_one ? "it" : "them");
	else if (query->n_printed == 0 && query->has_store)
		message_print("no files are known that equal each other as a whole%s",
			      query->options->show_all
				      ? ""
				      : ", beside those that share all of their data (--all)");
}

static ExitStatus show_stores(Query *query)
{
	char *names[] = { query->place.filesystem, NULL };
	DuplicatesLeftOut left_out = { 0 };
	ExitStatus status;

	query->printer = duplicate_printer_new(query->format, query->options);
	status = duplicate_stores_each(query->options->state_directory, names[0] ? names : NULL,
				       &query->limits, show_store, query, &left_out);
	duplicate_printer_finish(query->printer, &left_out);
	if (query->format != DUPLICATES_JSON)
		duplicate_stores_say_left_out(&left_out);
	if (status == EXIT_STATUS_DONE)
		say_what_is_not_there(query);
	return status;
}

ExitStatus verb_duplicates(const Options *options)
{
	g_auto(Query) query = { 0 };

	if (options->runs)
		return message_fail(EXIT_STATUS_FAILED,
				    "duplicates: stores do not know --runs: they keep one position "
				    "in 34 KiB. Only a pass finds where equal runs begin and end "
				    "('dedupd --once --dry-run')");
	if (!take_options(&query, options))
		return EXIT_STATUS_USAGE;

	return show_stores(&query);
}
