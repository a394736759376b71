/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/share/run-sharer.h"

#include "daemon/context/object-skips.h"
#include "daemon/share/block-set.h"
#include "daemon/share/clone-pairs.h"
#include "daemon/share/dedupe-failure.h"
#include "daemon/share/freed-extents.h"
#include "daemon/share/full-alloc-groups.h"
#include "daemon/share/range-source.h"
#include "daemon/share/window-account.h"

#include <errno.h>

/* How many blocks a run is extended by beyond its estimated ends: first, and at most at a time. */
#define EXTEND_BLOCKS     16
#define EXTEND_MAX_BLOCKS 1024

/* The result for a part of a run. */
typedef struct {
	bool first_equal; /* its first block, and its last: the run may continue there */
	bool last_equal;
} RunEnds;

struct RunSharer {
	Pass *pass;
	FileOpener *opener;
	DedupeWindow *window;
	RangeSource *source;
	BlockSet *settled;    /* blocks of the target that are shared, or need not be */
	BlockSet *had_others; /* btrfs: blocks that others used too when the target was begun */
	FreedExtents *freed;  /* NULL: freed space is counted block by block */
	uint64_t begun_bytes; /* shared before the target was begun */
	uint32_t min_blocks;
	OpenObject *target;     /* NULL until the first one is begun */
	uint64_t blocked_bytes; /* of the target, that have a source in a full group */
	uint64_t costly_bytes;  /* of the run, that cost more than the pass may compare */
	CloneTarget clone;      /* only these, which CloneSharer counts; no blocks: the whole run */
	bool is_refused;        /* the kernel refused to share the run */
};

RunSharer *run_sharer_new(Pass *pass, FileOpener *opener)
{
	RunSharer *sharer = g_new0(RunSharer, 1);

	sharer->pass = pass;
	sharer->opener = opener;
	sharer->window = dedupe_window_new(pass->block_bytes);
	sharer->source = range_source_new(pass, opener);
	sharer->settled = block_set_new();
	sharer->had_others = block_set_new();
	if (pass->result->found_by_checksums)
		sharer->freed = freed_extents_new(pass);
	if (!pass->xfs.full)
		pass->xfs.full = full_alloc_groups_new(pass->filesystem);
	sharer->min_blocks = hash_store_about(pass->store)->anchor_blocks;
	return sharer;
}

void run_sharer_free(RunSharer *sharer)
{
	if (!sharer)
		return;

	dedupe_window_free(sharer->window);
	range_source_free(sharer->source);
	block_set_free(sharer->settled);
	block_set_free(sharer->had_others);
	freed_extents_free(sharer->freed);
	open_object_free(sharer->target);
	g_free(sharer);
}

OpenObject *run_sharer_target(const RunSharer *sharer)
{
	return sharer->target;
}

/* Close the present target, and have @target, or none, in its place. */
static void replace_target_take(RunSharer *sharer, OpenObject *target)
{
	pass_give_turn(sharer->pass);
	open_object_free(sharer->target);
	pass_take_turn(sharer->pass);
	sharer->target = target;
	if (target)
		dedupe_window_choose_zeros(sharer->window, sharer->pass, target);
}

void run_sharer_begin_take(RunSharer *sharer, OpenObject *target)
{
	run_sharer_end_target(sharer);
	replace_target_take(sharer, target);
	sharer->begun_bytes = sharer->pass->result->shared.bytes;
	sharer->blocked_bytes = 0;
	block_set_clear(sharer->settled);

	if (!target->is_usable || sharer->pass->filesystem->identity.kind != FS_KIND_BTRFS)
		return;
	if (sharer->freed && !sharer->pass->settings->dry_run)
		freed_extents_begin(sharer->freed, target);
	window_account_note_others(sharer->had_others, target, sharer->pass->block_bytes);
}

void run_sharer_end_target(RunSharer *sharer)
{
	PassResult *result = sharer->pass->result;

	if (!sharer->freed || !sharer->target || result->shared.bytes == sharer->begun_bytes)
		return;

	sharer->begun_bytes = result->shared.bytes;
	result->freed.bytes +=
		sharer->pass->settings->dry_run
			? freed_extents_estimate(sharer->freed, sharer->target, sharer->settled)
			: freed_extents_end(sharer->freed);
	atomic_store(&sharer->pass->progress->freed_bytes, result->freed.bytes);
}

void run_sharer_close(RunSharer *sharer)
{
	run_sharer_end_target(sharer);
	replace_target_take(sharer, NULL);
}

static void postpone(RunSharer *sharer)
{
	postponed_add(sharer->pass->postponed, sharer->pass->store, sharer->target->id);
}

/* This run cannot be shared; others of the target may. */
static bool refuse_run(RunSharer *sharer, SkipReason reason, uint64_t length, GError **error)
{
	sharer->is_refused = true;
	return object_skips_add(sharer->pass, sharer->opener, sharer->target->id, reason, length,
				error);
}

/* Skip blocks whose source is in a full allocation group; the next pass tries again. */
static void leave_full_groups(RunSharer *sharer)
{
	uint64_t bytes = full_alloc_groups_leave(sharer->pass->xfs.full, sharer->window);

	if (bytes > 0)
		postpone(sharer);
	sharer->blocked_bytes += bytes;
}

/*
 * Count a refusal of the kernel.  EINVAL concerns the two files, for instance if only one has checksums.  All other
 * errors concern the target.
 */
static bool handle_refusal(RunSharer *sharer, const DedupeTarget *asked, uint64_t length,
			   GError **error)
{
	SkipReason reason = dedupe_failure_reason(asked->outcome);

	if (asked->outcome == DEDUPE_NOT_DONE)
		return true;
	if (asked->outcome == DEDUPE_DIFFERS)
		sharer->pass->result->shared.differed++;
	if (asked->outcome == DEDUPE_READ_ONLY)
		postponed_add_rest(sharer->pass->postponed);
	if (asked->outcome == DEDUPE_INVALID)
		return refuse_run(sharer, SKIP_UNSUPPORTED, length, error);

	return open_object_give_up(sharer->pass, sharer->opener, sharer->target, reason, length,
				   dedupe_failure_give_up(asked->outcome), error);
}

static bool may_go_on(const RunSharer *sharer, const OpenObject *source)
{
	return pass_checkpoint(sharer->pass) && !sharer->is_refused && sharer->target->is_usable &&
	       (!source || source->is_usable);
}

/* Ask the kernel to share [@first, @end) of the window, in pieces that do not overlap their source. */
static bool dedupe_equal(RunSharer *sharer, size_t first, size_t end, GError **error)
{
	DedupeWindow *window = sharer->window;
	size_t most_blocks = end - first, blocks;

	if (window->source == window->target)
		most_blocks = MIN(most_blocks, window->diagonal);

	for (size_t i = first; i < end && may_go_on(sharer, window->source); i += blocks) {
		SkipReason no_source = SKIP_NO_TEMPORARY_FILE;
		DedupeCounts counts = { 0 };
		DedupeCall call;
		DedupeTarget target;

		if (!range_source_choose(sharer->source, window, i, i + MIN(most_blocks, end - i),
					 &call, &blocks, &no_source)) {
			postpone(sharer);
			return refuse_run(sharer, no_source, call.length, error);
		}

		pass_give_turn(sharer->pass);
		target = dedupe_call_make(sharer->pass, &call, &counts);
		pass_take_turn(sharer->pass);
		dedupe_counts_note(&counts, sharer->pass->result);
		if (full_alloc_groups_add(sharer->pass->xfs.full, window, i, end, target.error)) {
			leave_full_groups(sharer);
			return true;
		}
		if (target.outcome != DEDUPE_SAME)
			return handle_refusal(sharer, &target, call.length, error);
	}

	return true;
}

/* Blocks [@first, @end) of the window need no more work. */
static void settle(RunSharer *sharer, size_t first, size_t end)
{
	const DedupeWindow *window = sharer->window;

	block_set_add(sharer->settled, window->first + first, window->first + end);
	/* The source is used twice from here on. */
	if (window->source == window->target)
		block_set_add(sharer->had_others, window->first + first - window->diagonal,
			      window->first + end - window->diagonal);
}

/* Settle the blocks of [@first, @end) that are shared by now, and leave the others to the next pass. */
static bool settle_shared(RunSharer *sharer, size_t first, size_t end, GError **error)
{
	const DedupeWindow *window = sharer->window;
	uint64_t left_blocks = 0;
	size_t next;

	for (size_t i = first; i < end; i = next) {
		bool is_shared = dedupe_window_is_shared(window, i);

		for (next = i + 1; next < end; next++)
			if (dedupe_window_is_shared(window, next) != is_shared)
				break;
		if (is_shared)
			settle(sharer, i, next);
		else
			left_blocks += next - i;
	}
	if (left_blocks == 0 || atomic_load(sharer->pass->stop))
		return true;

	postpone(sharer);
	return object_skips_add(sharer->pass, sharer->opener, sharer->target->id, SKIP_BUSY,
				left_blocks * window->block_bytes, error);
}

/* In a dry run: count the equal blocks, and settle them. */
static void estimate_equal(RunSharer *sharer)
{
	const DedupeWindow *window = sharer->window;
	size_t first, end;

	for (size_t from = 0; dedupe_window_next(window, BLOCK_EQUAL, from, &first, &end);
	     from = end) {
		if (!dedupe_window_is_long_enough(window, first, end, sharer->min_blocks))
			continue;
		if (sharer->clone.blocks == 0)
			window_account_add_expected(sharer->pass, window, first, end);
		settle(sharer, first, end);
	}
}

static bool share_equal(RunSharer *sharer, GError **error)
{
	DedupeWindow *window = sharer->window;
	g_autoptr(GError) unmapped = NULL;
	size_t first, end;
	bool mapped;

	for (size_t from = 0; dedupe_window_next(window, BLOCK_EQUAL, from, &first, &end);
	     from = end) {
		if (!dedupe_window_is_long_enough(window, first, end, sharer->min_blocks))
			continue;
		if (!dedupe_equal(sharer, first, end, error))
			return false;
		/* Earlier ranges count below. */
		if (!sharer->target->is_usable || sharer->is_refused)
			break;
		/* A full group cut the range off; blocks behind may be in another group. */
		for (size_t i = first; i < end; i++)
			if (window->states[i] != BLOCK_EQUAL)
				end = i;
	}

	pass_give_turn(sharer->pass);
	mapped = dedupe_window_map_again(window, &unmapped);
	pass_take_turn(sharer->pass);
	if (!mapped)
		return !sharer->target->is_usable ||
		       open_object_give_up(sharer->pass, sharer->opener, sharer->target,
					   SKIP_UNREADABLE, UINT64_MAX, GIVE_UP_FOR_GOOD, error);

	for (size_t from = 0; dedupe_window_next(window, BLOCK_EQUAL, from, &first, &end);
	     from = end) {
		if (!dedupe_window_is_long_enough(window, first, end, sharer->min_blocks))
			continue;
		window_account_add_shared(sharer->pass, window, first, end);
		if (sharer->target->is_usable && !sharer->is_refused &&
		    !settle_shared(sharer, first, end, error))
			return false;
	}

	return true;
}

static bool is_equal_state(uint8_t state)
{
	return state == BLOCK_EQUAL || state == BLOCK_SAME_PLACE;
}

/* Drop a source that could not be read from the store, so that the next pass finds the target another one. */
static bool give_up_unreadable(RunSharer *sharer, OpenObject *object, ReadOutcome outcome,
			       GError **error)
{
	bool is_source = object != sharer->target;
	bool is_short = outcome == READ_SHORT;

	if (is_source)
		postpone(sharer);
	return open_object_give_up(
		sharer->pass, sharer->opener, object, is_short ? SKIP_CHANGED : SKIP_UNREADABLE,
		UINT64_MAX, is_short || is_source ? GIVE_UP_AND_FORGET : GIVE_UP_FOR_GOOD, error);
}

/*
 * Give up the target, or its source, if it changed since it was opened.  Then another process works
 * on it, and it may be one to skip by now, like a swap file.
 */
static bool give_up_changed(RunSharer *sharer, OpenObject *source, GError **error)
{
	OpenObject *target = sharer->target;
	StampVerdict verdict = open_object_compare(target);

	if (verdict != STAMP_SAME)
		return open_object_give_up(
			sharer->pass, sharer->opener, target, SKIP_CHANGED, UINT64_MAX,
			verdict == STAMP_DOUBTED ? GIVE_UP_FOR_NOW : GIVE_UP_AND_FORGET, error);
	if (!source || source == target || open_object_compare(source) != STAMP_CHANGED)
		return true;

	return give_up_unreadable(sharer, source, READ_SHORT, error);
}

/* Compare the candidates of the window, and share what is equal. */
static bool share_candidates(RunSharer *sharer, RunEnds *ret_ends, GError **error)
{
	DedupeWindow *window = sharer->window;
	OpenObject *source = window->source;
	OpenObject *unreadable = NULL;
	ReadOutcome outcome;

	pass_give_turn(sharer->pass);
	outcome = dedupe_window_compare(window, &unreadable);
	pass_take_turn(sharer->pass);
	window_account_charge(sharer->pass, window, sharer->clone.is_source_read);
	if (outcome == READ_STOPPED)
		return true;
	if (outcome != READ_DONE)
		return give_up_unreadable(sharer, unreadable, outcome, error);

	ret_ends->first_equal = is_equal_state(window->states[0]);
	ret_ends->last_equal = is_equal_state(window->states[window->n - 1]);
	/* CloneSharer shares zeros that have several references. */
	if (sharer->pass->xfs.clones && sharer->clone.blocks == 0 && !source &&
	    !clone_pairs_add_window(sharer->pass->xfs.clones, window, BLOCK_EQUAL, error))
		return false;
	if (!source && !range_source_lay_zeros(sharer->source, window, sharer->settled, error))
		return false;
	if (sharer->pass->settings->dry_run) {
		estimate_equal(sharer);
		return true;
	}

	if (!give_up_changed(sharer, source, error))
		return false;
	return !may_go_on(sharer, source) || share_equal(sharer, error);
}

/* Compare and share blocks [@first, @first + @n) of the target, at most one window. */
static bool share_window(RunSharer *sharer, OpenObject *source, uint64_t diagonal, uint64_t first,
			 size_t n, RunEnds *ret_ends, GError **error)
{
	DedupeWindow *window = sharer->window;
	uint64_t source_offset = (first - diagonal) * window->block_bytes;
	g_autoptr(GError) unmapped = NULL;
	bool mapped, done;
	size_t from, end;

	*ret_ends = (RunEnds){ 0 };
	pass_give_turn(sharer->pass);
	mapped = dedupe_window_map(window, sharer->target, source, diagonal, first, n, &unmapped);
	pass_take_turn(sharer->pass);
	if (!mapped)
		return open_object_give_up(sharer->pass, sharer->opener, sharer->target,
					   SKIP_UNREADABLE, UINT64_MAX, GIVE_UP_FOR_GOOD, error);

	if (sharer->pass->filesystem->identity.kind == FS_KIND_BTRFS)
		window_account_recall_others(sharer->had_others, window);
	window_account_note_clones(sharer->pass, window);
	window_account_add_same_place(sharer->pass, window, sharer->settled);
	if (!window_account_limit(sharer->pass, window,
				  sharer->clone.blocks > 0 ? &sharer->clone : NULL,
				  &sharer->costly_bytes, error))
		return false;
	leave_full_groups(sharer);
	if (sharer->pass->filesystem->identity.kind == FS_KIND_XFS &&
	    dedupe_window_next(window, BLOCK_CANDIDATE, 0, &from, &end) &&
	    open_object_has_most_extents(sharer->target))
		return open_object_give_up(sharer->pass, sharer->opener, sharer->target,
					   SKIP_PIECES, UINT64_MAX, GIVE_UP_FOR_GOOD, error);
	if (!source)
		return share_candidates(sharer, ret_ends, error);

	/* Another thread may use the source, too. */
	file_reader_hold(source->reader, source_offset, n * window->block_bytes);
	done = share_candidates(sharer, ret_ends, error);
	file_reader_release(source->reader, source_offset, n * window->block_bytes);
	return done;
}

/* Share [@first, @end) of the target, in windows; none of it is settled. */
static bool share_range(RunSharer *sharer, OpenObject *source, uint64_t diagonal, uint64_t first,
			uint64_t end, RunEnds *ret_ends, GError **error)
{
	*ret_ends = (RunEnds){ 0 };
	for (uint64_t block = first; block < end && may_go_on(sharer, source);) {
		uint64_t data_block =
			open_object_skip_hole(sharer->target, block, sharer->pass->block_bytes);
		size_t n = MIN(end - block, sharer->pass->window_bytes / sharer->pass->block_bytes);
		RunEnds ends;

		if (data_block > block) {
			/* A truncated file has no data there, either. */
			if (!give_up_changed(sharer, source, error))
				return false;
			ret_ends->last_equal = false;
			block = data_block;
			continue;
		}

		if (!share_window(sharer, source, diagonal, block, n, &ends, error))
			return false;
		if (block == first)
			ret_ends->first_equal = ends.first_equal;
		ret_ends->last_equal = ends.last_equal;
		block += n;
	}

	return true;
}

/* The limits of a run on this diagonal. */
static void run_bounds(const RunSharer *sharer, const OpenObject *source, uint64_t diagonal,
		       uint64_t *ret_low, uint64_t *ret_high)
{
	*ret_low = source && (int64_t)diagonal > 0 ? diagonal : 0;
	*ret_high = sharer->target->blocks;
	if (source)
		*ret_high = MIN(*ret_high, source->blocks + diagonal);
}

/*
 * Extend the run from @block in one direction for as long as the data is equal.  Steps grow from @first_step
 * blocks, so that a long range is not shared in many small pieces.
 */
static bool run_extend(RunSharer *sharer, OpenObject *source, uint64_t diagonal, uint64_t block,
		       bool forward, uint64_t first_step, GError **error)
{
	uint64_t low, high, first, end;

	run_bounds(sharer, source, diagonal, &low, &high);
	for (uint64_t step = first_step;
	     may_go_on(sharer, source) &&
	     block_set_gap_beside(sharer->settled, block, step, forward, low, high, &first, &end);
	     step = MIN(step * 2, EXTEND_MAX_BLOCKS)) {
		RunEnds ends;

		if (!share_range(sharer, source, diagonal, first, end, &ends, error))
			return false;
		if (!(forward ? ends.last_equal : ends.first_equal))
			return true;
		block = forward ? end : first;
	}

	return true;
}

/*
 * Other sources settled the core of a run.  It may still reach further than they did, and beyond what they settled.
 */
static bool extend_settled(RunSharer *sharer, OpenObject *source, uint64_t diagonal, uint64_t core,
			   GError **error)
{
	uint64_t first, end;

	do {
		first = block_set_start(sharer->settled, core);
		if (!run_extend(sharer, source, diagonal, first, false, 1, error))
			return false;
	} while (block_set_start(sharer->settled, core) != first);

	do {
		end = block_set_end(sharer->settled, core);
		if (!run_extend(sharer, source, diagonal, end, true, 1, error))
			return false;
	} while (block_set_end(sharer->settled, core) != end);

	return true;
}

static bool share_whole_run(RunSharer *sharer, const Run *run, OpenObject *source, GError **error)
{
	uint64_t diagonal = source ? run->target_block - run->source_block : 0;
	/* Less once much was compared in vain. */
	uint64_t beyond = compare_account_is_low(&sharer->pass->account) ? 1 : EXTEND_BLOCKS;
	uint64_t margin = source ? beyond : 0;
	uint64_t core_end = run->target_block + run->blocks;
	uint64_t low, high, first, end, from;

	run_bounds(sharer, source, diagonal, &low, &high);
	core_end = MIN(core_end, high);
	if (run->target_block >= core_end)
		return true;
	if (!block_set_gap(sharer->settled, MAX(run->target_block, low), core_end, &first, &end))
		return margin == 0 || extend_settled(sharer, source, diagonal, core_end - 1, error);

	from = MAX(low, run->target_block - MIN(run->target_block, margin));
	while (may_go_on(sharer, source) &&
	       block_set_gap(sharer->settled, from, MIN(core_end + margin, high), &first, &end)) {
		RunEnds ends;

		if (!share_range(sharer, source, diagonal, first, end, &ends, error))
			return false;
		if (ends.first_equal &&
		    !run_extend(sharer, source, diagonal, first, false, beyond, error))
			return false;
		if (ends.last_equal &&
		    !run_extend(sharer, source, diagonal, end, true, beyond, error))
			return false;
		from = end;
	}

	return true;
}

BlockSet *run_sharer_settled(RunSharer *sharer)
{
	return sharer->settled;
}

bool share_run(RunSharer *sharer, const Run *run, OpenObject *source, GError **error)
{
	uint64_t blocked_before = sharer->blocked_bytes;
	SkipReason no_hole;

	sharer->is_refused = false;
	sharer->costly_bytes = 0;
	/* Check this before anything is read for it. */
	if (!source && !sharer->pass->settings->dry_run &&
	    !range_source_has_zeros(sharer->source, sharer->target, &no_hole)) {
		postpone(sharer);
		return refuse_run(sharer, no_hole, run->blocks * sharer->pass->block_bytes, error);
	}
	if (!share_whole_run(sharer, run, source, error))
		return false;
	if (sharer->costly_bytes > 0 &&
	    !object_skips_add(sharer->pass, sharer->opener, run_target(run), SKIP_CLONES,
			      sharer->costly_bytes, error))
		return false;

	/* Other runs of the target mostly concern the same blocks. */
	return blocked_before > 0 || sharer->blocked_bytes == 0 ||
	       object_skips_add(sharer->pass, sharer->opener, sharer->target->id, SKIP_NO_SPACE,
				sharer->blocked_bytes, error);
}

bool share_clone(RunSharer *sharer, const CloneTarget *clone, OpenObject *source, GError **error)
{
	uint64_t diagonal = source ? clone->target_block - clone->source_block : 0;
	uint64_t low, high;
	RunEnds ends;
	bool done;

	run_bounds(sharer, source, diagonal, &low, &high);
	if (clone->target_block < low || clone->target_block >= high)
		return true;

	sharer->is_refused = false;
	sharer->clone = *clone;
	done = share_range(sharer, source, diagonal, clone->target_block,
			   MIN(high, clone->target_block + clone->blocks), &ends, error);
	sharer->clone.blocks = 0;
	sharer->clone.is_source_read = false;
	return done;
}
