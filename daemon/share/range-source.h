/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/share/block-set.h"
#include "daemon/share/dedupe-call.h"
#include "daemon/share/dedupe-window.h"

/*
 * RangeSource - chooses what a range of a target is deduplicated from: the window's source, or for zeros a hole, with
 * --zeros=share other zeros; and on XFS the relay.
 *
 * The relay is made when the first target needs it, and serves all.
 *
 * Thread: as Pass.
 */
typedef struct RangeSource RangeSource;

/* Both are borrowed. */
RangeSource *range_source_new(Pass *pass, FileOpener *opener);
void range_source_free(RangeSource *source);

/* Whether zeros of @target can be shared at all; *ret_reason says why not. */
bool range_source_has_zeros(RangeSource *source, const OpenObject *target, SkipReason *ret_reason);

/*
 * Decide which zeros of @window, which was compared with no source, are shared.  Zeros that stay as a source for
 * others are settled, too: they are added to @settled.
 */
bool range_source_lay_zeros(RangeSource *source, DedupeWindow *window, BlockSet *settled,
			    GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * Prepare the call for the blocks of the window from @first up to @end.  *ret_blocks: the number of blocks that it
 * covers.  False: there is no source, *ret_reason says why; the length is set in any case.
 */
bool range_source_choose(RangeSource *source, const DedupeWindow *window, size_t first, size_t end,
			 DedupeCall *ret, size_t *ret_blocks, SkipReason *ret_reason);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(RangeSource, range_source_free)
