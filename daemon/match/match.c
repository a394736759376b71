/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/match/match.h"

#include "common/content/run.h"
#include "common/content/zeros.h"
#include "daemon/context/object-skips.h"
#include "hashstore/anchors/groups.h"
#include "hashstore/objects/equal-list.h"
#include "hashstore/objects/objects.h"

#include <stdlib.h>

/*
 * In a group of at most so many members, all are paired with each other.  In a larger group a
 * member is paired with the first.  An extent is paired with so many and a few more, as files may
 * show too little of the first.  An extent that is covered only in part is not shared.
 */
#define ALL_PAIRS_MEMBERS 8

/* Pairs on one diagonal form one run if no more blocks than this lie between them. */
#define BRIDGE_BLOCKS 32

/* A position in a target, and one in a source with the same digest. */
typedef struct {
	uint64_t target_rank;
	int64_t diagonal; /* target block less source block */
	uint32_t source;  /* RUN_HOLE: zeros */
	uint32_t target_block;
	uint32_t blocks; /* ANCHOR_WHOLE_BLOCK: all of the target */
} Pair;

typedef struct {
	uint64_t rank;
	uint32_t object;
	uint32_t block;
} Member;

typedef struct {
	Pass *pass;
	ObjectTable *table;
	FileOpener *opener;
	Sorter *pairs;
	Sorter *runs;
	uint32_t anchor_blocks;
	GArray *members; /* Member: one class of the present group */
	uint64_t run_blocks;
} Matcher;

static int compare_pairs(const void *a, const void *b)
{
	const Pair *one = a;
	const Pair *other = b;

	if (one->target_rank != other->target_rank)
		return one->target_rank < other->target_rank ? -1 : 1;
	if (one->source != other->source)
		return one->source < other->source ? -1 : 1;
	if (one->diagonal != other->diagonal)
		return one->diagonal < other->diagonal ? -1 : 1;
	return (one->target_block > other->target_block) -
	       (one->target_block < other->target_block);
}

static int compare_members(const void *a, const void *b)
{
	const Member *one = a;
	const Member *other = b;

	if (one->rank != other->rank)
		return one->rank < other->rank ? -1 : 1;
	return (one->block > other->block) - (one->block < other->block);
}

/* Count the object once per pass as skipped. */
static bool note_once(Matcher *matcher, uint32_t object, SkipReason reason, GError **error)
{
	if (object_table_facts(matcher->table, object) & FACT_NOTED)
		return true;

	object_table_add_fact(matcher->table, object, FACT_NOTED);
	return object_skips_add(matcher->pass, matcher->opener, object, reason, UINT64_MAX, error);
}

static bool is_target(const Matcher *matcher, uint32_t object)
{
	return !(object_table_facts(matcher->table, object) & FACTS_SOURCE_ONLY);
}

/* Count an object that could be a target if this process had the right to share onto it. */
static bool note_if_forbidden(Matcher *matcher, uint32_t object, GError **error)
{
	unsigned facts = object_table_facts(matcher->table, object);

	if (facts & (FACT_SETTLED | FACT_OUTSIDE | FACT_PINNED | FACT_PLAIN | FACT_LOCKED) ||
	    !(facts & FACTS_SOURCE_ONLY))
		return true;

	return note_once(matcher, object,
			 facts & FACT_READ_ONLY   ? SKIP_READ_ONLY_SNAPSHOT
			 : facts & FACT_IMMUTABLE ? SKIP_IMMUTABLE
						  : SKIP_DENIED,
			 error);
}

static bool add_pair(Matcher *matcher, const Member *source, const Member *target, GError **error)
{
	bool is_whole = target->block == ANCHOR_WHOLE_BLOCK;
	Pair pair = {
		.target_rank = target->rank,
		.diagonal = (int64_t)target->block - source->block,
		.source = source->object,
		.target_block = is_whole ? 0 : target->block,
		.blocks = is_whole ? ANCHOR_WHOLE_BLOCK : matcher->anchor_blocks,
	};

	/* Two entries of one position are no pair. */
	if (source->object == target->object && source->block == target->block)
		return true;
	/* Of what a store keeps of digests, that of a whole object may equal that of a few blocks by chance. */
	if (is_whole != (source->block == ANCHOR_WHOLE_BLOCK))
		return true;

	return sorter_add(matcher->pairs, &pair, error);
}

/*
 * Pair member @i with the first ALL_PAIRS_MEMBERS before it, and with every one that has twice as many before it.
 * The first may be unfit or forged.  Then all members have one of the others in common that stays, if there are
 * enough.
 */
static bool pair_with_first(Matcher *matcher, const Member *members, size_t i, GError **error)
{
	for (size_t j = 0; j < MIN(i, ALL_PAIRS_MEMBERS); j++)
		if (!add_pair(matcher, &members[j], &members[i], error))
			return false;
	for (size_t j = ALL_PAIRS_MEMBERS; j < i; j *= 2)
		if (!add_pair(matcher, &members[j], &members[i], error))
			return false;

	return true;
}

/*
 * Pair member @i of a large group with the first, and with a member of the previous object.  The members of the two
 * objects begin at @own and @before; that one has the same position among its object's members as @i.  So the
 * anchors of two objects with repetitive data lie on one diagonal.
 */
static bool pair_with_two(Matcher *matcher, const Member *members, size_t i, size_t own,
			  size_t before, GError **error)
{
	size_t second = own > 0 ? before + MIN(i - own, own - before - 1) : 0;

	return add_pair(matcher, &members[0], &members[i], error) &&
	       (second == 0 || add_pair(matcher, &members[second], &members[i], error));
}

/* With --read=same-size and sharing across owners, one source is as good as another. */
static bool are_identical_files(const Matcher *matcher)
{
	const Settings *settings = matcher->pass->settings;
	const Member *members = (const Member *)matcher->members->data;

	return settings->read == READ_POLICY_SAME_SIZE &&
	       settings->across_owners == ACROSS_OWNERS &&
	       !matcher->pass->result->found_by_checksums && matcher->members->len > 0 &&
	       members[0].block == ANCHOR_WHOLE_BLOCK;
}

/* Pair the members of one class, which are sorted by rank. */
static bool pair_members(Matcher *matcher, GError **error)
{
	size_t n_members = matcher->members->len;
	const Member *members = (const Member *)matcher->members->data;
	bool are_extents =
		n_members > 0 && object_table_is_extent(members[0].object, matcher->table);
	bool are_identical = are_identical_files(matcher);
	size_t own = 0, before = 0;

	for (size_t i = 1; i < n_members; i++) {
		bool paired;

		if (members[i].object != members[i - 1].object) {
			before = own;
			own = i;
		}
		if (!note_if_forbidden(matcher, members[i].object, error))
			return false;
		if (!is_target(matcher, members[i].object))
			continue;

		/* Files may hide the wanted part of an extent, so a few more sources are tried. */
		paired = are_identical ? add_pair(matcher, &members[0], &members[i], error)
			 : n_members <= ALL_PAIRS_MEMBERS || are_extents
				 ? pair_with_first(matcher, members, i, error)
				 : pair_with_two(matcher, members, i, own, before, error);
		if (!paired)
			return false;
	}

	return true;
}

/* Take the members of one class: those with, or without, FACT_NO_COW. */
static void take_members(Matcher *matcher, const Group *group, unsigned no_cow)
{
	g_array_set_size(matcher->members, 0);
	for (size_t i = 0; i < group->n_members; i++) {
		const Anchor *anchor = &group->members[i];
		Member member = { 0, anchor->object, anchor->block };

		if ((object_table_facts(matcher->table, anchor->object) & FACT_NO_COW) != no_cow)
			continue;
		member.rank = object_table_rank(matcher->table, anchor->object);
		g_array_append_val(matcher->members, member);
	}
	g_array_sort(matcher->members, compare_members);
}

static bool note_mixed(Matcher *matcher, GError **error)
{
	for (size_t i = 0; i < matcher->members->len; i++) {
		const Member *member = &g_array_index(matcher->members, Member, i);

		if (is_target(matcher, member->object) &&
		    !note_once(matcher, member->object, SKIP_NO_COW, error))
			return false;
	}

	return true;
}

static bool pair_group(Matcher *matcher, const Group *group, GError **error)
{
	size_t n_no_cow;

	take_members(matcher, group, FACT_NO_COW);
	n_no_cow = matcher->members->len;
	if (n_no_cow > 1 && !pair_members(matcher, error))
		return false;
	if (n_no_cow > 0 && n_no_cow < group->n_members && !note_mixed(matcher, error))
		return false;

	take_members(matcher, group, 0);
	return pair_members(matcher, error);
}

/* Pair the run of zeros that begins at @zeros with a hole. */
static bool pair_with_hole(Matcher *matcher, const Anchor *zeros, GError **error)
{
	Pair pair = {
		.target_rank = object_table_rank(matcher->table, zeros->object),
		.diagonal = zeros->block,
		.source = RUN_HOLE,
		.target_block = zeros->block,
		.blocks = MAX(ZEROS_RUN_BYTES / matcher->pass->block_bytes, 1),
	};

	return sorter_add(matcher->pairs, &pair, error);
}

static bool pair_zeros(Matcher *matcher, const Group *group, GError **error)
{
	const Settings *settings = matcher->pass->settings;

	for (size_t i = 0; i < group->n_members; i++) {
		uint32_t object = group->members[i].object;
		unsigned facts = object_table_facts(matcher->table, object);
		bool kept = settings->zeros != ZEROS_SHARE &&
			    !zeros_become_holes(settings->zeros, facts & FACT_KEEP_ZEROS);

		if (!note_if_forbidden(matcher, object, error))
			return false;
		if (!is_target(matcher, object))
			continue;

		if (kept || facts & FACT_NO_COW) {
			if (!note_once(matcher, object, kept ? SKIP_KEEP_ZEROS : SKIP_NO_COW,
				       error))
				return false;
			continue;
		}
		if (!pair_with_hole(matcher, &group->members[i], error))
			return false;
	}

	return true;
}

/*
 * Whether zeros of an extent may become holes depends on the files that show it: the plan looks them up.  Files
 * that are read beside extents keep their zeros.
 */
static bool pair_zeros_of_extents(Matcher *matcher, const Group *group, GError **error)
{
	for (size_t i = 0; i < group->n_members; i++) {
		uint32_t object = group->members[i].object;

		if (object_table_is_extent(object, matcher->table) && is_target(matcher, object) &&
		    !pair_with_hole(matcher, &group->members[i], error))
			return false;
	}

	return true;
}

/* Count the group if it consists of digests over whole files. */
static void count_set(Matcher *matcher, const Group *group)
{
	PassResult *result = matcher->pass->result;

	if (!result->found_by_checksums && group->n_members > 1 &&
	    group->members[0].block == ANCHOR_WHOLE_BLOCK)
		result->sets++;
}

static bool count_groups(Matcher *matcher, Groups *groups, GError **error)
{
	while (pass_checkpoint(matcher->pass)) {
		const Group *group;

		if (!groups_next(groups, &group, error))
			return false;
		if (!group)
			break;
		for (size_t i = 0; i < group->n_members; i++)
			object_table_count(matcher->table, group->members[i].object);
		matcher->pass->result->shared.capped += group->n_capped;
		count_set(matcher, group);
	}

	return true;
}

static bool pair_any(Matcher *matcher, const Group *group, GError **error)
{
	if (group->members[0].digest != ANCHOR_ZEROS_DIGEST)
		return pair_group(matcher, group, error);
	return matcher->pass->result->found_by_checksums
		       ? pair_zeros_of_extents(matcher, group, error)
		       : pair_zeros(matcher, group, error);
}

static bool pair_groups(Matcher *matcher, Groups *groups, GError **error)
{
	while (pass_checkpoint(matcher->pass)) {
		const Group *group;

		if (!groups_next(groups, &group, error))
			return false;
		if (!group)
			break;

		if (!pair_any(matcher, group, error))
			return false;
	}

	return sorter_sort(matcher->pairs, error);
}

/* The blocks of the object, for a run over all of it. */
static bool object_blocks(Matcher *matcher, uint32_t object, uint64_t *ret, GError **error)
{
	const Object *found;

	if (!hash_store_find(matcher->pass->store, object, &found, error))
		return false;

	*ret = found ? (found->size_bytes + matcher->pass->block_bytes - 1) /
			       matcher->pass->block_bytes
		     : 0;
	return true;
}

static bool add_run(Matcher *matcher, const Pair *first, uint64_t end_block, GError **error)
{
	Run run = {
		.target_rank = first->target_rank,
		.target_block = first->target_block,
		.source_block =
			first->source == RUN_HOLE
				? 0
				: (uint64_t)((int64_t)first->target_block - first->diagonal),
		.blocks = end_block - first->target_block,
		.source = first->source,
	};

	if (first->source != RUN_HOLE)
		run.source_class = object_table_rank_class(matcher->table, first->source);
	if (first->blocks == ANCHOR_WHOLE_BLOCK &&
	    !object_blocks(matcher, run_target(&run), &run.blocks, error))
		return false;

	matcher->run_blocks += run.blocks;
	return sorter_add(matcher->runs, &run, error);
}

static bool continues(const Pair *first, uint64_t end_block, const Pair *next)
{
	return next && next->target_rank == first->target_rank && next->source == first->source &&
	       next->diagonal == first->diagonal && next->target_block <= end_block + BRIDGE_BLOCKS;
}

/* Join the sorted pairs to runs. */
static bool join_pairs(Matcher *matcher, GError **error)
{
	const Pair *pair;

	if (!sorter_next(matcher->pairs, (const void **)&pair, error))
		return false;

	while (pair && pass_checkpoint(matcher->pass)) {
		Pair first = *pair;
		uint64_t end_block = 0;

		do {
			end_block = MAX(end_block, (uint64_t)pair->target_block + pair->blocks);
			if (first.blocks != ANCHOR_WHOLE_BLOCK)
				first.blocks = pair->blocks;
			if (!sorter_next(matcher->pairs, (const void **)&pair, error))
				return false;
		} while (continues(&first, end_block, pair) && pass_checkpoint(matcher->pass));

		if (!add_run(matcher, &first, end_block, error))
			return false;
	}

	return true;
}

/* Whether the list of equal objects is brought up to date; else its readers look at the objects it does not cover. */
static bool updates_list(const Pass *pass)
{
	const PassResult *result = pass->result;
	uint32_t n_unsettled =
		hash_store_next_object(pass->store) - hash_store_settled_below(pass->store);

	/* A pass that found nothing new writes nothing. */
	return result->files.new + result->files.changed + result->files.read > 0 ||
	       n_unsettled > EQUAL_LIST_LOOSE_MOST / 4;
}

bool match_all(Pass *pass, ObjectTable *table, FileOpener *opener, Sorter *runs,
	       uint64_t *ret_blocks, GError **error)
{
	g_autoptr(Groups) groups = groups_open(pass->store, object_table_is_live, table, error);
	g_autoptr(GArray) members = g_array_new(false, false, sizeof(Member));
	g_autoptr(Sorter) pairs =
		sorter_new(sizeof(Pair), compare_pairs, pass->settings->memory_bytes / 4,
			   pass->settings->state_directory, pass->stop);
	Matcher matcher = {
		.pass = pass,
		.table = table,
		.opener = opener,
		.pairs = pairs,
		.runs = runs,
		.anchor_blocks = hash_store_about(pass->store)->anchor_blocks,
		.members = members,
	};

	if (!groups || !count_groups(&matcher, groups, error) || !groups_rewind(groups, error) ||
	    !pair_groups(&matcher, groups, error))
		return false;

	g_clear_pointer(&groups, groups_close);
	if (updates_list(pass) && !hash_store_update_equal_list(pass->store, error))
		return false;
	if (!join_pairs(&matcher, error))
		return false;

	*ret_blocks = matcher.run_blocks;
	return object_table_take_error(table, error) && sorter_sort(runs, error);
}
