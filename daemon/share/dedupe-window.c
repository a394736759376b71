/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/share/dedupe-window.h"

#include "common/content/zeros.h"
#include "kernel-ioctl/btrfs/btrfs-file-extent.h"
#include "kernel-ioctl/file/dedupe-range.h"

#include <string.h>

/* So much is read and compared at a time: both sides stay in the cache of a processor. */
#define STEP_BYTES (UINT64_C(128) << 10)

#define PLACE_HOLE     UINT64_MAX
#define PLACE_UNUSABLE (UINT64_MAX - 1)

DedupeWindow *dedupe_window_new(uint32_t block_bytes)
{
	DedupeWindow *window = g_new0(DedupeWindow, 1);

	window->block_bytes = block_bytes;
	window->n_max = DEDUPE_ROUND_BYTES / block_bytes;
	window->states = g_new(uint8_t, window->n_max);
	window->target_places = g_new(uint64_t, window->n_max);
	window->source_places = g_new(uint64_t, window->n_max);
	window->target_shared = g_new(bool, window->n_max);
	window->source_shared = g_new(bool, window->n_max);
	window->target_costs = g_new(uint32_t, window->n_max);
	window->target_buffer = g_malloc(STEP_BYTES);
	window->source_buffer = g_malloc(STEP_BYTES);
	window->extents = extent_map_new();
	return window;
}

void dedupe_window_free(DedupeWindow *window)
{
	if (!window)
		return;

	g_free(window->states);
	g_free(window->target_places);
	g_free(window->source_places);
	g_free(window->target_shared);
	g_free(window->source_shared);
	g_free(window->target_costs);
	g_free(window->target_buffer);
	g_free(window->source_buffer);
	extent_map_free(window->extents);
	g_free(window);
}

/* The address of the extent's byte @offset from its start. */
static uint64_t place_in(const MappedExtent *extent, uint64_t offset)
{
	if (extent->flags & EXTENT_ENCODED)
		return extent->physical;

	return mapped_extent_is_addressed(extent) ? extent->physical + offset : PLACE_UNUSABLE;
}

/*
 * The space of the blocks [@i, @end), which are in a compressed extent of the target: their share of its space; 0
 * if that cannot be found out.
 */
static void map_costs(DedupeWindow *window, uint64_t first, size_t i, size_t end)
{
	uint32_t block_bytes = window->block_bytes;
	g_autoptr(GError) ignored = NULL;
	BtrfsFileExtent extent;

	memset(window->target_costs + i, 0, (end - i) * sizeof(*window->target_costs));
	if (!btrfs_file_extent_read(file_reader_fd(window->target->reader), window->target->inode,
				    (first + i) * block_bytes, &extent, &ignored) ||
	    extent.ram_bytes < block_bytes)
		return;

	for (; i < end; i++) {
		uint64_t block =
			((first + i) * block_bytes - extent.logical + extent.offset) / block_bytes;
		uint64_t blocks = (extent.ram_bytes + block_bytes - 1) / block_bytes;

		window->target_costs[i] = (uint32_t)(extent.disk_bytes * (block + 1) / blocks -
						     extent.disk_bytes * block / blocks);
	}
}

/* Find the places of @n blocks of @object from block @first on; @shared may be NULL. */
static bool map_places(DedupeWindow *window, const OpenObject *object, uint64_t first, size_t n,
		       uint64_t *places, bool *shared, GError **error)
{
	uint32_t block_bytes = window->block_bytes;
	uint64_t start = first * block_bytes;
	bool counts_costs = shared == window->target_shared;

	for (size_t i = 0; i < n; i++)
		places[i] = PLACE_HOLE;
	for (size_t i = 0; shared && i < n; i++)
		shared[i] = false;
	for (size_t i = 0; counts_costs && i < n; i++)
		window->target_costs[i] = block_bytes;

	extent_map_start(window->extents, file_reader_fd(object->reader), start,
			 (uint64_t)n * block_bytes, false);
	for (;;) {
		const MappedExtent *extent;
		size_t at;

		if (!extent_map_next(window->extents, &extent, error))
			return false;
		if (!extent)
			return true;

		at = (extent->logical - start) / block_bytes;
		if (counts_costs && extent->flags & EXTENT_ENCODED)
			map_costs(window, first, at,
				  MIN(n, at + (extent->length + block_bytes - 1) / block_bytes));
		for (uint64_t offset = 0; offset < extent->length; offset += block_bytes) {
			size_t i = (extent->logical + offset - start) / block_bytes;

			places[i] = place_in(extent, offset);
			if (shared)
				shared[i] = extent->flags & EXTENT_SHARED;
		}
	}
}

bool dedupe_window_places(DedupeWindow *window, const OpenObject *object, uint64_t first, size_t n,
			  uint64_t *places, bool *ret_usable, GError **error)
{
	*ret_usable = true;
	if (!map_places(window, object, first, n, places, NULL, error))
		return false;

	for (size_t i = 0; i < n; i++)
		*ret_usable &= places[i] != PLACE_HOLE && places[i] != PLACE_UNUSABLE;
	return true;
}

static BlockState state_of(const DedupeWindow *window, size_t i)
{
	uint64_t target = window->target_places[i];
	uint64_t source = window->source_places[i];

	if (target == PLACE_HOLE || target == PLACE_UNUSABLE || source == PLACE_UNUSABLE)
		return BLOCK_UNUSABLE;
	if (window->source && source == PLACE_HOLE && !window->is_all_wanted)
		return BLOCK_UNUSABLE;

	return target == source ? BLOCK_SAME_PLACE : BLOCK_CANDIDATE;
}

void dedupe_window_choose_zeros(DedupeWindow *window, const Pass *pass, const OpenObject *target)
{
	const Settings *settings = pass->settings;
	bool by_checksums = pass->result->found_by_checksums;

	window->is_all_wanted = !by_checksums && settings->read == READ_POLICY_SAME_SIZE &&
				zeros_become_holes(settings->zeros, target->keeps_zeros);
	window->zeros_are_data = by_checksums || window->is_all_wanted;
}

bool dedupe_window_map(DedupeWindow *window, OpenObject *target, OpenObject *source,
		       uint64_t diagonal, uint64_t first, size_t n, GError **error)
{
	window->target = target;
	window->source = source;
	window->first = first;
	window->diagonal = diagonal;
	window->n = n;

	if (!map_places(window, target, first, n, window->target_places, window->target_shared,
			error))
		return false;
	if (source && !map_places(window, source, first - diagonal, n, window->source_places,
				  window->source_shared, error))
		return false;
	for (size_t i = 0; !source && i < n; i++)
		window->source_places[i] = PLACE_HOLE;

	for (size_t i = 0; i < n; i++)
		window->states[i] = state_of(window, i);
	return true;
}

bool dedupe_window_map_again(DedupeWindow *window, GError **error)
{
	/* Within one file, a range that was shared just before may be the source of the next one. */
	if (window->source == window->target &&
	    !map_places(window, window->source, window->first - window->diagonal, window->n,
			window->source_places, NULL, error))
		return false;

	return map_places(window, window->target, window->first, window->n, window->target_places,
			  NULL, error);
}

bool dedupe_window_becomes_hole(const DedupeWindow *window, size_t i)
{
	return window->source_places[i] == PLACE_HOLE;
}

bool dedupe_window_is_shared(const DedupeWindow *window, size_t i)
{
	return window->target_places[i] == window->source_places[i];
}

bool dedupe_window_next(const DedupeWindow *window, BlockState state, size_t from,
			size_t *ret_first, size_t *ret_end)
{
	while (from < window->n && window->states[from] != state)
		from++;
	if (from == window->n)
		return false;

	*ret_first = from;
	while (from < window->n && window->states[from] == state)
		from++;
	*ret_end = from;
	return true;
}

bool dedupe_window_is_long_enough(const DedupeWindow *window, size_t first, size_t end,
				  size_t min_blocks)
{
	return window->is_all_wanted || end - first >= min_blocks || first == 0 ||
	       end == window->n || window->states[first - 1] == BLOCK_SAME_PLACE ||
	       window->states[end] == BLOCK_SAME_PLACE;
}

/* Bytes of the object's block: the last one may be cut by the end of file. */
static size_t block_length(const DedupeWindow *window, const OpenObject *object, uint64_t block)
{
	uint64_t start = block * window->block_bytes;

	return start >= object->size_bytes ? 0
					   : MIN(object->size_bytes - start, window->block_bytes);
}

static bool is_zero(const uint8_t *bytes, size_t length)
{
	return length > 0 && bytes[0] == 0 && memcmp(bytes, bytes + 1, length - 1) == 0;
}

/* Read blocks [@i, @end) of one side. */
static ReadOutcome read_side(DedupeWindow *window, OpenObject *object, uint64_t first_block,
			     size_t n, uint8_t *buffer)
{
	uint64_t start = first_block * window->block_bytes;
	uint64_t end = open_object_end_bytes(object, first_block + n, window->block_bytes);

	if (end <= start)
		return READ_SHORT;

	window->read_bytes += end - start;
	return file_reader_read(object->reader, start, end - start, buffer);
}

/* Compare blocks [@i, @end), at most a step, that were read. */
static void compare_step(DedupeWindow *window, size_t i, size_t end)
{
	const uint8_t *target = window->target_buffer;
	const uint8_t *source = window->source_buffer;

	for (; i < end; i++, target += window->block_bytes, source += window->block_bytes) {
		uint64_t block = window->first + i;
		size_t length = block_length(window, window->target, block);
		bool equal;

		if (!window->source)
			equal = is_zero(target, length);
		else
			equal = length > 0 &&
				block_length(window, window->source, block - window->diagonal) ==
					length &&
				memcmp(target, source, length) == 0;

		window->states[i] = !equal                                      ? BLOCK_DIFFERENT
				    : window->source && is_zero(target, length) ? BLOCK_ZERO
										: BLOCK_EQUAL;
	}
}

/* Runs of zeros that are too short for a hole are shared like other data. */
static void settle_zeros(DedupeWindow *window)
{
	size_t run_blocks = MAX(ZEROS_RUN_BYTES / window->block_bytes, 1);
	size_t first, end;

	for (size_t from = 0; dedupe_window_next(window, BLOCK_ZERO, from, &first, &end);
	     from = end) {
		bool is_whole = end - first == window->target->blocks;

		if (window->zeros_are_data || (end - first < run_blocks && !is_whole))
			memset(window->states + first, BLOCK_EQUAL, end - first);
	}
}

void dedupe_window_fetch(DedupeWindow *window, size_t first, size_t end)
{
	uint64_t block = window->first + first;
	uint64_t length = (uint64_t)(end - first) * window->block_bytes;

	file_reader_fetch(window->target->reader, block * window->block_bytes, length);
	if (window->source)
		file_reader_fetch(window->source->reader,
				  (block - window->diagonal) * window->block_bytes, length);
}

/*
 * Start reading candidates from *fetched on, in pieces, until all before @end were fetched: so the disk reads the next
 * piece while this one is compared.
 */
static void fetch_until(DedupeWindow *window, size_t end, size_t *fetched)
{
	size_t piece_blocks = FILE_READER_PIECE_BYTES / window->block_bytes;
	size_t first, next;

	for (; *fetched < end; *fetched = next) {
		if (!dedupe_window_next(window, BLOCK_CANDIDATE, *fetched, &first, &next))
			first = window->n;
		next = first < end ? MIN(next, first + piece_blocks) : first;
		if (first < next)
			dedupe_window_fetch(window, first, next);
	}
}

/* Read both sides of the blocks [@first, @end), at most a step. */
static ReadOutcome read_both(DedupeWindow *window, size_t first, size_t end,
			     OpenObject **ret_unreadable)
{
	uint64_t block = window->first + first;
	ReadOutcome outcome;

	*ret_unreadable = window->target;
	outcome = read_side(window, window->target, block, end - first, window->target_buffer);
	if (outcome != READ_DONE || !window->source)
		return outcome;

	*ret_unreadable = window->source;
	return read_side(window, window->source, block - window->diagonal, end - first,
			 window->source_buffer);
}

ReadOutcome dedupe_window_compare(DedupeWindow *window, OpenObject **ret_unreadable)
{
	size_t piece_blocks = FILE_READER_PIECE_BYTES / window->block_bytes;
	size_t step_blocks = STEP_BYTES / window->block_bytes;
	size_t fetched = 0, first, end;

	for (size_t from = 0; dedupe_window_next(window, BLOCK_CANDIDATE, from, &first, &end);
	     from = end) {
		ReadOutcome outcome;

		end = MIN(end, first + step_blocks);
		fetch_until(window, MIN(end + piece_blocks, window->n), &fetched);
		outcome = read_both(window, first, end, ret_unreadable);
		if (outcome != READ_DONE)
			return outcome;

		compare_step(window, first, end);
	}

	settle_zeros(window);
	return READ_DONE;
}
