/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/content/extent-sums.h"
#include "common/content/run.h"

/*
 * ExtentCover - which blocks of one data extent of btrfs equal blocks of other extents.
 *
 * btrfs frees an extent when no reference shows any byte of it.  So all referenced blocks must be covered, by
 * any number of sources.  A block belongs to the first run added that covers it.  The ends of runs are found
 * from the sums of both sides.
 *
 * Thread: the filesystem's worker.
 */
typedef struct ExtentCover ExtentCover;

/* A range of the target that one source covers. */
typedef struct {
	uint64_t first; /* block of the target */
	uint64_t blocks;
	uint32_t source; /* id of the object, or RUN_HOLE */
	/* Subtract it from a block of the target to get the source's, modulo 2^64. */
	uint64_t diagonal;
	bool is_whole; /* the source equals the whole target */
	bool is_zeros; /* it covers zeros only, and was added for that */
} CoverPiece;

/* A range of blocks. */
typedef struct {
	uint64_t first;
	uint64_t end;
} CoverRange;

typedef struct {
	uint32_t id;
	uint64_t bytenr;
	uint64_t blocks;
	/* The ranges that files show: only these can be shared with. */
	const CoverRange *shown;
	size_t n_shown;
} CoverSource;

/* A shorter run of equal blocks proves nothing, since sums may come from checksums of 4 bytes. */
#define COVER_LEAST_BLOCKS 3

ExtentCover *extent_cover_new(ExtentSums *sums, uint32_t block_bytes);
void extent_cover_free(ExtentCover *cover);

/* Begin with the extent of @blocks blocks at the address @bytenr; no block is covered. */
bool extent_cover_begin(ExtentCover *cover, uint64_t bytenr, uint64_t blocks, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/*
 * Add @source, another extent with the same length and digest.  All that files show of it covers the blocks
 * left.
 */
void extent_cover_add_whole(ExtentCover *cover, const CoverSource *source);

/*
 * Add the blocks that @source covers when @run is extended both ways from its estimated place.  Shorter ranges
 * than @least_blocks are ignored.
 */
bool extent_cover_add(ExtentCover *cover, const Run *run, const CoverSource *source,
		      uint64_t least_blocks, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The blocks of the target that the last extent_cover_add() compared; empty if it compared none. */
CoverRange extent_cover_looked_at(const ExtentCover *cover);

/* True if the last addition contains @block, no matter which object covers it; the second removes it from that addition. */
bool extent_cover_added(const ExtentCover *cover, uint64_t block);
void extent_cover_take_back(ExtentCover *cover, uint64_t block);

/* The number of pieces that the covered blocks are in. */
uint64_t extent_cover_pieces(const ExtentCover *cover);

/*
 * The blocks of the shortest of these pieces, but those of zeros and of a source that equals the target as a whole;
 * UINT64_MAX: there is none.
 */
uint64_t extent_cover_shortest(const ExtentCover *cover);

/*
 * Cover the same blocks with as few pieces as possible, using the sources added between the two
 * calls.  Nothing changes if that does not reduce their number.  Call both before holes and zeros are added.
 */
void extent_cover_begin_join(ExtentCover *cover);
void extent_cover_join(ExtentCover *cover);

/* Make @block uncovered. */
void extent_cover_remove(ExtentCover *cover, uint64_t block);

/*
 * Add a hole: it covers the uncovered blocks of zeros, if their sum is known.  The source of these pieces is
 * RUN_HOLE.
 */
void extent_cover_add_hole(ExtentCover *cover);

/*
 * Add the blocks @zeros of @source, all of which are zeros.  They cover the same blocks as a hole, repeated as
 * often as needed.
 */
void extent_cover_add_zeros(ExtentCover *cover, uint32_t source, const CoverRange *zeros);

/* Uncover the blocks that a hole or zeros cover. */
void extent_cover_remove_zeros(ExtentCover *cover);

/* The first uncovered range at or after @from; false: there is none. */
bool extent_cover_gap(const ExtentCover *cover, uint64_t from, uint64_t *ret_first,
		      uint64_t *ret_end);

/* The sums of all blocks of the target; they live until the next extent_cover_begin(). */
const uint64_t *extent_cover_sums(const ExtentCover *cover);

/* Whether that sum tells of data: it is known, and not that of zeros. */
bool extent_cover_is_data(const ExtentCover *cover, uint64_t sum);

/* True if all of [@first, @end) is covered. */
bool extent_cover_has(const ExtentCover *cover, uint64_t first, uint64_t end);

/* The piece that begins at @block, which is covered, cut at @end. */
CoverPiece extent_cover_piece(const ExtentCover *cover, uint64_t block, uint64_t end);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(ExtentCover, extent_cover_free)
