/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/plan/replan-list.h"

#include "common/content/run.h"

#define SAMPLES UINT64_C(64)

/* An early target has equals for at least so many samples, three quarters. */
#define SAMPLES_EARLY 48

struct ReplanList {
	GHashTable *entries; /* id -> ReplanEntry */
	uint32_t block_bytes;
	uint32_t certain_blocks;
};

ReplanList *replan_list_new(uint32_t block_bytes, uint32_t certain_blocks)
{
	ReplanList *list = g_new0(ReplanList, 1);

	list->entries = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	list->block_bytes = block_bytes;
	list->certain_blocks = certain_blocks;
	return list;
}

void replan_list_free(ReplanList *list)
{
	if (!list)
		return;

	g_hash_table_unref(list->entries);
	g_free(list);
}

static uint64_t mark_of(uint64_t address)
{
	/* The uppermost six bits of a product depend on all bits of the factor. */
	return UINT64_C(1) << (address * UINT64_C(0x9e3779b97f4a7c15) >> 58);
}

static ReplanEntry *entry_of(ReplanList *list, uint32_t id)
{
	ReplanEntry *entry = g_hash_table_lookup(list->entries, GUINT_TO_POINTER(id));

	if (!entry) {
		entry = g_new0(ReplanEntry, 1);
		g_hash_table_insert(list->entries, GUINT_TO_POINTER(id), entry);
	}
	return entry;
}

void replan_list_add(ReplanList *list, uint32_t id, uint64_t address)
{
	entry_of(list, id)->marks |= mark_of(address);
}

/* The first sample at or after @block, of an extent of @blocks: each lies in the middle of its part. */
static uint64_t first_sample(uint64_t block, uint64_t blocks)
{
	/* Sample i is the block (2 * i + 1) * blocks / (2 * SAMPLES). */
	uint64_t twice = (block * 2 * SAMPLES + blocks - 1) / blocks;

	return MIN(twice / 2, SAMPLES);
}

/* The lowest @n bits. */
static uint64_t low_bits(uint64_t n)
{
	return n >= 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1;
}

/* The entry of a source.  With @is_new false it is NULL, unless that was a target that lacked equals. */
static ReplanEntry *entry_of_source(ReplanList *list, uint32_t id, bool is_new)
{
	ReplanEntry *known = g_hash_table_lookup(list->entries, GUINT_TO_POINTER(id));

	if (is_new)
		return entry_of(list, id);
	return known && known->blocks > 0 ? known : NULL;
}

/* Note that the pinned extent at @address has @run to the source @entry. */
static void add_source(const ReplanList *list, ReplanEntry *entry, const Run *run, uint64_t address)
{
	uint64_t end = run->source_block + run->blocks;

	entry->marks |= mark_of(address);
	entry->equal_blocks += run->blocks + 2 * (list->certain_blocks - 1);
	if (entry->blocks > 0)
		entry->samples |= low_bits(first_sample(end, entry->blocks)) &
				  ~low_bits(first_sample(run->source_block, entry->blocks));
}

/* Add the sources of @runs; returns the one that lacked equals and has the longest of these, or 0. */
static uint32_t add_sources(ReplanList *list, const GArray *runs, uint64_t address, bool is_new)
{
	uint64_t longest = 0;
	uint32_t helped = 0;

	for (guint i = 0; i < runs->len; i++) {
		const Run *run = &g_array_index(runs, Run, i);
		ReplanEntry *entry = entry_of_source(list, run->source, is_new);

		if (!entry)
			continue;
		add_source(list, entry, run, address);
		if (entry->blocks == 0 || run->blocks <= longest)
			continue;
		longest = run->blocks;
		helped = run->source;
	}

	return helped;
}

/* Equals that were pinned before do not count. */
static void note_lacking(ReplanList *list, const Object *target)
{
	ReplanEntry *entry = entry_of(list, target->id);

	entry->blocks = target->size_bytes / list->block_bytes;
	entry->samples = 0;
}

void replan_list_add_pinned(ReplanList *list, const Object *target, const ExtentPin *pin,
			    const GArray *runs, bool is_new)
{
	uint32_t helped = add_sources(list, runs, target->inode, is_new);

	if (helped != 0)
		entry_of(list, target->id)->helped = helped;
	if (pin->cause == PIN_UNCOVERED && pin->uncovered_bytes > target->size_bytes / 4)
		note_lacking(list, target);
}

bool replan_entry_is_early(const ReplanEntry *entry)
{
	return __builtin_popcountll(entry->samples) >= SAMPLES_EARLY;
}

bool replan_list_is_needed(const ReplanList *list, const ReplanEntry *entry)
{
	const ReplanEntry *helped =
		g_hash_table_lookup(list->entries, GUINT_TO_POINTER(entry->helped));

	return entry->helped != 0 && helped && replan_entry_is_early(helped);
}

void replan_list_iterate(ReplanList *list, GHashTableIter *iterator)
{
	g_hash_table_iter_init(iterator, list->entries);
}
