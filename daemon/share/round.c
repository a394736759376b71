/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/share/round.h"

#include "common/content/zeros.h"
#include "kernel-ioctl/btrfs/btrfs-file-extent.h"
#include "kernel-ioctl/file/dedupe-range.h"

#include <string.h>

#define PLACE_HOLE     UINT64_MAX
#define PLACE_UNUSABLE (UINT64_MAX - 1)

Round *round_new(uint32_t block_bytes)
{
	Round *round = g_new0(Round, 1);

	round->block_bytes = block_bytes;
	round->n_max = DEDUPE_ROUND_BYTES / block_bytes;
	round->states = g_new(uint8_t, round->n_max);
	round->target_places = g_new(uint64_t, round->n_max);
	round->source_places = g_new(uint64_t, round->n_max);
	round->target_shared = g_new(bool, round->n_max);
	round->source_shared = g_new(bool, round->n_max);
	round->target_costs = g_new(uint32_t, round->n_max);
	round->target_buffer = g_malloc(FILE_READER_PIECE_BYTES);
	round->source_buffer = g_malloc(FILE_READER_PIECE_BYTES);
	round->extents = extent_map_new();
	return round;
}

void round_free(Round *round)
{
	if (!round)
		return;

	g_free(round->states);
	g_free(round->target_places);
	g_free(round->source_places);
	g_free(round->target_shared);
	g_free(round->source_shared);
	g_free(round->target_costs);
	g_free(round->target_buffer);
	g_free(round->source_buffer);
	extent_map_free(round->extents);
	g_free(round);
}

/* The place of the extent's byte @offset from its start. */
static uint64_t place_in(const MappedExtent *extent, uint64_t offset)
{
	if (extent->flags & EXTENT_ENCODED)
		return extent->physical;

	return mapped_extent_is_addressed(extent) ? extent->physical + offset : PLACE_UNUSABLE;
}

/*
 * What the blocks [@i, @end) of a compressed extent of the target take: their part of what the whole
 * extent does.  Nothing where that cannot be found out, rather than too much.
 */
static void map_costs(Round *round, uint64_t first, size_t i, size_t end)
{
	uint32_t block_bytes = round->block_bytes;
	g_autoptr(GError) ignored = NULL;
	BtrfsFileExtent extent;

	memset(round->target_costs + i, 0, (end - i) * sizeof(*round->target_costs));
	if (!btrfs_file_extent_read(file_reader_fd(round->target->reader), round->target->inode,
				    (first + i) * block_bytes, &extent, &ignored) ||
	    extent.ram_bytes < block_bytes)
		return;

	for (; i < end; i++) {
		uint64_t block =
			((first + i) * block_bytes - extent.logical + extent.offset) / block_bytes;
		uint64_t blocks = (extent.ram_bytes + block_bytes - 1) / block_bytes;

		round->target_costs[i] = (uint32_t)(extent.disk_bytes * (block + 1) / blocks -
						    extent.disk_bytes * block / blocks);
	}
}

/* The places of @n blocks of @object from block @first on; @shared may be NULL. */
static bool map_places(Round *round, const OpenObject *object, uint64_t first, size_t n,
		       uint64_t *places, bool *shared, GError **error)
{
	uint32_t block_bytes = round->block_bytes;
	uint64_t start = first * block_bytes;
	bool counts_costs = shared == round->target_shared;

	for (size_t i = 0; i < n; i++)
		places[i] = PLACE_HOLE;
	for (size_t i = 0; shared && i < n; i++)
		shared[i] = false;
	for (size_t i = 0; counts_costs && i < n; i++)
		round->target_costs[i] = block_bytes;

	extent_map_start(round->extents, file_reader_fd(object->reader), start,
			 (uint64_t)n * block_bytes, false);
	for (;;) {
		const MappedExtent *extent;
		size_t at;

		if (!extent_map_next(round->extents, &extent, error))
			return false;
		if (!extent)
			return true;

		at = (extent->logical - start) / block_bytes;
		if (counts_costs && extent->flags & EXTENT_ENCODED)
			map_costs(round, first, at,
				  MIN(n, at + (extent->length + block_bytes - 1) / block_bytes));
		for (uint64_t offset = 0; offset < extent->length; offset += block_bytes) {
			size_t i = (extent->logical + offset - start) / block_bytes;

			if (i >= n)
				break;
			places[i] = place_in(extent, offset);
			if (shared)
				shared[i] = extent->flags & EXTENT_SHARED;
		}
	}
}

bool round_places(Round *round, const OpenObject *object, uint64_t first, size_t n,
		  uint64_t *places, bool *ret_usable, GError **error)
{
	*ret_usable = true;
	if (!map_places(round, object, first, n, places, NULL, error))
		return false;

	for (size_t i = 0; i < n; i++)
		*ret_usable &= places[i] != PLACE_HOLE && places[i] != PLACE_UNUSABLE;
	return true;
}

static BlockState state_of(const Round *round, size_t i)
{
	uint64_t target = round->target_places[i];
	uint64_t source = round->source_places[i];

	if (target == PLACE_HOLE || target == PLACE_UNUSABLE || source == PLACE_UNUSABLE)
		return BLOCK_UNUSABLE;
	if (round->source && source == PLACE_HOLE && !round->is_all_wanted)
		return BLOCK_UNUSABLE;

	return target == source ? BLOCK_SAME_PLACE : BLOCK_CANDIDATE;
}

void round_choose_zeros(Round *round, const Pass *pass, const OpenObject *target)
{
	const Settings *settings = pass->settings;
	bool by_checksums = pass->result->found_by_checksums;

	round->is_all_wanted = !by_checksums && settings->read == READ_POLICY_SAME_SIZE &&
			       zeros_become_holes(settings->zeros, target->keeps_zeros);
	round->zeros_are_data = by_checksums || round->is_all_wanted;
}

bool round_map(Round *round, OpenObject *target, OpenObject *source, uint64_t diagonal,
	       uint64_t first, size_t n, GError **error)
{
	round->target = target;
	round->source = source;
	round->first = first;
	round->diagonal = diagonal;
	round->n = n;

	if (!map_places(round, target, first, n, round->target_places, round->target_shared, error))
		return false;
	if (source && !map_places(round, source, first - diagonal, n, round->source_places,
				  round->source_shared, error))
		return false;
	for (size_t i = 0; !source && i < n; i++)
		round->source_places[i] = PLACE_HOLE;

	for (size_t i = 0; i < n; i++)
		round->states[i] = state_of(round, i);
	return true;
}

bool round_map_again(Round *round, GError **error)
{
	/* In one file a piece shared just before may have been the source of the next. */
	if (round->source == round->target &&
	    !map_places(round, round->source, round->first - round->diagonal, round->n,
			round->source_places, NULL, error))
		return false;

	return map_places(round, round->target, round->first, round->n, round->target_places, NULL,
			  error);
}

bool round_becomes_hole(const Round *round, size_t i)
{
	return round->source_places[i] == PLACE_HOLE;
}

bool round_is_shared(const Round *round, size_t i)
{
	return round->target_places[i] == round->source_places[i];
}

bool round_stretch(const Round *round, BlockState state, size_t from, size_t *ret_first,
		   size_t *ret_end)
{
	while (from < round->n && round->states[from] != state)
		from++;
	if (from == round->n)
		return false;

	*ret_first = from;
	while (from < round->n && round->states[from] == state)
		from++;
	*ret_end = from;
	return true;
}

bool round_is_worth_it(const Round *round, size_t first, size_t end, size_t min_blocks)
{
	return round->is_all_wanted || end - first >= min_blocks || first == 0 || end == round->n ||
	       round->states[first - 1] == BLOCK_SAME_PLACE ||
	       round->states[end] == BLOCK_SAME_PLACE;
}

/* Bytes of the object's block: the last one may be cut by the end of file. */
static size_t block_length(const Round *round, const OpenObject *object, uint64_t block)
{
	uint64_t start = block * round->block_bytes;

	return start >= object->size_bytes ? 0
					   : MIN(object->size_bytes - start, round->block_bytes);
}

static bool is_zero(const uint8_t *bytes, size_t length)
{
	return length > 0 && bytes[0] == 0 && memcmp(bytes, bytes + 1, length - 1) == 0;
}

/* Read blocks [@i, @end) of one side. */
static ReadOutcome read_side(Round *round, OpenObject *object, uint64_t first_block, size_t n,
			     uint8_t *buffer)
{
	uint64_t start = first_block * round->block_bytes;
	uint64_t end = open_object_end_bytes(object, first_block + n, round->block_bytes);

	if (end <= start)
		return READ_SHORT;

	round->read_bytes += end - start;
	return file_reader_read(object->reader, start, end - start, buffer);
}

/* Compare blocks [@i, @end), at most a piece, that were read. */
static void compare_piece(Round *round, size_t i, size_t end)
{
	const uint8_t *target = round->target_buffer;
	const uint8_t *source = round->source_buffer;

	for (; i < end; i++, target += round->block_bytes, source += round->block_bytes) {
		uint64_t block = round->first + i;
		size_t length = block_length(round, round->target, block);
		bool equal;

		if (!round->source)
			equal = is_zero(target, length);
		else
			equal = length > 0 &&
				block_length(round, round->source, block - round->diagonal) ==
					length &&
				memcmp(target, source, length) == 0;

		round->states[i] = !equal                                     ? BLOCK_DIFFERENT
				   : round->source && is_zero(target, length) ? BLOCK_ZERO
									      : BLOCK_EQUAL;
	}
}

/* Zeros that are too few for a hole are shared like other data. */
static void settle_zeros(Round *round)
{
	size_t run_blocks = MAX(ZEROS_RUN_BYTES / round->block_bytes, 1);
	size_t first, end;

	for (size_t from = 0; round_stretch(round, BLOCK_ZERO, from, &first, &end); from = end) {
		bool is_whole = first == 0 && end == round->n && round->first == 0 &&
				end == round->target->blocks;

		if (round->zeros_are_data || (end - first < run_blocks && !is_whole))
			memset(round->states + first, BLOCK_EQUAL, end - first);
	}
}

void round_fetch(Round *round, size_t first, size_t end)
{
	uint64_t block = round->first + first;
	uint64_t length = (uint64_t)(end - first) * round->block_bytes;

	file_reader_fetch(round->target->reader, block * round->block_bytes, length);
	if (round->source)
		file_reader_fetch(round->source->reader,
				  (block - round->diagonal) * round->block_bytes, length);
}

ReadOutcome round_compare(Round *round, OpenObject **ret_unreadable)
{
	size_t piece_blocks = FILE_READER_PIECE_BYTES / round->block_bytes;
	size_t first, end;

	for (size_t from = 0; round_stretch(round, BLOCK_CANDIDATE, from, &first, &end);
	     from = end) {
		uint64_t target_block = round->first + first;
		ReadOutcome outcome;

		end = MIN(end, first + piece_blocks);
		round_fetch(round, first, end);
		*ret_unreadable = round->target;
		outcome = read_side(round, round->target, target_block, end - first,
				    round->target_buffer);
		if (outcome == READ_DONE && round->source) {
			*ret_unreadable = round->source;
			outcome = read_side(round, round->source, target_block - round->diagonal,
					    end - first, round->source_buffer);
		}
		if (outcome != READ_DONE)
			return outcome;

		compare_piece(round, first, end);
	}

	settle_zeros(round);
	return READ_DONE;
}
