/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/snapshots/root-sets.h"

#include <string.h>
#include <xxhash.h>

#define WORD_BITS 64

/* The number of cached unions; a power of two. */
#define MEMORY_ENTRIES 65536

/* Initial slots of the table; a power of two. */
#define SLOTS_LEAST 1024

typedef struct {
	RootSet a;
	RootSet b;
	RootSet result; /* empty: unused slot, since no union of other sets is empty */
} Union;

struct RootSets {
	guint n_words;
	GArray *bits; /* uint64_t, n_words of each set */
	guint n_sets;
	RootSet *slots; /* indexed by the hash of bits; empty: none, or the empty set */
	guint n_slots;
	Union *memory;
	uint64_t *scratch; /* one set */
	RootSet gathered;  /* the only gathered set; empty: none, or several, in bits */
	uint64_t *gathered_bits;
	bool has_several;
};

RootSets *root_sets_new(guint n_members)
{
	RootSets *sets = g_new0(RootSets, 1);

	sets->n_words = MAX((n_members + WORD_BITS - 1) / WORD_BITS, 1);
	sets->bits = g_array_new(false, true, sizeof(uint64_t));
	g_array_set_size(sets->bits, sets->n_words);
	sets->n_sets = 1;
	sets->n_slots = SLOTS_LEAST;
	sets->slots = g_new0(RootSet, sets->n_slots);
	sets->memory = g_new0(Union, MEMORY_ENTRIES);
	sets->scratch = g_new0(uint64_t, sets->n_words);
	sets->gathered_bits = g_new0(uint64_t, sets->n_words);
	return sets;
}

void root_sets_free(RootSets *sets)
{
	if (!sets)
		return;

	g_array_unref(sets->bits);
	g_free(sets->slots);
	g_free(sets->memory);
	g_free(sets->scratch);
	g_free(sets->gathered_bits);
	g_free(sets);
}

guint root_sets_count(const RootSets *sets)
{
	return sets->n_sets;
}

guint root_sets_words(const RootSets *sets)
{
	return sets->n_words;
}

const uint64_t *root_sets_bits(const RootSets *sets, RootSet set)
{
	return &g_array_index(sets->bits, uint64_t, (size_t)set * sets->n_words);
}

/* The slot of the set with these bits, or the free slot where it belongs. */
static RootSet *find_slot(const RootSets *sets, const uint64_t *bits)
{
	size_t bytes = sets->n_words * sizeof(*bits);
	guint at = (guint)XXH3_64bits(bits, bytes) & (sets->n_slots - 1);

	while (sets->slots[at] != ROOT_SET_EMPTY &&
	       memcmp(root_sets_bits(sets, sets->slots[at]), bits, bytes) != 0)
		at = (at + 1) & (sets->n_slots - 1);
	return &sets->slots[at];
}

static void grow(RootSets *sets)
{
	g_free(sets->slots);
	sets->n_slots *= 2;
	sets->slots = g_new0(RootSet, sets->n_slots);
	for (RootSet set = 1; set < sets->n_sets; set++)
		*find_slot(sets, root_sets_bits(sets, set)) = set;
}

/* The set with the bits in scratch, of which at least one is set. */
static RootSet intern(RootSets *sets)
{
	RootSet *slot = find_slot(sets, sets->scratch);
	RootSet set = *slot;

	if (set != ROOT_SET_EMPTY)
		return set;

	set = sets->n_sets++;
	*slot = set;
	g_array_append_vals(sets->bits, sets->scratch, sets->n_words);
	if (sets->n_sets > sets->n_slots / 2)
		grow(sets);
	return set;
}

RootSet root_sets_of_one(RootSets *sets, guint member)
{
	memset(sets->scratch, 0, sets->n_words * sizeof(*sets->scratch));
	sets->scratch[member / WORD_BITS] = UINT64_C(1) << member % WORD_BITS;
	return intern(sets);
}

static Union *memory_of(const RootSets *sets, RootSet a, RootSet b)
{
	const RootSet both[] = { a, b };

	return &sets->memory[XXH3_64bits(both, sizeof(both)) % MEMORY_ENTRIES];
}

RootSet root_sets_union(RootSets *sets, RootSet a, RootSet b)
{
	Union *known;

	if (a == b || b == ROOT_SET_EMPTY)
		return a;
	if (a == ROOT_SET_EMPTY)
		return b;

	known = memory_of(sets, MIN(a, b), MAX(a, b));
	if (known->result == ROOT_SET_EMPTY || known->a != MIN(a, b) || known->b != MAX(a, b)) {
		for (guint i = 0; i < sets->n_words; i++)
			sets->scratch[i] = root_sets_bits(sets, a)[i] | root_sets_bits(sets, b)[i];
		*known = (Union){ MIN(a, b), MAX(a, b), intern(sets) };
	}
	return known->result;
}

static void add_bits(RootSets *sets, RootSet set)
{
	const uint64_t *bits = root_sets_bits(sets, set);

	for (guint i = 0; i < sets->n_words; i++)
		sets->gathered_bits[i] |= bits[i];
}

void root_sets_gather(RootSets *sets, RootSet set)
{
	if (set == ROOT_SET_EMPTY || set == sets->gathered)
		return;
	if (sets->gathered == ROOT_SET_EMPTY && !sets->has_several) {
		sets->gathered = set;
		return;
	}

	/* Most extents are held by one set, which needs no bits. */
	if (!sets->has_several) {
		memset(sets->gathered_bits, 0, sets->n_words * sizeof(*sets->gathered_bits));
		add_bits(sets, sets->gathered);
		sets->gathered = ROOT_SET_EMPTY;
		sets->has_several = true;
	}
	add_bits(sets, set);
}

RootSet root_sets_gathered(RootSets *sets)
{
	RootSet set = sets->gathered;

	if (sets->has_several) {
		memcpy(sets->scratch, sets->gathered_bits, sets->n_words * sizeof(*sets->scratch));
		set = intern(sets);
	}
	sets->gathered = ROOT_SET_EMPTY;
	sets->has_several = false;
	return set;
}
