/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/objects/holders.h"

#include "hashstore/database/notes.h"
#include "hashstore/database/store-state.h"
#include "hashstore/database/store-transaction.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The limit of subvolumes in a set, against ranges of a damaged store. */
#define HOLDERS_MAX (1 << 20)

/* Some 1,000 ids that are not consecutive. */
#define HOLDERS_TEXT_MAX 4096

/* The note with the summary, such as "12 296 /srv/.snapshots/40". */
#define SUMMARY_NOTE "btrfs-holders"

char *holders_text(const uint64_t *roots, size_t n)
{
	GString *text = g_string_new(NULL);

	for (size_t i = 0; i < n;) {
		size_t last = i;

		while (last + 1 < n && roots[last + 1] == roots[last] + 1)
			last++;
		g_string_append_printf(text, "%s%" G_GUINT64_FORMAT, i > 0 ? "," : "", roots[i]);
		if (last > i)
			g_string_append_printf(text, "-%" G_GUINT64_FORMAT, roots[last]);
		i = last + 1;
	}

	return g_string_free(text, FALSE);
}

/* Add the subvolumes of one part of the text, which must follow the earlier ones. */
static bool parse_part(GArray *roots, const char *part)
{
	g_auto(GStrv) ends = g_strsplit(part, "-", 2);
	uint64_t least = roots->len > 0 ? g_array_index(roots, uint64_t, roots->len - 1) + 1 : 1;
	uint64_t first, last;

	if (!ends[0] || !g_ascii_string_to_unsigned(ends[0], 10, least, INT64_MAX, &first, NULL))
		return false;
	last = first;
	if (ends[1] && !g_ascii_string_to_unsigned(ends[1], 10, first, INT64_MAX, &last, NULL))
		return false;
	if (last - first >= HOLDERS_MAX - roots->len)
		return false;

	for (uint64_t root = first; root <= last; root++)
		g_array_append_val(roots, root);
	return true;
}

GArray *holders_parse(const char *text)
{
	g_autoptr(GArray) roots = g_array_new(false, false, sizeof(uint64_t));
	g_auto(GStrv) parts = g_strsplit(text, ",", -1);

	for (size_t i = 0; parts[i]; i++)
		if (!parse_part(roots, parts[i]))
			return NULL;

	return roots->len > 0 ? g_steal_pointer(&roots) : NULL;
}

static bool find(HashStore *store, const char *text, uint64_t *ret_id, GError **error)
{
	sqlite3_stmt *find = hash_store_query(store, STATEMENT_FIND_HOLDERS, error);
	bool row;

	*ret_id = 0;
	if (!find)
		return false;
	sqlite3_bind_text(find, 1, text, -1, SQLITE_STATIC);
	if (!database_step(store->database, find, &row, error))
		return false;
	if (row)
		*ret_id = (uint64_t)sqlite3_column_int64(find, 0);
	sqlite3_reset(find);
	return true;
}

bool hash_store_put_holders(HashStore *store, const uint64_t *roots, size_t n, uint64_t *ret_id,
			    GError **error)
{
	g_autofree char *text = holders_text(roots, n);
	sqlite3_stmt *put;

	/* Keep only the newest one, which tells when to look again. */
	if (strlen(text) > HOLDERS_TEXT_MAX) {
		g_free(text);
		text = holders_text(&roots[n - 1], 1);
	}
	if (!find(store, text, ret_id, error))
		return false;
	if (*ret_id > 0)
		return true;

	put = hash_store_change(store, STATEMENT_PUT_HOLDERS, error);
	if (!put)
		return false;
	sqlite3_bind_text(put, 1, text, -1, SQLITE_STATIC);
	if (!hash_store_apply(store, put, error))
		return false;

	*ret_id = (uint64_t)sqlite3_last_insert_rowid(store->database->handle);
	return true;
}

bool hash_store_get_holders(HashStore *store, uint64_t id, char **ret, GError **error)
{
	sqlite3_stmt *row;

	*ret = NULL;
	if (!hash_store_query_row(store, STATEMENT_GET_HOLDERS, &id, &row, error))
		return false;
	if (row)
		*ret = g_strdup((const char *)sqlite3_column_text(row, 0));
	sqlite3_reset(row);
	return true;
}

bool hash_store_drop_unused_holders(HashStore *store, GError **error)
{
	return hash_store_change_rows(store, STATEMENT_DROP_HOLDERS, NULL, error);
}

bool hash_store_next_held(HashStore *store, uint64_t after, HeldExtents *ret, bool *ret_found,
			  GError **error)
{
	const uint64_t values[] = { MIN(after, INT64_MAX) };
	sqlite3_stmt *row;

	*ret = (HeldExtents){ 0 };
	*ret_found = false;
	if (!hash_store_query_row(store, STATEMENT_SUM_HELD, values, &row, error))
		return false;
	if (!row)
		return true;
	*ret = (HeldExtents){
		.holders = (uint64_t)sqlite3_column_int64(row, 0),
		.extents = (uint64_t)sqlite3_column_int64(row, 1),
		.bytes = (uint64_t)sqlite3_column_int64(row, 2),
	};
	sqlite3_reset(row);
	*ret_found = true;
	return true;
}

bool hash_store_sum_held(HashStore *store, HeldExtents *ret, GError **error)
{
	HeldExtents sum = { 0 };
	HeldExtents one;
	bool found = true;

	while (found) {
		if (!hash_store_next_held(store, sum.holders, &one, &found, error))
			return false;
		sum.extents += one.extents;
		sum.bytes += one.bytes;
		sum.holders = MAX(sum.holders, one.holders);
	}

	*ret = sum;
	return true;
}

static int compare_roots(const void *a, const void *b)
{
	uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

	return (one > other) - (one < other);
}

void holders_make_unique(GArray *roots)
{
	guint n = 0;

	g_array_sort(roots, compare_roots);
	for (guint i = 0; i < roots->len; i++) {
		uint64_t root = g_array_index(roots, uint64_t, i);

		if (n == 0 || g_array_index(roots, uint64_t, n - 1) != root)
			g_array_index(roots, uint64_t, n++) = root;
	}
	g_array_set_size(roots, n);
}

bool holders_has(const GArray *roots, uint64_t root)
{
	/* g_array_binary_search() does not change the array, but takes no const. */
	return g_array_binary_search((GArray *)roots, &root, compare_roots, NULL);
}

bool hash_store_list_holders(HashStore *store, GArray **ret, GError **error)
{
	g_autoptr(GArray) roots = g_array_new(false, false, sizeof(uint64_t));
	HeldExtents held = { 0 };
	bool found = true;

	while (found) {
		g_autofree char *text = NULL;
		g_autoptr(GArray) set = NULL;

		if (!hash_store_next_held(store, held.holders, &held, &found, error) ||
		    (found && !hash_store_get_holders(store, held.holders, &text, error)))
			return false;
		set = text ? holders_parse(text) : NULL;
		if (set)
			g_array_append_vals(roots, set->data, set->len);
	}

	holders_make_unique(roots);
	*ret = g_steal_pointer(&roots);
	return true;
}

void holders_summary_clear(HoldersSummary *summary)
{
	g_clear_pointer(&summary->last_path, g_free);
}

bool hash_store_note_holders(HashStore *store, const HoldersSummary *summary, GError **error)
{
	g_autofree char *text =
		g_strdup_printf("%" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT " %s", summary->n,
				summary->last, summary->last_path ? summary->last_path : "");

	return hash_store_set_note(store, SUMMARY_NOTE, text, error);
}

/* Use the noted text if it agrees: the store may be damaged, or the pass interrupted. */
static void take_noted(HoldersSummary *summary, const char *text)
{
	uint64_t n, last;
	int path_at = 0;

	if (sscanf(text, "%" SCNu64 " %" SCNu64 "%n", &n, &last, &path_at) != 2 ||
	    last != summary->last || n < 1 || n > summary->n)
		return;

	summary->n = n;
	if (text[path_at] == ' ' && text[path_at + 1] != '\0')
		summary->last_path = g_strdup(text + path_at + 1);
}

bool hash_store_sum_holders(HashStore *store, HoldersSummary *ret, GError **error)
{
	g_autoptr(GArray) holders = NULL;
	g_autofree char *noted = NULL;

	*ret = (HoldersSummary){ 0 };
	if (!hash_store_list_holders(store, &holders, error) ||
	    !hash_store_get_note(store, SUMMARY_NOTE, &noted, error))
		return false;

	ret->n = holders->len;
	if (holders->len > 0)
		ret->last = g_array_index(holders, uint64_t, holders->len - 1);
	if (noted)
		take_noted(ret, noted);
	return true;
}
