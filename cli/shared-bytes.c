/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/shared-bytes.h"

#include "cli/file-pieces.h"
#include "hashstore/sorter.h"

#define MEMORY_BYTES ((size_t)16 << 20)

/* Where a piece of a file begins or ends among the addresses. */
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

/* @edges may be NULL: the data is counted only. */
static bool add_file(Sorter *edges, const NamedFile *named, uint32_t file, SharedBytes *count,
		     GError **error)
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
		count->data_bytes[file] += piece->length;
		if (edges && file_piece_is_placed(piece) && !add_edges(edges, piece, file, error))
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

static bool count_in_place(const NamedFile *one, const NamedFile *other, uint64_t *ret,
			   GError **error)
{
	g_autoptr(FilePieces) ones = file_pieces_open(one, false, error);
	g_autoptr(FilePieces) others = ones ? file_pieces_open(other, false, error) : NULL;
	const FilePiece *a, *b;

	if (!others || !file_pieces_next(ones, &a, error) || !file_pieces_next(others, &b, error))
		return false;
	while (a && b) {
		*ret += overlap(a, b);
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
	g_autoptr(Sorter) edges =
		sorter_new(sizeof(Edge), compare_edges, MEMORY_BYTES, g_get_tmp_dir(), NULL);

	*ret = (SharedBytes){ 0 };
	/* There equal addresses mean nothing. */
	if (!named_files_are_neighbours(one, other))
		return add_file(NULL, one, 0, ret, error) && add_file(NULL, other, 1, ret, error);

	return add_file(edges, one, 0, ret, error) && add_file(edges, other, 1, ret, error) &&
	       sorter_sort(edges, error) && sweep(edges, ret, error) &&
	       count_in_place(one, other, &ret->in_place_bytes, error);
}
