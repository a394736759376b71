/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * Stamp - what must be unchanged in a file for its fingerprints to hold.
 *
 * btime stands for the inode's generation, which statx(2) does not give.
 *
 * Pure.  Thread: any.
 */
typedef struct {
	uint64_t size_bytes;
	int64_t btime_nsec;
	int64_t mtime_nsec;
	int64_t ctime_nsec;
} Stamp;

typedef enum {
	STAMP_SAME,
	STAMP_DOUBTED, /* ctime alone differs: a chmod, link, rename; or a write with mtime set back */
	STAMP_CHANGED,
} StampVerdict;

StampVerdict stamp_compare(const Stamp *stored, const Stamp *seen);

/*
 * Whether a file with this ctime could be written again without its ctime showing it, as the clock
 * of inode times ticks only every few milliseconds: it changed within a second of @now_nsec.  One
 * from the future is not: a write would set it back.
 */
bool stamp_is_racy(const Stamp *stamp, int64_t now_nsec);

/*
 * Whether a file doubted since @doubted_day is due to be read again on day @today (days since 1970):
 * spread over a month by @object, and never on the day itself.  A day in the future is due: the clock was ahead.
 */
bool stamp_recheck_is_due(uint32_t doubted_day, uint32_t today, uint32_t object);
