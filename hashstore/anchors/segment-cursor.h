/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/anchors/anchor-page.h"
#include "hashstore/anchors/fences.h"
#include "hashstore/anchors/segment.h"

/*
 * SegmentReader - the statements for reading segments, shared by all cursors of one connection.
 *
 * Thread: the filesystem's worker.
 */
typedef struct {
	Database *database; /* not owned */
	sqlite3_stmt *read_pages;
	sqlite3_stmt *read_fences;
	sqlite3_stmt *drop_page; /* NULL if cursors do not consume */
	sqlite3_stmt *put_page;  /* the same */
} SegmentReader;

/* With @consume, cursors delete the pages that they have read, so that SQLite reuses the space at once. */
SegmentReader *segment_reader_new(Database *database, bool consume, GError **error);
void segment_reader_free(SegmentReader *reader);

/*
 * SegmentCursor - the anchors of one segment in order.  It reads some pages at a time, and unpacks one.
 *
 * The anchors at hand are entries[next] to entries[n_entries - 1].
 */
typedef struct {
	SegmentReader *reader;  /* not owned */
	const Segment *segment; /* not owned */
	/* Pages read and not yet unpacked, in slots of equal size. */
	uint8_t *slots;
	uint16_t *slot_bytes;
	unsigned n_slots;
	unsigned n_read;    /* slots that are filled */
	unsigned next_slot; /* of the next page to unpack */
	uint32_t next_page; /* page of the segment to read after the slots */
	/* The row of fences last used. */
	uint8_t row_fences[FENCES_PER_ROW * FENCE_BYTES];
	uint32_t fences_of;  /* number of that row in the segment */
	size_t n_row_fences; /* 0: none was read yet */
	uint64_t n_passed;   /* anchors of pages before that one, if none was skipped */
	/* The page unpacked last. */
	unsigned first; /* before it are merged anchors, which are in another segment */
	unsigned next;
	unsigned n_entries;
	Anchor entries[ANCHOR_PAGE_ENTRIES];
} SegmentCursor;

/* The memory of a cursor that reads @n_slots pages at a time. */
size_t segment_cursor_bytes(unsigned n_slots);

SegmentCursor *segment_cursor_new(SegmentReader *reader, const Segment *segment, unsigned n_slots);
void segment_cursor_free(SegmentCursor *cursor);

/* Have at least one anchor at hand, or none at the end of the segment. */
bool segment_cursor_fill(SegmentCursor *cursor, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * Advance to the first anchor of @digest or a larger one, and have it at hand.  Pages in between are not read.
 */
bool segment_cursor_seek(SegmentCursor *cursor, uint64_t digest, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/*
 * Of a cursor that consumes: restore the pages from the one at hand on, and change @segment to what is left of it from
 * @digest on.  If nothing is, its merged pages are all pages.  All anchors of earlier pages must have lower digests.
 */
bool segment_cursor_restore(SegmentCursor *cursor, uint64_t digest, Segment *segment,
			    GError **error) G_GNUC_WARN_UNUSED_RESULT;

static inline bool segment_cursor_at_hand(const SegmentCursor *cursor)
{
	return cursor->next < cursor->n_entries;
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SegmentReader, segment_reader_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SegmentCursor, segment_cursor_free)
