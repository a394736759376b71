/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/content/extent-sums.h"
#include "daemon/btrfs/plan/block-search.h"
#include "daemon/btrfs/plan/replan-list.h"
#include "daemon/context/object-table.h"
#include "daemon/context/pass.h"
#include "daemon/match/run-order.h"

/* One of the rounds of a pass.  The pointers are borrowed. */
typedef struct {
	bool is_news;        /* its pinned extents were not counted before */
	BlockSearch *search; /* gets the targets that lack little; NULL: none */
	GHashTable *sources; /* ids that are also targets: not counted if they stay; NULL: none */
	ReplanList *replan;  /* gets sources of pinned extents, and targets that had to stay */
	uint64_t n_pinned;   /* added up */
} ShareRound;

/*
 * Deduplicate data extents of btrfs by their runs.
 *
 * Extents are handled one by one, in the order of RunOrder.  The checksums tell where the runs end, and all
 * references to the extent are looked up.  The extent is shared away, in each reference, only if other extents
 * cover every referenced byte.  Otherwise nothing would be freed: the extent is pinned, and becomes the source of
 * others in later rounds.  An extent counts as freed when nothing references it any more.
 *
 * Thread: the filesystem's worker.
 */
bool extents_share(Pass *pass, ExtentSums *sums, ObjectTable *table, RunOrder *order,
		   ShareRound *round, GError **error) G_GNUC_WARN_UNUSED_RESULT;
