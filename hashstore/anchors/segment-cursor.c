/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/anchors/segment-cursor.h"

#include "hashstore/database/statements.h"

#include <string.h>

#define SLOT_BYTES (ANCHOR_PAGE_BYTES + ANCHOR_PAGE_SLACK)

SegmentReader *segment_reader_new(Database *database, bool consume, GError **error)
{
	g_autoptr(SegmentReader) reader = g_new0(SegmentReader, 1);

	reader->database = database;
	reader->read_pages = database_prepare(
		database, "SELECT id, entries FROM page WHERE id >= ? ORDER BY id", error);
	if (!reader->read_pages)
		return NULL;
	reader->read_fences =
		database_prepare(database, "SELECT digests FROM fence WHERE id = ?", error);
	if (!reader->read_fences)
		return NULL;
	if (consume) {
		reader->drop_page =
			database_prepare(database, "DELETE FROM page WHERE id = ?", error);
		if (!reader->drop_page)
			return NULL;
		reader->put_page =
			database_prepare(database, statement_sql(STATEMENT_PUT_PAGE), error);
		if (!reader->put_page)
			return NULL;
	}

	return g_steal_pointer(&reader);
}

void segment_reader_free(SegmentReader *reader)
{
	if (!reader)
		return;

	sqlite3_finalize(reader->read_pages);
	sqlite3_finalize(reader->read_fences);
	sqlite3_finalize(reader->drop_page);
	sqlite3_finalize(reader->put_page);
	g_free(reader);
}

size_t segment_cursor_bytes(unsigned n_slots)
{
	return sizeof(SegmentCursor) + n_slots * (SLOT_BYTES + sizeof(uint16_t));
}

SegmentCursor *segment_cursor_new(SegmentReader *reader, const Segment *segment, unsigned n_slots)
{
	SegmentCursor *cursor = g_new0(SegmentCursor, 1);

	cursor->reader = reader;
	cursor->segment = segment;
	cursor->n_slots = n_slots;
	cursor->next_page = segment->merged_pages;
	cursor->slots = g_malloc((size_t)n_slots * SLOT_BYTES);
	cursor->slot_bytes = g_new(uint16_t, n_slots);

	return cursor;
}

void segment_cursor_free(SegmentCursor *cursor)
{
	if (!cursor)
		return;

	g_free(cursor->slots);
	g_free(cursor->slot_bytes);
	g_free(cursor);
}

static bool keep_row(SegmentCursor *cursor, sqlite3_stmt *row, int64_t id)
{
	const void *bytes = sqlite3_column_blob(row, 1);
	int n_bytes = sqlite3_column_bytes(row, 1);

	if (sqlite3_column_int64(row, 0) != id || n_bytes <= 0 || n_bytes > ANCHOR_PAGE_BYTES)
		return false;
	memcpy(cursor->slots + (size_t)cursor->n_read * SLOT_BYTES, bytes, (size_t)n_bytes);
	cursor->slot_bytes[cursor->n_read++] = (uint16_t)n_bytes;

	return true;
}

/* Drop the last page first: SQLite reuses free pages in the opposite order. */
static bool drop_pages(SegmentReader *reader, int64_t begin, int64_t end, GError **error)
{
	while (end > begin) {
		sqlite3_bind_int64(reader->drop_page, 1, --end);
		if (!database_run(reader->database, reader->drop_page, error))
			return false;
	}

	return true;
}

static bool read_slots(SegmentCursor *cursor, GError **error)
{
	SegmentReader *reader = cursor->reader;
	int64_t begin = cursor->segment->first_page + cursor->next_page;
	uint32_t n = MIN(cursor->n_slots, cursor->segment->pages - cursor->next_page);
	bool row;

	cursor->n_read = 0;
	cursor->next_slot = 0;
	sqlite3_bind_int64(reader->read_pages, 1, begin);
	/* Do not step to the end, which would read one more page. */
	while (cursor->n_read < n) {
		if (!database_step(reader->database, reader->read_pages, &row, error))
			return false;
		if (!row || !keep_row(cursor, reader->read_pages, begin + cursor->n_read))
			break;
	}
	sqlite3_reset(reader->read_pages);

	if (cursor->n_read != n) {
		database_set_corrupt(reader->database, "a page of anchors is missing", error);
		return false;
	}
	cursor->next_page += n;

	return !reader->drop_page || drop_pages(reader, begin, begin + n, error);
}

/* Unpack the next page of those that were read. */
static bool unpack_slot(SegmentCursor *cursor, GError **error)
{
	unsigned slot = cursor->next_slot++;

	cursor->n_passed += cursor->n_entries - cursor->first;
	cursor->first = 0;
	cursor->next = 0;
	if (anchor_page_read(cursor->slots + (size_t)slot * SLOT_BYTES, cursor->slot_bytes[slot],
			     cursor->entries, &cursor->n_entries))
		return true;

	cursor->n_entries = 0;
	database_set_corrupt(cursor->reader->database, "a page of anchors is not valid", error);
	return false;
}

/* The index of the first entry at hand of @digest or a larger one. */
static unsigned find_entry(const SegmentCursor *cursor, uint64_t digest)
{
	unsigned begin = cursor->first, end = cursor->n_entries;

	while (begin < end) {
		unsigned middle = begin + (end - begin) / 2;

		if (cursor->entries[middle].digest < digest)
			begin = middle + 1;
		else
			end = middle;
	}

	return begin;
}

bool segment_cursor_fill(SegmentCursor *cursor, GError **error)
{
	const Segment *segment = cursor->segment;

	while (!segment_cursor_at_hand(cursor)) {
		if (cursor->next_slot == cursor->n_read) {
			if (cursor->next_page == segment->pages)
				return true;
			if (!read_slots(cursor, error))
				return false;
		}
		if (!unpack_slot(cursor, error))
			return false;
		cursor->first = find_entry(cursor, segment->merged_below);
		cursor->next = cursor->first;
	}

	return true;
}

bool segment_cursor_restore(SegmentCursor *cursor, uint64_t digest, Segment *segment,
			    GError **error)
{
	SegmentReader *reader = cursor->reader;
	unsigned entry = find_entry(cursor, digest);
	unsigned at_hand = cursor->next_slot - 1;

	segment->anchors -= MIN(segment->anchors, cursor->n_passed + entry - cursor->first);
	segment->merged_below = MAX(digest, segment->merged_below);
	segment->merged_pages = cursor->next_page;
	if (cursor->next_page == segment->pages && cursor->next_slot == cursor->n_read &&
	    entry == cursor->n_entries)
		return true;

	segment->merged_pages -= cursor->n_read - at_hand;
	for (unsigned slot = at_hand; slot < cursor->n_read; slot++) {
		sqlite3_bind_int64(reader->put_page, 1,
				   segment->first_page + segment->merged_pages + slot - at_hand);
		sqlite3_bind_blob(reader->put_page, 2, cursor->slots + (size_t)slot * SLOT_BYTES,
				  cursor->slot_bytes[slot], SQLITE_STATIC);
		if (!database_run(reader->database, reader->put_page, error))
			return false;
	}

	return true;
}

static uint32_t fences_in_row(const Segment *segment, uint32_t number)
{
	return MIN(FENCES_PER_ROW, segment->pages - number * FENCES_PER_ROW);
}

static bool read_fences(SegmentCursor *cursor, uint32_t number, GError **error)
{
	SegmentReader *reader = cursor->reader;
	size_t n = fences_in_row(cursor->segment, number);
	bool row;

	if (cursor->n_row_fences > 0 && cursor->fences_of == number)
		return true;

	sqlite3_bind_int64(reader->read_fences, 1, cursor->segment->first_fence + number);
	if (!database_step(reader->database, reader->read_fences, &row, error))
		return false;
	if (row && sqlite3_column_bytes(reader->read_fences, 0) == (int)(n * FENCE_BYTES)) {
		memcpy(cursor->row_fences, sqlite3_column_blob(reader->read_fences, 0),
		       n * FENCE_BYTES);
		cursor->fences_of = number;
		cursor->n_row_fences = n;
	} else {
		cursor->n_row_fences = 0;
		database_set_corrupt(reader->database, "an index of anchors is not valid", error);
	}
	sqlite3_reset(reader->read_fences);

	return cursor->n_row_fences > 0;
}

/* Continue with the last page that surely begins before @digest. */
static bool skip_pages(SegmentCursor *cursor, uint64_t digest, GError **error)
{
	const GByteArray *fences = cursor->segment->fences;
	uint32_t number = (uint32_t)fences_find(fences->data, fences->len / FENCE_BYTES, digest);
	uint32_t next = cursor->next_page - (cursor->n_read - cursor->next_slot);
	uint32_t page;

	if ((uint64_t)(number + 1) * FENCES_PER_ROW <= next)
		return true;
	if (!read_fences(cursor, number, error))
		return false;
	page = number * FENCES_PER_ROW +
	       (uint32_t)fences_find(cursor->row_fences, cursor->n_row_fences, digest);
	if (page <= next)
		return true;

	if (page < cursor->next_page) {
		cursor->next_slot += page - next;
	} else {
		cursor->next_slot = cursor->n_read;
		cursor->next_page = page;
	}

	return true;
}

bool segment_cursor_seek(SegmentCursor *cursor, uint64_t digest, GError **error)
{
	if (!segment_cursor_fill(cursor, error))
		return false;
	if (!segment_cursor_at_hand(cursor))
		return true;

	if (cursor->entries[cursor->n_entries - 1].digest < digest) {
		if (!skip_pages(cursor, digest, error))
			return false;
		do {
			cursor->next = cursor->n_entries;
			if (!segment_cursor_fill(cursor, error))
				return false;
		} while (segment_cursor_at_hand(cursor) &&
			 cursor->entries[cursor->n_entries - 1].digest < digest);
	}

	while (segment_cursor_at_hand(cursor) && cursor->entries[cursor->next].digest < digest)
		cursor->next++;

	return true;
}
