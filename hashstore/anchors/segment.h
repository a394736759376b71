/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/anchors/anchor.h"
#include "hashstore/database/store-state.h"

/*
 * Segment - an immutable sorted part of the store's anchors, in consecutive rows of the table page.
 *
 * Thread: the filesystem's worker.
 */
typedef struct {
	int64_t id;
	uint64_t anchors; /* without the merged ones */
	int64_t first_page;
	uint32_t pages;
	int64_t first_fence;
	uint32_t min_object;
	uint32_t max_object;
	uint64_t live_objects; /* in its range of ids, when last counted; 0: never counted */
	GByteArray *fences;    /* one fence per row of fences; NULL if not read */
	/* An interrupted merge has moved the first pages, and all anchors of lower digests. */
	uint32_t merged_pages;
	uint64_t merged_below;
} Segment;

void segment_free(Segment *segment);

/* All segments, oldest first, as an array of Segment that frees them. */
GPtrArray *segment_list(Database *database, GError **error);

/* The segment was written before version 17 of the store. */
bool segment_is_plain(Database *database, const Segment *segment, bool *ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* SegmentWriter - writes one segment from sorted anchors. */
typedef struct SegmentWriter SegmentWriter;

SegmentWriter *segment_writer_new(HashStore *store, GError **error);
void segment_writer_free(SegmentWriter *writer);

bool segment_writer_add(SegmentWriter *writer, const Anchor *anchors, size_t n_anchors,
			GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Write the last page and the segment's row, unless it is empty.  More anchors may follow, and another save. */
bool segment_writer_save(SegmentWriter *writer, uint64_t live_objects, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Segment, segment_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SegmentWriter, segment_writer_free)
