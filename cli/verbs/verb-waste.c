/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/arguments/long-path.h"
#include "cli/stores/duplicate-stores.h"
#include "cli/stores/waste-key.h"
#include "cli/stores/waste-scope.h"
#include "cli/stores/waste-sum.h"
#include "cli/terminal/message.h"
#include "cli/terminal/plot.h"
#include "cli/terminal/terminal.h"
#include "cli/terminal/time-text.h"
#include "cli/verbs/verb.h"
#include "common/files/advice.h"
#include "common/text/name-text.h"
#include "common/text/size-text.h"
#include "common/text/usage-error.h"
#include "common/text/word-list.h"
#include "hashstore/objects/history.h"
#include "hashstore/objects/pinned.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define USEC_NSEC INT64_C(1000)

#define BAR_COLUMNS 20

/* The default number of keys in text. */
#define TABLE_LIMIT 20

#define WASTE_COLUMNS(COLUMN)                                                                      \
	COLUMN(WASTE_RECLAIMABLE, "RECLAIM", "reclaimable_bytes", COLUMN_NUMBER)                   \
	COLUMN(WASTE_SHARE, "%", "percent", COLUMN_NUMBER)                                         \
	COLUMN(WASTE_SHARED, "SHARED", "shared_bytes", COLUMN_NUMBER)                              \
	COLUMN(WASTE_FILES, "FILES", "files", COLUMN_NUMBER)                                       \
	COLUMN(WASTE_BAR, NULL, NULL, COLUMN_TEXT) /* on a terminal only */                        \
	COLUMN(WASTE_KEY, "KEY", "key", COLUMN_TEXT)

TABLE_COLUMNS(columns, WASTE_COLUMNS);

const TableKind table_of_waste = { "keys", columns, G_N_ELEMENTS(columns), NULL, 0 };

/* The document around the keys, for programs. */
#define TOTAL_COLUMNS(COLUMN)                                                                      \
	COLUMN(TOTAL_BY, NULL, "by", COLUMN_TEXT)                                                  \
	COLUMN(TOTAL_RECLAIMABLE, NULL, "reclaimable_bytes", COLUMN_NUMBER)                        \
	COLUMN(TOTAL_SHARED, NULL, "shared_bytes", COLUMN_NUMBER)                                  \
	COLUMN(TOTAL_FILES, NULL, "files", COLUMN_NUMBER)                                          \
	COLUMN(TOTAL_PINNED_EXTENTS, NULL, "pinned_extents", COLUMN_NUMBER)                        \
	COLUMN(TOTAL_PINNED, NULL, "pinned_bytes", COLUMN_NUMBER)                                  \
	COLUMN(TOTAL_FREED, NULL, "freed_total_bytes", COLUMN_NUMBER)                              \
	COLUMN(TOTAL_STALE, NULL, "stale", COLUMN_NUMBER)                                          \
	COLUMN(TOTAL_KEYS, NULL, "keys", COLUMN_TABLE)

TABLE_COLUMNS(total_columns, TOTAL_COLUMNS);

static const TableKind table_of_total = { "waste", total_columns, G_N_ELEMENTS(total_columns),
					  "dedupctl-waste", 1 };

typedef struct {
	const Options *options;
	WasteBy by;
	unsigned depth;
	DuplicateLimits limits;
	GArray *places;   /* NamedPlace */
	GPtrArray *names; /* of their filesystems, borrowed, with NULL at the end */
	MountTable *mounts;
	int64_t now_nsec;
	GHashTable *owners; /* names by number */
	WasteSum *sum;
	/* For filesystems that are examined as a whole. */
	PinnedSum pinned[PIN_CAUSES];
	uint64_t freed_bytes; /* by passes */
	DuplicatesLeftOut left_out;
	bool is_begun; /* sentences were printed */
} Query;

static void query_clear(Query *query)
{
	g_array_unref(query->places);
	g_ptr_array_unref(query->names);
	mount_table_free(query->mounts);
	g_hash_table_unref(query->owners);
	waste_sum_free(query->sum);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Query, query_clear)

static void query_init(Query *query, const Options *options)
{
	query->options = options;
	query->limits.min_bytes = options->min_size_bytes;
	query->places = g_array_new(false, true, sizeof(NamedPlace));
	g_array_set_clear_func(query->places, (GDestroyNotify)named_place_clear);
	query->names = g_ptr_array_new();
	query->now_nsec = g_get_real_time() * USEC_NSEC;
	query->owners = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	query->sum = waste_sum_new();
}

static bool take_by(Query *query, GError **error)
{
	const char *typed = query->options->by ? query->options->by : waste_by_names[0];
	const size_t n_names = g_strv_length((char **)waste_by_names);

	for (size_t i = 0; i < n_names; i++) {
		if (strcmp(typed, waste_by_names[i]) != 0)
			continue;
		query->by = (WasteBy)i;
		return true;
	}

	const char *nearest = nearest_word(typed, waste_by_names, n_names);
	g_autofree char *right = word_list_text(waste_by_names);
	g_autofree char *safe = message_text(typed);
	return usage_error_set(error, "--by: '%s' is unknown: %s%s", safe,
			       nearest ? "did you mean " : "", nearest ? nearest : right);
}

static bool take_depth(Query *query, GError **error)
{
	const Options *options = query->options;

	query->depth = options->depth < 0 ? 1 : (unsigned)options->depth;
	if (options->depth >= 0 && query->by != WASTE_BY_DIRECTORY)
		return usage_error_set(error, "--depth goes with --by=directory");
	return true;
}

static bool take_places(Query *query, GError **error)
{
	for (char **name = query->options->names; name && *name; name++) {
		g_auto(NamedPlace) place = { 0 };

		if (!named_place_read(*name, &place, error))
			return false;
		g_array_append_val(query->places, place);
		g_ptr_array_add(query->names, place.filesystem);
		place = (NamedPlace){ 0 };
	}
	if (query->names->len > 0)
		g_ptr_array_add(query->names, NULL);

	query->mounts = mount_table_read(NULL, NULL, NULL, error);
	return query->mounts;
}

/* Look up the user of each number once, since the answer may come from a distant server. */
static const char *owner_of(const Query *query, uint32_t uid)
{
	char *name = g_hash_table_lookup(query->owners, GUINT_TO_POINTER(uid));

	if (!name) {
		name = waste_key_owner(uid);
		g_hash_table_insert(query->owners, GUINT_TO_POINTER(uid), name);
	}
	return name;
}

/* The key of the file. */
static char *key_of(const Query *query, const WasteScope *scope, const DuplicateFile *file)
{
	switch (query->by) {
	case WASTE_BY_OWNER:
		return g_strdup(owner_of(query, file->uid));
	case WASTE_BY_AGE:
		return waste_key_age(file->mtime_nsec, query->now_nsec);
	case WASTE_BY_TYPE:
		return waste_key_type(file->path);
	case WASTE_BY_SUBVOLUME:
		return long_path_find_root(file->path);
	default:
		return waste_key_directory(file->path, scope->bases, query->depth);
	}
}

static void add_group(const Query *query, const WasteScope *scope, const DuplicateGroup *group)
{
	for (guint i = 0; i < group->files->len; i++) {
		const DuplicateFile *file = group->files->pdata[i];

		if ((file->own_bytes == 0 && file->shared_bytes == 0) ||
		    !waste_scope_has(scope, file->path))
			continue;

		g_autofree char *key = key_of(query, scope, file);
		waste_sum_add(query->sum, key, file->own_bytes, file->shared_bytes);
	}
}

/* Add what is known of a filesystem as a whole. */
static bool add_whole(Query *query, HashStore *store, GError **error)
{
	PassTotals totals;

	if (!hash_store_pass_totals(store, &totals, error))
		return false;
	query->freed_bytes += totals.freed_bytes;
	for (uint32_t cause = PIN_NONE + 1; cause < PIN_CAUSES; cause++) {
		PinnedSum *sum = &query->pinned[cause], one;

		if (!hash_store_sum_pinned(store, cause, &one, error))
			return false;
		sum->extents += one.extents;
		sum->bytes += one.bytes;
	}

	return true;
}

static PinnedSum all_pinned(const Query *query)
{
	PinnedSum all = { 0 };

	for (size_t cause = PIN_NONE + 1; cause < PIN_CAUSES; cause++) {
		all.extents += query->pinned[cause].extents;
		all.bytes += query->pinned[cause].bytes;
	}
	return all;
}

/*
 * Data written after the last pass began may be missing.  Print that at once: to compare all files takes a while.
 */
static bool say_as_of(Query *query, HashStore *store, GError **error)
{
	g_autoptr(PassCursor) passes = pass_cursor_open(store, error);
	g_autofree char *known = NULL;
	const PassRecord *last;

	if (!passes || !pass_cursor_next(passes, &last, error))
		return false;

	known = last ? time_text_local(last->started_usec) : NULL;
	printf("As of %s%s; newer files are not counted ('dedupctl estimate' looks at the "
	       "files).\n",
	       known ? "the last pass, " : "a pass that is not in the history", known ? known : "");
	fflush(stdout);
	query->is_begun = true;
	return true;
}

static bool add_store(DuplicateFinder *finder, HashStore *store, void *data, GError **error)
{
	Query *query = data;
	g_auto(WasteScope) scope = { 0 };
	bool has_more = true;

	waste_scope_make(&scope, query->places, hash_store_about(store)->uuid, query->mounts);
	if (!options_are_for_programs(query->options) && !say_as_of(query, store, error))
		return false;
	while (has_more) {
		g_autoptr(GPtrArray) groups =
			g_ptr_array_new_with_free_func((GDestroyNotify)duplicate_group_free);

		if (!duplicate_finder_next(finder, groups, &has_more, error))
			return false;
		for (guint i = 0; i < groups->len; i++)
			add_group(query, &scope, groups->pdata[i]);
	}

	return !scope.is_whole || add_whole(query, store, error);
}

static void set_share(Table *table, uint64_t part, uint64_t whole)
{
	unsigned mille = whole > 0 ? (unsigned)((double)part / (double)whole * 1000 + 0.5) : 0;
	g_autofree char *text = g_strdup_printf("%u.%u", mille / 10, mille % 10);

	table_set_text(table, WASTE_SHARE, text);
}

static void add_row(Table *table, const WasteEntry *entry, const WasteEntry *first,
		    const WasteEntry *total)
{
	g_autofree char *key = name_text(entry->key, strlen(entry->key));
	g_autofree char *bar = plot_bar_text(entry->reclaimable_bytes, first->reclaimable_bytes,
					     BAR_COLUMNS, terminal_takes_utf8());

	table_add_row(table);
	table_set_size(table, WASTE_RECLAIMABLE, entry->reclaimable_bytes);
	set_share(table, entry->reclaimable_bytes, total->reclaimable_bytes);
	table_set_size(table, WASTE_SHARED, entry->shared_bytes);
	table_set_count(table, WASTE_FILES, entry->files);
	table_set_text(table, WASTE_BAR, bar);
	table_set_text(table, WASTE_KEY, key);
}

/* Make the table of @kind for the request. */
static Table *make_table(const Query *query, TableKind *kind, TableColumn *own)
{
	g_autofree char *heading = g_ascii_strup(waste_by_names[query->by], -1);
	const WasteEntry *total = waste_sum_total(query->sum);
	g_autoptr(GPtrArray) entries = waste_sum_sorted(query->sum);
	int limit = query->options->limit;
	guint most = limit > 0                            ? (guint)limit
		     : limit == 0 || query->options->json ? G_MAXUINT
							  : TABLE_LIMIT;
	Table *table;

	memcpy(own, columns, sizeof(columns));
	own[WASTE_KEY].heading = heading;
	if (terminal_is())
		own[WASTE_BAR].heading = "";
	*kind = table_of_waste;
	kind->columns = own;
	table = table_new_asked(kind, query->options);
	for (guint i = 0; i < entries->len && i < most; i++)
		add_row(table, entries->pdata[i], entries->pdata[0], total);

	return table;
}

static void print_json(const Query *query, Table *keys)
{
	const WasteEntry *total = waste_sum_total(query->sum);
	g_autoptr(Table) table = table_new(&table_of_total, query->options);

	table_add_row(table);
	table_set_text(table, TOTAL_BY, waste_by_names[query->by]);
	table_set_size(table, TOTAL_RECLAIMABLE, total->reclaimable_bytes);
	table_set_size(table, TOTAL_SHARED, total->shared_bytes);
	table_set_count(table, TOTAL_FILES, total->files);
	table_set_count(table, TOTAL_PINNED_EXTENTS, all_pinned(query).extents);
	table_set_size(table, TOTAL_PINNED, all_pinned(query).bytes);
	table_set_size(table, TOTAL_FREED, query->freed_bytes);
	table_set_count(table, TOTAL_STALE,
			query->left_out.stale + query->left_out.fresh + query->left_out.gone);
	table_set_table(table, TOTAL_KEYS, keys);
	table_print(table);
}

/* Print pinned data, and what would change that. */
static void say_pinned(const Query *query)
{
	PinnedSum all = all_pinned(query);
	g_autofree char *bytes = size_text(all.bytes);

	if (all.extents == 0)
		return;
	printf("%" PRIu64 " extent%s (%s) duplicate%s other data but cannot be freed yet:\n",
	       all.extents, all.extents == 1 ? "" : "s", bytes, all.extents == 1 ? "s" : "");
	for (size_t cause = PIN_NONE + 1; cause < PIN_CAUSES; cause++) {
		const PinnedSum *sum = &query->pinned[cause];
		g_autofree char *part = size_text(sum->bytes);

		if (sum->extents > 0)
			printf("  %s (%s): %s.\n", part, pin_cause_name(cause),
			       advice_of_pin(cause));
	}
}

static void say_total(const Query *query, size_t n_shown)
{
	const WasteEntry *total = waste_sum_total(query->sum);
	g_autoptr(GPtrArray) entries = waste_sum_sorted(query->sum);
	g_autofree char *reclaimable = size_text(total->reclaimable_bytes);
	g_autofree char *shared = size_text(total->shared_bytes);
	g_autofree char *freed = size_text(query->freed_bytes);

	printf("%sIn all: %s of %" PRIu64 " file%s could be freed",
	       query->is_begun || n_shown > 0 ? "\n" : "", reclaimable, total->files,
	       total->files == 1 ? "" : "s");
	if (total->shared_bytes > 0)
		printf(", %s are shared", shared);
	printf(".\n");
	if (query->freed_bytes > 0)
		printf("Passes freed %s so far ('dedupctl history').\n", freed);
	if (entries->len > n_shown)
		printf("%zu more are not shown (--limit=0 shows all).\n", entries->len - n_shown);
	say_pinned(query);
}

static void print(const Query *query)
{
	const Options *options = query->options;
	TableColumn own[G_N_ELEMENTS(columns)];
	TableKind kind;
	g_autoptr(Table) table = make_table(query, &kind, own);

	if (options->json) {
		print_json(query, table);
		return;
	}

	if (query->is_begun && table_count_rows(table) > 0)
		putchar('\n');
	table_print(table);
	if (!options_are_for_programs(options))
		say_total(query, table_count_rows(table));
	duplicate_stores_say_left_out(&query->left_out);
}

ExitStatus verb_waste(const Options *options)
{
	g_auto(Query) query = { 0 };
	g_autoptr(GError) error = NULL;
	ExitStatus status;

	query_init(&query, options);
	if (!take_by(&query, &error) || !take_depth(&query, &error) || !take_places(&query, &error))
		return message_fail(EXIT_STATUS_USAGE, "waste: %s", error->message);

	status = duplicate_stores_each(options->state_directory,
				       query.names->len > 0 ? (char *const *)query.names->pdata
							    : NULL,
				       &query.limits, add_store, &query, &query.left_out);
	print(&query);
	return status;
}
