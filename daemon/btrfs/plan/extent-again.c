/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/plan/extent-again.h"

struct ExtentAgain {
	GHashTable *marks; /* id -> uint64_t */
};

ExtentAgain *extent_again_new(void)
{
	ExtentAgain *again = g_new0(ExtentAgain, 1);

	again->marks = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	return again;
}

void extent_again_free(ExtentAgain *again)
{
	if (!again)
		return;

	g_hash_table_unref(again->marks);
	g_free(again);
}

static uint64_t mark_of(uint64_t address)
{
	/* The uppermost six bits of a product depend on all bits of the factor. */
	return UINT64_C(1) << (address * UINT64_C(0x9e3779b97f4a7c15) >> 58);
}

void extent_again_add(ExtentAgain *again, uint32_t id, uint64_t address)
{
	uint64_t *marks = g_hash_table_lookup(again->marks, GUINT_TO_POINTER(id));

	if (!marks) {
		marks = g_new0(uint64_t, 1);
		g_hash_table_insert(again->marks, GUINT_TO_POINTER(id), marks);
	}
	*marks |= mark_of(address);
}

void extent_again_iterate(ExtentAgain *again, GHashTableIter *iterator)
{
	g_hash_table_iter_init(iterator, again->marks);
}
