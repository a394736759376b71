/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/context/pass.h"

/*
 * MetadataWatch - ends the sharing of a pass when free space for metadata comes near the reserve
 * (metadata-reserve.h).
 *
 * Thread: the filesystem's worker.
 */

/*
 * If the reserve is touched, stop sharing and say so in the pass's result.  Looks at most once a second;
 * *looked_usec (monotonic) is the time of the last look.
 */
bool metadata_watch_look_when_due(const Pass *pass, int64_t *looked_usec, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
