/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/share/share.h"

#include "daemon/context/object-skips.h"
#include "daemon/share/dedupe-window.h"
#include "daemon/share/run-sharer.h"
#include "daemon/share/window-account.h"
#include "hashstore/objects/objects.h"

#define OPEN_SOURCES 32

/* Runs that are looked at ahead, and the longest one whose data is then fetched. */
#define AHEAD_PLANS  16
#define AHEAD_BLOCKS 256

/* A run to come. */
typedef struct {
	OrderedRun ordered;
	OpenObject *target; /* opened already, if the run is its first; else NULL */
} Ahead;

typedef struct {
	Pass *pass;
	FileOpener *opener;
	RunOrder *order;
	RunSharer *runs;
	DedupeWindow *window; /* for looking ahead */
	GQueue sources;       /* OpenObject, last used first */
	GQueue ahead;         /* Ahead, in the order of planning */
	uint32_t other_owner; /* the last target that was skipped because of its owner; 0: none */
} Sharer;

/* Find the source @id, or open it; it stays open for later runs. */
static bool find_source(Sharer *sharer, uint32_t id, OpenObject **ret, GError **error)
{
	for (GList *link = sharer->sources.head; link; link = link->next) {
		OpenObject *source = link->data;

		if (source->id != id)
			continue;
		g_queue_unlink(&sharer->sources, link);
		g_queue_push_head_link(&sharer->sources, link);
		*ret = source;
		return true;
	}

	if (g_queue_get_length(&sharer->sources) >= OPEN_SOURCES)
		open_object_free(g_queue_pop_tail(&sharer->sources));
	if (!open_object(sharer->pass, sharer->opener, id, ret, error))
		return false;

	g_queue_push_head(&sharer->sources, *ret);
	return true;
}

static int compare_target(const void *ahead, const void *id)
{
	const OpenObject *target = ((const Ahead *)ahead)->target;

	return target && target->id == GPOINTER_TO_UINT(id) ? 0 : 1;
}

/*
 * Whether the object is a target now or soon.  If it were opened as a source, too, another process would seem to
 * have it open.
 */
static bool is_open_as_target(Sharer *sharer, uint32_t id)
{
	const OpenObject *target = run_sharer_target(sharer->runs);

	return (target && target->id == id) ||
	       g_queue_find_custom(&sharer->ahead, GUINT_TO_POINTER(id), compare_target);
}

/* Start reading what a short run will compare, so that the disk has several requests at a time. */
static bool fetch_ahead(Sharer *sharer, const Ahead *ahead, GError **error)
{
	const Run *run = &ahead->ordered.run;
	DedupeWindow *window = sharer->window;
	g_autoptr(GError) unmapped = NULL;
	OpenObject *source = NULL;
	size_t first, end;

	if (!ahead->target || !ahead->target->reader || run->blocks > AHEAD_BLOCKS ||
	    is_open_as_target(sharer, run->source))
		return true;
	if (run->source != RUN_HOLE && !find_source(sharer, run->source, &source, error))
		return false;
	if (source && !source->reader)
		return true;
	if (!dedupe_window_map(window, ahead->target, source, run->target_block - run->source_block,
			       run->target_block, run->blocks, &unmapped))
		return true;

	/*
	 * Blocks with several references may be skipped, or shared at the very end: then reading them now is in
	 * vain.
	 */
	if (!window_account_expects_compare(sharer->pass, window))
		return true;
	for (size_t from = 0; dedupe_window_next(window, BLOCK_CANDIDATE, from, &first, &end);
	     from = end)
		dedupe_window_fetch(window, first, end);
	return true;
}

/* Skip a target for now if it was written to a moment ago. */
static bool leave_if_young(Sharer *sharer, OpenObject *target, GError **error)
{
	if (!target->reader || !filter_is_young(sharer->pass->filter, target->stamp.mtime_nsec))
		return true;

	return open_object_give_up(sharer->pass, sharer->opener, target, SKIP_YOUNG, UINT64_MAX,
				   GIVE_UP_FOR_NOW, error);
}

static bool open_target(Sharer *sharer, uint32_t id, OpenObject **ret, GError **error)
{
	return open_object(sharer->pass, sharer->opener, id, ret, error) &&
	       leave_if_young(sharer, *ret, error);
}

/* Open the targets of the next runs. */
static bool look_ahead(Sharer *sharer, GError **error)
{
	while (g_queue_get_length(&sharer->ahead) < AHEAD_PLANS) {
		const OrderedRun *ordered;
		Ahead *ahead;

		if (!run_order_next(sharer->order, &ordered, error))
			return false;
		if (!ordered)
			break;

		ahead = g_new0(Ahead, 1);
		ahead->ordered = *ordered;
		g_queue_push_tail(&sharer->ahead, ahead);
		if (ordered->begins_target &&
		    !open_target(sharer, run_target(&ordered->run), &ahead->target, error))
			return false;
		if (!fetch_ahead(sharer, ahead, error))
			return false;
	}

	return true;
}

static void ahead_free(Ahead *ahead)
{
	open_object_free(ahead->target);
	g_free(ahead);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Ahead, ahead_free)

/* Whether the two may share; if not, it is counted once per target. */
static bool may_share(Sharer *sharer, const OpenObject *target, const OpenObject *source, bool *ret,
		      GError **error)
{
	*ret = !source || sharer->pass->settings->across_owners == ACROSS_OWNERS ||
	       source->owner == target->owner;
	if (*ret || sharer->other_owner == target->id)
		return true;

	sharer->other_owner = target->id;
	return object_skips_add(sharer->pass, sharer->opener, target->id, SKIP_OTHER_OWNER,
				UINT64_MAX, error);
}

static bool execute(Sharer *sharer, Ahead *ahead, GError **error)
{
	const OrderedRun *ordered = &ahead->ordered;
	OpenObject *source = NULL;
	OpenObject *target;
	bool allowed;

	if (ordered->begins_target)
		run_sharer_begin_take(sharer->runs, g_steal_pointer(&ahead->target));

	target = run_sharer_target(sharer->runs);
	if (!target->reader)
		return true;

	if (ordered->run.source == target->id)
		source = target;
	else if (ordered->run.source != RUN_HOLE &&
		 !find_source(sharer, ordered->run.source, &source, error))
		return false;
	if (source && !source->reader) {
		/* The next pass finds the target another source. */
		postponed_add(sharer->pass->postponed, sharer->pass->store, target->id);
		return true;
	}

	if (!may_share(sharer, target, source, &allowed, error))
		return false;
	return !allowed || share_run(sharer->runs, &ordered->run, source, error);
}

static bool execute_all(Sharer *sharer, GError **error)
{
	while (pass_checkpoint(sharer->pass) && !postponed_has_rest(sharer->pass->postponed)) {
		g_autoptr(Ahead) ahead = NULL;

		if (!look_ahead(sharer, error))
			return false;
		ahead = g_queue_pop_head(&sharer->ahead);
		if (!ahead)
			break;
		if (!execute(sharer, ahead, error))
			return false;
		atomic_fetch_add(&sharer->pass->progress->done_bytes,
				 ahead->ordered.run.blocks * sharer->pass->block_bytes);
	}

	return true;
}

bool share_all(Pass *pass, RunOrder *order, FileOpener *opener, GError **error)
{
	g_autoptr(RunSharer) runs = run_sharer_new(pass, opener);
	g_autoptr(DedupeWindow) window = dedupe_window_new(pass->block_bytes);
	Sharer sharer = {
		.pass = pass,
		.opener = opener,
		.order = order,
		.runs = runs,
		.window = window,
		.sources = G_QUEUE_INIT,
		.ahead = G_QUEUE_INIT,
	};
	bool done = execute_all(&sharer, error);

	run_sharer_end_target(runs);
	g_queue_clear_full(&sharer.sources, (GDestroyNotify)open_object_free);
	g_queue_clear_full(&sharer.ahead, (GDestroyNotify)ahead_free);
	return done;
}
