/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/estimate.h"

/*
 * ExtentCoverer - which extents are freed, if others cover them.
 *
 * Extents are known by their ranks: 0 is the one that most rather stays.  An extent serves as a source or
 * is freed, never both; each way of finding has a world of its own.
 *
 * Thread: one at a time.
 */
typedef struct ExtentCoverer ExtentCoverer;

typedef struct {
	uint64_t bytes;    /* that are freed with it */
	uint64_t n_shown;  /* blocks that files show, each once */
	uint32_t n_places; /* that show it */
	bool is_fixed;     /* it is never freed */
	bool is_deferred;  /* what frees it does so when snapshots are deleted */
	uint8_t freed;     /* by each way, a bit */
	uint8_t used;      /* as a source, the same */
} CoveredExtent;

/* Blocks of an extent that those of another equal. */
typedef struct {
	uint64_t target;   /* rank */
	uint64_t source;   /* rank, or EQUAL_HOLE: they are zeros */
	uint64_t position; /* of the first block, in the order of all of them */
	uint32_t n_blocks;
	uint32_t ways;
} EqualPiece;

#define EQUAL_HOLE UINT64_MAX

ExtentCoverer *extent_coverer_new(const EstimateTask *task, GError **error);
void extent_coverer_free(ExtentCoverer *coverer);

/* The next rank's. */
bool extent_coverer_add_extent(ExtentCoverer *coverer, const CoveredExtent *extent, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Of the extent @n_blocks more are shown. */
void extent_coverer_show(ExtentCoverer *coverer, uint64_t rank, uint64_t n_blocks);
bool extent_coverer_add(ExtentCoverer *coverer, const EqualPiece *piece, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Write no more than @bytes for extents that are deferred, by each way; by itself all that is worth it. */
void extent_coverer_bound_held(ExtentCoverer *coverer, uint64_t bytes);

typedef struct {
	uint64_t freed_bytes
		[ESTIMATE_WAYS]; /* by each way, at once, less what is written for that */
	uint64_t n_runs;         /* items that files get of what the usual way frees or defers */
	/* By the usual way: */
	uint64_t deferred_bytes;         /* freed when snapshots are deleted */
	uint64_t deferred_written_bytes; /* for these */
} CoverResult;

bool extent_coverer_count(ExtentCoverer *coverer, unsigned usual, CoverResult *ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(ExtentCoverer, extent_coverer_free)
