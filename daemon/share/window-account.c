/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/share/window-account.h"

#include "daemon/share/clone-pairs.h"

#include <string.h>

void window_account_note_others(BlockSet *others, const OpenObject *target, uint32_t block_bytes)
{
	g_autoptr(GError) unmapped = NULL;
	g_autoptr(ExtentMap) extents = extent_map_new();

	block_set_clear(others);
	extent_map_start(extents, file_reader_fd(target->reader), 0, target->size_bytes, false);
	for (;;) {
		const MappedExtent *extent;
		uint64_t first;

		if (!extent_map_next(extents, &extent, &unmapped)) {
			block_set_add(others, 0, target->blocks);
			return;
		}
		if (!extent)
			return;

		first = extent->logical / block_bytes;
		if (extent->flags & EXTENT_SHARED)
			block_set_add(others, first,
				      first + (extent->length + block_bytes - 1) / block_bytes);
	}
}

void window_account_recall_others(const BlockSet *others, DedupeWindow *window)
{
	uint64_t end = window->first + window->n;
	uint64_t gap_first, gap_end;

	memset(window->target_shared, true, window->n * sizeof(*window->target_shared));
	for (uint64_t from = window->first; block_set_gap(others, from, end, &gap_first, &gap_end);
	     from = gap_end)
		memset(window->target_shared + (gap_first - window->first), false,
		       (gap_end - gap_first) * sizeof(*window->target_shared));
}

/* Skip blocks that no longer lie where the references were looked up. */
static void keep_expected(const CloneTarget *clone, DedupeWindow *window)
{
	for (size_t i = 0; i < window->n; i++) {
		uint64_t offset = window->first + i - clone->target_block;
		uint64_t target = (clone->target_place + offset) * window->block_bytes;
		uint64_t source = (clone->source_place + offset) * window->block_bytes;
		bool is_hole = clone->source_place == CLONE_PLACE_HOLE;

		if (window->states[i] == BLOCK_CANDIDATE &&
		    (window->target_places[i] != target ||
		     (!is_hole && window->source_places[i] != source)))
			window->states[i] = BLOCK_UNUSABLE;
	}
}

/*
 * Whether some candidates have several references; *ret_cost_bytes: the cost of comparing them all, *ret_gain_bytes:
 * what sharing them frees.
 *
 * XFS frees the blocks of a target that have no other reference, however many references the source
 * has.  On btrfs, which frees whole extents, pieces of a source that many files show may cost more
 * than they free.
 */
static bool have_clones(const DedupeWindow *window, bool frees_blocks, uint64_t *ret_cost_bytes,
			uint64_t *ret_gain_bytes)
{
	bool have = false;

	*ret_cost_bytes = *ret_gain_bytes = 0;
	for (size_t i = 0; i < window->n; i++) {
		if (window->states[i] != BLOCK_CANDIDATE)
			continue;
		*ret_cost_bytes += (window->source ? 2 : 1) * (uint64_t)window->block_bytes;
		*ret_gain_bytes += window->target_shared[i] ? 0 : window->target_costs[i];
		have |= window->target_shared[i] ||
			(!frees_blocks && window->source && window->source_shared[i]);
	}

	return have;
}

bool window_account_expects_compare(const Pass *pass, const DedupeWindow *window)
{
	uint64_t cost_bytes, gain_bytes;

	return !have_clones(window, pass->xfs.clones, &cost_bytes, &gain_bytes) ||
	       (!pass->xfs.clones &&
		compare_account_allows(&pass->account, cost_bytes, gain_bytes));
}

/* Several references multiply what is compared, so it is weighed against what is freed. */
static void skip_costly(Pass *pass, DedupeWindow *window, uint64_t *costly_bytes)
{
	uint64_t cost_bytes, gain_bytes;

	if (!have_clones(window, pass->xfs.clones, &cost_bytes, &gain_bytes) ||
	    compare_account_allows(&pass->account, cost_bytes, gain_bytes))
		return;

	for (size_t i = 0; i < window->n; i++) {
		if (window->states[i] != BLOCK_CANDIDATE)
			continue;
		window->states[i] = BLOCK_UNUSABLE;
		*costly_bytes += window->block_bytes;
	}
	pass->result->costly_bytes += cost_bytes;
}

void window_account_note_clones(const Pass *pass, const DedupeWindow *window)
{
	bool is_target = false;
	bool is_source = false;

	if (!pass->xfs.clones)
		return;

	for (size_t i = 0; i < window->n; i++) {
		is_target |= window->target_shared[i];
		is_source |= window->source && window->source_shared[i];
	}
	if (is_target)
		clone_pairs_touch(pass->xfs.clones, window->target->id);
	if (is_source)
		clone_pairs_touch(pass->xfs.clones, window->source->id);
}

bool window_account_limit(Pass *pass, DedupeWindow *window, const CloneTarget *clone,
			  uint64_t *costly_bytes, GError **error)
{
	if (clone) {
		keep_expected(clone, window);
		return true;
	}
	/* The length of zeros is known only when they are read. */
	if (pass->xfs.clones && window->source &&
	    !clone_pairs_add_window(pass->xfs.clones, window, BLOCK_CANDIDATE, error))
		return false;

	skip_costly(pass, window, costly_bytes);
	return true;
}

void window_account_charge(Pass *pass, DedupeWindow *window, bool is_source_read)
{
	uint64_t bytes = window->read_bytes;

	pass->result->compare_bytes += bytes;
	pass->account.compared_bytes += is_source_read ? bytes / 2 : bytes;
	window->read_bytes = 0;
}

/* Returns the number of blocks that count. */
static uint64_t add(Pass *pass, const DedupeWindow *window, size_t first, size_t end,
		    bool is_expected)
{
	/* Zeros that are shared with each other stay data. */
	bool is_hole = window->source || pass->settings->zeros != ZEROS_SHARE;
	PassResult *result = pass->result;
	uint64_t freed_bytes = 0;
	uint64_t hole_bytes = 0;
	uint64_t blocks = 0;

	for (size_t i = first; i < end; i++) {
		uint64_t cost_bytes = window->target_shared[i] ? 0 : window->target_costs[i];

		if (!is_expected && !dedupe_window_is_shared(window, i))
			continue;
		blocks++;
		freed_bytes += cost_bytes;
		hole_bytes += is_hole && dedupe_window_becomes_hole(window, i) ? cost_bytes : 0;
	}
	if (blocks == 0)
		return 0;

	result->shared.runs++;
	result->shared.bytes += blocks * window->block_bytes;
	pass->account.gained_bytes += freed_bytes;
	/* FreedExtents counts in a pass over extents. */
	if (!result->found_by_checksums) {
		result->freed.bytes += freed_bytes;
		result->freed.hole_bytes += hole_bytes;
	}
	return blocks;
}

void window_account_add_expected(Pass *pass, const DedupeWindow *window, size_t first, size_t end)
{
	add(pass, window, first, end, true);
}

void window_account_add_shared(Pass *pass, const DedupeWindow *window, size_t first, size_t end)
{
	if (add(pass, window, first, end, false) == 0)
		return;

	if (pass->xfs.clones) {
		clone_pairs_touch(pass->xfs.clones, window->target->id);
		if (window->source)
			clone_pairs_touch(pass->xfs.clones, window->source->id);
	}
	witness_sample_add(&pass->shared, window->target->subvolume, window->target->inode,
			   (window->first + first) * window->block_bytes);
	if (!pass->result->found_by_checksums)
		atomic_store(&pass->progress->freed_bytes, pass->result->freed.bytes);
}

void window_account_add_same_place(Pass *pass, const DedupeWindow *window, BlockSet *settled)
{
	size_t first, end;

	for (size_t from = 0; dedupe_window_next(window, BLOCK_SAME_PLACE, from, &first, &end);
	     from = end) {
		block_set_add(settled, window->first + first, window->first + end);
		pass->result->shared.already_bytes += (uint64_t)(end - first) * window->block_bytes;
	}
}
