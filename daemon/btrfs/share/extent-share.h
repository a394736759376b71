/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/content/extent-sums.h"
#include "daemon/btrfs/plan/block-search.h"
#include "daemon/btrfs/plan/extent-again.h"
#include "daemon/context/object-table.h"
#include "daemon/context/pass.h"
#include "daemon/match/run-order.h"

/* One of the rounds of a pass. */
typedef struct {
	bool is_news;        /* what is pinned was not counted before */
	BlockSearch *search; /* borrowed; is given what lacks little; NULL: nothing is */
	GHashTable *
		sources; /* borrowed; ids that are targets besides, so that it is no news if they stay; NULL: none */
	ExtentAgain *
		again; /* borrowed; is given sources of what is pinned, and targets that had to stay */
	uint64_t n_pinned; /* how many were, added up */
} ShareRound;

/*
 * Deduplicate what the runs between data extents of btrfs promise.
 *
 * Extents are handled one by one, in the order of RunOrder.  The checksums tell where the runs end, and all
 * references to the extent are looked up.  The extent is shared away, in each of those places, only if other
 * extents can take over every referenced byte.  Otherwise nothing would be freed: the extent is pinned, and
 * becomes the source of others in later rounds.  An extent counts as freed when nothing refers to it any more.
 *
 * Thread: the filesystem's worker.
 */
bool extents_share(Pass *pass, ExtentSums *sums, ObjectTable *table, RunOrder *order,
		   ShareRound *round, GError **error) G_GNUC_WARN_UNUSED_RESULT;
