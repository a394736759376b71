/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/anchors/segment.h"

/*
 * Rewriting segments: several into one, or one without what fell dead.
 *
 * What is read is deleted page by page, so that its space is used again at once.
 *
 * Thread: the filesystem's worker.
 */
typedef struct {
	bool (*is_live)(uint32_t object, void *data);
	void *data;
} Liveness;

/* Live objects in the range of ids that @segments have; fewer when asked to stop. */
uint64_t segment_count_live(const HashStore *store, const GPtrArray *segments,
			    const Liveness *liveness);

/*
 * Make one of @segments; @liveness may be NULL: all live.  With @is_counted it knows then how many
 * live objects its range has, each of which is looked at.  Cut short by an error, nothing may be
 * committed any more; asked to stop, the transaction must be rolled back.
 */
bool segment_rewrite(HashStore *store, const GPtrArray *segments, const Liveness *liveness,
		     bool is_counted, GError **error) G_GNUC_WARN_UNUSED_RESULT;
