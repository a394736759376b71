/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/solid-objects.h"

#define OBJECTS_MAX (1u << 18)

typedef struct {
	uint32_t id;
	uint32_t blocks;
} SolidObject;

struct SolidObjects {
	GArray *objects; /* SolidObject, in the order of ids */
};

SolidObjects *solid_objects_new(void)
{
	SolidObjects *solid = g_new0(SolidObjects, 1);

	solid->objects = g_array_new(false, false, sizeof(SolidObject));
	return solid;
}

void solid_objects_free(SolidObjects *solid)
{
	if (!solid)
		return;

	g_array_unref(solid->objects);
	g_free(solid);
}

static uint32_t last_id(const SolidObjects *solid)
{
	guint n = solid->objects->len;

	return n > 0 ? g_array_index(solid->objects, SolidObject, n - 1).id : 0;
}

void solid_objects_add(SolidObjects *solid, uint32_t object, uint64_t blocks)
{
	SolidObject added = { object, (uint32_t)blocks };

	if (!solid)
		return;
	if (object <= last_id(solid) || blocks > UINT32_MAX || solid->objects->len >= OBJECTS_MAX)
		return;

	g_array_append_val(solid->objects, added);
}

static int compare_ids(const void *a, const void *b)
{
	const SolidObject *one = a;
	const SolidObject *other = b;

	return (one->id > other->id) - (one->id < other->id);
}

uint64_t solid_objects_blocks(const SolidObjects *solid, uint32_t object)
{
	SolidObject wanted = { object, 0 };
	guint found;

	return solid && g_array_binary_search(solid->objects, &wanted, compare_ids, &found)
		       ? g_array_index(solid->objects, SolidObject, found).blocks
		       : 0;
}
