/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/pinned-sum.h"

#include "hashstore/objects.h"
#include "hashstore/pinned.h"

bool pinned_sum_add(PinnedSum *sum, HashStore *store, GError **error)
{
	PinnedExtent pinned;
	uint64_t from = 0;
	bool found;

	while (true) {
		const Object *extent;

		if (!hash_store_next_pinned(store, from, &pinned, &found, error))
			return false;
		if (!found)
			return true;
		from = pinned.extent.address + 1;
		if (!hash_store_find_at(store, OBJECT_EXTENTS, pinned.extent.address, &extent,
					error))
			return false;
		/* What has its address now may be another one. */
		if (!extent || (uint64_t)extent->ctime_nsec != pinned.extent.generation)
			continue;
		sum->extents++;
		sum->bytes += extent->size_bytes;
	}
}
