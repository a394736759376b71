/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdint.h>

/*
 * A time of the kernel in nanoseconds since 1970.  Any owner can set an mtime in the year 5000: a time that 64
 * bits cannot hold becomes the nearest one that they can.
 *
 * Thread: any.
 */
static inline int64_t timestamp_nsec(int64_t seconds, uint32_t nsec)
{
	int64_t result;

	if (__builtin_mul_overflow(seconds, INT64_C(1000000000), &result) ||
	    __builtin_add_overflow(result, (int64_t)nsec, &result))
		return seconds < 0 ? INT64_MIN : INT64_MAX;
	return result;
}
