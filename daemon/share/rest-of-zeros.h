/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/share/run-sharer.h"

/*
 * RestOfZeros - shares runs of zeros, also those of which a pass that did not end shared only the begin.
 *
 * The store has one anchor for a run of zeros, at its begin.  If that is a hole by now, an earlier pass shared the run,
 * or it ended in the midst of it.  The data behind the hole tells that.  A pass shares the runs of a target one after
 * the other.  So only the last hole before a run that is still data, or before the end, can have a rest.  The data
 * behind other holes is not read.
 *
 * Thread: as Pass; each thread has one of its own.
 */
typedef struct {
	Run behind_hole; /* the block behind the last hole; blocks is 0: none */
} RestOfZeros;

/* Share @run of the present target of @runs, which are zeros, with a hole. */
bool rest_of_zeros_share_run(RestOfZeros *rest, RunSharer *runs, const Run *run,
			     uint32_t block_bytes, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* All runs of the present target were shared: share the rest of its last zeros. */
bool rest_of_zeros_finish(RestOfZeros *rest, RunSharer *runs, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
