/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/anchors/fences.h"

#include <string.h>

static uint32_t fence_at(const uint8_t *fences, size_t index)
{
	uint32_t little;

	memcpy(&little, fences + index * FENCE_BYTES, FENCE_BYTES);

	return GUINT32_FROM_LE(little);
}

size_t fences_find(const uint8_t *fences, size_t n_fences, uint64_t digest)
{
	uint32_t wanted = (uint32_t)(digest >> 32);
	size_t begin = 0, end = n_fences;

	while (begin < end) {
		size_t middle = begin + (end - begin) / 2;

		if (fence_at(fences, middle) < wanted)
			begin = middle + 1;
		else
			end = middle;
	}

	return begin > 0 ? begin - 1 : 0;
}
