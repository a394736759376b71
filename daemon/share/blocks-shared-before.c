/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/share/blocks-shared-before.h"

#include <string.h>

void blocks_shared_before_note(BlockSet *others, const OpenObject *target, uint32_t block_bytes)
{
	g_autoptr(GError) unmapped = NULL;
	g_autoptr(ExtentMap) extents = extent_map_new();

	block_set_clear(others);
	extent_map_start(extents, file_reader_fd(target->reader), 0, target->size_bytes, false);
	for (;;) {
		const MappedExtent *extent;
		uint64_t first;

		if (!extent_map_next(extents, &extent, &unmapped)) {
			block_set_add(others, 0, target->blocks);
			return;
		}
		if (!extent)
			return;

		first = extent->logical / block_bytes;
		if (extent->flags & EXTENT_SHARED)
			block_set_add(others, first,
				      first + (extent->length + block_bytes - 1) / block_bytes);
	}
}

void blocks_shared_before_recall(const BlockSet *others, DedupeWindow *window)
{
	uint64_t end = window->first + window->n;
	uint64_t gap_first, gap_end;

	memset(window->target_shared, true, window->n * sizeof(*window->target_shared));
	for (uint64_t from = window->first; block_set_gap(others, from, end, &gap_first, &gap_end);
	     from = gap_end)
		memset(window->target_shared + (gap_first - window->first), false,
		       (gap_end - gap_first) * sizeof(*window->target_shared));
}
