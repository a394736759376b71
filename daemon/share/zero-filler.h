/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/files/skip.h"
#include "daemon/share/block-set.h"
#include "daemon/share/dedupe-call.h"
#include "daemon/share/dedupe-window.h"

/*
 * ZeroFiller - the source for zeros in files that are read: a hole, or with --zeros=share other zeros.
 *
 * Thread: the filesystem's worker.
 */
typedef struct ZeroFiller ZeroFiller;

/* Both are borrowed. */
ZeroFiller *zero_filler_new(Pass *pass, FileOpener *opener);
void zero_filler_free(ZeroFiller *filler);

/*
 * Decide which zeros of @window, which was compared with no source, are shared.  Zeros that stay as a source for
 * others are settled, too: they are added to @settled.
 */
bool zero_filler_lay(ZeroFiller *filler, DedupeWindow *window, BlockSet *settled, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/*
 * Set the source of @call for the window's blocks [@first, @end).  Returns the number of blocks that it covers.  If
 * no hole can be made, source_fd is -1 and *ret_reason says why.
 */
size_t zero_filler_find(ZeroFiller *filler, const DedupeWindow *window, size_t first, size_t end,
			DedupeCall *call, SkipReason *ret_reason);

/* Whether zeros of @target can be shared at all; *ret_reason says why not. */
bool zero_filler_is_ready(ZeroFiller *filler, const OpenObject *target, SkipReason *ret_reason);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(ZeroFiller, zero_filler_free)
