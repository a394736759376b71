/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/anchors/segment.h"

#include "hashstore/anchors/anchor-page.h"
#include "hashstore/anchors/fences.h"
#include "hashstore/database/store-transaction.h"

/* No store assigns that many page ids: a larger one is damage. */
#define ID_MAX (INT64_MAX / 2)

struct SegmentWriter {
	HashStore *store;
	Segment segment;
	int64_t next_fence;
	GByteArray *row_fences; /* of the row of fences being filled */
	AnchorPage page;
};

void segment_free(Segment *segment)
{
	if (!segment)
		return;

	if (segment->fences)
		g_byte_array_unref(segment->fences);
	g_free(segment);
}

static bool is_id(int64_t id)
{
	return id >= 0 && id <= ID_MAX;
}

static Segment *segment_from_row(sqlite3_stmt *row)
{
	Segment *segment = g_new0(Segment, 1);
	const void *fences = sqlite3_column_blob(row, 8);

	segment->id = sqlite3_column_int64(row, 0);
	segment->anchors = (uint64_t)sqlite3_column_int64(row, 1);
	segment->first_page = sqlite3_column_int64(row, 2);
	segment->pages = (uint32_t)sqlite3_column_int64(row, 3);
	segment->first_fence = sqlite3_column_int64(row, 4);
	segment->min_object = (uint32_t)sqlite3_column_int64(row, 5);
	segment->max_object = (uint32_t)sqlite3_column_int64(row, 6);
	segment->live_objects = (uint64_t)sqlite3_column_int64(row, 7);
	segment->merged_pages = (uint32_t)sqlite3_column_int64(row, 9);
	segment->merged_below = (uint64_t)sqlite3_column_int64(row, 10);
	segment->fences = g_byte_array_new();
	if (fences)
		g_byte_array_append(segment->fences, fences, (guint)sqlite3_column_bytes(row, 8));

	return segment;
}

GPtrArray *segment_list(Database *database, GError **error)
{
	g_autoptr(GPtrArray) segments =
		g_ptr_array_new_with_free_func((GDestroyNotify)segment_free);
	g_autoptr(sqlite3_stmt) all = NULL;
	bool row;

	all = database_prepare(database,
			       "SELECT id, anchors, first_page, pages, first_fence, min_object,"
			       " max_object, live_objects, fences,"
			       " (SELECT value FROM meta WHERE name = 'merged_pages_' || id),"
			       " (SELECT value FROM meta WHERE name = 'merged_below_' || id)"
			       " FROM segment ORDER BY id",
			       error);
	if (!all || !database_step(database, all, &row, error))
		return NULL;

	while (row) {
		Segment *segment = segment_from_row(all);
		uint64_t rows = ((uint64_t)segment->pages + FENCES_PER_ROW - 1) / FENCES_PER_ROW;

		g_ptr_array_add(segments, segment);
		if (segment->merged_pages >= segment->pages ||
		    segment->fences->len != rows * FENCE_BYTES || !is_id(segment->id) ||
		    !is_id(segment->first_page) || !is_id(segment->first_fence)) {
			database_set_corrupt(database, "a segment's row is not valid", error);
			return NULL;
		}
		if (!database_step(database, all, &row, error))
			return NULL;
	}

	return g_steal_pointer(&segments);
}

bool segment_is_plain(Database *database, const Segment *segment, bool *ret, GError **error)
{
	g_autoptr(sqlite3_stmt) first =
		database_prepare(database, "SELECT entries FROM page WHERE id = ?", error);
	bool row;

	if (!first)
		return false;
	sqlite3_bind_int64(first, 1, segment->first_page + segment->merged_pages);
	if (!database_step(database, first, &row, error))
		return false;
	*ret = row && anchor_page_is_plain(sqlite3_column_blob(first, 0),
					   (size_t)sqlite3_column_bytes(first, 0));

	return true;
}

SegmentWriter *segment_writer_new(HashStore *store, GError **error)
{
	g_autoptr(SegmentWriter) writer = g_new0(SegmentWriter, 1);
	Segment *segment = &writer->segment;

	writer->store = store;
	writer->row_fences = g_byte_array_sized_new(FENCES_PER_ROW * FENCE_BYTES);
	segment->fences = g_byte_array_new();
	segment->min_object = UINT32_MAX;
	anchor_page_begin(&writer->page);

	if (!hash_store_begin(store, error) ||
	    !database_get_int(store->database, "SELECT max(id) FROM segment", &segment->id,
			      error) ||
	    !database_get_int(store->database, "SELECT max(id) FROM page", &segment->first_page,
			      error) ||
	    !database_get_int(store->database, "SELECT max(id) FROM fence", &segment->first_fence,
			      error))
		return NULL;
	if (!is_id(segment->id) || !is_id(segment->first_page) || !is_id(segment->first_fence)) {
		database_set_corrupt(store->database, "it has no more ids for anchors", error);
		return NULL;
	}
	segment->id++;
	segment->first_page++;
	writer->next_fence = ++segment->first_fence;

	return g_steal_pointer(&writer);
}

void segment_writer_free(SegmentWriter *writer)
{
	if (!writer)
		return;

	g_byte_array_unref(writer->row_fences);
	g_byte_array_unref(writer->segment.fences);
	g_free(writer);
}

static bool put_bytes(HashStore *store, Statement statement, int64_t id, const void *bytes,
		      size_t n_bytes, GError **error)
{
	sqlite3_stmt *put = hash_store_change(store, statement, error);

	if (!put)
		return false;
	sqlite3_bind_int64(put, 1, id);
	sqlite3_bind_blob(put, 2, bytes, (int)n_bytes, SQLITE_STATIC);

	return hash_store_apply(store, put, error);
}

/* Write the row of fences that is being filled, and begin another one if it is full. */
static bool put_fences(SegmentWriter *writer, GError **error)
{
	if (!put_bytes(writer->store, STATEMENT_PUT_FENCE, writer->next_fence,
		       writer->row_fences->data, writer->row_fences->len, error))
		return false;
	if (writer->row_fences->len == FENCES_PER_ROW * FENCE_BYTES) {
		writer->next_fence++;
		g_byte_array_set_size(writer->row_fences, 0);
	}

	return true;
}

static bool put_page(SegmentWriter *writer, GError **error)
{
	AnchorPage *page = &writer->page;

	if (writer->segment.pages == UINT32_MAX) {
		g_set_error(error, HASH_STORE_ERROR, HASH_STORE_ERROR_FAILED,
			    "the store %s cannot hold more anchors in one segment",
			    writer->store->path);
		return false;
	}

	anchor_page_seal(page);
	if (!put_bytes(writer->store, STATEMENT_PUT_PAGE,
		       writer->segment.first_page + writer->segment.pages, page->bytes,
		       page->n_bytes, error))
		return false;
	writer->segment.pages++;
	anchor_page_begin(page);

	return writer->row_fences->len < FENCES_PER_ROW * FENCE_BYTES || put_fences(writer, error);
}

/* Add the fence of a page that begins with @anchor. */
static void add_fence(SegmentWriter *writer, const Anchor *anchor)
{
	if (writer->row_fences->len == 0)
		fences_append(writer->segment.fences, anchor->digest);
	fences_append(writer->row_fences, anchor->digest);
}

bool segment_writer_add(SegmentWriter *writer, const Anchor *anchors, size_t n_anchors,
			GError **error)
{
	Segment *segment = &writer->segment;

	for (size_t i = 0; i < n_anchors; i++) {
		const Anchor *anchor = &anchors[i];

		segment->min_object = MIN(segment->min_object, anchor->object);
		segment->max_object = MAX(segment->max_object, anchor->object);
		if (writer->page.n_entries == 0)
			add_fence(writer, anchor);
		if (anchor_page_add(&writer->page, anchor))
			continue;

		if (!put_page(writer, error))
			return false;
		add_fence(writer, anchor);
		anchor_page_add(&writer->page, anchor);
	}
	segment->anchors += n_anchors;

	return true;
}

bool segment_writer_save(SegmentWriter *writer, uint64_t live_objects, GError **error)
{
	const Segment *segment = &writer->segment;
	sqlite3_stmt *put;

	if (segment->anchors == 0)
		return true;
	if (writer->page.n_entries > 0 && !put_page(writer, error))
		return false;
	if (writer->row_fences->len > 0 && !put_fences(writer, error))
		return false;

	put = hash_store_change(writer->store, STATEMENT_PUT_SEGMENT, error);
	if (!put)
		return false;
	sqlite3_bind_int64(put, 1, segment->id);
	sqlite3_bind_int64(put, 2, (int64_t)segment->anchors);
	sqlite3_bind_int64(put, 3, segment->first_page);
	sqlite3_bind_int64(put, 4, segment->pages);
	sqlite3_bind_int64(put, 5, segment->first_fence);
	sqlite3_bind_int64(put, 6, segment->min_object);
	sqlite3_bind_int64(put, 7, segment->max_object);
	sqlite3_bind_int64(put, 8, (int64_t)live_objects);
	sqlite3_bind_blob(put, 9, segment->fences->data, (int)segment->fences->len, SQLITE_STATIC);

	return hash_store_apply(writer->store, put, error);
}
