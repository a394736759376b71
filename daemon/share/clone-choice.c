/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/share/clone-choice.h"

/* One side of the pair. */
typedef struct {
	uint64_t place;
	CloneRefSet refs;
	bool is_moved;
	bool may_be_freed;
} Side;

/* Whether the block at @place is in the set; *blocks is cut at the end of that range. */
static bool clip(const BlockSet *set, uint64_t place, uint64_t *blocks)
{
	uint64_t first, end;

	if (!block_set_gap(set, place, place + *blocks, &first, &end))
		return true;
	if (first > place) {
		*blocks = first - place;
		return true;
	}

	*blocks = end - place;
	return false;
}

static bool may_all_be_targets(const CloneChooser *chooser, const CloneRefSet *refs)
{
	for (guint i = 0; i < refs->refs->len; i++)
		if (!chooser->may_be_target(g_array_index(refs->refs, CloneRef, i).object,
					    chooser->data))
			return false;

	return true;
}

/* A shared block has another reference.  If only one is known, the others are out of reach. */
static void look_at(const CloneChooser *chooser, Side *side, bool is_shared, uint64_t *blocks)
{
	bool is_kept;

	side->is_moved = clip(chooser->moved, side->place, blocks);
	is_kept = clip(chooser->kept, side->place, blocks);
	if (is_shared)
		clone_refs_at(chooser->refs, side->place, *blocks, &side->refs);
	*blocks = MIN(*blocks, side->refs.blocks);
	side->may_be_freed = !is_kept && side->refs.n >= (is_shared ? 2 : 1) &&
			     side->refs.n <= clone_refs_most(chooser->refs) &&
			     may_all_be_targets(chooser, &side->refs);
}

/*
 * The references to a source that was not shared when the pair was found: its own place, and those that the pass
 * added since.
 */
static void find_refs_of_source(const CloneChooser *chooser, const ClonePair *pair, uint64_t offset,
				uint64_t blocks, CloneRefSet *ret)
{
	CloneRef own;

	clone_refs_at(chooser->refs, pair->source_place + offset, blocks, ret);
	if (ret->n > 0)
		return;

	own = (CloneRef){ pair->source_place + offset, pair->source_block + offset,
			  (uint32_t)MIN(ret->blocks, UINT32_MAX), pair->source };
	ret->n = 1;
	g_array_append_val(ret->refs, own);
}

/* The references to @freed are redirected to @stays, which the object @source shows from @block on. */
static void choose(const Side *freed, const Side *stays, uint32_t source, uint64_t block,
		   CloneChoice *ret)
{
	ret->n_targets = freed->refs.n;
	ret->targets = freed->refs.refs;
	ret->target_place = freed->place;
	ret->source = source;
	ret->source_block = block;
	ret->source_place = stays->place;
}

void clone_choose(const CloneChooser *chooser, const ClonePair *pair, uint64_t offset,
		  CloneChoice *ret)
{
	bool is_hole = pair->source_place == CLONE_PLACE_HOLE;
	Side target = { .place = pair->target_place + offset, .refs.refs = chooser->target_refs };
	Side source = { .place = CLONE_PLACE_HOLE, .refs.refs = chooser->source_refs };

	*ret = (CloneChoice){ .blocks = pair->blocks - offset };
	look_at(chooser, &target, true, &ret->blocks);
	if (!is_hole) {
		source.place = pair->source_place + offset;
		if (!pair->source_is_shared)
			find_refs_of_source(chooser, pair, offset, ret->blocks, &source.refs);
		look_at(chooser, &source, pair->source_is_shared, &ret->blocks);
	}

	ret->is_void = target.is_moved || source.is_moved;
	choose(&target, &source, pair->source, pair->source_block + offset, ret);
	if (source.may_be_freed && (!target.may_be_freed || source.refs.n < target.refs.n))
		choose(&source, &target, pair->target, pair->target_block + offset, ret);
	else if (!target.may_be_freed)
		ret->n_targets = clone_refs_most(chooser->refs) + 1;
}
