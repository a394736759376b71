/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/context/cached-files.h"

#define OBJECTS_MAX (1u << 17)

struct CachedFiles {
	GArray *ids;
};

CachedFiles *cached_files_new(void)
{
	CachedFiles *hot = g_new0(CachedFiles, 1);

	hot->ids = g_array_new(false, false, sizeof(uint32_t));
	return hot;
}

void cached_files_free(CachedFiles *hot)
{
	if (!hot)
		return;

	g_array_unref(hot->ids);
	g_free(hot);
}

void cached_files_add(CachedFiles *hot, uint32_t object)
{
	if (hot->ids->len < OBJECTS_MAX)
		g_array_append_val(hot->ids, object);
}

void cached_files_tell(const CachedFiles *hot, ObjectTable *table)
{
	for (guint i = 0; i < hot->ids->len; i++)
		object_table_add_fact(table, g_array_index(hot->ids, uint32_t, i), FACT_HOT);
}
