/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/plan/extent-plan.h"

#include "daemon/btrfs/plan/extent-coverage.h"
#include "daemon/btrfs/plan/remainder-plan.h"
#include "daemon/btrfs/plan/sharing-cost.h"
#include "daemon/btrfs/refs/ref-choice.h"

struct ExtentPlan {
	Pass *pass;
	uint32_t block_bytes;
	ExtentCoverage *coverage;
	ExtentCover *cover; /* of that */
	ExtentSources *sources;
	ExtentRefs *refs; /* of the target */
	RefChoice *choice;
	ExtentFiles *files;
	GArray *steps;
	RemainderPlan *rest;   /* what is copied */
	GArray *rest_steps;    /* ExtentStep: those of the rest, which come last */
	GHashTable *locked;    /* ids of sources, which are to stay */
	GHashTable *in_runs;   /* ids of the sources of runs */
	uint64_t locked_bytes; /* of sources that could have been targets later */
	ObjectTable *table;
	const Object *target;
	ExtentPin pin; /* why it is pinned, and by what */
	RemainderClaim claim;
};

ExtentPlan *extent_plan_new(Pass *pass, ExtentSums *sums, ObjectTable *table, ExtentFiles *files)
{
	ExtentPlan *plan = g_new0(ExtentPlan, 1);

	plan->pass = pass;
	plan->block_bytes = pass->block_bytes;
	plan->sources = extent_sources_new(pass, table, files);
	plan->refs = extent_refs_new(pass->filesystem->fd, pass->btrfs.ref_bound);
	plan->choice = ref_choice_new(pass, plan->refs);
	plan->coverage = extent_coverage_new(pass, sums, plan->sources, plan->refs);
	plan->cover = extent_coverage_cover(plan->coverage);
	plan->files = files;
	plan->steps = g_array_new(false, false, sizeof(ExtentStep));
	plan->rest = remainder_plan_new(pass);
	plan->rest_steps = g_array_new(false, false, sizeof(ExtentStep));
	plan->locked = g_hash_table_new(NULL, NULL);
	plan->in_runs = g_hash_table_new(NULL, NULL);
	plan->table = table;
	return plan;
}

void extent_plan_free(ExtentPlan *plan)
{
	if (!plan)
		return;

	extent_coverage_free(plan->coverage);
	extent_sources_free(plan->sources);
	ref_choice_free(plan->choice);
	extent_refs_free(plan->refs);
	g_array_unref(plan->steps);
	remainder_plan_free(plan->rest);
	g_array_unref(plan->rest_steps);
	g_hash_table_unref(plan->locked);
	g_hash_table_unref(plan->in_runs);
	g_free(plan);
}

static uint64_t blocks_of(const ExtentPlan *plan, const Object *extent)
{
	return extent->size_bytes / plan->block_bytes;
}

/* Plan steps for the bytes of the extent from @position on, which one piece covers; false: this is impossible. */
static bool plan_piece(ExtentPlan *plan, const ExtentRef *ref, const CoverPiece *piece,
		       uint64_t position, uint64_t length, const ExtentSource *source)
{
	uint64_t back = piece->diagonal * plan->block_bytes;

	while (length > 0) {
		ExtentStep step = {
			.from = STEP_FROM_PLACE,
			.target = *ref,
			.target_offset = ref->offset + (position - ref->position),
			.source_extent = checksum_trust_stamp(&source->object),
			.is_whole = piece->is_whole,
		};
		uint64_t here;
		const ExtentRef *place = extent_source_place(source, position - back, length,
							     plan->block_bytes, &here);

		/* In the middle of the range, only whole blocks can be shared. */
		if (here < length)
			here -= here % plan->block_bytes;
		if (!place || here == 0)
			return false;

		step.source = *place;
		step.source_offset = place->offset + (position - back - place->position);
		step.length = here;
		g_array_append_val(plan->steps, step);
		position += here;
		length -= here;
	}

	return true;
}

/*
 * Note that the source has to stay because of the target.  False if the sources that could have been shared away
 * themselves are larger than the target.  A source that stays because its stretch does is not counted.
 */
static bool lock_source(ExtentPlan *plan, const Object *source)
{
	uint32_t id = source->id;

	if (!g_hash_table_add(plan->locked, GUINT_TO_POINTER(id)))
		return true;

	if (object_table_rank(plan->table, id) > object_table_rank(plan->table, plan->target->id) &&
	    !g_hash_table_contains(plan->in_runs, GUINT_TO_POINTER(id)))
		plan->locked_bytes += source->size_bytes;
	return plan->locked_bytes < plan->target->size_bytes;
}

/*
 * Plan a step from the copy for the byte @position of the target, of at most @length bytes.  Returns its length; 0
 * if the remainder lacks that byte.
 */
static uint64_t plan_rest_step(ExtentPlan *plan, const ExtentRef *ref, uint64_t position,
			       uint64_t length)
{
	const RemainderPiece *piece = remainder_plan_find(plan->rest, position);
	ExtentStep step = {
		.from = STEP_FROM_COPY,
		.target = *ref,
		.target_offset = ref->offset + (position - ref->position),
	};

	if (!piece)
		return 0;
	step.source_offset = piece->offset + (position - piece->position);
	step.length = MIN(length, piece->length - (position - piece->position));
	g_array_append_val(plan->rest_steps, step);
	return step.length;
}

/* Plan a step for zeros from @position on. */
static void plan_hole(ExtentPlan *plan, const ExtentRef *ref, uint64_t position, uint64_t length)
{
	ExtentStep step = {
		.from = STEP_FROM_HOLE,
		.target = *ref,
		.target_offset = ref->offset + (position - ref->position),
		.length = length,
		.source_extent = CHECKSUM_TRUST_HOLE,
	};

	g_array_append_val(plan->steps, step);
}

/*
 * Plan steps for the piece that covers @position, up to @end; *ret_length: their length, 0 if this is impossible.
 */
static bool plan_covered(ExtentPlan *plan, const ExtentRef *ref, uint64_t position, uint64_t end,
			 uint64_t *ret_length, GError **error)
{
	bool is_encoded = extent_refs_is_encoded(plan->refs);
	uint64_t block = is_encoded ? 0 : position / plan->block_bytes;
	CoverPiece piece = extent_cover_piece(plan->cover, block, blocks_of(plan, plan->target));
	const ExtentSource *source;
	uint64_t here = end - position;

	*ret_length = 0;
	if (!is_encoded)
		here = MIN(here, (piece.first + piece.blocks) * plan->block_bytes - position);
	if (piece.source == RUN_HOLE) {
		plan_hole(plan, ref, position, here);
		*ret_length = here;
		return true;
	}
	if (!extent_sources_find(plan->sources, piece.source,
				 position - piece.diagonal * plan->block_bytes, here, &source,
				 error))
		return false;
	if (source && lock_source(plan, &source->object) &&
	    plan_piece(plan, ref, &piece, position, here, source))
		*ret_length = here;
	return true;
}

/* Plan all steps for one reference to the target; *ret_done is false if this is impossible. */
static bool plan_place(ExtentPlan *plan, const ExtentRef *ref, bool *ret_done, GError **error)
{
	uint64_t position = ref->position;
	uint64_t end = position + extent_ref_shown_bytes(ref);

	*ret_done = false;
	while (position < end) {
		uint64_t block = position / plan->block_bytes;
		uint64_t done;

		if (!extent_refs_is_encoded(plan->refs) &&
		    !extent_cover_has(plan->cover, block, block + 1))
			done = plan_rest_step(plan, ref, position, end - position);
		else if (!plan_covered(plan, ref, position, end, &done, error))
			return false;
		if (done == 0)
			return true;
		position += done;
	}

	*ret_done = true;
	return true;
}

/* Whether snapshots hold the target also after the plan. */
static bool is_held(const ExtentPlan *plan)
{
	return ref_choice_holders(plan->choice)->len > 0;
}

/* Whether a copy of the remainder is worth it.  As long as snapshots hold the extent, only a small one may be. */
static bool is_worth(const ExtentPlan *plan)
{
	RemainderAccount account = plan->pass->btrfs.remainders;

	account.writes_more &= !is_held(plan);
	return remainder_is_worth(&account, remainder_plan_bytes(plan->rest),
				  plan->target->size_bytes);
}

/* Plan the copy of the remainder; *ret is false if there is no point in one. */
static bool plan_rest(ExtentPlan *plan, const ExtentRef *refs, size_t n_refs, bool *ret,
		      SkipReason *ret_reason, GError **error)
{
	const RemainderAccount *account = &plan->pass->btrfs.remainders;
	const CoverageLack *lack = extent_coverage_lack(plan->coverage);
	bool is_laid = false;

	*ret = false;
	if (lack->is_doubtful) {
		*ret_reason = SKIP_DOUBTFUL;
		return true;
	}
	if (lack->needs_reading) {
		*ret_reason = SKIP_NEEDS_READING;
		return true;
	}
	if (plan->pass->settings->rewrite != REWRITE_NEVER && !extent_refs_is_encoded(plan->refs) &&
	    !remainder_plan_lay(plan->rest, plan->target, plan->cover, refs, n_refs, &is_laid,
				error))
		return false;
	if (!is_laid || !is_worth(plan)) {
		if (lack->keeps_zeros)
			*ret_reason = SKIP_KEEP_ZEROS;
		return true;
	}

	/* As long as snapshots hold the extent, its copy takes additional space. */
	if (is_held(plan) && remainder_plan_bytes(plan->rest) > account->held_most_bytes) {
		plan->pin = (ExtentPin){ .cause = PIN_COPY_SPACE, .places = n_refs };
		return true;
	}
	if ((is_held(plan) && remainder_plan_bytes(plan->rest) > account->held_room_bytes) ||
	    !extent_copy_has_room(plan->pass, remainder_plan_bytes(plan->rest))) {
		*ret_reason = SKIP_NO_SPACE;
		return true;
	}

	remainder_plan_choose_parts(plan->rest, refs, n_refs);
	*ret = true;
	return true;
}

static ExtentGain gain_of(const ExtentPlan *plan)
{
	return (ExtentGain){ plan->target->size_bytes, remainder_plan_bytes(plan->rest),
			     is_held(plan) };
}

/* Whether the steps for the first @n_places references cost more than the copy gains. */
static bool is_too_scattered(const ExtentPlan *plan, size_t n_places)
{
	uint64_t n_steps = (uint64_t)plan->steps->len + plan->rest_steps->len;
	ExtentGain gain = gain_of(plan);

	/* Each reference has one item already. */
	return !remainder_plan_is_empty(plan->rest) &&
	       !sharing_cost_pays(plan->pass->btrfs.cost, &gain, n_steps - MIN(n_steps, n_places));
}

/* The uncovered bytes pin the extent. */
static void pin_uncovered(ExtentPlan *plan, const ExtentRef *refs, size_t n_refs, SkipReason reason)
{
	const ExtentCover *cover = extent_refs_is_encoded(plan->refs) ? NULL : plan->cover;
	const ExtentRef *keeper = extent_coverage_lack(plan->coverage)->keeper;

	plan->pin = extent_pin_uncovered(refs, n_refs, cover, plan->block_bytes, reason);
	if (reason == SKIP_KEEP_ZEROS && keeper)
		plan->pin.place = *keeper;
}

/* The target has more references than are worth sharing; that may change when snapshots are deleted. */
static void note_too_costly(ExtentPlan *plan, SkipReason *ret_reason)
{
	plan->pin.cause = PIN_TOO_COSTLY;
	plan->pin.affordable_places = ref_choice_affordable(plan->choice);
	plan->pin.place = (ExtentRef){ 0 };
	*ret_reason = SKIP_CLONES;
}

/*
 * Plan the steps for all references; *ret is EXTENT_PINNED if one is impossible.  A file that cannot be shared onto
 * keeps the extent, so the others need not be shared.
 */
static bool plan_places(ExtentPlan *plan, ExtentPlanOutcome *ret, SkipReason *ret_reason,
			GError **error)
{
	bool is_complete = extent_coverage_is_all(plan->coverage);
	const ExtentRef *refs;
	size_t n;

	*ret = EXTENT_PINNED;
	refs = extent_refs_list(plan->refs, &n);
	if (!is_complete && !plan_rest(plan, refs, n, &is_complete, ret_reason, error))
		return false;
	if (extent_coverage_lack(plan->coverage)->lacks_equals &&
	    !(is_complete && remainder_plan_repeats(plan->rest))) {
		*ret = EXTENT_ALONE;
		return true;
	}
	if (!is_complete) {
		if (plan->pin.cause != PIN_COPY_SPACE)
			pin_uncovered(plan, refs, n, *ret_reason);
		return true;
	}

	for (size_t i = 0; i < n && pass_checkpoint(plan->pass); i++) {
		bool done;

		if (!plan_place(plan, &refs[i], &done, error))
			return false;
		if (!done) {
			plan->pin = extent_pin_kept(&refs[i], n, SKIP_PINNED);
			return true;
		}
		if (is_too_scattered(plan, i + 1)) {
			pin_uncovered(plan, refs, n, *ret_reason);
			return true;
		}
	}

	for (size_t i = 0; i < n; i++)
		if (!extent_files_is_target(plan->files, &refs[i], ret_reason)) {
			plan->pin = extent_pin_kept(&refs[i], n, *ret_reason);
			return true;
		}

	g_array_append_vals(plan->steps, plan->rest_steps->data, plan->rest_steps->len);
	*ret = EXTENT_PLANNED;
	return true;
}

/* Whether a reference must not be redirected, whatever that would free. */
static bool is_forbidden(ExtentPlan *plan, bool *ret, SkipReason *ret_reason, GError **error)
{
	const ExtentRef *refs;
	size_t n;

	*ret = false;
	refs = extent_refs_list(plan->refs, &n);
	for (size_t i = 0; i < n && !*ret; i++) {
		bool is_in;

		if (!extent_scope_has(plan->pass->btrfs.scope, &refs[i], &is_in, ret_reason, error))
			return false;
		if (!extent_files_is_source(plan->files, &refs[i]))
			*ret_reason = extent_files_is_own(plan->files, &refs[i])
					      ? SKIP_OWN_STATE
					      : SKIP_READ_ONLY_SNAPSHOT;
		else if (is_in)
			continue;
		*ret = true;
		plan->pin = extent_pin_kept(&refs[i], n, *ret_reason);
	}
	if (!*ret && plan->pass->settings->across_owners != ACROSS_OWNERS &&
	    !extent_refs_have_one_owner(plan->refs)) {
		*ret = true;
		*ret_reason = SKIP_OTHER_OWNER;
		plan->pin = extent_pin_kept(&refs[0], n, *ret_reason);
	}
	if (n > 0)
		extent_sources_set_owner(plan->sources, refs[0].owner);

	return true;
}

void extent_plan_note_sharing(ExtentPlan *plan)
{
	extent_refs_clear_windows(plan->refs);
	extent_sources_note_sharing(plan->sources);
}

void extent_plan_judge(ExtentPlan *plan, ExtentPlanOutcome *ret, SkipReason *ret_reason)
{
	ExtentGain gain = gain_of(plan);
	CostVerdict verdict;
	const ExtentRef *refs;
	size_t n;

	if (*ret != EXTENT_PLANNED)
		return;

	verdict =
		sharing_cost_judge(plan->pass->btrfs.cost, &gain,
				   (const ExtentStep *)(void *)plan->steps->data, plan->steps->len);
	if (verdict == COST_WORTH) {
		plan->claim =
			remainder_account_claim(&plan->pass->btrfs.remainders, gain.extent_bytes,
						gain.written_bytes, gain.is_held);
		return;
	}

	*ret = EXTENT_PINNED;
	*ret_reason = verdict == COST_PIECES ? SKIP_PIECES : SKIP_METADATA;
	refs = extent_refs_list(plan->refs, &n);
	plan->pin = extent_pin_kept(&refs[0], n, *ret_reason);
}

/* Begin with @target: nothing is planned for it. */
static void begin(ExtentPlan *plan, const Object *target, const GArray *runs)
{
	plan->target = target;
	plan->locked_bytes = 0;
	g_hash_table_remove_all(plan->locked);
	g_hash_table_remove_all(plan->in_runs);
	for (guint i = 0; i < runs->len; i++)
		g_hash_table_add(plan->in_runs,
				 GUINT_TO_POINTER(g_array_index(runs, Run, i).source));
	remainder_plan_clear(plan->rest);
	g_array_set_size(plan->rest_steps, 0);
	g_array_set_size(plan->steps, 0);
	extent_sources_clear(plan->sources);
	plan->claim = (RemainderClaim){ 0 };
}

static bool make(ExtentPlan *plan, const Object *target, const GArray *runs, bool defers,
		 ExtentPlanOutcome *ret, SkipReason *ret_reason, GError **error)
{
	ExtentRefsOutcome outcome;
	bool forbidden;

	begin(plan, target, runs);
	*ret_reason = SKIP_PINNED;
	*ret = EXTENT_PINNED;
	if (!ref_choice_make(plan->choice, target, defers, &outcome, error))
		return false;
	if (outcome == EXTENT_REFS_GONE)
		*ret = EXTENT_GONE;
	plan->pin = extent_pin_unseen(plan->refs);
	if (plan->pin.cause == PIN_TOO_COSTLY)
		note_too_costly(plan, ret_reason);
	if (!is_forbidden(plan, &forbidden, ret_reason, error))
		return false;
	if (outcome != EXTENT_REFS_READ || forbidden)
		return true;

	if (!extent_coverage_find(plan->coverage, target, is_held(plan), runs, error) ||
	    !plan_places(plan, ret, ret_reason, error))
		return false;
	/* The pass was stopped meanwhile, so the cover is incomplete. */
	if (!pass_checkpoint(plan->pass))
		*ret = EXTENT_STOPPED;
	return true;
}

bool extent_plan_make(ExtentPlan *plan, const Object *target, const GArray *runs,
		      ExtentPlanOutcome *ret, SkipReason *ret_reason, GError **error)
{
	return make(plan, target, runs, false, ret, ret_reason, error);
}

bool extent_plan_defer(ExtentPlan *plan, const Object *target, const GArray *runs,
		       ExtentPlanOutcome *ret, SkipReason *ret_reason, GError **error)
{
	if (*ret != EXTENT_PINNED || *ret_reason != SKIP_METADATA ||
	    !ref_choice_may_defer(plan->choice))
		return true;
	if (!make(plan, target, runs, true, ret, ret_reason, error))
		return false;

	extent_plan_judge(plan, ret, ret_reason);
	return true;
}

const GArray *extent_plan_holders(const ExtentPlan *plan)
{
	return ref_choice_holders(plan->choice);
}

uint64_t extent_plan_costly_bytes(const ExtentPlan *plan)
{
	return ref_choice_compare_bytes(plan->choice);
}

GHashTable *extent_plan_moved(const ExtentPlan *plan)
{
	return extent_sources_moved(plan->sources);
}

GHashTable *extent_plan_locked(const ExtentPlan *plan)
{
	return plan->locked;
}

RemainderClaim extent_plan_claim(const ExtentPlan *plan)
{
	return plan->claim;
}

uint64_t extent_plan_rest_bytes(const ExtentPlan *plan)
{
	return remainder_plan_bytes(plan->rest);
}

const ExtentCover *extent_plan_cover(const ExtentPlan *plan)
{
	return extent_refs_is_encoded(plan->refs) ? NULL : plan->cover;
}

const GArray *extent_plan_parts(const ExtentPlan *plan)
{
	return remainder_plan_parts(plan->rest);
}

const GArray *extent_plan_steps(const ExtentPlan *plan)
{
	return plan->steps;
}

const ExtentRef *extent_plan_blamed(const ExtentPlan *plan)
{
	const ExtentRef *shown;
	size_t n;

	if (plan->pin.place.root != 0)
		return &plan->pin.place;

	shown = extent_refs_list(plan->refs, &n);
	return n > 0 ? &shown[0] : NULL;
}

const ExtentPin *extent_plan_pin(const ExtentPlan *plan)
{
	return &plan->pin;
}
