/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/files/stamp.h"

#include "common/system/look-day.h"

#define RACY_NSEC    INT64_C(1000000000)
#define RECHECK_DAYS 30

StampVerdict stamp_compare(const Stamp *stored, const Stamp *seen)
{
	if (stored->size_bytes != seen->size_bytes || stored->btime_nsec != seen->btime_nsec ||
	    stored->mtime_nsec != seen->mtime_nsec)
		return STAMP_CHANGED;

	return stored->ctime_nsec == seen->ctime_nsec ? STAMP_SAME : STAMP_DOUBTED;
}

bool stamp_is_racy(const Stamp *stamp, int64_t now_nsec)
{
	return stamp->ctime_nsec > now_nsec - RACY_NSEC && stamp->ctime_nsec < now_nsec + RACY_NSEC;
}

bool stamp_recheck_is_due(uint32_t doubted_day, uint32_t today, uint32_t object)
{
	return doubted_day > 0 && look_day_is_due(doubted_day, today, object % RECHECK_DAYS + 1);
}
