/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/fingerprint/reader-pool.h"

#include "common/threads/locked.h"
#include "common/threads/thread.h"
#include "daemon/context/compare-uint64.h"
#include "kernel-ioctl/machine/thread-io.h"

/* How many pieces, and bytes, are fetched ahead. */
#define AHEAD_PIECES 16
#define AHEAD_BYTES  (UINT64_C(4) << 20)

/* A reader is woken for so many pieces, or bytes: to wake one takes longer than to read a block that is cached. */
#define WAKE_PIECES 8
#define WAKE_BYTES  (UINT64_C(256) << 10)

/* One to a reader. */
typedef struct {
	ReaderPool *pool;
	unsigned number;
	GThread *thread;
	void *file; /* guarded by the pool's mutex: read through the page cache; NULL: none */
	uint64_t disk_bytes; /* written at its end, read when it was joined */
} Reader;

struct ReaderPool {
	/* Set at creation, never changed. */
	ReaderPoolWork work;
	unsigned n_readers;
	Reader *readers;

	/* Guarded by mutex. */
	pthread_mutex_t mutex;
	pthread_cond_t has_work; /* there are pieces to read, or the end has come */
	pthread_cond_t is_done;  /* the piece that the owner waits for was read or fetched */
	GTree *queued;           /* set of Piece, by place */
	uint64_t queued_bytes;
	Piece last; /* where the readers are: of the piece taken last */
	uint64_t next_number;
	const Piece *awaited; /* by the owner; NULL: none */
	unsigned n_idle;      /* readers that wait for work */
	bool is_called;       /* one of them was woken, and did not look for work yet */
	bool is_plugged;
	bool is_closing;
};

static int compare_places(const void *a, const void *b, void *data)
{
	const Piece *one = a;
	const Piece *other = b;
	int order = compare_uint64(one->physical, other->physical);

	return order ? order : compare_uint64(one->number, other->number);
}

static bool may_be_read(const ReaderPool *pool, const Piece *piece)
{
	unsigned n_cached = 0;

	if (piece->is_direct)
		return true;

	for (unsigned i = 0; i < pool->n_readers; i++) {
		if (pool->readers[i].file == piece->file)
			return false;
		n_cached += pool->readers[i].file != NULL;
	}

	return pool->work.n_cached == 0 || n_cached < pool->work.n_cached;
}

/* The first piece from @node on that may be read now. */
static Piece *first_free(const ReaderPool *pool, GTreeNode *node)
{
	for (; node; node = g_tree_node_next(node)) {
		Piece *piece = g_tree_node_key(node);

		if (may_be_read(pool, piece))
			return piece;
	}

	return NULL;
}

static void remove_queued(ReaderPool *pool, const Piece *piece)
{
	g_tree_remove(pool->queued, piece);
	pool->queued_bytes -= piece->length;
}

/* Take the next piece: above the last one on the disk, else the lowest. */
static Piece *take_next(ReaderPool *pool)
{
	Piece *piece;

	if (pool->is_plugged)
		return NULL;

	piece = first_free(pool, g_tree_upper_bound(pool->queued, &pool->last));
	if (!piece)
		piece = first_free(pool, g_tree_node_first(pool->queued));
	if (!piece)
		return NULL;

	remove_queued(pool, piece);
	piece->state = PIECE_READING;
	pool->last.physical = piece->physical;
	pool->last.number = piece->number;
	return piece;
}

/* Choose the pieces after @piece that are to be fetched. */
static unsigned choose_ahead(ReaderPool *pool, Piece *piece, Piece **ret)
{
	uint64_t bytes = 0;
	unsigned n = 0;

	for (GTreeNode *node = g_tree_upper_bound(pool->queued, piece);
	     node && n < AHEAD_PIECES && bytes < AHEAD_BYTES; node = g_tree_node_next(node)) {
		Piece *next = g_tree_node_key(node);

		bytes += next->length;
		if (next->goes_on || next->is_fetched)
			continue;
		next->is_fetched = true;
		next->n_fetching++;
		ret[n++] = next;
	}

	return n;
}

/* Wake the owner if it waits for @piece. */
static void tell_owner(ReaderPool *pool, const Piece *piece)
{
	if (pool->awaited == piece)
		pthread_cond_signal(&pool->is_done);
}

/* Called with the mutex locked; unlocks it meanwhile. */
static void fetch_ahead(ReaderPool *pool, Piece *piece)
{
	Piece *ahead[AHEAD_PIECES];
	unsigned n = choose_ahead(pool, piece, ahead);

	if (n == 0)
		return;

	pthread_mutex_unlock(&pool->mutex);
	for (unsigned i = 0; i < n; i++)
		pool->work.fetch(ahead[i], pool->work.data);
	pthread_mutex_lock(&pool->mutex);

	for (unsigned i = 0; i < n; i++) {
		ahead[i]->n_fetching--;
		tell_owner(pool, ahead[i]);
	}
}

/* One that was called calls the next one itself, so that none wakes for nothing. */
static bool may_call(const ReaderPool *pool)
{
	return pool->n_idle > 0 && !pool->is_called && !pool->is_plugged;
}

/* Whether enough waits for a reader. */
static bool is_worth_a_call(const ReaderPool *pool)
{
	return pool->awaited || g_tree_nnodes(pool->queued) >= WAKE_PIECES ||
	       pool->queued_bytes >= WAKE_BYTES;
}

/* Wake a reader, if there is any piece for it. */
static void call_reader(ReaderPool *pool)
{
	if (!may_call(pool) || !first_free(pool, g_tree_node_first(pool->queued)))
		return;

	pool->is_called = true;
	pthread_cond_signal(&pool->has_work);
}

static void read_piece(Reader *reader, Piece *piece)
{
	ReaderPool *pool = reader->pool;

	reader->file = piece->is_direct ? NULL : piece->file;
	if (is_worth_a_call(pool))
		call_reader(pool);
	fetch_ahead(pool, piece);

	pthread_mutex_unlock(&pool->mutex);
	pool->work.read(piece, reader->number, pool->work.data);
	pthread_mutex_lock(&pool->mutex);

	reader->file = NULL;
	piece->state = PIECE_DONE;
	tell_owner(pool, piece);
}

static void read_until_closing(Reader *reader)
{
	ReaderPool *pool = reader->pool;
	g_auto(Locked) locked G_GNUC_UNUSED = locked_take(&pool->mutex);

	while (!pool->is_closing) {
		Piece *piece = take_next(pool);

		if (piece) {
			read_piece(reader, piece);
			continue;
		}
		pool->n_idle++;
		pthread_cond_wait(&pool->has_work, &pool->mutex);
		pool->n_idle--;
		pool->is_called = false;
	}
}

static void *reader_main(void *data)
{
	Reader *reader = data;

	Throttle *throttle = reader->pool->work.throttle;

	if (throttle)
		throttle_join(throttle);
	read_until_closing(reader);
	if (throttle)
		throttle_leave(throttle);
	reader->disk_bytes = thread_io_read_bytes();
	return NULL;
}

ReaderPool *reader_pool_new(unsigned n_readers, const ReaderPoolWork *work, GError **error)
{
	g_autoptr(ReaderPool) pool = g_new0(ReaderPool, 1);

	pool->work = *work;
	pool->n_readers = n_readers;
	pool->readers = g_new0(Reader, n_readers);
	pthread_mutex_init(&pool->mutex, NULL);
	pthread_cond_init(&pool->has_work, NULL);
	pthread_cond_init(&pool->is_done, NULL);
	pool->queued = g_tree_new_full(compare_places, NULL, NULL, NULL);

	for (unsigned i = 0; i < n_readers; i++) {
		pool->readers[i].pool = pool;
		pool->readers[i].number = i;
		pool->readers[i].thread =
			thread_new("reader", reader_main, &pool->readers[i], error);
		if (!pool->readers[i].thread)
			return NULL;
	}

	return g_steal_pointer(&pool);
}

static void close_pool(ReaderPool *pool)
{
	g_auto(Locked) locked G_GNUC_UNUSED = locked_take(&pool->mutex);

	pool->is_closing = true;
	pthread_cond_broadcast(&pool->has_work);
}

uint64_t reader_pool_end(ReaderPool *pool)
{
	uint64_t disk_bytes = 0;

	close_pool(pool);
	for (unsigned i = 0; i < pool->n_readers; i++) {
		if (pool->readers[i].thread)
			g_thread_join(g_steal_pointer(&pool->readers[i].thread));
		disk_bytes += pool->readers[i].disk_bytes;
	}

	return disk_bytes;
}

void reader_pool_free(ReaderPool *pool)
{
	if (!pool)
		return;

	reader_pool_end(pool);
	g_tree_unref(pool->queued);
	pthread_cond_destroy(&pool->is_done);
	pthread_cond_destroy(&pool->has_work);
	pthread_mutex_destroy(&pool->mutex);
	g_free(pool->readers);
	g_free(pool);
}

/*
 * Whether to wake a reader for @piece, which is queued.  If another reader keeps it from being read now, that one takes
 * it later.
 */
static bool begin_call(ReaderPool *pool, const Piece *piece)
{
	if (!may_call(pool) || !may_be_read(pool, piece))
		return false;

	pool->is_called = true;
	return true;
}

/* Returns whether a reader is to be woken. */
static bool queue_piece(ReaderPool *pool, Piece *piece)
{
	g_auto(Locked) locked G_GNUC_UNUSED = locked_take(&pool->mutex);

	piece->number = ++pool->next_number;
	piece->state = PIECE_QUEUED;
	piece->is_fetched = piece->is_cached || piece->is_direct;
	piece->n_fetching = 0;
	g_tree_insert(pool->queued, piece, piece);
	pool->queued_bytes += piece->length;
	return is_worth_a_call(pool) && begin_call(pool, piece);
}

void reader_pool_put(ReaderPool *pool, Piece *piece)
{
	/* Without the mutex, which the reader takes first. */
	if (queue_piece(pool, piece))
		pthread_cond_signal(&pool->has_work);
}

static void set_plugged(ReaderPool *pool, bool is_plugged)
{
	g_auto(Locked) locked G_GNUC_UNUSED = locked_take(&pool->mutex);

	pool->is_plugged = is_plugged;
	call_reader(pool);
}

void reader_pool_plug(ReaderPool *pool)
{
	set_plugged(pool, true);
}

void reader_pool_unplug(ReaderPool *pool)
{
	set_plugged(pool, false);
}

void reader_pool_wait(ReaderPool *pool, Piece *piece)
{
	g_auto(Locked) locked G_GNUC_UNUSED = locked_take(&pool->mutex);

	pool->awaited = piece;
	if (piece->state == PIECE_QUEUED && begin_call(pool, piece))
		pthread_cond_signal(&pool->has_work);
	while (piece->state != PIECE_DONE || piece->n_fetching > 0)
		pthread_cond_wait(&pool->is_done, &pool->mutex);
	pool->awaited = NULL;
}

void reader_pool_withdraw(ReaderPool *pool, Piece *piece)
{
	g_auto(Locked) locked G_GNUC_UNUSED = locked_take(&pool->mutex);

	if (piece->state == PIECE_QUEUED) {
		remove_queued(pool, piece);
		piece->state = PIECE_WITHDRAWN;
	}
	pool->awaited = piece;
	while (piece->state == PIECE_READING || piece->n_fetching > 0)
		pthread_cond_wait(&pool->is_done, &pool->mutex);
	pool->awaited = NULL;
}
