/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/share/run-sharer-internal.h"

#include "daemon/share/clone-pairs.h"

/* Leave alone what no longer lies where the references were looked up. */
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
 * What comparing the candidates costs, what it frees, and whether clones have a part in it.
 *
 * XFS frees the blocks of a target that nothing else refers to, however many references the source has.
 * btrfs frees whole extents, so pieces of a source that many files show may cost more than they free.
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

bool run_sharer_expects_compare(const Pass *pass, const DedupeWindow *window)
{
	uint64_t cost_bytes, gain_bytes;

	return !have_clones(window, pass->xfs.clones, &cost_bytes, &gain_bytes) ||
	       (!pass->xfs.clones &&
		compare_account_allows(&pass->account, cost_bytes, gain_bytes));
}

/* Where clones multiply what is compared, it is weighed against what is freed. */
static void leave_costly(RunSharer *sharer)
{
	DedupeWindow *window = sharer->window;
	uint64_t cost_bytes, gain_bytes;

	if (!have_clones(window, sharer->pass->xfs.clones, &cost_bytes, &gain_bytes) ||
	    compare_account_allows(&sharer->pass->account, cost_bytes, gain_bytes))
		return;

	for (size_t i = 0; i < window->n; i++) {
		if (window->states[i] != BLOCK_CANDIDATE)
			continue;
		window->states[i] = BLOCK_UNUSABLE;
		sharer->costly_bytes += window->block_bytes;
	}
	sharer->pass->result->costly_bytes += cost_bytes;
}

bool run_limits_apply(RunSharer *sharer, GError **error)
{
	ClonePairs *pairs = sharer->pass->xfs.clones;

	if (run_sharer_has_clone(sharer)) {
		keep_expected(&sharer->clone, sharer->window);
		return true;
	}
	/* How far zeros go shows when they are read. */
	if (pairs && sharer->window->source &&
	    !clone_pairs_add_window(pairs, sharer->window, BLOCK_CANDIDATE, error))
		return false;

	leave_costly(sharer);
	return true;
}

bool run_limits_defer_zeros(RunSharer *sharer, GError **error)
{
	ClonePairs *pairs = sharer->pass->xfs.clones;

	return !pairs || run_sharer_has_clone(sharer) || sharer->window->source ||
	       clone_pairs_add_window(pairs, sharer->window, BLOCK_EQUAL, error);
}

void run_limits_charge(RunSharer *sharer)
{
	uint64_t bytes = sharer->window->read_bytes;

	sharer->pass->result->compare_bytes += bytes;
	sharer->pass->account.compared_bytes += sharer->clone.is_source_read ? bytes / 2 : bytes;
	sharer->window->read_bytes = 0;
}
