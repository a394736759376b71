/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/config/settings.h"

#include <stdbool.h>
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

/* A place takes some 300 bytes of memory until its extent is shared, and some steps for each other place. */
#define PLACE_COST_PLACES_MAX 16384

/* Where snapshots come and go, so much of MaxCompare= is spent rather than wait for their deletion. */
#define PLACES_ROTATING_SHARE 4

/* Places that are looked at together. */
typedef struct {
	uint64_t n;
	uint64_t shown_bytes;
} Places;

/* Add @n places that show @length bytes each. */
static inline void places_add(Places *places, uint64_t length, uint64_t n)
{
	places->n += n;
	places->shown_bytes += n * length;
}

static inline bool places_are_affordable(const Places *places, uint64_t cost_max)
{
	return places->n <= PLACE_COST_PLACES_MAX &&
	       place_cost(places->shown_bytes, places->n) <= cost_max;
}

/* What @all places may cost, of which @writable are in writable subvolumes and may cost @cost_max. */
static inline uint64_t places_cost_max(SnapshotPolicy policy, const Places *all,
				       const Places *writable, uint64_t cost_max, bool rotates)
{
	if (all->n == writable->n || policy == SNAPSHOTS_SHARE)
		return cost_max;
	if (policy == SNAPSHOTS_WRITABLE)
		return 0;
	return rotates ? cost_max / PLACES_ROTATING_SHARE : cost_max;
}

/* Whether @policy allows to leave what snapshots show to their deletion. */
static inline bool snapshots_may_be_left(SnapshotPolicy policy)
{
	return policy == SNAPSHOTS_AUTO || policy == SNAPSHOTS_WRITABLE;
}

/* Whether there are places to share and others to leave to the deletion of snapshots, which @policy allows. */
static inline bool places_may_be_left(SnapshotPolicy policy, const Places *all,
				      const Places *writable)
{
	return snapshots_may_be_left(policy) && writable->n > 0 && writable->n < all->n;
}

/* Whether all places are to be left to that. */
static inline bool places_may_all_be_left(SnapshotPolicy policy, const Places *all,
					  const Places *writable)
{
	return snapshots_may_be_left(policy) && writable->n == 0 && all->n > 0 &&
	       all->n <= PLACE_COST_PLACES_MAX;
}
