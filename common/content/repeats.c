/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/content/repeats.h"

#include <stdbool.h>
#include <xxhash.h>

struct Repeats {
	size_t least_blocks;
	GArray *sums; /* uint64_t: of the blocks that were added */
	GHashTable
		*first; /* hash of @least_blocks sums -> 1 + number of the first of these blocks */
};

Repeats *repeats_new(size_t least_blocks)
{
	Repeats *repeats = g_new0(Repeats, 1);

	repeats->least_blocks = least_blocks;
	repeats->sums = g_array_new(false, false, sizeof(uint64_t));
	repeats->first = g_hash_table_new(NULL, NULL);
	return repeats;
}

void repeats_free(Repeats *repeats)
{
	if (!repeats)
		return;

	g_array_unref(repeats->sums);
	g_hash_table_unref(repeats->first);
	g_free(repeats);
}

static const uint64_t *sums_at(const Repeats *repeats, size_t at)
{
	return &g_array_index(repeats->sums, uint64_t, at);
}

/* Of one window.  If two windows have one hash, the later one is not found. */
static gpointer hash_of(const Repeats *repeats, const uint64_t *sums)
{
	return GSIZE_TO_POINTER((gsize)XXH3_64bits(sums, repeats->least_blocks * sizeof(*sums)));
}

void repeats_add(Repeats *repeats, uint64_t sum)
{
	size_t at;
	gpointer hash;

	g_array_append_val(repeats->sums, sum);
	if (repeats->sums->len < repeats->least_blocks)
		return;

	at = repeats->sums->len - repeats->least_blocks;
	hash = hash_of(repeats, sums_at(repeats, at));
	if (!g_hash_table_contains(repeats->first, hash))
		g_hash_table_insert(repeats->first, hash, GSIZE_TO_POINTER(1 + at));
}

size_t repeats_find(const Repeats *repeats, const uint64_t *sums, size_t n, size_t *ret_at)
{
	size_t found, length = 0;

	if (n < repeats->least_blocks)
		return 0;
	found = GPOINTER_TO_SIZE(g_hash_table_lookup(repeats->first, hash_of(repeats, sums)));
	if (found == 0)
		return 0;

	*ret_at = found - 1;
	n = MIN(n, repeats->sums->len - *ret_at);
	while (length < n && *sums_at(repeats, *ret_at + length) == sums[length])
		length++;
	return length < repeats->least_blocks ? 0 : length;
}
