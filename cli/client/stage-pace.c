/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/client/stage-pace.h"

#include <glib.h>

/* A rate means nothing before. */
#define RATE_MIN_USEC (G_USEC_PER_SEC / 2)

StagePace stage_pace(const DaemonFilesystem *filesystem, int64_t now_usec)
{
	uint64_t done = filesystem->stage_bytes, total = filesystem->stage_total_bytes;
	int64_t took_usec = now_usec - (int64_t)filesystem->stage_started_usec;
	StagePace pace = { 0 };
	double rate;

	if (filesystem->stage_started_usec == 0 || took_usec < RATE_MIN_USEC || done == 0)
		return pace;

	rate = (double)done * G_USEC_PER_SEC / (double)took_usec;
	pace.has_rate = true;
	pace.rate_bytes = rate < 0x1p64 ? (uint64_t)rate : UINT64_MAX;
	pace.has_left = total > 0;
	if (pace.has_left && total > done) {
		double left_usec = (double)(total - done) / rate * G_USEC_PER_SEC;

		pace.left_usec = left_usec < 0x1p63 ? (int64_t)left_usec : INT64_MAX;
	}
	return pace;
}
