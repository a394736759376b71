/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * Stamp - the properties of a file that must not change for its fingerprints to hold.
 *
 * btime stands for the inode's generation, which statx(2) does not return.
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
	STAMP_DOUBTED, /* only ctime differs: chmod, link, rename; or a write with mtime set back */
	STAMP_CHANGED,
} StampVerdict;

StampVerdict stamp_compare(const Stamp *stored, const Stamp *seen);

/*
 * True if the file could be written again without a new ctime: it changed within a second of @now_nsec, and
 * the clock of inode times ticks only every few milliseconds.  A ctime in the future is not racy: a write
 * would set it back.
 */
bool stamp_is_racy(const Stamp *stamp, int64_t now_nsec);

/*
 * True if a file doubted since @doubted_day must be read again on the day @today (days since 1970).  @object
 * spreads that over a month; it is never the day itself.  A @doubted_day in the future is due: the clock was
 * wrong.
 */
bool stamp_recheck_is_due(uint32_t doubted_day, uint32_t today, uint32_t object);
