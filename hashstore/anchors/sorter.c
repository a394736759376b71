/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/anchors/sorter.h"

#include "hashstore/anchors/spill-run.h"

#include <stdlib.h>
#include <string.h>

/* The most runs merged at once, so that each has a buffer that is worth a seek. */
#define FAN_IN_MAX 32

/* qsort() takes as much memory as the array: glibc's is a merge sort. */
#define SORT_SCRATCH 2

struct Sorter {
	/* Set at creation, never changed. */
	size_t record_bytes;
	SorterCompare compare;
	char *directory;
	const atomic_bool *stop;
	size_t size; /* records that fit the buffer */
	unsigned fan_in;

	/* Thread: the owner's. */
	uint8_t *buffer;
	size_t n_buffered;
	size_t next; /* index in the buffer, if nothing was spilled */
	uint64_t n_records;
	GPtrArray *runs; /* SpillRun, those of higher levels first */
	GPtrArray *heap; /* runs with a current record, ordered by it */
	bool taken;      /* the first record of the heap was returned */
};

Sorter *sorter_new(size_t record_bytes, SorterCompare compare, size_t memory_bytes,
		   const char *spill_directory, const atomic_bool *stop)
{
	Sorter *sorter = g_new0(Sorter, 1);

	sorter->record_bytes = record_bytes;
	sorter->compare = compare;
	sorter->directory = g_strdup(spill_directory);
	sorter->stop = stop;
	/* Two runs to read and one to write need one record each. */
	sorter->size = MAX(memory_bytes / SORT_SCRATCH / record_bytes, 3);
	sorter->fan_in = (unsigned)MIN(sorter->size - 1, FAN_IN_MAX);
	sorter->runs = g_ptr_array_new_with_free_func((GDestroyNotify)spill_run_free);
	sorter->heap = g_ptr_array_new();

	return sorter;
}

void sorter_free(Sorter *sorter)
{
	if (!sorter)
		return;

	g_ptr_array_unref(sorter->heap);
	g_ptr_array_unref(sorter->runs);
	g_free(sorter->buffer);
	g_free(sorter->directory);
	g_free(sorter);
}

static bool may_continue(const Sorter *sorter)
{
	return !sorter->stop || !atomic_load(sorter->stop);
}

static bool is_less(const Sorter *sorter, guint a, guint b)
{
	return sorter->compare(spill_run_record(sorter->heap->pdata[a]),
			       spill_run_record(sorter->heap->pdata[b])) < 0;
}

static void heap_down(Sorter *sorter, guint parent)
{
	GPtrArray *heap = sorter->heap;

	for (;;) {
		guint least = 2 * parent + 1;
		gpointer moved = heap->pdata[parent];

		if (least >= heap->len)
			return;
		if (least + 1 < heap->len && is_less(sorter, least + 1, least))
			least++;
		if (!is_less(sorter, least, parent))
			return;
		heap->pdata[parent] = heap->pdata[least];
		heap->pdata[least] = moved;
		parent = least;
	}
}

/* Forget the runs that are being read. */
static void heap_clear(Sorter *sorter)
{
	g_ptr_array_set_size(sorter->heap, 0);
	sorter->taken = false;
}

/* Read runs from @first on, each through one of the @n_parts parts of the buffer. */
static bool heap_begin(Sorter *sorter, guint first, size_t n_parts, GError **error)
{
	size_t part = sorter->size / n_parts;

	heap_clear(sorter);
	for (guint i = first; i < sorter->runs->len; i++) {
		SpillRun *run = sorter->runs->pdata[i];

		if (!spill_run_rewind(run,
				      sorter->buffer + (i - first) * part * sorter->record_bytes,
				      part, error))
			return false;
		if (spill_run_record(run))
			g_ptr_array_add(sorter->heap, run);
	}
	for (guint i = sorter->heap->len / 2; i-- > 0;)
		heap_down(sorter, i);

	return true;
}

/* The least record of all runs; NULL at the end. */
static bool heap_next(Sorter *sorter, const void **ret, GError **error)
{
	GPtrArray *heap = sorter->heap;

	*ret = NULL;
	if (sorter->taken) {
		if (!spill_run_next(heap->pdata[0], error))
			return false;
		if (!spill_run_record(heap->pdata[0]))
			g_ptr_array_remove_index_fast(heap, 0);
		if (heap->len > 0)
			heap_down(sorter, 0);
	}
	sorter->taken = heap->len > 0;
	if (sorter->taken)
		*ret = spill_run_record(heap->pdata[0]);

	return true;
}

/* Merge the runs from @first on into one of level @level; after a request to stop, leave them as they are. */
static bool merge_runs(Sorter *sorter, guint first, unsigned level, GError **error)
{
	size_t n_parts = sorter->runs->len - first + 1;
	size_t part = sorter->size / n_parts;
	uint8_t *output = sorter->buffer + (n_parts - 1) * part * sorter->record_bytes;
	g_autoptr(SpillRun) merged = NULL;
	size_t n = 0;

	merged = spill_run_new(sorter->directory, sorter->record_bytes, level, error);
	if (!merged || !heap_begin(sorter, first, n_parts, error))
		return false;

	for (;;) {
		const void *record;

		if (!heap_next(sorter, &record, error))
			return false;
		if (n == part || !record) {
			if (!spill_run_write(merged, output, n, error))
				return false;
			n = 0;
			if (!may_continue(sorter)) {
				heap_clear(sorter);
				return true;
			}
		}
		if (!record)
			break;
		memcpy(output + n++ * sorter->record_bytes, record, sorter->record_bytes);
	}

	heap_clear(sorter);
	g_ptr_array_set_size(sorter->runs, (int)first);
	g_ptr_array_add(sorter->runs, g_steal_pointer(&merged));

	return true;
}

/* Merge whenever a level has as many runs as can be merged at once. */
static bool merge_full_levels(Sorter *sorter, GError **error)
{
	while (may_continue(sorter)) {
		const SpillRun *last = sorter->runs->pdata[sorter->runs->len - 1];
		guint first = sorter->runs->len;

		while (first > 0 &&
		       spill_run_level(sorter->runs->pdata[first - 1]) == spill_run_level(last))
			first--;
		if (sorter->runs->len - first < sorter->fan_in)
			return true;
		if (!merge_runs(sorter, first, spill_run_level(last) + 1, error))
			return false;
	}

	return true;
}

static void sort_buffer(Sorter *sorter)
{
	if (sorter->n_buffered > 0)
		qsort(sorter->buffer, sorter->n_buffered, sorter->record_bytes, sorter->compare);
}

static bool spill(Sorter *sorter, GError **error)
{
	g_autoptr(SpillRun) run = NULL;

	run = spill_run_new(sorter->directory, sorter->record_bytes, 0, error);
	if (!run)
		return false;
	sort_buffer(sorter);
	if (!spill_run_write(run, sorter->buffer, sorter->n_buffered, error))
		return false;
	g_ptr_array_add(sorter->runs, g_steal_pointer(&run));
	sorter->n_buffered = 0;

	return merge_full_levels(sorter, error);
}

bool sorter_add(Sorter *sorter, const void *record, GError **error)
{
	if (sorter->n_buffered == sorter->size && !spill(sorter, error))
		return false;
	if (!sorter->buffer)
		sorter->buffer = g_malloc(sorter->size * sorter->record_bytes);

	memcpy(sorter->buffer + sorter->n_buffered++ * sorter->record_bytes, record,
	       sorter->record_bytes);
	sorter->n_records++;

	return true;
}

bool sorter_sort(Sorter *sorter, GError **error)
{
	if (sorter->runs->len == 0) {
		sort_buffer(sorter);
		return true;
	}

	if (sorter->n_buffered > 0 && !spill(sorter, error))
		return false;
	/* The last runs are the smallest. */
	while (sorter->runs->len > sorter->fan_in && may_continue(sorter)) {
		guint n = MIN(sorter->runs->len - sorter->fan_in + 1, sorter->fan_in);

		if (!merge_runs(sorter, sorter->runs->len - n, 0, error))
			return false;
	}

	return sorter_rewind(sorter, error);
}

bool sorter_next(Sorter *sorter, const void **ret, GError **error)
{
	if (sorter->runs->len > 0)
		return heap_next(sorter, ret, error);

	*ret = NULL;
	if (sorter->next < sorter->n_buffered)
		*ret = sorter->buffer + sorter->next++ * sorter->record_bytes;

	return true;
}

bool sorter_rewind(Sorter *sorter, GError **error)
{
	sorter->next = 0;
	heap_clear(sorter);
	/* After a request to stop, there may be more runs than can be read at once. */
	if (sorter->runs->len == 0 || !may_continue(sorter))
		return true;

	return heap_begin(sorter, 0, sorter->runs->len, error);
}

uint64_t sorter_count(const Sorter *sorter)
{
	return sorter->n_records;
}
