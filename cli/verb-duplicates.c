/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/duplicate-finder.h"
#include "cli/duplicate-printer.h"
#include "cli/message.h"
#include "cli/store-list.h"
#include "cli/verb.h"
#include "daemon/filesystem-lock.h"
#include "daemon/nearest-word.h"
#include "daemon/size-text.h"
#include "kernel-ioctl/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

static const TableColumn columns[] = {
	[DUPLICATE_RECLAIMABLE] = { "RECLAIM", "reclaimable_bytes", COLUMN_NUMBER },
	[DUPLICATE_SIZE] = { "SIZE", "size_bytes", COLUMN_NUMBER },
	[DUPLICATE_FILES] = { "FILES", "files", COLUMN_NUMBER },
	[DUPLICATE_STATE] = { "DATA", "state", COLUMN_TEXT },
	[DUPLICATE_FILE] = { "FILE", "file", COLUMN_TEXT },
	[DUPLICATE_GROUP] = { NULL, "group", COLUMN_NUMBER },
	[DUPLICATE_UUID] = { NULL, "uuid", COLUMN_TEXT },
};

const TableKind table_of_duplicates = { "duplicates", columns, G_N_ELEMENTS(columns) };

/* Of a table, so many groups are shown by themselves. */
#define TABLE_LIMIT 100

/* So many groups wait for what may have more to reclaim. */
#define WAITING_MOST 1000

static const char *const format_names[] = { "table", "fdupes", "json", "csv" };
static const DuplicateFormat formats[] = { DUPLICATES_TABLE, DUPLICATES_FDUPES, DUPLICATES_JSON,
					   DUPLICATES_CSV };

typedef struct {
	const Options *options;
	DuplicateFormat format;
	DuplicateLimits limits;
	uint64_t n_left; /* groups that may still be printed */
	char *under;     /* of the limits */
	char *below;     /* a file of each group is below it, or NULL */
	char *uuid;      /* of the only filesystem, or NULL */
	DuplicatePrinter *printer;
	uint64_t n_stale;
	ExitStatus status;
} Query;

static void query_clear(Query *query)
{
	free(query->under);
	free(query->below);
	g_free(query->uuid);
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

	g_autofree char *safe = message_text(typed);
	message_print("duplicates: --format %s%s: table, fdupes, json or csv", safe,
		      options->nul ? " cannot be had with -0" : " is unknown");
	return false;
}

static char *resolve(const char *typed)
{
	char *real = realpath(typed, NULL);
	g_autofree char *safe = message_text(typed);

	if (!real)
		message_print("cannot look below %s: %s", safe, g_strerror(errno));
	return real;
}

/* The filesystem that the directory lies on, if it is one. */
static bool take_place(Query *query, const char *typed)
{
	g_autoptr(GError) error = NULL;
	g_auto(Fd) fd = open(typed, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);
	char uuid[FS_UUID_TEXT_BYTES];
	FsIdentity identity;

	if (fd < 0) {
		query->uuid = g_strdup(typed);
		return true;
	}
	if (!fs_identity_read(fd, &identity, &error)) {
		message_print("%s", error->message);
		return false;
	}

	fs_uuid_format(identity.uuid, uuid);
	query->uuid = g_strdup(identity.kind == FS_KIND_OTHER ? typed : uuid);
	query->below = resolve(typed);
	return query->below;
}

static bool take_options(Query *query, const Options *options)
{
	g_autoptr(GError) error = NULL;

	query->options = options;
	if (options->names && options->names[1]) {
		message_print("duplicates: it takes one directory, or none");
		return false;
	}
	if (options->min_size && !size_parse(options->min_size, &query->limits.min_bytes, &error)) {
		message_print("duplicates: --min: %s", error->message);
		return false;
	}
	if (!take_format(query, options))
		return false;

	query->n_left = options->limit >= 0                 ? (uint64_t)options->limit
			: query->format == DUPLICATES_TABLE ? TABLE_LIMIT
							    : 0;
	if (query->n_left == 0)
		query->n_left = UINT64_MAX;
	if (options->under) {
		query->under = resolve(options->under);
		query->limits.under = query->under;
	}
	return (!options->under || query->under) &&
	       (!options->names || take_place(query, options->names[0]));
}

static int compare_reclaimable(const void *a, const void *b)
{
	const DuplicateGroup *one = *(DuplicateGroup *const *)a;
	const DuplicateGroup *other = *(DuplicateGroup *const *)b;

	return (one->reclaimable_bytes > other->reclaimable_bytes) -
	       (one->reclaimable_bytes < other->reclaimable_bytes);
}

/*
 * Have the group with most to reclaim at the end of @waiting: what is remembered tells how much
 * others have at most.
 */
static bool fill(DuplicateFinder *finder, const Query *query, GPtrArray *waiting, GError **error)
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
		while (found->len > 0) {
			DuplicateGroup *group = g_ptr_array_steal_index(found, found->len - 1);

			if (!query->below || duplicate_group_has_below(group, query->below))
				g_ptr_array_add(waiting, group);
			else
				duplicate_group_free(group);
		}
		g_ptr_array_sort(waiting, compare_reclaimable);
	}

	return true;
}

static bool show_store(Query *query, HashStore *store, GError **error)
{
	g_autoptr(GPtrArray) waiting =
		g_ptr_array_new_with_free_func((GDestroyNotify)duplicate_group_free);
	g_autoptr(DuplicateFinder) finder = duplicate_finder_open(store, &query->limits, error);

	if (!finder)
		return false;
	for (; query->n_left > 0; query->n_left--) {
		if (!fill(finder, query, waiting, error))
			return false;
		if (waiting->len == 0)
			break;
		duplicate_printer_print(query->printer, waiting->pdata[waiting->len - 1],
					hash_store_about(store)->uuid);
		g_ptr_array_set_size(waiting, (int)waiting->len - 1);
	}

	query->n_stale += duplicate_finder_stale(finder);
	return true;
}

static ExitStatus show_stores(Query *query)
{
	g_autoptr(GError) error = NULL;
	char *names[] = { query->uuid, NULL };
	g_autoptr(StoreList) list = store_list_open(query->options->state_directory,
						    query->uuid ? names : NULL, &error);
	ExitStatus status = EXIT_STATUS_DONE;
	const StoreEntry *entry;

	if (!list) {
		message_print("cannot read the stores: %s", error->message);
		return EXIT_STATUS_FAILED;
	}
	query->printer = duplicate_printer_new(query->format, &table_of_duplicates, query->options);
	while ((entry = store_list_next(list))) {
		GError *cause = NULL;

		if (show_store(query, entry->store, &cause))
			continue;
		if (!g_error_matches(cause, FILESYSTEM_LOCK_ERROR, FILESYSTEM_LOCK_ERROR_IN_USE)) {
			store_list_failed_take(list, cause);
			continue;
		}
		message_print("%s: which files are equal there cannot be asked meanwhile",
			      cause->message);
		g_error_free(cause);
		status = EXIT_STATUS_IN_USE;
	}
	duplicate_printer_finish(query->printer, query->n_stale);

	return store_list_finish(list) ? status : EXIT_STATUS_FAILED;
}

ExitStatus verb_duplicates(const Options *options)
{
	g_auto(Query) query = { 0 };

	if (options->runs) {
		message_print("duplicates: --runs cannot be told from the store, which keeps one "
			      "position in 34 KiB of what was read: where equal runs begin and end "
			      "only a pass finds out ('dedupd --once --dry-run')");
		return EXIT_STATUS_FAILED;
	}
	if (!take_options(&query, options))
		return EXIT_STATUS_USAGE;

	return show_stores(&query);
}
