/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/files/shared-bytes.h"

#include "cli/files/file-pieces.h"
#include "cli/terminal/progress-line.h"
#include "hashstore/anchors/sorter.h"

#define MEMORY_BYTES ((size_t)16 << 20)

/* An address at which a piece of a file begins or ends. */
typedef struct {
	uint64_t space;
	uint64_t position;
	int32_t step; /* 1: begins, -1: ends */
	uint32_t file;
} Edge;

static int compare_edges(const void *a, const void *b)
{
	const Edge *one = a, *other = b;

	if (one->space != other->space)
		return one->space < other->space ? -1 : 1;
	return (one->position > other->position) - (one->position < other->position);
}

static bool add_edges(Sorter *edges, const FilePiece *piece, uint32_t file, GError **error)
{
	Edge begin = { piece->space, piece->position, 1, file };
	Edge end = { piece->space, piece->position + piece->length, -1, file };

	return sorter_add(edges, &begin, error) && sorter_add(edges, &end, error);
}

/* The counters of two files, and the progress. */
typedef struct {
	Sorter *edges; /* NULL: only their data is counted */
	SharedBytes *count;
	ProgressLine progress;
	uint64_t n_pieces;
} Counting;

static void counting_clear(Counting *counting)
{
	g_clear_pointer(&counting->edges, sorter_free);
	progress_line_end(&counting->progress);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Counting, counting_clear)

static void count_piece(Counting *counting)
{
	counting->n_pieces++;
	if (progress_line_is_due(&counting->progress))
		progress_line_show(&counting->progress,
				   "%" G_GUINT64_FORMAT " extents of two files were looked at",
				   counting->n_pieces);
}

static bool add_file(Counting *counting, const NamedFile *named, uint32_t file, GError **error)
{
	g_autoptr(FilePieces) pieces = file_pieces_open(named, false, error);
	const FilePiece *piece;

	if (!pieces)
		return false;
	while (true) {
		if (!file_pieces_next(pieces, &piece, error))
			return false;
		if (!piece)
			return true;
		count_piece(counting);
		counting->count->data_bytes[file] += piece->length;
		if (counting->edges && file_piece_is_placed(piece) &&
		    !add_edges(counting->edges, piece, file, error))
			return false;
	}
}

/* Go over the addresses in order, knowing how often each file has them. */
static bool sweep(Sorter *edges, SharedBytes *count, GError **error)
{
	uint64_t depth[2] = { 0, 0 };
	uint64_t position = 0;
	const Edge *edge;

	while (true) {
		if (!sorter_next(edges, (const void **)&edge, error))
			return false;
		if (!edge)
			return true;

		if (depth[0] > 0 && depth[1] > 0) {
			uint64_t length = edge->position - position;

			count->disk_bytes += length;
			count->shared_bytes[0] += depth[0] * length;
			count->shared_bytes[1] += depth[1] * length;
		}
		position = edge->position;
		depth[edge->file] += (uint64_t)(int64_t)edge->step;
	}
}

/* Bytes that both pieces have at the same offset and address. */
static uint64_t overlap(const FilePiece *one, const FilePiece *other)
{
	uint64_t begin = MAX(one->logical, other->logical);
	uint64_t end = MIN(one->logical + one->length, other->logical + other->length);

	if (begin >= end || !file_piece_is_placed(one) || !file_piece_is_placed(other) ||
	    one->space != other->space ||
	    one->position - one->logical != other->position - other->logical)
		return 0;
	return end - begin;
}

static bool count_in_place(Counting *counting, const NamedFile *one, const NamedFile *other,
			   GError **error)
{
	g_autoptr(FilePieces) ones = file_pieces_open(one, false, error);
	g_autoptr(FilePieces) others = ones ? file_pieces_open(other, false, error) : NULL;
	const FilePiece *a, *b;

	if (!others || !file_pieces_next(ones, &a, error) || !file_pieces_next(others, &b, error))
		return false;
	while (a && b) {
		count_piece(counting);
		counting->count->in_place_bytes += overlap(a, b);
		if (a->logical + a->length <= b->logical + b->length
			    ? !file_pieces_next(ones, &a, error)
			    : !file_pieces_next(others, &b, error))
			return false;
	}

	return true;
}

bool shared_bytes_count(const NamedFile *one, const NamedFile *other, SharedBytes *ret,
			GError **error)
{
	g_auto(Counting) counting = { .count = ret };

	*ret = (SharedBytes){ 0 };
	/* On different filesystems, equal addresses mean nothing. */
	if (named_files_are_neighbours(one, other))
		counting.edges = sorter_new(sizeof(Edge), compare_edges, MEMORY_BYTES,
					    g_get_tmp_dir(), NULL);
	if (!add_file(&counting, one, 0, error) || !add_file(&counting, other, 1, error))
		return false;

	return !counting.edges ||
	       (sorter_sort(counting.edges, error) && sweep(counting.edges, ret, error) &&
		count_in_place(&counting, one, other, error));
}
