/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/plan/replan-list.h"

struct ReplanList {
	GHashTable *marks; /* id -> uint64_t */
};

ReplanList *replan_list_new(void)
{
	ReplanList *list = g_new0(ReplanList, 1);

	list->marks = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	return list;
}

void replan_list_free(ReplanList *list)
{
	if (!list)
		return;

	g_hash_table_unref(list->marks);
	g_free(list);
}

static uint64_t mark_of(uint64_t address)
{
	/* The uppermost six bits of a product depend on all bits of the factor. */
	return UINT64_C(1) << (address * UINT64_C(0x9e3779b97f4a7c15) >> 58);
}

void replan_list_add(ReplanList *list, uint32_t id, uint64_t address)
{
	uint64_t *marks = g_hash_table_lookup(list->marks, GUINT_TO_POINTER(id));

	if (!marks) {
		marks = g_new0(uint64_t, 1);
		g_hash_table_insert(list->marks, GUINT_TO_POINTER(id), marks);
	}
	*marks |= mark_of(address);
}

void replan_list_iterate(ReplanList *list, GHashTableIter *iterator)
{
	g_hash_table_iter_init(iterator, list->marks);
}
