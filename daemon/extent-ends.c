/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/extent-ends.h"

typedef struct {
	ExtentCover *cover;
	ExtentSources *sources;
	const ExtentRef *refs;
	size_t n_refs;
	uint32_t block_bytes;
	uint64_t blocks; /* up to where the last place ends */
} Ends;

static uint64_t end_of(const ExtentRef *ref)
{
	return ref->position + extent_ref_shown_bytes(ref);
}

/* Whether the source of @piece, which has @block, has @bytes to share there. */
static bool source_has(const Ends *ends, const CoverPiece *piece, uint64_t block, uint64_t bytes,
		       bool *ret, bool *ret_is_there, GError **error)
{
	uint64_t position = (block - piece->diagonal) * ends->block_bytes;
	const ExtentSource *source;
	uint64_t here = 0;

	if (!extent_sources_find(ends->sources, piece->source, position, bytes, &source, error))
		return false;

	*ret_is_there = source;
	*ret = source && extent_source_place(source, position, bytes, ends->block_bytes, &here) &&
	       here >= bytes;
	return true;
}

/* A place that ends within a block. */
static bool check_place(const Ends *ends, const ExtentRef *ref, GError **error)
{
	uint64_t block = end_of(ref) / ends->block_bytes;
	uint64_t bytes = end_of(ref) % ends->block_bytes;
	bool has, is_there;
	CoverPiece piece;

	if (bytes == 0 || !extent_cover_has(ends->cover, block, block + 1))
		return true;

	piece = extent_cover_piece(ends->cover, block, block + 1);
	/* A hole ends where it is wanted to. */
	if (piece.source == RUN_HOLE)
		return true;
	if (!source_has(ends, &piece, block, bytes, &has, &is_there, error))
		return false;
	if (!has)
		extent_cover_remove(ends->cover, block);
	return true;
}

/* Whether each file that shows @block of the target ends within it. */
static bool all_end_in(const Ends *ends, uint64_t block)
{
	for (size_t i = 0; i < ends->n_refs; i++) {
		const ExtentRef *ref = &ends->refs[i];

		if (ref->position / ends->block_bytes <= block &&
		    end_of(ref) >= (block + 1) * ends->block_bytes)
			return false;
	}

	return true;
}

/* The last blocks that sources cover. */
static bool check_sources(const Ends *ends, GError **error)
{
	for (uint64_t block = 0; block < ends->blocks; block++) {
		bool has, is_there;
		CoverPiece piece;

		if (!extent_cover_has(ends->cover, block, block + 1))
			continue;
		piece = extent_cover_piece(ends->cover, block, ends->blocks);
		block += piece.blocks - 1;
		if (piece.source == RUN_HOLE || all_end_in(ends, block))
			continue;
		if (!source_has(ends, &piece, block, ends->block_bytes, &has, &is_there, error))
			return false;
		if (is_there && !has)
			extent_cover_remove(ends->cover, block);
	}

	return true;
}

bool extent_ends_check(ExtentCover *cover, ExtentSources *sources, const ExtentRef *refs,
		       size_t n_refs, uint32_t block_bytes, GError **error)
{
	Ends ends = { cover, sources, refs, n_refs, block_bytes, 0 };

	for (size_t i = 0; i < n_refs; i++)
		ends.blocks = MAX(ends.blocks, (end_of(&refs[i]) + block_bytes - 1) / block_bytes);
	if (!check_sources(&ends, error))
		return false;
	for (size_t i = 0; i < n_refs; i++)
		if (!check_place(&ends, &refs[i], error))
			return false;

	return true;
}
