/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/config/settings.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * PlaceCost - the cost of sharing references to a btrfs extent, in bytes: the compared bytes, and for each
 * call the bytes that could be read in its time.
 *
 * Pure.
 */

/* The defaults of MaxCompare=: at most this many GiB are compared to free 1 GiB. */
#define PLACE_COST_FACTOR          16
#define PLACE_COST_FACTOR_ROTATING 4

/* A call takes some 60 us. */
#define PLACE_COST_CALL_BYTES (UINT64_C(32) << 10)

/* The cost of @n references that show @shown_bytes together. */
static inline uint64_t place_cost(uint64_t shown_bytes, uint64_t n)
{
	return shown_bytes + n * PLACE_COST_CALL_BYTES;
}

/* The limit of the cost of freeing an extent of @extent_bytes. */
static inline uint64_t place_cost_most(uint64_t factor, uint64_t extent_bytes)
{
	return factor * (extent_bytes + PLACE_COST_CALL_BYTES);
}

/*
 * A reference takes some 300 bytes of memory until its extent is shared, and some steps for each other
 * reference.
 */
#define PLACE_COST_PLACES_MAX 16384

/*
 * The part of MaxCompare= that may be spent on a filesystem whose snapshots come and go; the rest waits for
 * their deletion.
 */
#define PLACES_ROTATING_SHARE 4

/* References that are judged together. */
typedef struct {
	uint64_t n;
	uint64_t shown_bytes;
} Places;

/* Add @n references that show @length bytes each. */
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

/*
 * The limit of the cost of @all references, if those in writable subvolumes (@writable) may cost @cost_max.
 */
static inline uint64_t places_cost_max(SnapshotPolicy policy, const Places *all,
				       const Places *writable, uint64_t cost_max, bool rotates)
{
	if (all->n == writable->n || policy == SNAPSHOTS_SHARE)
		return cost_max;
	if (policy == SNAPSHOTS_WRITABLE)
		return 0;
	return rotates ? cost_max / PLACES_ROTATING_SHARE : cost_max;
}

/*
 * @policy allows to share the writable references and to leave the others to the deletion of snapshots; both
 * exist.
 */
static inline bool places_may_be_left(SnapshotPolicy policy, const Places *all,
				      const Places *writable)
{
	return (policy == SNAPSHOTS_AUTO || policy == SNAPSHOTS_WRITABLE) && writable->n > 0 &&
	       writable->n < all->n;
}
