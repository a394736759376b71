/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/share/step-pool.h"

#include "common/threads/locked.h"
#include "common/threads/message-queue.h"
#include "common/threads/thread.h"
#include "kernel-ioctl/call/file-key.h"
#include "kernel-ioctl/machine/thread-io.h"

/* The owner looks at the devices so often while it waits. */
#define LOOK_USEC (100 * INT64_C(1000))

/* So much is fetched ahead, so that the disk reads while the kernel compares. */
#define AHEAD_BYTES (UINT64_C(4) << 20)

/* A reference that was shared: it has the data of @source from @source_offset on. */
struct SpareSource {
	FileKey source;
	uint64_t source_offset;
	ExtentRef place;
	uint64_t offset;
	uint64_t length;
	FileReader *reader; /* borrowed from the job */
};

typedef struct {
	StepPool *pool;
	StepSharer *sharer;
	GThread *thread;
	uint64_t disk_bytes; /* written at its end, read when it was joined */
} Sharer;

struct StepPool {
	/* Set at creation, never changed. */
	Pass *pass;
	unsigned n_sharers;
	Sharer *sharers;
	StepSharer *own; /* of the owner, borrowed */
	Receiver *done;  /* of StepJob */

	/* Thread: the owner. */
	MessageQueue *messages;
	unsigned n_put; /* and not done */

	/* Guards the rest. */
	pthread_mutex_t mutex;
	pthread_cond_t has_work;
	GQueue waiting;       /* StepJob, in the order of putting */
	GHashTable *in_use;   /* set of FileKey: the files of steps that are being shared */
	GPtrArray *spares;    /* SpareSource */
	uint64_t ahead_bytes; /* fetched for waiting jobs */
	bool is_closing;
};

static FileKey key_of(const ExtentRef *place)
{
	return (FileKey){ place->root, place->inode };
}

static bool is_in_use(const StepPool *pool, const ExtentRef *place)
{
	FileKey key = key_of(place);

	return g_hash_table_contains(pool->in_use, &key);
}

static void use(StepPool *pool, const ExtentRef *place)
{
	FileKey key = key_of(place);

	g_hash_table_add(pool->in_use, g_memdup2(&key, sizeof(key)));
}

static void disuse(StepPool *pool, const ExtentRef *place)
{
	FileKey key = key_of(place);

	g_hash_table_remove(pool->in_use, &key);
}

/* The file that @job reads besides its target; NULL: none. */
static const ExtentRef *source_of(const StepJob *job)
{
	if (job->step.from != STEP_FROM_PLACE)
		return NULL;

	return job->spare ? &job->spare->place : &job->step.source;
}

static bool is_spare_of(const SpareSource *spare, const ExtentStep *step)
{
	FileKey source = key_of(&step->source);

	return file_key_equal(&spare->source, &source) &&
	       spare->source_offset == step->source_offset;
}

/* A spare source of @step whose file nobody uses. */
static const SpareSource *find_spare(const StepPool *pool, const ExtentStep *step)
{
	for (guint i = 0; i < pool->spares->len; i++) {
		const SpareSource *spare = g_ptr_array_index(pool->spares, i);

		if (is_spare_of(spare, step) && spare->length >= step->length &&
		    !is_in_use(pool, &spare->place))
			return spare;
	}

	return NULL;
}

/* Whether nobody uses the files of @job, with a spare source if need be. */
static bool is_free(const StepPool *pool, StepJob *job)
{
	const ExtentStep *step = &job->step;

	if (is_in_use(pool, &step->target))
		return false;
	if (step->from != STEP_FROM_PLACE || !is_in_use(pool, &step->source))
		return true;

	job->spare = find_spare(pool, step);
	return job->spare != NULL;
}

/* The first job whose files nobody uses; NULL: there is none now. */
static StepJob *take_next(StepPool *pool)
{
	for (GList *link = pool->waiting.head; link; link = link->next) {
		StepJob *job = link->data;

		if (!is_free(pool, job))
			continue;
		g_queue_delete_link(&pool->waiting, link);
		if (job->is_fetched)
			pool->ahead_bytes -= job->ahead_bytes;
		use(pool, &job->step.target);
		if (source_of(job))
			use(pool, source_of(job));
		return job;
	}

	return NULL;
}

/* Share the step of @job with its spare source.  If that fails, that source may be to blame. */
static void share_with_spare(StepSharer *sharer, StepJob *job)
{
	ExtentStep step = job->step;
	StepFiles files = { job->files.to, job->spare->reader };

	step.source = job->spare->place;
	step.source_offset = job->spare->offset;
	job->shared = step_sharer_share(sharer, &step, &files);
	job->is_left = job->shared.done < step.length;
}

/* Share the step of @job, unless it would differ.  @mutex, or NULL, is given up while the step is shared. */
static void share_step(StepSharer *sharer, StepJob *job, pthread_mutex_t *mutex)
{
	job->is_left = job->differs && *job->differs;
	if (job->is_left)
		return;

	if (mutex)
		pthread_mutex_unlock(mutex);
	if (job->spare)
		share_with_spare(sharer, job);
	else
		job->shared = step_sharer_share(sharer, &job->step, &job->files);
	if (mutex)
		pthread_mutex_lock(mutex);
	if (job->differs && !job->is_left && job->shared.outcome == DEDUPE_DIFFERS)
		*job->differs = true;
}

/* Whether the threads could use one more spare source of @step. */
static bool wants_spare(const StepPool *pool, const ExtentStep *step)
{
	guint n = 0;

	for (guint i = 0; i < pool->spares->len; i++)
		n += is_spare_of(g_ptr_array_index(pool->spares, i), step);

	return n + 1 < pool->n_sharers;
}

/* From now on, the target of @job is a source, if this is of use. */
static bool add_spare(StepPool *pool, const StepJob *job)
{
	const ExtentStep *step = &job->step;
	SpareSource *spare;

	if (step->from != STEP_FROM_PLACE || job->is_left || job->shared.done < step->length ||
	    !wants_spare(pool, step))
		return false;

	spare = g_new(SpareSource, 1);
	*spare = (SpareSource){
		.source = key_of(&step->source),
		.source_offset = step->source_offset,
		.place = step->target,
		.offset = step->target_offset,
		.length = step->length,
		.reader = job->files.to,
	};
	g_ptr_array_add(pool->spares, spare);
	return true;
}

/* Nobody reads the target of @job again: drop its pages now, beside calls of the others. */
static void drop_target(StepPool *pool, const StepJob *job)
{
	pthread_mutex_unlock(&pool->mutex);
	file_reader_drop(job->files.to, job->step.target_offset, job->shared.done);
	pthread_mutex_lock(&pool->mutex);
}

/* The first waiting job whose data may be fetched; NULL: there is none, or enough is fetched. */
static StepJob *take_unfetched(StepPool *pool)
{
	if (pool->ahead_bytes >= AHEAD_BYTES)
		return NULL;

	for (GList *link = pool->waiting.head; link; link = link->next) {
		StepJob *job = link->data;

		if (job->is_fetched)
			continue;
		job->is_fetched = true;
		pool->ahead_bytes += job->ahead_bytes;
		return job;
	}

	return NULL;
}

/* The owner waits for the job in hand, so the files of the others stay open. */
static void fetch_ahead(StepPool *pool)
{
	StepJob *job;

	while ((job = take_unfetched(pool))) {
		pthread_mutex_unlock(&pool->mutex);
		file_reader_fetch_held(job->files.to, job->step.target_offset, job->ahead_bytes);
		pthread_mutex_lock(&pool->mutex);
	}
}

static void do_job(Sharer *sharer, StepJob *job)
{
	StepPool *pool = sharer->pool;

	fetch_ahead(pool);
	share_step(sharer->sharer, job, &pool->mutex);
	if (source_of(job))
		disuse(pool, source_of(job));
	/* It may be in the file of its source. */
	use(pool, &job->step.target);
	/* Another job may have waited for these files. */
	pthread_cond_broadcast(&pool->has_work);
	if (!add_spare(pool, job))
		drop_target(pool, job);
	disuse(pool, &job->step.target);
	pthread_cond_broadcast(&pool->has_work);
	receiver_send(pool->done, job);
}

static void share_until_closing(Sharer *sharer)
{
	StepPool *pool = sharer->pool;
	g_auto(Locked) locked G_GNUC_UNUSED = locked_take(&pool->mutex);

	while (!pool->is_closing) {
		StepJob *job = take_next(pool);

		if (job)
			do_job(sharer, job);
		else
			pthread_cond_wait(&pool->has_work, &pool->mutex);
	}
}

static void *sharer_main(void *data)
{
	Sharer *sharer = data;
	Throttle *throttle = sharer->pool->pass->throttle;

	throttle_join(throttle);
	share_until_closing(sharer);
	throttle_leave(throttle);
	sharer->disk_bytes = thread_io_read_bytes();
	return NULL;
}

static void note_done(void *content G_GNUC_UNUSED, void *data)
{
	((StepPool *)data)->n_put--;
}

/* Without threads the owner shares the steps itself. */
static void start_threads(StepPool *pool, ExtentFiles *files)
{
	g_autoptr(GError) failed = NULL;
	unsigned wanted = pool->pass->parallelism.n_sharers;

	if (wanted <= 1)
		return;
	pool->messages = message_queue_new(&failed);
	if (!pool->messages)
		return;

	pool->done = receiver_new(pool->messages, note_done, NULL, pool);
	pool->sharers = g_new0(Sharer, wanted);
	for (unsigned i = 0; i < wanted; i++) {
		Sharer *sharer = &pool->sharers[i];

		sharer->pool = pool;
		sharer->sharer = step_sharer_new(pool->pass, files);
		sharer->thread = thread_new("sharer", sharer_main, sharer, &failed);
		if (!sharer->thread) {
			step_sharer_free(sharer->sharer);
			break;
		}
		pool->n_sharers++;
	}
}

StepPool *step_pool_new(Pass *pass, ExtentFiles *files, StepSharer *own)
{
	StepPool *pool = g_new0(StepPool, 1);

	pool->pass = pass;
	pool->own = own;
	pthread_mutex_init(&pool->mutex, NULL);
	pthread_cond_init(&pool->has_work, NULL);
	g_queue_init(&pool->waiting);
	pool->in_use = g_hash_table_new_full(file_key_hash, file_key_equal, g_free, NULL);
	pool->spares = g_ptr_array_new_with_free_func(g_free);
	start_threads(pool, files);
	return pool;
}

static void close_pool(StepPool *pool)
{
	g_auto(Locked) locked G_GNUC_UNUSED = locked_take(&pool->mutex);

	pool->is_closing = true;
	pthread_cond_broadcast(&pool->has_work);
}

void step_pool_free(StepPool *pool)
{
	if (!pool)
		return;

	close_pool(pool);
	for (unsigned i = 0; i < pool->n_sharers; i++) {
		Sharer *sharer = &pool->sharers[i];

		g_thread_join(sharer->thread);
		step_sharer_free(sharer->sharer);
		pool->pass->result->disk_bytes += sharer->disk_bytes;
	}
	g_free(pool->sharers);
	receiver_close(pool->done);
	if (pool->messages)
		message_queue_unref(pool->messages);
	g_hash_table_unref(pool->in_use);
	g_ptr_array_unref(pool->spares);
	pthread_cond_destroy(&pool->has_work);
	pthread_mutex_destroy(&pool->mutex);
	g_free(pool);
}

void step_pool_put(StepPool *pool, StepJob *job)
{
	if (pool->n_sharers == 0) {
		share_step(pool->own, job, NULL);
		return;
	}

	g_auto(Locked) locked G_GNUC_UNUSED = locked_take(&pool->mutex);

	pool->n_put++;
	g_queue_push_tail(&pool->waiting, job);
	pthread_cond_signal(&pool->has_work);
}

void step_pool_wait(StepPool *pool)
{
	while (pool->n_put > 0) {
		message_queue_wait(pool->messages, LOOK_USEC);
		/* If the pass ends, the jobs do. */
		(void)!pass_checkpoint(pool->pass);
	}

	g_auto(Locked) locked G_GNUC_UNUSED = locked_take(&pool->mutex);

	/* Their files are closed from now on. */
	g_ptr_array_set_size(pool->spares, 0);
}
