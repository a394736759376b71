/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/share/clone-refs.h"

#include "daemon/context/compare-uint64.h"

/* References are cut at multiples of this, so that those to one block lie close together. */
#define CHUNK_BLOCKS 256

typedef struct {
	uint64_t first;
	uint64_t end;
	uint64_t referenced; /* blocks, over all references */
	bool is_full;        /* it has more references than are kept */
} Wanted;

struct CloneRefs {
	size_t most; /* references to a block */
	size_t most_refs;
	size_t most_wanted;
	bool has_no_room;
	GArray *wanted; /* Wanted, each within a chunk; once begun, sorted and apart */
	GArray *refs;   /* CloneRef; once ended, by place */
	GArray *next;   /* CloneRef: for clone_refs_at() */
};

CloneRefs *clone_refs_new(size_t memory_bytes, size_t most)
{
	CloneRefs *refs = g_new0(CloneRefs, 1);

	refs->most = most;
	/* Arrays that grow are copied: twice as much is held for a moment. */
	refs->most_refs = memory_bytes / 4 / sizeof(CloneRef);
	refs->most_wanted = MAX(memory_bytes / 4 / sizeof(Wanted), 1);
	refs->wanted = g_array_new(false, false, sizeof(Wanted));
	refs->refs = g_array_new(false, false, sizeof(CloneRef));
	refs->next = g_array_new(false, false, sizeof(CloneRef));
	return refs;
}

void clone_refs_free(CloneRefs *refs)
{
	if (!refs)
		return;

	g_array_unref(refs->wanted);
	g_array_unref(refs->refs);
	g_array_unref(refs->next);
	g_free(refs);
}

size_t clone_refs_most(const CloneRefs *refs)
{
	return refs->most;
}

static Wanted *wanted_at(const CloneRefs *refs, size_t i)
{
	return &g_array_index(refs->wanted, Wanted, i);
}

static const CloneRef *ref_at(const CloneRefs *refs, size_t i)
{
	return &g_array_index(refs->refs, CloneRef, i);
}

static int compare_wanted(const void *a, const void *b)
{
	return compare_uint64(((const Wanted *)a)->first, ((const Wanted *)b)->first);
}

static int compare_refs(const void *a, const void *b)
{
	const CloneRef *one = a;
	const CloneRef *other = b;

	if (one->place != other->place)
		return one->place < other->place ? -1 : 1;
	if (one->object != other->object)
		return one->object < other->object ? -1 : 1;
	return (one->block > other->block) - (one->block < other->block);
}

/* Sort the ranges and join those that overlap, within a chunk. */
static void join_wanted(CloneRefs *refs)
{
	guint n = 0;

	g_array_sort(refs->wanted, compare_wanted);
	for (guint i = 0; i < refs->wanted->len; i++) {
		Wanted next = *wanted_at(refs, i);

		if (n > 0 && wanted_at(refs, n - 1)->end > next.first)
			wanted_at(refs, n - 1)->end = MAX(wanted_at(refs, n - 1)->end, next.end);
		else
			*wanted_at(refs, n++) = next;
	}
	g_array_set_size(refs->wanted, n);
}

static uint64_t chunk_end(uint64_t place)
{
	return place - place % CHUNK_BLOCKS + CHUNK_BLOCKS;
}

static bool has_room(CloneRefs *refs)
{
	if (refs->wanted->len < refs->most_wanted || refs->has_no_room)
		return !refs->has_no_room;

	join_wanted(refs);
	/* Joining a full list again and again would take long. */
	refs->has_no_room = refs->wanted->len >= refs->most_wanted / 2;
	return !refs->has_no_room;
}

bool clone_refs_want(CloneRefs *refs, uint64_t first, uint64_t end)
{
	for (; first < end; first = chunk_end(first)) {
		Wanted wanted = { .first = first, .end = MIN(end, chunk_end(first)) };

		if (!has_room(refs))
			return false;
		g_array_append_val(refs->wanted, wanted);
	}

	return true;
}

void clone_refs_begin(CloneRefs *refs)
{
	join_wanted(refs);
}

/* The first range that ends after @place. */
static size_t find_wanted(const CloneRefs *refs, uint64_t place)
{
	size_t low = 0;
	size_t high = refs->wanted->len;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (wanted_at(refs, middle)->end <= place)
			low = middle + 1;
		else
			high = middle;
	}

	return low;
}

/* Whether one more reference to @blocks blocks of the range is kept. */
static bool is_kept(Wanted *wanted, uint64_t blocks, size_t most_refs)
{
	uint64_t most = (most_refs + 1) * (wanted->end - wanted->first);

	wanted->referenced += blocks;
	wanted->is_full |= wanted->referenced > most;
	return !wanted->is_full;
}

bool clone_refs_add(CloneRefs *refs, uint32_t object, uint64_t block, uint64_t place,
		    uint64_t blocks)
{
	uint64_t end = place + blocks;

	for (size_t i = find_wanted(refs, place); i < refs->wanted->len; i++) {
		Wanted *wanted = wanted_at(refs, i);
		uint64_t from = MAX(place, wanted->first);
		uint64_t to = MIN(end, wanted->end);
		CloneRef ref;

		if (from >= to)
			break;
		if (!is_kept(wanted, to - from, refs->most))
			continue;
		if (refs->refs->len >= refs->most_refs)
			return false;

		ref = (CloneRef){ from, block + (from - place), (uint32_t)(to - from), object };
		g_array_append_val(refs->refs, ref);
	}

	return true;
}

void clone_refs_end(CloneRefs *refs)
{
	g_array_sort(refs->refs, compare_refs);
}

/* The first reference to a block at or after @place. */
static size_t find_ref(const CloneRefs *refs, uint64_t place)
{
	size_t low = 0;
	size_t high = refs->refs->len;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ref_at(refs, middle)->place < place)
			low = middle + 1;
		else
			high = middle;
	}

	return low;
}

/* The references within the chunk of @place. */
static void find_in_chunk(const CloneRefs *refs, uint64_t place, uint64_t end, CloneRefSet *ret)
{
	ret->n = 0;
	g_array_set_size(ret->refs, 0);
	for (size_t i = find_ref(refs, place - place % CHUNK_BLOCKS); i < refs->refs->len; i++) {
		CloneRef ref = *ref_at(refs, i);
		uint64_t ref_end = ref.place + ref.blocks;

		if (ref.place > place) {
			end = MIN(end, ref.place);
			break;
		}
		if (ref_end <= place)
			continue;

		end = MIN(end, ref_end);
		if (ret->n < refs->most) {
			ref.block += place - ref.place;
			ref.blocks = (uint32_t)(ref_end - place);
			ref.place = place;
			g_array_append_val(ret->refs, ref);
		}
		ret->n = MIN(ret->n + 1, refs->most + 1);
	}

	ret->blocks = end - place;
}

/* Whether @next has the same references, right after @set. */
static bool goes_on(const CloneRefSet *set, const CloneRefSet *next)
{
	if (next->n != set->n)
		return false;

	for (guint i = 0; i < set->refs->len; i++) {
		const CloneRef *one = &g_array_index(set->refs, CloneRef, i);
		const CloneRef *other = &g_array_index(next->refs, CloneRef, i);

		if (other->object != one->object || other->block != one->block + set->blocks)
			return false;
	}

	return true;
}

void clone_refs_at(const CloneRefs *refs, uint64_t place, uint64_t max_blocks, CloneRefSet *ret)
{
	size_t i = find_wanted(refs, place);
	uint64_t end = place + max_blocks;

	if (i < refs->wanted->len && wanted_at(refs, i)->first <= place &&
	    wanted_at(refs, i)->is_full) {
		g_array_set_size(ret->refs, 0);
		ret->n = refs->most + 1;
		ret->blocks = MIN(end, wanted_at(refs, i)->end) - place;
		return;
	}

	find_in_chunk(refs, place, MIN(end, chunk_end(place)), ret);
	while (place + ret->blocks < end) {
		uint64_t from = place + ret->blocks;
		CloneRefSet next = { .refs = refs->next };

		find_in_chunk(refs, from, MIN(end, chunk_end(from)), &next);
		if (!goes_on(ret, &next))
			break;
		ret->blocks += next.blocks;
	}
	for (guint r = 0; r < ret->refs->len; r++)
		g_array_index(ret->refs, CloneRef, r).blocks = (uint32_t)ret->blocks;
}
