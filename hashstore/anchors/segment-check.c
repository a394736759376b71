/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/anchors/segment-check.h"

#include "hashstore/anchors/anchor-page.h"
#include "hashstore/anchors/anchor-sort.h"
#include "hashstore/anchors/fences.h"

#include <string.h>

/* The state of one check. */
typedef struct {
	const Segment *segment;
	uint64_t next_object;
	uint32_t n_pages;
	uint64_t n_anchors; /* without the merged ones */
	Anchor last;
	bool has_last;
	/* The first digest of each page, in the format of rows of fences, from the first row with one that is there. */
	GByteArray *fences;
	uint8_t bytes[ANCHOR_PAGE_BYTES + ANCHOR_PAGE_SLACK];
	Anchor entries[ANCHOR_PAGE_ENTRIES];
} Look;

static char *problem_of(const Look *look, const char *what)
{
	return g_strdup_printf("segment %" G_GINT64_FORMAT ", page %u: %s", look->segment->id,
			       look->n_pages, what);
}

/*
 * Entries rise.  Those of one digest may not, as stores before version 17 told more digests apart: see
 * anchor_digest().
 */
static bool is_next(const Anchor *last, const Anchor *next)
{
	return last->digest < next->digest ||
	       (last->digest == next->digest && anchor_compare(last, next) != 0);
}

static char *check_entries(Look *look, unsigned n_entries)
{
	const Segment *segment = look->segment;

	for (unsigned i = 0; i < n_entries; i++) {
		const Anchor *anchor = &look->entries[i];

		if (look->has_last && !is_next(&look->last, anchor))
			return problem_of(look, "its anchors are not in order");
		if (anchor->object < segment->min_object || anchor->object > segment->max_object ||
		    anchor->object >= look->next_object)
			return problem_of(look,
					  "it has an anchor of an object that it cannot have");
		look->last = *anchor;
		look->has_last = true;
		look->n_anchors += anchor->digest >= segment->merged_below;
	}
	return NULL;
}

/* Returns a text to be freed, or NULL if the page is valid. */
static char *check_page(Look *look, sqlite3_stmt *row)
{
	size_t n_bytes = (size_t)sqlite3_column_bytes(row, 1);
	unsigned n_entries;

	if (sqlite3_column_int64(row, 0) != look->segment->first_page + look->n_pages)
		return problem_of(look, "it is not there");
	if (n_bytes == 0 || n_bytes > ANCHOR_PAGE_BYTES)
		return problem_of(look, n_bytes ? "it is too long" : "it is empty");
	memcpy(look->bytes, sqlite3_column_blob(row, 1), n_bytes);
	if (!anchor_page_read(look->bytes, n_bytes, look->entries, &n_entries))
		return problem_of(look, "it is not what was written");

	char *problem = check_entries(look, n_entries);
	if (problem)
		return problem;
	fences_append(look->fences, look->entries[0].digest);
	look->n_pages++;
	return NULL;
}

static bool check_pages(Database *database, Look *look, char **ret_problem, GError **error)
{
	const Segment *segment = look->segment;
	g_autoptr(sqlite3_stmt) pages = database_prepare(
		database, "SELECT id, entries FROM page WHERE id >= ? AND id < ? ORDER BY id",
		error);
	bool row;

	if (!pages)
		return false;
	sqlite3_bind_int64(pages, 1, segment->first_page + look->n_pages);
	sqlite3_bind_int64(pages, 2, segment->first_page + segment->pages);
	if (!database_step(database, pages, &row, error))
		return false;
	while (row) {
		*ret_problem = check_page(look, pages);
		if (*ret_problem)
			return true;
		if (!database_step(database, pages, &row, error))
			return false;
	}

	if (look->n_pages != segment->pages)
		*ret_problem = problem_of(look, "it is not there");
	else if (look->n_anchors != segment->anchors)
		*ret_problem = g_strdup_printf("segment %" G_GINT64_FORMAT " has %" G_GUINT64_FORMAT
					       " anchors, and its row says %" G_GUINT64_FORMAT,
					       segment->id, look->n_anchors, segment->anchors);
	return true;
}

/* The fences in row @number are the first digests of its pages, as far as these are there. */
static bool check_fence_row(Database *database, const Look *look, uint32_t number,
			    bool *ret_is_right, GError **error)
{
	uint32_t first = look->segment->merged_pages;
	size_t begin = (size_t)(number - first / FENCES_PER_ROW) * FENCES_PER_ROW * FENCE_BYTES;
	size_t length = MIN(FENCES_PER_ROW * FENCE_BYTES, look->fences->len - begin);
	size_t skip = begin == 0 ? first % FENCES_PER_ROW * FENCE_BYTES : 0;
	g_autoptr(sqlite3_stmt) get =
		database_prepare(database, "SELECT digests FROM fence WHERE id = ?", error);
	bool row;

	if (!get)
		return false;
	sqlite3_bind_int64(get, 1, look->segment->first_fence + number);
	if (!database_step(database, get, &row, error))
		return false;

	*ret_is_right =
		row && (size_t)sqlite3_column_bytes(get, 0) == length &&
		memcmp((const guint8 *)sqlite3_column_blob(get, 0) + skip,
		       look->fences->data + begin + skip, length - skip) == 0 &&
		(skip > 0 || memcmp(look->segment->fences->data + (size_t)number * FENCE_BYTES,
				    look->fences->data + begin, FENCE_BYTES) == 0);
	return true;
}

static bool check_fences(Database *database, const Look *look, char **ret_problem, GError **error)
{
	uint32_t n_rows = (look->n_pages + FENCES_PER_ROW - 1) / FENCES_PER_ROW;

	for (uint32_t number = look->segment->merged_pages / FENCES_PER_ROW;
	     number < n_rows && !*ret_problem; number++) {
		bool is_right;

		if (!check_fence_row(database, look, number, &is_right, error))
			return false;
		if (!is_right)
			*ret_problem = g_strdup_printf("segment %" G_GINT64_FORMAT
						       ": its index does not fit its pages",
						       look->segment->id);
	}
	return true;
}

bool segment_check(Database *database, const Segment *segment, uint64_t next_object,
		   char **ret_problem, GError **error)
{
	g_autoptr(GByteArray) fences = g_byte_array_new();
	g_autofree Look *look = g_new0(Look, 1);

	look->segment = segment;
	look->next_object = next_object;
	look->n_pages = segment->merged_pages;
	look->fences =
		g_byte_array_set_size(fences, segment->merged_pages % FENCES_PER_ROW * FENCE_BYTES);
	*ret_problem = NULL;
	return check_pages(database, look, ret_problem, error) &&
	       (*ret_problem || check_fences(database, look, ret_problem, error));
}
