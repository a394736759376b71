/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/xfs/clone-sharer.h"

#include "daemon/context/object-skips.h"
#include "daemon/share/run-sharer.h"
#include "daemon/xfs/clone-choice.h"
#include "daemon/xfs/clone-scan.h"

/* Part of the memory limit that references may take. */
#define MEMORY_SHARE 4

/* Pairs are shared by the number of references to redirect, up to each of these. */
static const size_t classes[] = { 1, 2, 4, 8, 16, CLONE_REFERENCES_MAX };

typedef struct {
	Pass *pass;
	ObjectTable *table;
	FileOpener *opener;
	ClonePairs *pairs;
	CloneRefs *refs;
	RunSharer *runs;
	BlockSet *moved;
	BlockSet *kept;
	BlockSet *compared; /* blocks of the disk, compared and partly different */
	OpenObject *source; /* used last; NULL: none */
} CloneSharer;

/* A range of blocks of a choice, counted from its first. */
typedef struct {
	uint64_t first;
	uint64_t end;
} BlockRange;

/* Limits of the command line may exclude a file that was matched earlier. */
static bool may_be_target(uint32_t object, void *data)
{
	const CloneSharer *sharer = data;
	const Pass *pass = sharer->pass;
	bool sees_all = pass->result->listed_inodes && !pass->keeps_left_out;
	unsigned forbidden = FACT_OUTSIDE | FACT_IMMUTABLE | FACT_FOREIGN | FACT_READ_ONLY |
			     FACT_PLAIN | FACT_BARRED | (sees_all ? 0 : FACT_SETTLED);

	return !(object_table_facts(sharer->table, object) & forbidden);
}

static CloneChooser chooser_of(CloneSharer *sharer)
{
	return (CloneChooser){ sharer->refs, sharer->moved, sharer->kept, may_be_target, sharer };
}

/* Name the blocks of all pairs, and find their references. */
static bool find_refs(CloneSharer *sharer, bool *ret_is_complete, GError **error)
{
	const ClonePair *pair;

	*ret_is_complete = false;
	if (!clone_pairs_sort(sharer->pairs, error))
		return false;

	while (pass_checkpoint(sharer->pass)) {
		if (!clone_pairs_next(sharer->pairs, &pair, error))
			return false;
		if (!pair)
			break;
		if (!clone_refs_want(sharer->refs, pair->target_place,
				     pair->target_place + pair->blocks))
			return true;
		/* A source without other references may have become the source of others meanwhile. */
		if (pair->source_place != CLONE_PLACE_HOLE &&
		    !clone_refs_want(sharer->refs, pair->source_place,
				     pair->source_place + pair->blocks))
			return true;
	}

	clone_refs_begin(sharer->refs);
	return clone_scan(sharer->pass, sharer->refs, sharer->opener, ret_is_complete, error);
}

static void close_source(CloneSharer *sharer)
{
	g_clear_pointer(&sharer->source, open_object_free);
}

/* Open the target of a reference and its source, which is another file or another place of the target. */
static bool open_both(CloneSharer *sharer, uint32_t target_id, uint32_t source_id,
		      OpenObject **ret_source, bool *ret_may, GError **error)
{
	const Settings *settings = sharer->pass->settings;
	OpenObject *target;

	*ret_source = NULL;
	*ret_may = false;
	if (sharer->source && sharer->source->id != source_id)
		close_source(sharer);
	if (!open_object(sharer->pass, sharer->opener, target_id, &target, error))
		return false;

	run_sharer_begin_take(sharer->runs, target);
	if (!target->reader || filter_is_young(sharer->pass->filter, target->stamp.mtime_nsec))
		return true;
	if (source_id == target_id)
		*ret_source = target;
	else if (source_id != RUN_HOLE && !sharer->source &&
		 !open_object(sharer->pass, sharer->opener, source_id, &sharer->source, error))
		return false;
	if (source_id != target_id)
		*ret_source = sharer->source;

	*ret_may = source_id == RUN_HOLE ||
		   ((*ret_source)->reader && (settings->across_owners == ACROSS_OWNERS ||
					      (*ret_source)->owner == target->owner));
	return true;
}

/* Add the parts of @range, from block @base of the present target on, that are shared by now. */
static void add_shared(CloneSharer *sharer, uint64_t base, const BlockRange *range, GArray *ret)
{
	BlockSet *settled = run_sharer_settled(sharer->runs);
	uint64_t from = base + range->first;
	uint64_t end = base + range->end;

	while (from < end) {
		uint64_t gap_first = end, gap_end = end;
		BlockRange shared;

		block_set_gap(settled, from, end, &gap_first, &gap_end);
		shared = (BlockRange){ from - base, gap_first - base };
		if (shared.first < shared.end)
			g_array_append_val(ret, shared);
		from = gap_end;
	}
}

/*
 * Redirect the reference @ref of @choice in all of @ranges.  Afterwards these are the ranges for which it
 * worked.
 */
static bool redirect(CloneSharer *sharer, const CloneChoice *choice, const CloneRef *ref,
		     GArray **ranges, bool is_source_read, GError **error)
{
	GArray *shared = g_array_new(false, false, sizeof(BlockRange));
	g_autoptr(GArray) wanted = g_steal_pointer(ranges);
	OpenObject *source;
	bool may;

	*ranges = shared;
	if (!open_both(sharer, ref->object, choice->source, &source, &may, error))
		return false;

	for (guint i = 0; may && i < wanted->len && pass_checkpoint(sharer->pass); i++) {
		const BlockRange *range = &g_array_index(wanted, BlockRange, i);
		bool is_hole = choice->source_place == CLONE_PLACE_HOLE;
		CloneTarget clone = {
			.target_block = ref->block + range->first,
			.source_block = choice->source_block + range->first,
			.target_place = choice->target_place + range->first,
			.source_place =
				is_hole ? CLONE_PLACE_HOLE : choice->source_place + range->first,
			.blocks = range->end - range->first,
			.is_source_read = is_source_read,
		};
		const OpenObject *target = run_sharer_target(sharer->runs);

		if (!target->reader || (source && !source->reader))
			break;
		if (!share_clone(sharer->runs, &clone, source, error))
			return false;
		add_shared(sharer, ref->block, range, shared);
	}

	return true;
}

static void note_moved(CloneSharer *sharer, const CloneChoice *choice, const BlockRange *range)
{
	block_set_add(sharer->moved, choice->target_place + range->first,
		      choice->target_place + range->end);
	if (choice->source_place != CLONE_PLACE_HOLE)
		block_set_add(sharer->kept, choice->source_place + range->first,
			      choice->source_place + range->end);
}

/* Count what redirecting all references of @choice in @range frees; the first of them was compared. */
static void estimate(CloneSharer *sharer, const CloneChoice *choice, const BlockRange *range)
{
	PassResult *result = sharer->pass->result;
	uint64_t bytes = (range->end - range->first) * sharer->pass->block_bytes;

	result->shared.runs += choice->targets.n;
	result->shared.bytes += choice->targets.n * bytes;
	result->freed.bytes += bytes;
	if (choice->source_place == CLONE_PLACE_HOLE)
		result->freed.hole_bytes += bytes;
	sharer->pass->account.compared_bytes += (choice->targets.n - 1) * bytes;
	sharer->pass->account.gained_bytes += bytes;
}

/*
 * Redirect all references of @choice.  Blocks that differ from the source in the first reference are skipped in the
 * others.
 */
static bool carry_out(CloneSharer *sharer, const CloneChoice *choice, GError **error)
{
	g_autoptr(GArray) ranges = g_array_new(false, false, sizeof(BlockRange));
	bool is_dry = sharer->pass->settings->dry_run;
	size_t n_targets = is_dry ? MIN(choice->targets.n, 1) : choice->targets.n;
	BlockRange whole = { 0, choice->blocks };

	g_array_append_val(ranges, whole);
	block_set_add(sharer->compared, choice->target_place,
		      choice->target_place + choice->blocks);
	for (size_t i = 0; i < n_targets && ranges->len > 0; i++) {
		if (!pass_checkpoint(sharer->pass))
			break;
		if (!redirect(sharer, choice, &choice->targets.refs[i], &ranges, i > 0, error))
			return false;
		for (guint n = 0; i == 0 && n < ranges->len; n++)
			note_moved(sharer, choice, &g_array_index(ranges, BlockRange, n));
	}
	for (guint n = 0; is_dry && n < ranges->len; n++)
		estimate(sharer, choice, &g_array_index(ranges, BlockRange, n));

	return true;
}

/* Share the parts of @pair that have more than @above and at most @up_to references on the side to be freed. */
static bool share_pair(CloneSharer *sharer, const ClonePair *pair, size_t above, size_t up_to,
		       GError **error)
{
	CloneChooser chooser = chooser_of(sharer);
	CloneChoice choice;

	for (uint64_t offset = 0; offset < pair->blocks && pass_checkpoint(sharer->pass);
	     offset += choice.blocks) {
		bool is_hole = pair->source_place == CLONE_PLACE_HOLE;
		uint64_t bytes, cost_bytes;

		clone_choose(&chooser, pair, offset, &choice);
		if (choice.is_void || choice.targets.n <= above || choice.targets.n > up_to)
			continue;

		choice.blocks =
			MIN(choice.blocks, sharer->pass->window_bytes / sharer->pass->block_bytes);
		bytes = choice.blocks * sharer->pass->block_bytes;
		cost_bytes = compare_account_cost(bytes, choice.targets.n, is_hole);
		if (!compare_account_allows(&sharer->pass->account, cost_bytes, bytes))
			continue;
		if (!carry_out(sharer, &choice, error))
			return false;
	}

	return true;
}

static bool share_class(CloneSharer *sharer, size_t above, size_t up_to, GError **error)
{
	const ClonePair *pair;

	if (!clone_pairs_rewind(sharer->pairs, error))
		return false;

	while (pass_checkpoint(sharer->pass)) {
		if (!clone_pairs_next(sharer->pairs, &pair, error))
			return false;
		if (!pair)
			break;
		if (!share_pair(sharer, pair, above, up_to, error))
			return false;
	}

	return true;
}

/* Count [@first, @end) of the disk, of @pair, as skipped, unless it was shared or compared. */
static bool skip_blocks(CloneSharer *sharer, const ClonePair *pair, uint64_t first, uint64_t end,
			GError **error)
{
	CloneChooser chooser = chooser_of(sharer);
	uint64_t skipped_bytes = 0;
	CloneChoice choice;

	for (uint64_t place = first; place < end; place += choice.blocks) {
		uint64_t gap_first, gap_end, bytes;

		clone_choose(&chooser, pair, place - pair->target_place, &choice);
		choice.blocks = MIN(choice.blocks, end - place);
		if (choice.is_void ||
		    !block_set_gap(sharer->kept, place, place + 1, &gap_first, &gap_end) ||
		    !block_set_gap(sharer->compared, place, place + 1, &gap_first, &gap_end))
			continue;

		bytes = choice.blocks * sharer->pass->block_bytes;
		skipped_bytes += bytes;
		sharer->pass->result->costly_bytes += compare_account_cost(
			bytes, choice.targets.n, pair->source_place == CLONE_PLACE_HOLE);
	}

	return skipped_bytes == 0 || object_skips_add(sharer->pass, sharer->opener, pair->target,
						      SKIP_CLONES, skipped_bytes, error);
}

/* Count skipped blocks, each once. */
static bool count_skipped(CloneSharer *sharer, GError **error)
{
	const ClonePair *pair;
	uint64_t counted = 0;

	if (!clone_pairs_rewind(sharer->pairs, error))
		return false;

	while (pass_checkpoint(sharer->pass)) {
		uint64_t first, end;

		if (!clone_pairs_next(sharer->pairs, &pair, error))
			return false;
		if (!pair)
			break;
		first = MAX(counted, pair->target_place);
		end = pair->target_place + pair->blocks;
		if (first < end && !skip_blocks(sharer, pair, first, end, error))
			return false;
		counted = MAX(counted, end);
	}

	return true;
}

static bool share_all_pairs(CloneSharer *sharer, GError **error)
{
	bool is_complete;
	size_t above = 0;

	if (!find_refs(sharer, &is_complete, error))
		return false;

	for (size_t i = 0; is_complete && i < G_N_ELEMENTS(classes); i++) {
		if (!share_class(sharer, above, classes[i], error))
			return false;
		above = classes[i];
	}

	return count_skipped(sharer, error);
}

bool clones_share(Pass *pass, ObjectTable *table, FileOpener *opener, GError **error)
{
	g_autoptr(CloneRefs) refs = NULL;
	g_autoptr(RunSharer) runs = NULL;
	g_autoptr(BlockSet) moved = NULL;
	g_autoptr(BlockSet) kept = NULL;
	g_autoptr(BlockSet) compared = NULL;
	CloneSharer sharer;
	bool done;

	if (!pass->xfs.clones || clone_pairs_count(pass->xfs.clones) == 0)
		return true;

	refs = clone_refs_new(pass->settings->memory_bytes / MEMORY_SHARE);
	runs = run_sharer_new(pass, opener);
	moved = block_set_new();
	kept = block_set_new();
	compared = block_set_new();
	sharer = (CloneSharer){ pass, table, opener, pass->xfs.clones, refs,
				runs, moved, kept,   compared,         NULL };
	done = share_all_pairs(&sharer, error);
	run_sharer_end_target(runs);
	close_source(&sharer);
	return done;
}
