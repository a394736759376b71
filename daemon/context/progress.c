/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/context/progress.h"

#include <glib.h>

const char *stage_name(Stage stage)
{
	static const char *const names[] = {
		[STAGE_WALK] = "walking",  [STAGE_COMPARE] = "comparing",
		[STAGE_READ] = "reading",  [STAGE_MATCH] = "matching",
		[STAGE_SHARE] = "sharing", [STAGE_SETTLE] = "settling",
	};

	return names[stage];
}

void progress_begin(Progress *progress, Stage stage, uint64_t total_bytes)
{
	atomic_store(&progress->done_bytes, 0);
	atomic_store(&progress->total_bytes, total_bytes);
	atomic_store(&progress->stage_started_usec, g_get_monotonic_time());
	atomic_store(&progress->stage, stage);
	if (progress->stage_began)
		receiver_send(progress->stage_began, NULL);
}
