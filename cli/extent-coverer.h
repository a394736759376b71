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

/* See estimate_extents_count(). */
bool extent_coverer_count(ExtentCoverer *coverer, unsigned usual, uint64_t ret_bytes[ESTIMATE_WAYS],
			  uint64_t *ret_n_runs, GError **error) G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(ExtentCoverer, extent_coverer_free)
