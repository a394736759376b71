/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/share/extent-share.h"

#include "daemon/btrfs/pinned/deferred-extents.h"
#include "daemon/btrfs/pinned/pinned-extents.h"
#include "daemon/btrfs/plan/checksum-trust.h"
#include "daemon/btrfs/plan/extent-outcome.h"
#include "daemon/btrfs/plan/extent-queue.h"
#include "daemon/btrfs/plan/role-swap.h"
#include "daemon/btrfs/plan/target-copy.h"
#include "daemon/btrfs/share/metadata-watch.h"
#include "daemon/btrfs/share/resume-point.h"
#include "daemon/btrfs/share/step-batch.h"
#include "daemon/btrfs/share/target-runs.h"
#include "daemon/share/dedupe-failure.h"

/* The outcome of one step. */
typedef enum {
	STEP_DONE,
	STEP_LEFT,    /* the target is skipped, and counted */
	STEP_DOUBTED, /* the target may be tried with other sources */
} StepOutcome;

typedef struct {
	Pass *pass;
	ObjectTable *table;
	ExtentFiles *files;
	StepSharer *step_sharer;
	ExtentRefs *refs;
	ExtentPlan *plan;
	RoleSwap *swap;
	TargetRuns runs; /* of the present target */
	ShareRound *round;
	int64_t reserve_usec; /* monotonic; when the metadata reserve was last looked at */
	ExtentQueue *planned;
	StepPool *pool;
	guint n_ahead;      /* targets whose steps were shared ahead of their turn */
	GPtrArray *results; /* SharedStep: of steps that failed then */
	TargetCopy copy;    /* of the first of them */
} ExtentSharer;

/*
 * The kernel found a difference in @length bytes of a step after @done equal ones.  Unless a file was written to
 * meanwhile, equal sums have different blocks.
 */
static bool note_difference(ExtentSharer *sharer, const Object *target, const ExtentStep *step,
			    uint64_t done, uint64_t length, StepOutcome *ret, GError **error)
{
	ExtentStamp stamp = checksum_trust_stamp(target);
	bool shown, kept;

	/* The copy was equal when it was made. */
	if (step->from == STEP_FROM_COPY) {
		extent_outcome_note_skipped(sharer->pass, target, SKIP_CHANGED, &step->target);
		return true;
	}
	if (!step_sharer_is_current(sharer->step_sharer, step, stamp.address, done, &shown, error))
		return false;
	if (!shown) {
		extent_outcome_note_skipped(sharer->pass, target, SKIP_CHANGED, &step->target);
		return true;
	}

	if (!checksum_trust_add(sharer->pass, &stamp, &step->source_extent,
				step_compared_bytes(step, length), &kept, error))
		return false;
	if (kept)
		*ret = STEP_DOUBTED;
	else
		extent_outcome_note_skipped(sharer->pass, target, SKIP_DIFFERS, &step->target);
	return true;
}

/* Have the kernel share one step. */
static SharedStep share_step(ExtentSharer *sharer, const ExtentStep *step, const StepFiles *files)
{
	SharedStep shared = step_sharer_share(sharer->step_sharer, step, files);

	step_sharer_note(sharer->step_sharer, step, &shared);
	extent_plan_note_sharing(sharer->plan);
	sharer->copy.is_kept |= step->from == STEP_FROM_COPY && shared.done > 0;
	extent_outcome_note_shared(sharer->pass, shared.done, shared.outcome == DEDUPE_SAME);
	return shared;
}

/* Go on as @shared says how far a step of @target was shared.  If this failed, the target is skipped. */
static bool take_result(ExtentSharer *sharer, const Object *target, ExtentStep *step,
			SharedStep shared, StepOutcome *ret, GError **error)
{
	*ret = STEP_LEFT;
	step->is_used |= shared.done > 0;
	if (shared.read == READ_SHORT || shared.read == READ_UNREADABLE)
		extent_outcome_note_skipped(
			sharer->pass, target,
			shared.read == READ_SHORT ? SKIP_CHANGED : SKIP_UNREADABLE, &step->target);
	else if (shared.outcome == DEDUPE_DIFFERS)
		return note_difference(sharer, target, step, shared.done, shared.length, ret,
				       error);
	else if (shared.no_source != SKIP_REASONS)
		extent_outcome_note_skipped(sharer->pass, target, shared.no_source, &step->target);
	else if (shared.outcome == DEDUPE_SAME)
		*ret = STEP_DONE;
	else if (shared.outcome != DEDUPE_NOT_DONE)
		extent_outcome_note_skipped(sharer->pass, target,
					    dedupe_failure_reason(shared.outcome), &step->target);
	return true;
}

static bool run_step(ExtentSharer *sharer, const Object *target, ExtentStep *step, StepOutcome *ret,
		     GError **error)
{
	ExtentStamp stamp = checksum_trust_stamp(target);
	const ExtentRef *unopened;
	SkipReason reason;
	StepFiles files;
	ChecksumTrust trust = CHECKSUM_TRUST_YES;

	if (step->result)
		return take_result(sharer, target, step, *step->result, ret, error);
	/* The source may have differed since the step was planned. */
	if (step->from != STEP_FROM_COPY &&
	    !checksum_trust_ask(sharer->pass, &stamp, &step->source_extent, step->is_whole, &trust,
				error))
		return false;
	*ret = trust == CHECKSUM_TRUST_YES ? STEP_LEFT : STEP_DOUBTED;
	if (trust != CHECKSUM_TRUST_YES)
		return true;

	unopened = step_sharer_open(sharer->step_sharer, step, sharer->copy.copy, &files, &reason);
	if (!unopened)
		return take_result(sharer, target, step, share_step(sharer, step, &files), ret,
				   error);

	extent_outcome_note_skipped(sharer->pass, target, reason, unopened);
	return true;
}

/* Whether the target is more than a source of others in this round. */
static bool is_true_target(const ExtentSharer *sharer, const Object *target)
{
	GHashTable *sources = sharer->round->sources;

	return sharer->round->is_news &&
	       !(sources && g_hash_table_contains(sources, GUINT_TO_POINTER(target->id))) &&
	       !pinned_extents_was_replanned(sharer->pass->btrfs.pinned, target->inode);
}

/*
 * Pin the target: it stays, so it may be the source of its former sources.  A target that cannot be opened now is
 * left out of the pass.  One whose only run is zeros and a hole was no target of others, so it still may be one.
 */
static bool pin(ExtentSharer *sharer, const Object *target, SkipReason reason, GError **error)
{
	bool has_zeros_only = sharer->runs.has_zeros && sharer->runs.list->len == 1;
	unsigned facts = object_table_facts(sharer->table, target->id);
	/* A source that cannot be freed itself was not counted before, unless only its cost prevents it. */
	bool is_costly = reason == SKIP_PIECES || reason == SKIP_METADATA;
	/* An extent that snapshots hold was counted when it was deferred. */
	bool is_news = !(facts & FACT_HELD) &&
		       (is_true_target(sharer, target) || (is_costly && !(facts & FACT_NOTED)));
	const ExtentPin *why = extent_plan_pin(sharer->plan);
	bool is_searched = false;

	if (sharer->round->search && is_news && reason == SKIP_PINNED &&
	    !block_search_add(sharer->round->search, target, why, sharer->runs.list, &is_searched,
			      error))
		return false;
	if (skip_may_pass(reason) || !has_zeros_only) {
		object_table_add_fact(sharer->table, target->id,
				      skip_may_pass(reason) ? FACT_MOVED : FACT_PINNED);
		sharer->round->n_pinned++;
		replan_list_add_pinned(sharer->round->replan, target, why, sharer->runs.list,
				       !pinned_extents_is_old(sharer->pass->btrfs.pinned, target));
	}
	if (is_searched)
		return true;
	if (is_news) {
		object_table_add_fact(sharer->table, target->id, FACT_NOTED);
		extent_outcome_note_skipped(sharer->pass, target, reason,
					    extent_plan_blamed(sharer->plan));
		if (reason == SKIP_CLONES)
			sharer->pass->result->costly_bytes +=
				extent_plan_costly_bytes(sharer->plan);
	}
	return skip_may_pass(reason) ||
	       pinned_extents_put(sharer->pass->btrfs.pinned, target, why, is_news, error);
}

/* Queue the plan for @target. */
static void enqueue(ExtentSharer *sharer, const Object *target)
{
	const GArray *steps = extent_plan_steps(sharer->plan);
	const ExtentStep *first = &g_array_index(steps, ExtentStep, 0);
	/* A step that continues the one before is read with that, in larger pieces. */
	bool is_ahead = steps->len > 0 && !extent_queue_ends_before(sharer->planned, first);
	PlannedTarget *planned =
		extent_queue_push(sharer->planned, target, steps, extent_plan_parts(sharer->plan),
				  extent_plan_holders(sharer->plan), sharer->runs.list);

	planned->claim = extent_plan_claim(sharer->plan);
	if (planned->holders->len > 0)
		deferred_extents_intend(sharer->pass->btrfs.deferred, target);
	if (is_ahead)
		planned_target_fetch(planned, sharer->files,
				     checksum_trust_ahead_bytes(sharer->pass, first->length));
}

/* The sources of the present plan stay, also if their own turn comes later. */
static void lock_sources(ExtentSharer *sharer)
{
	GHashTableIter iterator;
	gpointer id;

	g_hash_table_iter_init(&iterator, extent_plan_locked(sharer->plan));
	while (g_hash_table_iter_next(&iterator, &id, NULL))
		object_table_add_fact(sharer->table, GPOINTER_TO_UINT(id),
				      FACT_LOCKED | FACT_SERVED);
}

/* The target stays in this pass, so it may be the source of others. */
static void keep(ExtentSharer *sharer, const Object *target)
{
	object_table_remove_fact(sharer->table, target->id, FACT_MOVED);
	object_table_add_fact(sharer->table, target->id, FACT_PINNED);
	sharer->round->n_pinned++;
}

/* Make the copy that @planned, the first target, needs. */
static bool make_copy(ExtentSharer *sharer, const PlannedTarget *planned, CopyOutcome *ret,
		      GError **error)
{
	CopyFailure failure;

	if (!target_copy_make(&sharer->copy, sharer->pass, sharer->files, planned, ret, &failure,
			      error))
		return false;
	if (*ret == COPY_FAILED && pass_checkpoint(sharer->pass)) {
		extent_outcome_note_skipped(sharer->pass, &planned->extent, failure.reason,
					    failure.blamed);
		keep(sharer, &planned->extent);
	}
	return true;
}

/* Pin a planned target after all, because a source differed. */
static bool pin_after_all(ExtentSharer *sharer, const Object *target, SkipReason reason,
			  GError **error)
{
	ExtentPin why = *extent_plan_pin(sharer->plan);

	if (reason == SKIP_PINNED) {
		reason = SKIP_DIFFERS;
		why.cause = why.cause == PIN_UNCOVERED ? PIN_DIFFERS : why.cause;
	}
	extent_outcome_note_skipped(sharer->pass, target, reason, extent_plan_blamed(sharer->plan));
	if (skip_may_pass(reason))
		return true;

	keep(sharer, target);
	return pinned_extents_put(sharer->pass->btrfs.pinned, target, &why, true, error);
}

/*
 * Plan again for a target with a source that differed or is doubted, without that source.  If nothing else covers
 * it, it stays, and may be a source of others.
 */
static bool plan_again(ExtentSharer *sharer, PlannedTarget *planned, bool *ret, GError **error)
{
	const Object *target = &planned->extent;
	ExtentPlanOutcome outcome;
	SkipReason reason;
	CopyOutcome copied;

	target_copy_give_back(&sharer->copy, sharer->pass, planned);
	if (!extent_plan_make(sharer->plan, target, planned->runs, &outcome, &reason, error))
		return false;
	extent_plan_judge(sharer->plan, &outcome, &reason);
	if (!extent_plan_defer(sharer->plan, target, planned->runs, &outcome, &reason, error))
		return false;

	*ret = outcome == EXTENT_PLANNED;
	planned->claim = extent_plan_claim(sharer->plan);
	planned_target_set(planned, extent_plan_steps(sharer->plan),
			   extent_plan_parts(sharer->plan), extent_plan_holders(sharer->plan));
	if (*ret) {
		if (planned->holders->len > 0)
			deferred_extents_intend(sharer->pass->btrfs.deferred, target);
		lock_sources(sharer);
		if (!make_copy(sharer, planned, &copied, error))
			return false;
		/* Now nothing of it is taken to repeat itself. */
		*ret = copied == COPY_MADE;
	}
	if (outcome == EXTENT_GONE)
		return extent_outcome_note_gone(sharer->pass, sharer->table, target, error);
	if (outcome == EXTENT_PLANNED)
		return deferred_extents_note(sharer->pass->btrfs.deferred, error);
	return outcome != EXTENT_PINNED || pin_after_all(sharer, target, reason, error);
}

/* Run all steps of the plan, and joined ones of later plans; *ret_done: nothing is left to do. */
static bool run_steps(ExtentSharer *sharer, PlannedTarget *planned, bool *ret_done, GError **error)
{
	guint i = 0;

	*ret_done = false;
	while (i < planned->steps->len) {
		ExtentStep *step = &g_array_index(planned->steps, ExtentStep, i);
		StepOutcome outcome;
		bool again;

		if (!pass_checkpoint(sharer->pass))
			return true;
		if (step->is_done)
			outcome = STEP_DONE;
		else if (!run_step(sharer, &planned->extent, step, &outcome, error))
			return false;
		if (outcome == STEP_LEFT)
			return true;
		i++;
		if (outcome == STEP_DONE)
			continue;
		if (!deferred_extents_revive(sharer->pass->btrfs.deferred, planned->steps, error) ||
		    !plan_again(sharer, planned, &again, error))
			return false;
		if (!again)
			return true;
		i = 0;
	}

	*ret_done = true;
	return true;
}

/* Skip all planned targets: the pass may share no more. */
static void leave_all_planned(ExtentSharer *sharer)
{
	while (!extent_queue_is_empty(sharer->planned)) {
		g_autoptr(PlannedTarget) planned = extent_queue_pop(sharer->planned);

		planned_target_release(planned, sharer->files);
		extent_outcome_note_skipped(sharer->pass, &planned->extent, SKIP_NO_METADATA_SPACE,
					    NULL);
	}
}

/* Run the plan of @planned, which was the first in the queue. */
static bool execute(ExtentSharer *sharer, PlannedTarget *planned, GError **error)
{
	const Object *target = &planned->extent;
	ExtentRefsOutcome outcome;
	const ExtentRef *places;
	size_t n;
	bool done;

	if (!run_steps(sharer, planned, &done, error) ||
	    !deferred_extents_revive(sharer->pass->btrfs.deferred, planned->steps, error))
		return false;
	if (!done)
		return pass_checkpoint(sharer->pass) ||
		       resume_point_note(sharer->pass, target, error);

	atomic_fetch_add(&sharer->pass->progress->done_bytes, target->size_bytes);
	if (planned->holders->len > 0) {
		planned->claim = (RemainderClaim){ 0 };
		return deferred_extents_put(sharer->pass->btrfs.deferred, target, planned->holders,
					    error);
	}
	if (!extent_refs_read(sharer->refs, target, 1, &outcome, error))
		return false;
	if (outcome == EXTENT_REFS_GONE)
		return extent_outcome_note_freed(sharer->pass, sharer->table, planned, error);

	/* The extent was cloned, or written to, meanwhile. */
	places = extent_refs_list(sharer->refs, &n);
	extent_outcome_note_skipped(sharer->pass, target, SKIP_CHANGED, n > 0 ? &places[0] : NULL);
	return true;
}

/* Run the plan of the first target; those of the first @most may be shared together. */
static bool execute_next(ExtentSharer *sharer, guint most, GError **error)
{
	g_autoptr(PlannedTarget) planned = NULL;
	StepBatch batch = { sharer->pass,        sharer->files, sharer->planned,
			    sharer->step_sharer, sharer->pool,  sharer->results };
	CopyOutcome copied;
	bool can_go_on, done;

	if (!metadata_watch_look_when_due(sharer->pass, &sharer->reserve_usec, error))
		return false;
	if (sharer->pass->result->stopped_reason) {
		leave_all_planned(sharer);
		return true;
	}
	if (!deferred_extents_note(sharer->pass->btrfs.deferred, error))
		return false;
	if (sharer->n_ahead == 0)
		sharer->n_ahead = step_batch_share(&batch, most);
	sharer->n_ahead--;
	extent_plan_note_sharing(sharer->plan);
	if (!make_copy(sharer, extent_queue_first(sharer->planned), &copied, error))
		return false;
	can_go_on = copied == COPY_MADE;
	if (can_go_on && sharer->copy.copy)
		sharer->copy.is_kept |= step_batch_share_first(&batch, sharer->copy.copy);
	planned = extent_queue_pop(sharer->planned);
	done = (copied != COPY_DOUBTED || plan_again(sharer, planned, &can_go_on, error)) &&
	       (!can_go_on || execute(sharer, planned, error));
	if (pass_checkpoint(sharer->pass))
		deferred_extents_end_intent(sharer->pass->btrfs.deferred, &planned->extent);
	if (extent_queue_is_empty(sharer->planned))
		g_ptr_array_set_size(sharer->results, 0);
	target_copy_give_back(&sharer->copy, sharer->pass, planned);
	planned_target_release(planned, sharer->files);
	target_copy_drop(&sharer->copy, sharer->pass);
	return done;
}

static bool execute_all(ExtentSharer *sharer, GError **error)
{
	while (pass_checkpoint(sharer->pass) && !extent_queue_is_empty(sharer->planned))
		if (!execute_next(sharer, extent_queue_length(sharer->planned), error) ||
		    !pass_commit_when_due(sharer->pass, error))
			return false;

	return true;
}

static bool has_surplus(const ExtentSharer *sharer)
{
	return !extent_queue_is_empty(sharer->planned) &&
	       (extent_queue_is_full(sharer->planned) || extent_files_is_full(sharer->files));
}

/* If the queue is full, share the first half of it: several targets at a time, and with one commit of what they need. */
static bool execute_surplus(ExtentSharer *sharer, GError **error)
{
	guint rest = has_surplus(sharer) ? extent_queue_length(sharer->planned) / 2 : UINT_MAX;

	while (pass_checkpoint(sharer->pass) &&
	       (has_surplus(sharer) || extent_queue_length(sharer->planned) > rest)) {
		guint length = extent_queue_length(sharer->planned);

		if (!execute_next(sharer, length > rest ? length - rest : 1, error) ||
		    !pass_commit_when_due(sharer->pass, error))
			return false;
	}

	return true;
}

/* Whether @target may be planned after all, once the queue was shared. */
static bool may_wait_for_queue(const ExtentSharer *sharer, SkipReason reason)
{
	return extent_queue_has_any(sharer->planned, extent_plan_moved(sharer->plan)) ||
	       (reason == SKIP_NO_SPACE && extent_queue_claims_room(sharer->planned));
}

/*
 * Plan for @target.  Possible sources that are queued themselves may stay after all, and queued targets may give
 * claimed room back.  So the queue is shared before the target is pinned for lack of these.
 */
static bool make_plan(ExtentSharer *sharer, const Object *target, ExtentPlanOutcome *ret,
		      SkipReason *ret_reason, GError **error)
{
	if (!extent_plan_make(sharer->plan, target, sharer->runs.list, ret, ret_reason, error))
		return false;
	if (*ret != EXTENT_PINNED || !may_wait_for_queue(sharer, *ret_reason))
		return true;

	return execute_all(sharer, error) &&
	       extent_plan_make(sharer->plan, target, sharer->runs.list, ret, ret_reason, error);
}

static bool plan_target(ExtentSharer *sharer, Object *target, GError **error)
{
	unsigned facts = object_table_facts(sharer->table, target->id);
	ExtentPlanOutcome outcome;
	SkipReason reason;
	bool is_turned = false;

	/* It was planned in the place of an earlier target. */
	if (facts & FACT_MOVED)
		return true;
	if (facts & FACT_LOCKED) {
		replan_list_add(sharer->round->replan, target->id, target->inode);
		return true;
	}
	if (sharer->pass->result->stopped_reason) {
		extent_outcome_note_skipped(sharer->pass, target, SKIP_NO_METADATA_SPACE, NULL);
		return true;
	}
	/* Trying a target once per pass is enough. */
	if (postponed_has(sharer->pass->postponed, target->id)) {
		postponed_add(sharer->pass->postponed, sharer->pass->store, target->id);
		return true;
	}
	if (!make_plan(sharer, target, &outcome, &reason, error) ||
	    (outcome == EXTENT_PLANNED && !role_swap_try(sharer->swap, &sharer->plan, target,
							 sharer->runs.list, &is_turned, error)))
		return false;
	if (!is_turned)
		extent_plan_judge(sharer->plan, &outcome, &reason);
	if (!extent_plan_defer(sharer->plan, target, sharer->runs.list, &outcome, &reason, error))
		return false;

	switch (outcome) {
	case EXTENT_GONE:
		return sharer->pass->settings->dry_run ||
		       extent_outcome_note_gone(sharer->pass, sharer->table, target, error);
	case EXTENT_ALONE:
	case EXTENT_STOPPED:
		return true;
	case EXTENT_PINNED:
		/* If it only repeats itself, it is no duplicate. */
		return sharer->runs.list->len == 0 || pin(sharer, target, reason, error);
	case EXTENT_PLANNED:
		break;
	}

	object_table_add_fact(sharer->table, target->id, FACT_MOVED);
	lock_sources(sharer);
	if (sharer->pass->settings->dry_run)
		extent_outcome_estimate(sharer->pass, sharer->table, target, sharer->plan);
	else
		enqueue(sharer, target);
	return true;
}

/* Plan for the target of the present runs, and share when enough is planned. */
static bool end_target(ExtentSharer *sharer, GError **error)
{
	const Object *found;
	Object target;

	if (sharer->runs.target == 0)
		return true;
	if (!hash_store_find(sharer->pass->store, sharer->runs.target, &found, error))
		return false;

	if (found) {
		target = *found;
		if (!plan_target(sharer, &target, error))
			return false;
	}
	target_runs_clear(&sharer->runs);
	return execute_surplus(sharer, error);
}

static bool share_all(ExtentSharer *sharer, RunOrder *order, GError **error)
{
	while (pass_checkpoint(sharer->pass)) {
		const OrderedRun *next;

		/* Commit pairs that differed, so that they are not tried again even if the pass is killed. */
		if (!run_order_next(order, &next, error) ||
		    !pass_commit_when_due(sharer->pass, error))
			return false;
		if ((!next || next->begins_target) && !end_target(sharer, error))
			return false;
		if (!next)
			break;
		target_runs_add(&sharer->runs, &next->run);
	}

	return execute_all(sharer, error);
}

bool extents_share(Pass *pass, ExtentSums *sums, ObjectTable *table, RunOrder *order,
		   ShareRound *round, GError **error)
{
	g_autoptr(ExtentFiles) files = extent_files_new(pass);
	g_autoptr(StepSharer) step_sharer = step_sharer_new(pass, files);
	g_autoptr(StepPool) pool = step_pool_new(pass, files, step_sharer);
	g_autoptr(ExtentRefs) refs = extent_refs_new(pass->filesystem->fd, pass->btrfs.ref_bound);
	g_autoptr(ExtentPlan) plan = extent_plan_new(pass, sums, table, files);
	g_autoptr(ExtentPlan) other = extent_plan_new(pass, sums, table, files);
	g_autoptr(RoleSwap) swap = role_swap_new(pass, table, other);
	g_auto(TargetRuns) runs = target_runs_make();
	g_autoptr(ExtentQueue) planned = extent_queue_new();
	g_autoptr(GPtrArray) results = g_ptr_array_new_with_free_func(g_free);
	ExtentSharer sharer = {
		.pass = pass,
		.table = table,
		.files = files,
		.step_sharer = step_sharer,
		.refs = refs,
		.plan = plan,
		.swap = swap,
		.runs = runs,
		.round = round,
		.planned = planned,
		.pool = pool,
		.results = results,
	};

	return share_all(&sharer, order, error) && object_table_take_error(table, error);
}
