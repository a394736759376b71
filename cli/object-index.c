/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/object-index.h"

#include "hashstore/anchor.h"

#include <stdlib.h>

typedef struct {
	uint32_t id;
	uint32_t blocks; /* no anchor lies beyond so many as a number of a block can tell */
} Entry;

struct ObjectIndex {
	uint32_t block_bytes;
	GArray *entries;
};

ObjectIndex *object_index_new(uint32_t block_bytes)
{
	ObjectIndex *index = g_new0(ObjectIndex, 1);

	index->block_bytes = block_bytes;
	index->entries = g_array_new(false, false, sizeof(Entry));
	return index;
}

void object_index_free(ObjectIndex *index)
{
	if (!index)
		return;

	g_array_unref(index->entries);
	g_free(index);
}

void object_index_add(ObjectIndex *index, uint32_t id, uint64_t size_bytes)
{
	uint64_t blocks = size_bytes / index->block_bytes + (size_bytes % index->block_bytes != 0);
	const Entry entry = { .id = id, .blocks = (uint32_t)MIN(blocks, UINT32_MAX) };

	g_array_append_val(index->entries, entry);
}

static int compare_ids(const void *a, const void *b)
{
	uint32_t id_a = ((const Entry *)a)->id;
	uint32_t id_b = ((const Entry *)b)->id;

	return (id_a > id_b) - (id_a < id_b);
}

void object_index_sort(ObjectIndex *index)
{
	g_array_sort(index->entries, compare_ids);
}

bool object_index_has_block(const ObjectIndex *index, uint32_t id, uint32_t block)
{
	const Entry wanted = { .id = id };
	const Entry *found = bsearch(&wanted, index->entries->data, index->entries->len,
				     sizeof(Entry), compare_ids);

	return found && (block < found->blocks || block == ANCHOR_WHOLE_BLOCK);
}
