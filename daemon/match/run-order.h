/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/content/run.h"
#include "hashstore/anchors/sorter.h"

/*
 * RunOrder - the order in which runs are shared.
 *
 * Targets come by rank, so that a source is final before anything is shared with it.  Runs of one target come by
 * position.  Of overlapping runs (at most 256 at a time) those come first that have seven eighths of the longest one's
 * blocks: they leave the fewest pieces.  Among them, the lowest source comes first, as its data is still cached.  Then the
 * others come by length.  Runs inside the target come last, by position: their sources are final then.
 *
 * Thread: the filesystem's worker.
 */
typedef struct RunOrder RunOrder;

typedef struct {
	Run run;
	bool begins_target; /* the first of its target */
} OrderedRun;

/*
 * @runs is sorted by run_compare() and borrowed.  With @is_wanted, only runs of targets for which it returns true
 * are given out.
 */
RunOrder *run_order_new(Sorter *runs, bool (*is_wanted)(uint32_t target, void *data), void *data);
void run_order_free(RunOrder *order);

/* The next run; NULL at the end. */
bool run_order_next(RunOrder *order, const OrderedRun **ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(RunOrder, run_order_free)
