/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/share/clone-sharer.h"

#include "daemon/context/object-skips.h"
#include "daemon/share/clone-choice.h"
#include "daemon/share/clone-scan.h"
#include "daemon/share/run-sharer.h"

/* Part of the memory limit that references may take, and that the pairs of a round may. */
#define MEMORY_SHARE 4

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
	BlockSet *spared;   /* blocks of the disk that would stay if what was skipped were shared */
	CloneChooser chooser;
	OpenObject *source; /* used last; NULL: none */
	GArray *queue;      /* ClonePair, in their order, of which nothing was shared yet */
	guint n_round;      /* the first ones, which are shared now */
	uint64_t counted;   /* blocks of the disk below are counted, if they were skipped */
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

static bool want(CloneRefs *refs, const ClonePair *pair)
{
	/* A source without other references may have become the source of others meanwhile. */
	return clone_refs_want(refs, pair->target_place, pair->target_place + pair->blocks) &&
	       (pair->source_place == CLONE_PLACE_HOLE ||
		clone_refs_want(refs, pair->source_place, pair->source_place + pair->blocks));
}

static ClonePair *pair_at(const CloneSharer *sharer, guint i)
{
	return &g_array_index(sharer->queue, ClonePair, i);
}

/* Cut pair @i of the queue into two, of which the first one has at most @most blocks. */
static void cut_pair(CloneSharer *sharer, guint i, uint64_t most)
{
	ClonePair rest = *pair_at(sharer, i);

	if (rest.blocks <= most)
		return;

	pair_at(sharer, i)->blocks = most;
	rest.target_place += most;
	rest.target_block += most;
	rest.source_block += most;
	rest.source_place += rest.source_place == CLONE_PLACE_HOLE ? 0 : most;
	rest.blocks -= most;
	g_array_insert_val(sharer->queue, i + 1, rest);
}

/* Queue the next pair, if there is one, and if the first @n are all that are queued. */
static bool queue_pair(CloneSharer *sharer, guint n, GError **error)
{
	const ClonePair *pair;

	if (n < sharer->queue->len)
		return true;
	if (!clone_pairs_next(sharer->pairs, &pair, error))
		return false;
	if (pair)
		g_array_append_vals(sharer->queue, pair, 1);
	return true;
}

/* Name the next pairs, of at most @most blocks, for which memory has room: these are the round. */
static bool name_round(CloneSharer *sharer, uint64_t most, GError **error)
{
	guint n_max =
		(guint)(sharer->pass->settings->memory_bytes / MEMORY_SHARE / sizeof(ClonePair));
	guint n = 0;

	while (most > 0 && n < n_max && pass_checkpoint(sharer->pass)) {
		if (!queue_pair(sharer, n, error))
			return false;
		if (n == sharer->queue->len)
			break;
		cut_pair(sharer, n, most);
		if (!want(sharer->refs, pair_at(sharer, n)))
			break;
		most -= pair_at(sharer, n++)->blocks;
	}

	/* A pair that has no room even alone is a round of its own. */
	sharer->n_round = MAX(n, MIN(sharer->queue->len, 1));
	return true;
}

static uint64_t round_blocks(const CloneSharer *sharer)
{
	uint64_t blocks = 0;

	for (guint i = 0; i < sharer->n_round; i++)
		blocks += pair_at(sharer, i)->blocks;

	return blocks;
}

/*
 * Begin a round of at most @most blocks, and find the references to them.  *ret_fits: memory holds these, and the pass
 * goes on.
 */
static bool begin_round(CloneSharer *sharer, uint64_t most, bool *ret_fits, GError **error)
{
	clone_refs_free(sharer->refs);
	sharer->refs = clone_refs_new(sharer->pass->settings->memory_bytes / MEMORY_SHARE,
				      compare_account_most_references(&sharer->pass->account));
	sharer->chooser.refs = sharer->refs;
	*ret_fits = false;
	if (!name_round(sharer, most, error))
		return false;
	if (sharer->n_round == 0)
		return true;

	clone_refs_begin(sharer->refs);
	return clone_scan(sharer->pass, sharer->refs, sharer->opener, ret_fits, error);
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
	if (!target->is_usable || filter_is_young(sharer->pass->filter, target->stamp.mtime_nsec))
		return true;
	if (source_id == target_id)
		*ret_source = target;
	else if (source_id != RUN_HOLE && !sharer->source &&
		 !open_object(sharer->pass, sharer->opener, source_id, &sharer->source, error))
		return false;
	if (source_id != target_id)
		*ret_source = sharer->source;

	*ret_may = source_id == RUN_HOLE ||
		   ((*ret_source)->is_usable && (settings->across_owners == ACROSS_OWNERS ||
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

		if (!target->is_usable || (source && !source->is_usable))
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

	result->shared.runs += choice->n_targets;
	result->shared.bytes += choice->n_targets * bytes;
	result->freed.bytes += bytes;
	if (choice->source_place == CLONE_PLACE_HOLE)
		result->freed.hole_bytes += bytes;
	sharer->pass->account.compared_bytes += (choice->n_targets - 1) * bytes;
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
	size_t n_targets = is_dry ? MIN(choice->n_targets, 1) : choice->n_targets;
	BlockRange whole = { 0, choice->blocks };

	g_array_append_val(ranges, whole);
	block_set_add(sharer->compared, choice->target_place,
		      choice->target_place + choice->blocks);
	for (size_t i = 0; i < n_targets && ranges->len > 0; i++) {
		if (!pass_checkpoint(sharer->pass))
			break;
		if (!redirect(sharer, choice, &g_array_index(choice->targets, CloneRef, i), &ranges,
			      i > 0, error))
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
	CloneChoice choice;

	for (uint64_t offset = 0; offset < pair->blocks && pass_checkpoint(sharer->pass);
	     offset += choice.blocks) {
		bool is_hole = pair->source_place == CLONE_PLACE_HOLE;
		uint64_t bytes, cost_bytes;

		clone_choose(&sharer->chooser, pair, offset, &choice);
		if (choice.is_void || choice.n_targets <= above || choice.n_targets > up_to)
			continue;

		choice.blocks =
			MIN(choice.blocks, sharer->pass->window_bytes / sharer->pass->block_bytes);
		bytes = choice.blocks * sharer->pass->block_bytes;
		cost_bytes = compare_account_cost(bytes, choice.n_targets, is_hole);
		if (!compare_account_allows(&sharer->pass->account, cost_bytes, bytes))
			continue;
		if (!carry_out(sharer, &choice, error))
			return false;
	}

	return true;
}

static bool share_class(CloneSharer *sharer, size_t above, size_t up_to, GError **error)
{
	for (guint i = 0; i < sharer->n_round && pass_checkpoint(sharer->pass); i++)
		if (!share_pair(sharer, pair_at(sharer, i), above, up_to, error))
			return false;

	return true;
}

/* Whether the blocks of the choice at @place count as skipped; cuts the choice where that changes. */
static bool is_skipped(const CloneSharer *sharer, uint64_t place, CloneChoice *choice)
{
	uint64_t first, end;

	if (choice->is_void || !block_set_gap(sharer->kept, place, place + 1, &first, &end) ||
	    !block_set_gap(sharer->compared, place, place + 1, &first, &end) ||
	    !block_set_gap(sharer->spared, place, place + choice->blocks, &first, &end))
		return false;

	choice->blocks = first > place ? first - place : end - place;
	return first == place;
}

/* Count [@first, @end) of the disk, of @pair, as skipped, unless it was shared or compared, or would stay. */
static bool skip_blocks(CloneSharer *sharer, const ClonePair *pair, uint64_t first, uint64_t end,
			GError **error)
{
	bool is_hole = pair->source_place == CLONE_PLACE_HOLE;
	uint64_t skipped_bytes = 0;
	CloneChoice choice;

	for (uint64_t place = first; place < end; place += choice.blocks) {
		uint64_t offset = place - pair->target_place, bytes;

		clone_choose(&sharer->chooser, pair, offset, &choice);
		choice.blocks = MIN(choice.blocks, end - place);
		if (!is_skipped(sharer, place, &choice))
			continue;

		/* Another pair may have its source for a target. */
		if (!is_hole)
			block_set_add(sharer->spared, pair->source_place + offset,
				      pair->source_place + offset + choice.blocks);
		bytes = choice.blocks * sharer->pass->block_bytes;
		skipped_bytes += bytes;
		sharer->pass->result->costly_bytes +=
			compare_account_cost(bytes, choice.n_targets, is_hole);
	}

	return skipped_bytes == 0 || object_skips_add(sharer->pass, sharer->opener, pair->target,
						      SKIP_CLONES, skipped_bytes, error);
}

/* Count skipped blocks of the round, each once. */
static bool count_skipped(CloneSharer *sharer, GError **error)
{
	for (guint i = 0; i < sharer->n_round && pass_checkpoint(sharer->pass); i++) {
		const ClonePair *pair = pair_at(sharer, i);
		uint64_t first = MAX(sharer->counted, pair->target_place);
		uint64_t end = pair->target_place + pair->blocks;

		if (first < end && !skip_blocks(sharer, pair, first, end, error))
			return false;
		sharer->counted = MAX(sharer->counted, end);
	}

	return true;
}

static bool share_round(CloneSharer *sharer, GError **error)
{
	size_t most = clone_refs_most(sharer->refs);
	size_t above = 0;

	/* Those with the fewest references to redirect come first: up to 1, 2, 4, ... */
	for (size_t up_to = 1; above < most; up_to *= 2) {
		if (!share_class(sharer, above, MIN(up_to, most), error))
			return false;
		above = up_to;
	}

	return true;
}

/* Share all pairs, in rounds whose references fit into memory. */
static bool share_all_pairs(CloneSharer *sharer, GError **error)
{
	uint64_t most = UINT64_MAX;

	if (!clone_pairs_sort(sharer->pairs, error))
		return false;

	while (pass_checkpoint(sharer->pass)) {
		bool fits;

		if (!begin_round(sharer, most, &fits, error))
			return false;
		if (sharer->n_round == 0)
			break;
		if (!fits && round_blocks(sharer) > 1) {
			most = round_blocks(sharer) / 2;
			continue;
		}
		if (fits && !share_round(sharer, error))
			return false;
		if (!count_skipped(sharer, error))
			return false;
		g_array_remove_range(sharer->queue, 0, sharer->n_round);
	}

	return true;
}

static void clone_sharer_clear(CloneSharer *sharer)
{
	run_sharer_end_target(sharer->runs);
	close_source(sharer);
	g_array_unref(sharer->queue);
	clone_refs_free(sharer->refs);
	run_sharer_free(sharer->runs);
	block_set_free(sharer->moved);
	block_set_free(sharer->kept);
	block_set_free(sharer->compared);
	block_set_free(sharer->spared);
	g_array_unref(sharer->chooser.target_refs);
	g_array_unref(sharer->chooser.source_refs);
}

bool clones_share(Pass *pass, ObjectTable *table, FileOpener *opener, GError **error)
{
	CloneSharer sharer = {
		.pass = pass, .table = table, .opener = opener, .pairs = pass->xfs.clones
	};
	bool done;

	if (!pass->xfs.clones || clone_pairs_count(pass->xfs.clones) == 0)
		return true;

	sharer.queue = g_array_new(false, false, sizeof(ClonePair));
	sharer.runs = run_sharer_new(pass, opener);
	sharer.moved = block_set_new();
	sharer.kept = block_set_new();
	sharer.compared = block_set_new();
	sharer.spared = block_set_new();
	sharer.chooser =
		(CloneChooser){ .moved = sharer.moved,
				.kept = sharer.kept,
				.may_be_target = may_be_target,
				.data = &sharer,
				.target_refs = g_array_new(false, false, sizeof(CloneRef)),
				.source_refs = g_array_new(false, false, sizeof(CloneRef)) };
	done = share_all_pairs(&sharer, error);
	clone_sharer_clear(&sharer);
	return done;
}
