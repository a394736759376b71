/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/context/pass.h"

/*
 * MetadataWatch - ends the sharing of a pass when the reserve of metadata (metadata-reserve.h) is
 * touched.
 *
 * Thread: the filesystem's worker.
 */

/*
 * Have the pass stop sharing if it is touched: its result says so from then on.  Looks a second after
 * @looked_usec (monotonic; kept here) at the earliest.
 */
bool metadata_watch_look_when_due(const Pass *pass, int64_t *looked_usec, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
