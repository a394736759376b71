/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/content/extent-sums.h"
#include "common/content/run.h"

/*
 * ExtentCover - which blocks of one data extent of btrfs equal which blocks of others.
 *
 * btrfs frees an extent when nothing shows any byte of it, so what counts is whether all that is
 * shown is covered, by however many sources.  A block belongs to the first run given that
 * covers it.  Their ends are found from the sums of both sides.
 *
 * Thread: the filesystem's worker.
 */
typedef struct ExtentCover ExtentCover;

/* A stretch of the target that one source covers. */
typedef struct {
	uint64_t first; /* block of the target */
	uint64_t blocks;
	uint32_t source; /* id of the object, or RUN_HOLE */
	uint64_t
		diagonal; /* to be subtracted from a target's block to get the source's, mod 2^64 */
	bool is_whole;    /* the source equals the target from end to end */
	bool is_zeros;    /* it has nothing but zeros, by which it was found */
} CoverPiece;

/* A stretch of blocks of a source. */
typedef struct {
	uint64_t first;
	uint64_t end;
} CoverRange;

typedef struct {
	uint32_t id;
	uint64_t bytenr;
	uint64_t blocks;
	/* What files show of it: nothing else can be shared with. */
	const CoverRange *shown;
	size_t n_shown;
} CoverSource;

/* Fewer equal blocks in a row than these prove nothing where sums are of 4 bytes. */
#define COVER_LEAST_BLOCKS 3

ExtentCover *extent_cover_new(ExtentSums *sums, uint32_t block_bytes);
void extent_cover_free(ExtentCover *cover);

/* Begin with the extent of @blocks blocks at the address @bytenr, of which nothing is covered. */
bool extent_cover_begin(ExtentCover *cover, uint64_t bytenr, uint64_t blocks, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/*
 * Add @source, another extent of the same length with the same digest: what is shown of it covers
 * what is left.
 */
void extent_cover_add_whole(ExtentCover *cover, const CoverSource *source);

/*
 * Add what @source covers when @run is followed both ways from where it is thought to be.
 * Stretches of fewer than @least_blocks equal blocks are left out.
 */
bool extent_cover_add(ExtentCover *cover, const Run *run, const CoverSource *source,
		      uint64_t least_blocks, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The blocks of the target that the last extent_cover_add() compared with the source's; empty if it compared none. */
CoverRange extent_cover_looked_at(const ExtentCover *cover);

/* Whether what was added last has @block, whichever covers it; and take that back. */
bool extent_cover_added(const ExtentCover *cover, uint64_t block);
void extent_cover_take_back(ExtentCover *cover, uint64_t block);

/* How many pieces the covered blocks are in. */
uint64_t extent_cover_pieces(const ExtentCover *cover);

/* The blocks of the longest of these pieces. */
uint64_t extent_cover_longest(const ExtentCover *cover);

/*
 * Have the sources that are added between the two calls cover what is covered in as few pieces as they can.  Where
 * that would not make it fewer nothing changes.  Call before holes and zeros are added.
 */
void extent_cover_begin_join(ExtentCover *cover);
void extent_cover_join(ExtentCover *cover);

/* Take back that @block is covered. */
void extent_cover_remove(ExtentCover *cover, uint64_t block);

/*
 * Add a hole: it covers the blocks of zeros that are left, as far as their sum is known.  The pieces
 * have RUN_HOLE for their source.
 */
void extent_cover_add_hole(ExtentCover *cover);

/*
 * Add the blocks @zeros of @source, all of them zeros: they cover the same as a hole would, as often as
 * it takes.
 */
void extent_cover_add_zeros(ExtentCover *cover, uint32_t source, const CoverRange *zeros);

/* Take back what a hole, or zeros, cover. */
void extent_cover_remove_zeros(ExtentCover *cover);

/* The first stretch at or after @from that is not covered; false: there is none. */
bool extent_cover_gap(const ExtentCover *cover, uint64_t from, uint64_t *ret_first,
		      uint64_t *ret_end);

/* Whether all of [@first, @end) is covered. */
bool extent_cover_has(const ExtentCover *cover, uint64_t first, uint64_t end);

/* The piece that @block, which is covered, begins, up to @end at most. */
CoverPiece extent_cover_piece(const ExtentCover *cover, uint64_t block, uint64_t end);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(ExtentCover, extent_cover_free)
