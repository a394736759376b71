/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/anchors/segment.h"

/*
 * Look whether a segment's pages and fences are there, are valid, and hold what its row says, in order;
 * and no object with an id from @next_object on.  *ret_problem is a text to be freed, or NULL if all is
 * well.
 *
 * Thread: the connection's.
 */
bool segment_check(Database *database, const Segment *segment, uint64_t next_object,
		   char **ret_problem, GError **error) G_GNUC_WARN_UNUSED_RESULT;
