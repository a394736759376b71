/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/export/object-index.h"

#include "hashstore/anchors/anchor.h"

#include <stdlib.h>

typedef struct {
	uint32_t id;
	uint32_t blocks; /* no anchor lies beyond so many as a number of a block can tell */
	uint32_t number;
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

void object_index_add(ObjectIndex *index, uint32_t id, uint64_t size_bytes, uint32_t number)
{
	uint64_t blocks = size_bytes / index->block_bytes + (size_bytes % index->block_bytes != 0);
	const Entry entry = { .id = id,
			      .blocks = (uint32_t)MIN(blocks, UINT32_MAX),
			      .number = number };

	g_array_append_val(index->entries, entry);
}

static int compare_ids(const void *a, const void *b)
{
	uint32_t id_a = ((const Entry *)a)->id;
	uint32_t id_b = ((const Entry *)b)->id;

	return (id_a > id_b) - (id_a < id_b);
}

uint32_t object_index_sort(ObjectIndex *index)
{
	const Entry *entries;

	g_array_sort(index->entries, compare_ids);
	entries = (const Entry *)(const void *)index->entries->data;
	for (guint i = 1; i < index->entries->len; i++)
		if (entries[i].id == entries[i - 1].id)
			return entries[i].id;

	return 0;
}

bool object_index_find(const ObjectIndex *index, uint32_t id, uint32_t block, uint32_t *ret_number)
{
	const Entry wanted = { .id = id };
	const Entry *found = NULL;

	if (index->entries->len > 0)
		found = bsearch(&wanted, index->entries->data, index->entries->len, sizeof(Entry),
				compare_ids);
	if (!found || (block >= found->blocks && block != ANCHOR_WHOLE_BLOCK))
		return false;

	*ret_number = found->number;
	return true;
}
