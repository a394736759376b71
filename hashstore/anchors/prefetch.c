/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/anchors/prefetch.h"

#include "common/threads/thread.h"
#include "hashstore/anchors/merged-cursor.h"

/* Digests looked up ahead at a time: some hundred page reads per thread. */
#define BATCH 8192

/* Keep the disk's queue busy, with room for others. */
#define THREADS_MAX 8

/* Fewer digests are not worth a thread. */
#define DIGESTS_PER_THREAD 16

struct Prefetch {
	/* Set at creation, never changed. */
	HashStore *store; /* not owned; threads ask it only whether to stop, and to count */
	const char *path; /* not owned */
	DatabaseMode mode;
	const GPtrArray *looked_up; /* not owned */

	/* Thread: the owner's. */
	SegmentReader *reader;
	MergedCursor *merge; /* runs ahead of the walk */
	const Anchor *round;
	size_t n_round;
	size_t next;     /* of the round */
	GArray *digests; /* uint64_t, of the last batch */
};

/* A thread's share of a batch. */
typedef struct {
	const Prefetch *ahead;
	const uint64_t *digests;
	size_t n_digests;
	uint64_t read_bytes; /* by its thread */
} Share;

Prefetch *prefetch_new(HashStore *store, Database *database, const GPtrArray *walked,
		       const GPtrArray *looked_up, GError **error)
{
	g_autoptr(Prefetch) ahead = g_new0(Prefetch, 1);

	ahead->store = store;
	ahead->path = database->path;
	ahead->mode = database->mode;
	ahead->looked_up = looked_up;
	ahead->digests = g_array_sized_new(false, false, sizeof(uint64_t), BATCH);
	ahead->reader = segment_reader_new(database, false, error);
	if (!ahead->reader)
		return NULL;
	ahead->merge = merged_cursor_new(ahead->reader, walked, 0);

	return g_steal_pointer(&ahead);
}

void prefetch_free(Prefetch *ahead)
{
	if (!ahead)
		return;

	merged_cursor_free(ahead->merge);
	segment_reader_free(ahead->reader);
	g_array_unref(ahead->digests);
	g_free(ahead);
}

/* Look up the whole share in one segment, only to read its pages. */
static void look_up_share(const Share *share, SegmentReader *reader, const Segment *segment)
{
	g_autoptr(SegmentCursor) cursor = segment_cursor_new(reader, segment, 1);

	for (size_t i = 0; i < share->n_digests && hash_store_may_continue(share->ahead->store);
	     i++) {
		if (!segment_cursor_seek(cursor, share->digests[i], NULL))
			return;
	}
}

static uint64_t read_bytes(const Share *share)
{
	const HashStore *store = share->ahead->store;

	return store->count_reads ? store->count_reads() : 0;
}

static gpointer run_share(gpointer data)
{
	Share *share = data;
	const Prefetch *ahead = share->ahead;
	g_autoptr(Database) database = database_open(ahead->path, ahead->mode, NULL);
	g_autoptr(SegmentReader) reader = NULL;
	uint64_t before = read_bytes(share);
	const HashStorePayer *payer = ahead->store->payer;

	if (payer)
		payer->join(payer->data);
	if (database)
		reader = segment_reader_new(database, false, NULL);
	for (guint i = 0; reader && i < ahead->looked_up->len; i++)
		look_up_share(share, reader, ahead->looked_up->pdata[i]);
	share->read_bytes = read_bytes(share) - before;
	if (payer)
		payer->leave(payer->data);

	return NULL;
}

static void run_batch(Prefetch *ahead)
{
	const uint64_t *digests = (const uint64_t *)(void *)ahead->digests->data;
	size_t n = ahead->digests->len;
	size_t n_threads = MIN(n / DIGESTS_PER_THREAD, THREADS_MAX);
	GThread *threads[THREADS_MAX];
	Share shares[THREADS_MAX];

	for (size_t i = 0; i < n_threads; i++) {
		size_t begin = n * i / n_threads;

		shares[i].ahead = ahead;
		shares[i].digests = digests + begin;
		shares[i].n_digests = n * (i + 1) / n_threads - begin;
		shares[i].read_bytes = 0;
		/* Without a thread the walk itself reads these pages. */
		threads[i] = thread_new("look-ahead", run_share, &shares[i], NULL);
	}
	for (size_t i = 0; i < n_threads; i++) {
		if (threads[i])
			g_thread_join(threads[i]);
		ahead->store->thread_read_bytes += shares[i].read_bytes;
	}
}

/* Collect the next digests of the walk, each once; none at its end. */
static bool gather_batch(Prefetch *ahead, GError **error)
{
	uint64_t last = ANCHOR_ZEROS_DIGEST;

	g_array_set_size(ahead->digests, 0);
	while (ahead->digests->len < BATCH) {
		uint64_t digest;

		if (ahead->next == ahead->n_round) {
			ahead->next = 0;
			if (!merged_cursor_next(ahead->merge, &ahead->round, &ahead->n_round,
						error))
				return false;
			if (ahead->n_round == 0)
				return true;
		}
		digest = ahead->round[ahead->next++].digest;
		if (digest != last)
			g_array_append_val(ahead->digests, digest);
		last = digest;
	}

	return true;
}

bool prefetch_reach(Prefetch *ahead, uint64_t digest, GError **error)
{
	const GArray *digests = ahead->digests;

	if (digests->len > 0 && digest <= g_array_index(digests, uint64_t, digests->len - 1))
		return true;
	if (!gather_batch(ahead, error))
		return false;
	run_batch(ahead);

	return true;
}
