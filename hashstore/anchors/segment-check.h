/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/anchors/segment.h"

/*
 * Check that a segment's pages and fences exist, are valid and ordered, and agree with its row.
 * They may have no object from @next_object on.  *ret_problem is a text to be freed, or NULL if the
 * segment is valid.
 *
 * Thread: the connection's.
 */
bool segment_check(Database *database, const Segment *segment, uint64_t next_object,
		   char **ret_problem, GError **error) G_GNUC_WARN_UNUSED_RESULT;
