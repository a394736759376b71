/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/context/hot-objects.h"

#define OBJECTS_MAX (1u << 17)

struct HotObjects {
	GArray *ids;
};

HotObjects *hot_objects_new(void)
{
	HotObjects *hot = g_new0(HotObjects, 1);

	hot->ids = g_array_new(false, false, sizeof(uint32_t));
	return hot;
}

void hot_objects_free(HotObjects *hot)
{
	if (!hot)
		return;

	g_array_unref(hot->ids);
	g_free(hot);
}

void hot_objects_add(HotObjects *hot, uint32_t object)
{
	if (hot->ids->len < OBJECTS_MAX)
		g_array_append_val(hot->ids, object);
}

void hot_objects_tell(const HotObjects *hot, ObjectTable *table)
{
	for (guint i = 0; i < hot->ids->len; i++)
		object_table_add_fact(table, g_array_index(hot->ids, uint32_t, i), FACT_HOT);
}
