/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdint.h>

/*
 * What it costs to share a place that shows an extent of btrfs, in bytes: those that are compared, and as many as
 * are read in the time that a call and the look-ups before it take.
 *
 * Pure.
 */

/* MaxCompare= by default: to free 1 GiB, at most so many GiB are compared. */
#define PLACE_COST_FACTOR          16
#define PLACE_COST_FACTOR_ROTATING 4

/* A call takes some 60 microseconds. */
#define PLACE_COST_CALL_BYTES (UINT64_C(32) << 10)

/* Of @n places that show @shown_bytes together. */
static inline uint64_t place_cost(uint64_t shown_bytes, uint64_t n)
{
	return shown_bytes + n * PLACE_COST_CALL_BYTES;
}

/* The most that freeing an extent of @extent_bytes may cost. */
static inline uint64_t place_cost_most(uint64_t factor, uint64_t extent_bytes)
{
	return factor * (extent_bytes + PLACE_COST_CALL_BYTES);
}
