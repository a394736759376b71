/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/share/dedupe-call.h"
#include "daemon/share/dedupe-window.h"
#include "daemon/share/zero-filler.h"

/*
 * RangeSource - chooses what a range of a target is deduplicated from: the window's source or zeros, and on XFS the
 * relay.
 *
 * The relay is made when the first target needs it, and serves all.
 *
 * Thread: the filesystem's worker.
 */
typedef struct RangeSource RangeSource;

/* All is borrowed. */
RangeSource *range_source_new(const Filesystem *filesystem, FileOpener *opener, ZeroFiller *zeros);
void range_source_free(RangeSource *source);

/*
 * Prepare the call for the blocks of the window from @first up to @end.  *ret_blocks: the number of blocks that it
 * covers.  False: there is no source, *ret_reason says why; the length is set in any case.
 */
bool range_source_choose(RangeSource *source, const DedupeWindow *window, size_t first, size_t end,
			 DedupeCall *ret, size_t *ret_blocks, SkipReason *ret_reason);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(RangeSource, range_source_free)
