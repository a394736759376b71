/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/share/share.h"

#include "common/threads/thread.h"
#include "daemon/context/object-skips.h"
#include "daemon/share/open-object.h"
#include "daemon/share/rest-of-zeros.h"
#include "daemon/share/run-sharer.h"
#include "daemon/share/window-account.h"
#include "kernel-ioctl/machine/thread-io.h"

#include <time.h>

/* Targets that are opened ahead, their runs that are looked at, and the longest one whose data is then fetched. */
#define AHEAD_TARGETS 16
#define AHEAD_RUNS    16
#define AHEAD_BLOCKS  256

/* The worker opens more targets when so few wait. */
#define FEW_TARGETS (AHEAD_TARGETS / 2)

/* Limit of the runs of a target that are taken from the order before they are shared. */
#define TAKEN_RUNS (1 << 16)

/* The worker looks at the devices so often while it waits for threads. */
#define LOOK_NSEC 100000000

#define SEC_NSEC 1000000000

/* A target and its runs. */
typedef struct {
	uint64_t number;    /* in the order of targets, from 1 on */
	uint32_t id;        /* of the target */
	OpenObject *target; /* NULL: it was begun */
	GArray *runs;       /* Run: those that are still to be shared */
	bool is_complete;   /* no further runs will be added */
} Job;

typedef struct Sharer Sharer;

/* A thread that shares targets. */
typedef struct {
	Sharer *sharer;
	RunSharer *runs;
	RestOfZeros rest;
	Job *job;             /* NULL: none at the moment */
	uint32_t other_owner; /* the last target that was skipped because of its owner; 0: none */
	uint32_t awaited;     /* source that it waits for; 0: none */
	GThread *thread;      /* NULL: the worker itself */
	uint64_t disk_bytes;  /* written at its end, read when it was joined */
	/* Signalled when the job gets runs or is complete, when its source is final, or at the end. */
	pthread_cond_t may_go_on;
} TargetSharer;

/* Belongs to the thread whose turn it is. */
struct Sharer {
	Pass *pass;
	FileOpener *opener;
	RunOrder *order;
	DedupeWindow *window; /* for looking ahead */
	OpenSources *sources;
	uint64_t n_targets;
	Job *forming;   /* the last target, which the worker alone knows; or NULL */
	Job *last;      /* the last target, if it is not complete */
	GQueue waiting; /* Job, in the order of targets */
	bool is_ended;  /* the order has no more runs */
	TargetSharer *threads;
	unsigned n_threads;
	pthread_cond_t has_job;  /* a job waits, or all ends */
	pthread_cond_t is_asked; /* the worker: for jobs or runs, or to end */
	bool is_closing;
	GError *error; /* the first one of the threads */
};

static void job_free(Job *job)
{
	if (!job)
		return;

	open_object_free(job->target);
	g_array_unref(job->runs);
	g_free(job);
}

/* Whether a thread shares onto the object.  @before: the target must come before this one in the order. */
static bool is_begun(const Sharer *sharer, uint32_t id, uint64_t before)
{
	for (unsigned i = 0; i < sharer->n_threads; i++) {
		const Job *job = sharer->threads[i].job;

		if (job && job->id == id && job->number < before)
			return true;
	}

	return false;
}

static bool is_waiting(const Sharer *sharer, uint32_t id)
{
	if (sharer->forming && sharer->forming->id == id)
		return true;
	for (const GList *link = sharer->waiting.head; link; link = link->next)
		if (((const Job *)link->data)->id == id)
			return true;

	return false;
}

/* Wake all that wait for this source: for some, but not for others, an earlier target may still change it. */
static void wake_for_source(Sharer *sharer, uint32_t id)
{
	for (unsigned i = 0; i < sharer->n_threads; i++)
		if (sharer->threads[i].awaited == id)
			pthread_cond_signal(&sharer->threads[i].may_go_on);
}

/* Start reading what @run compares.  The worker alone knows the target, and the source is taken. */
static void fetch_run(Sharer *sharer, OpenObject *target, OpenObject *source, const Run *run)
{
	DedupeWindow *window = sharer->window;
	g_autoptr(GError) unmapped = NULL;
	size_t first, end;

	pass_give_turn(sharer->pass);
	/* Blocks with several references may be skipped, or shared at the very end. */
	if (dedupe_window_map(window, target, source, run->target_block - run->source_block,
			      run->target_block, run->blocks, &unmapped) &&
	    window_account_expects_compare(sharer->pass, window))
		for (size_t from = 0;
		     dedupe_window_next(window, BLOCK_CANDIDATE, from, &first, &end); from = end)
			dedupe_window_fetch(window, first, end);
	pass_take_turn(sharer->pass);
}

/* Start reading what a short run of the forming target will compare, so that the disk has several requests at a time. */
static bool fetch_ahead(Sharer *sharer, const Run *run, GError **error)
{
	OpenObject *target = sharer->forming->target;
	OpenObject *source = NULL;

	/* If a target were opened as a source, too, another process would seem to have it open. */
	if (!target->is_usable || run->blocks > AHEAD_BLOCKS || is_waiting(sharer, run->source) ||
	    is_begun(sharer, run->source, UINT64_MAX))
		return true;
	if (run->source != RUN_HOLE &&
	    !open_sources_take(sharer->sources, run->source, &source, error))
		return false;
	if (!source || source->is_usable)
		fetch_run(sharer, target, source, run);
	open_sources_give_back(sharer->sources, source);
	return true;
}

/* Skip a target for now if it was written to a moment ago. */
static bool leave_if_young(Sharer *sharer, OpenObject *target, GError **error)
{
	if (!target->is_usable || !filter_is_young(sharer->pass->filter, target->stamp.mtime_nsec))
		return true;

	return open_object_give_up(sharer->pass, sharer->opener, target, SKIP_YOUNG, UINT64_MAX,
				   GIVE_UP_FOR_NOW, error);
}

static bool begin_job(Sharer *sharer, uint32_t id, GError **error)
{
	Job *job = g_new0(Job, 1);

	job->number = ++sharer->n_targets;
	job->id = id;
	job->runs = g_array_new(false, false, sizeof(Run));
	sharer->forming = sharer->last = job;
	return open_object(sharer->pass, sharer->opener, id, &job->target, error) &&
	       leave_if_young(sharer, job->target, error);
}

/* Wake the thread that waits for runs of the last target. */
static void wake_for_runs(Sharer *sharer)
{
	for (unsigned i = 0; i < sharer->n_threads; i++)
		if (sharer->last && sharer->threads[i].job == sharer->last)
			pthread_cond_signal(&sharer->threads[i].may_go_on);
}

/* Let a thread see the forming target, or the runs that were added to the last one. */
static void publish(Sharer *sharer)
{
	if (sharer->forming) {
		g_queue_push_tail(&sharer->waiting, g_steal_pointer(&sharer->forming));
		pthread_cond_signal(&sharer->has_job);
	} else {
		wake_for_runs(sharer);
	}
}

static void complete_last(Sharer *sharer)
{
	if (sharer->last)
		sharer->last->is_complete = true;
	publish(sharer);
	sharer->last = NULL;
}

static bool may_take_runs(const Sharer *sharer)
{
	return !sharer->is_ended &&
	       g_queue_get_length((GQueue *)&sharer->waiting) < AHEAD_TARGETS &&
	       (!sharer->last || sharer->last->runs->len < TAKEN_RUNS);
}

/* Whether the pass goes on with sharing. */
static bool goes_on(const Sharer *sharer)
{
	return pass_checkpoint(sharer->pass) && !sharer->error && !sharer->is_closing &&
	       !postponed_has_rest(sharer->pass->postponed);
}

/* Take the next runs from the order, and open their targets. */
static bool look_ahead(Sharer *sharer, GError **error)
{
	while (goes_on(sharer) && may_take_runs(sharer)) {
		const OrderedRun *ordered;

		if (!run_order_next(sharer->order, &ordered, error))
			return false;
		if (!ordered || ordered->begins_target)
			complete_last(sharer);
		sharer->is_ended = !ordered;
		if (!ordered)
			break;
		if (ordered->begins_target && !begin_job(sharer, run_target(&ordered->run), error))
			return false;

		g_array_append_val(sharer->last->runs, ordered->run);
		if (sharer->forming && !fetch_ahead(sharer, &ordered->run, error))
			return false;
		if (!sharer->forming || sharer->last->runs->len >= AHEAD_RUNS)
			publish(sharer);
	}

	return true;
}

/* Whether the two may share; if not, it is counted once per target. */
static bool may_share(TargetSharer *self, const OpenObject *target, const OpenObject *source,
		      bool *ret, GError **error)
{
	Sharer *sharer = self->sharer;

	*ret = sharer->pass->settings->across_owners == ACROSS_OWNERS ||
	       source->owner == target->owner;
	if (*ret || self->other_owner == target->id)
		return true;

	self->other_owner = target->id;
	return object_skips_add(sharer->pass, sharer->opener, target->id, SKIP_OTHER_OWNER,
				UINT64_MAX, error);
}

static bool share_with(TargetSharer *self, const Run *run, OpenObject *target, OpenObject *source,
		       GError **error)
{
	Sharer *sharer = self->sharer;
	bool allowed;

	if (source->is_usable) {
		if (!may_share(self, target, source, &allowed, error))
			return false;
		if (allowed && !share_run(self->runs, run, source, error))
			return false;
	}
	/* Another thread may have given it up meanwhile.  The next pass finds the target another source. */
	if (!source->is_usable && source != target)
		postponed_add(sharer->pass->postponed, sharer->pass->store, target->id);
	return true;
}

/* Share the run of the present target.  Wait for its source first, which an earlier target may still change. */
static bool share_next(TargetSharer *self, const Run *run, GError **error)
{
	Sharer *sharer = self->sharer;
	OpenObject *target = run_sharer_target(self->runs);
	OpenObject *source = NULL;
	bool done;

	if (!target->is_usable)
		return true;
	if (run->source == target->id)
		return share_with(self, run, target, target, error);
	if (run->source == RUN_HOLE)
		return rest_of_zeros_share_run(&self->rest, self->runs, run,
					       sharer->pass->block_bytes, error);

	self->awaited = run->source;
	while (is_begun(sharer, run->source, self->job->number))
		pthread_cond_wait(&self->may_go_on, sharer->pass->turn);
	self->awaited = 0;
	if (!open_sources_take(sharer->sources, run->source, &source, error))
		return false;
	done = share_with(self, run, target, source, error);
	open_sources_give_back(sharer->sources, source);
	return done;
}

/* Share the runs that the job has. */
static bool share_runs(TargetSharer *self, GError **error)
{
	Sharer *sharer = self->sharer;
	Job *job = self->job;
	g_autoptr(GArray) runs = job->runs;

	job->runs = g_array_new(false, false, sizeof(Run));
	if (job == sharer->last)
		pthread_cond_signal(&sharer->is_asked);
	if (job->target)
		run_sharer_begin_take(self->runs, g_steal_pointer(&job->target));
	for (guint i = 0; i < runs->len && goes_on(sharer); i++) {
		const Run *run = &g_array_index(runs, Run, i);

		if (!share_next(self, run, error))
			return false;
		atomic_fetch_add(&sharer->pass->progress->done_bytes,
				 run->blocks * sharer->pass->block_bytes);
	}

	return true;
}

static bool is_idle(const Sharer *sharer)
{
	for (unsigned i = 0; i < sharer->n_threads; i++)
		if (sharer->threads[i].job)
			return false;

	return g_queue_is_empty((GQueue *)&sharer->waiting);
}

/* The target may be a source of others from now on. */
static void end_job(TargetSharer *self)
{
	Sharer *sharer = self->sharer;
	uint32_t id = self->job->id;

	run_sharer_close(self->runs);
	if (self->job == sharer->last)
		sharer->last = NULL;
	g_clear_pointer(&self->job, job_free);
	wake_for_source(sharer, id);
	if (sharer->error || (sharer->is_ended && is_idle(sharer)))
		pthread_cond_signal(&sharer->is_asked);
}

static bool is_done(const Job *job)
{
	return job->runs->len == 0 && job->is_complete;
}

/* Share the job to its end; the worker may still add runs to it. */
static bool share_job(TargetSharer *self, GError **error)
{
	Sharer *sharer = self->sharer;

	while (goes_on(sharer) && !is_done(self->job)) {
		if (self->job->runs->len == 0)
			pthread_cond_wait(&self->may_go_on, sharer->pass->turn);
		else if (!share_runs(self, error))
			return false;
	}

	return rest_of_zeros_finish(&self->rest, self->runs, error);
}

/* Take the next job; NULL: there is none now. */
static Job *take_job(Sharer *sharer)
{
	Job *job = g_queue_pop_head(&sharer->waiting);

	if (g_queue_get_length(&sharer->waiting) <= FEW_TARGETS)
		pthread_cond_signal(&sharer->is_asked);
	return job;
}

static void *sharer_main(void *data)
{
	TargetSharer *self = data;
	Sharer *sharer = self->sharer;
	Pass *pass = sharer->pass;

	throttle_join(pass->throttle);
	pass_take_turn(pass);
	while (!sharer->is_closing) {
		g_autoptr(GError) failed = NULL;

		self->job = take_job(sharer);
		if (!self->job) {
			pthread_cond_wait(&sharer->has_job, pass->turn);
			continue;
		}
		if (!share_job(self, &failed) && !sharer->error)
			sharer->error = g_steal_pointer(&failed);
		end_job(self);
	}
	pass_give_turn(pass);
	throttle_leave(pass->throttle);
	self->disk_bytes = thread_io_read_bytes();
	return NULL;
}

/* Share all without other threads. */
static bool share_alone(Sharer *sharer, GError **error)
{
	TargetSharer *self = &sharer->threads[0];
	bool done = true;

	while (done && goes_on(sharer)) {
		done = look_ahead(sharer, error);
		if (!self->job)
			self->job = g_queue_pop_head(&sharer->waiting);
		if (!done || !self->job)
			break;
		done = share_runs(self, error) &&
		       (!is_done(self->job) ||
			rest_of_zeros_finish(&self->rest, self->runs, error));
		if (is_done(self->job))
			end_job(self);
	}
	if (self->job)
		end_job(self);

	return done;
}

static void wait_until_asked(Sharer *sharer)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += LOOK_NSEC;
	until.tv_sec += until.tv_nsec / SEC_NSEC;
	until.tv_nsec %= SEC_NSEC;
	pthread_cond_timedwait(&sharer->is_asked, sharer->pass->turn, &until);
}

/* Give the threads work until all is shared. */
static bool share_on_threads(Sharer *sharer, GError **error)
{
	bool done = true;

	while (done && goes_on(sharer)) {
		done = look_ahead(sharer, error);
		if (!done || (sharer->is_ended && is_idle(sharer)))
			break;
		wait_until_asked(sharer);
	}

	return done;
}

/* Start as many as @wanted, or as can be had.  False if there is none. */
static bool start_threads(Sharer *sharer, unsigned wanted, GError **error)
{
	g_autoptr(GError) failed = NULL;

	while (sharer->n_threads < wanted) {
		TargetSharer *self = &sharer->threads[sharer->n_threads];

		self->thread = thread_new("sharer", sharer_main, self, &failed);
		if (!self->thread)
			break;
		sharer->n_threads++;
	}
	if (sharer->n_threads > 0)
		return true;

	g_propagate_error(error, g_steal_pointer(&failed));
	return false;
}

/* End the threads after their present runs. */
static void end_threads(Sharer *sharer)
{
	Pass *pass = sharer->pass;

	sharer->is_closing = true;
	pthread_cond_broadcast(&sharer->has_job);
	for (unsigned i = 0; i < sharer->n_threads; i++)
		pthread_cond_signal(&sharer->threads[i].may_go_on);
	pass_give_turn(pass);
	for (unsigned i = 0; i < sharer->n_threads; i++) {
		g_thread_join(sharer->threads[i].thread);
		pass->result->disk_bytes += sharer->threads[i].disk_bytes;
	}
}

static bool share(Sharer *sharer, unsigned wanted, GError **error)
{
	pthread_mutex_t turn;
	bool done;

	if (wanted == 1) {
		sharer->n_threads = 1;
		return share_alone(sharer, error);
	}

	pthread_mutex_init(&turn, NULL);
	sharer->pass->turn = &turn;
	pass_take_turn(sharer->pass);
	done = start_threads(sharer, wanted, error) && share_on_threads(sharer, error);
	end_threads(sharer);
	sharer->pass->turn = NULL;
	pthread_mutex_destroy(&turn);
	if (!done || !sharer->error)
		return done;

	g_propagate_error(error, g_steal_pointer(&sharer->error));
	return false;
}

/*
 * How many threads may share.  Zeros that are shared with others have one source.  On btrfs, what is compared depends
 * on what was shared before; and extents, not files, are shared there as a rule.
 */
static unsigned count_threads(const Pass *pass)
{
	return pass->filesystem->identity.kind == FS_KIND_XFS &&
			       pass->settings->zeros != ZEROS_SHARE
		       ? pass->parallelism.n_sharers
		       : 1;
}

static void init_condition(pthread_cond_t *condition)
{
	pthread_condattr_t attributes;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(condition, &attributes);
	pthread_condattr_destroy(&attributes);
}

static void sharer_init(Sharer *sharer, unsigned wanted)
{
	sharer->threads = g_new0(TargetSharer, wanted);
	init_condition(&sharer->has_job);
	init_condition(&sharer->is_asked);
	for (unsigned i = 0; i < wanted; i++) {
		TargetSharer *self = &sharer->threads[i];

		self->sharer = sharer;
		self->runs = run_sharer_new(sharer->pass, sharer->opener);
		init_condition(&self->may_go_on);
	}
}

static void sharer_clear(Sharer *sharer, unsigned wanted)
{
	for (unsigned i = 0; i < wanted; i++) {
		run_sharer_free(sharer->threads[i].runs);
		pthread_cond_destroy(&sharer->threads[i].may_go_on);
	}
	pthread_cond_destroy(&sharer->is_asked);
	pthread_cond_destroy(&sharer->has_job);
	g_free(sharer->threads);
	job_free(sharer->forming);
	g_queue_clear_full(&sharer->waiting, (GDestroyNotify)job_free);
	g_clear_error(&sharer->error);
}

bool share_all(Pass *pass, RunOrder *order, FileOpener *opener, GError **error)
{
	unsigned wanted = MAX(count_threads(pass), 1);
	g_autoptr(DedupeWindow) window = dedupe_window_new(pass->block_bytes);
	g_autoptr(OpenSources) sources = open_sources_new(pass, opener);
	Sharer sharer = {
		.pass = pass,
		.opener = opener,
		.order = order,
		.window = window,
		.sources = sources,
		.waiting = G_QUEUE_INIT,
	};
	bool done;

	sharer_init(&sharer, wanted);
	done = share(&sharer, wanted, error);
	sharer_clear(&sharer, wanted);
	return done;
}
