/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/share/dedupe-window.h"
#include "daemon/share/freed-extents.h"
#include "daemon/share/full-alloc-groups.h"
#include "daemon/share/range-source.h"
#include "daemon/share/run-sharer.h"
#include "daemon/share/zero-filler.h"

/* The state of RunSharer, for the files that implement it. */

struct RunSharer {
	Pass *pass;
	FileOpener *opener;
	DedupeWindow *window;
	ZeroFiller *zeros;
	RangeSource *source;
	BlockSet *settled;    /* blocks of the target that are shared, or need not be */
	BlockSet *had_others; /* btrfs: blocks that others used too when the target was begun */
	FreedExtents *freed;  /* NULL: what is freed is counted block by block */
	uint64_t begun_bytes; /* shared before the target was begun */
	uint32_t min_blocks;
	OpenObject *target; /* NULL until the first one is begun */
	FullAllocGroups *full;
	uint64_t blocked_bytes; /* of the target in hand, that have a source there */
	uint64_t costly_bytes;  /* of the run in hand, that cost more than the pass may compare */
	CloneTarget clone;      /* which blocks alone are shared, or none: blocks is 0 */
	bool is_refused;        /* the kernel will not share the run in hand */
};

/* Whether CloneSharer has the run shared, which counts what it frees. */
static inline bool run_sharer_has_clone(const RunSharer *sharer)
{
	return sharer->clone.blocks > 0;
}

/* Credit the blocks of the window's [@first, @end) that now lie where their source does. */
void run_outcome_stretch(RunSharer *sharer, size_t first, size_t end);

/* Blocks [@first, @end) of the window need no more work. */
void run_outcome_settle(RunSharer *sharer, size_t first, size_t end);

/* A range that is shared already needs no work now or later. */
void run_outcome_same_place(RunSharer *sharer);

/* With --dry-run: the equal blocks of the window would be shared. */
void run_outcome_estimate(RunSharer *sharer);

/*
 * Decide which of the mapped window's candidates may be compared: what has several references is left for
 * later, and what costs more than the pass may compare is left alone.
 */
bool run_limits_apply(RunSharer *sharer, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Leave zeros that were found, and that have several references, for later. */
bool run_limits_defer_zeros(RunSharer *sharer, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Count what the window compared. */
void run_limits_charge(RunSharer *sharer);
