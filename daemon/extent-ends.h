/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/extent-cover.h"
#include "daemon/extent-refs.h"
#include "daemon/extent-sources.h"

/*
 * Take from @cover, of an extent that is not encoded, the blocks that cannot be shared since a file ends within them:
 * such a block of one of the @n_refs places is shared only where the source's file ends, too, and one of a
 * source only where all places do.  Behind the end of a file there are zeros, which others may go on with.
 *
 * Thread: the filesystem's worker, never while it shares.
 */
bool extent_ends_check(ExtentCover *cover, ExtentSources *sources, const ExtentRef *refs,
		       size_t n_refs, uint32_t block_bytes, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
