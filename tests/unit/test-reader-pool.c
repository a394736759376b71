/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/threads/locked.h"
#include "daemon/fingerprint/reader-pool.h"

#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#define PIECES_MAX 400
#define FILES      8

/* A piece of the first length is read at once.  One of the second waits for others, or for the owner. */
#define LONG_BYTES  (UINT64_C(256) << 10)
#define SHORT_BYTES UINT64_C(4096)

/* So many short pieces are read at once. */
#define SHORT_PIECES 8

/* A disk that records requests, and blocks readers until it is opened. */
typedef struct {
	ReaderPool *pool;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	bool is_open;
	unsigned n_begun;
	uint64_t order[PIECES_MAX]; /* addresses, in reading order */
	unsigned n_read;
	uint64_t fetched[PIECES_MAX];
	unsigned n_fetched;
	char files[FILES];
	atomic_uint n_at[FILES]; /* readers at a file */
	Piece pieces[PIECES_MAX];
} Disk;

static void disk_read(Piece *piece, unsigned reader, void *data)
{
	Disk *disk = data;
	size_t file = (size_t)((char *)piece->file - disk->files);
	g_auto(Locked) locked G_GNUC_UNUSED = NULL;

	g_assert_cmpuint(atomic_fetch_add(&disk->n_at[file], 1), ==, 0);
	locked = locked_take(&disk->mutex);
	disk->n_begun++;
	pthread_cond_broadcast(&disk->changed);
	while (!disk->is_open)
		pthread_cond_wait(&disk->changed, &disk->mutex);
	disk->order[disk->n_read++] = piece->physical;
	atomic_fetch_sub(&disk->n_at[file], 1);
}

static void disk_fetch(const Piece *piece, void *data)
{
	Disk *disk = data;
	g_auto(Locked) locked G_GNUC_UNUSED = locked_take(&disk->mutex);

	disk->fetched[disk->n_fetched++] = piece->physical;
}

/* @n_cached: see ReaderPoolWork. */
static Disk *disk_new_for(unsigned n_readers, unsigned n_cached)
{
	Disk *disk = g_new0(Disk, 1);
	ReaderPoolWork work = { disk_read, disk_fetch, disk, n_cached, NULL };
	g_autoptr(GError) error = NULL;

	pthread_mutex_init(&disk->mutex, NULL);
	pthread_cond_init(&disk->changed, NULL);
	disk->pool = reader_pool_new(n_readers, &work, &error);
	g_assert_no_error(error);
	return disk;
}

static Disk *disk_new(unsigned n_readers)
{
	return disk_new_for(n_readers, 0);
}

static void disk_free(Disk *disk)
{
	reader_pool_free(disk->pool);
	pthread_mutex_destroy(&disk->mutex);
	pthread_cond_destroy(&disk->changed);
	g_free(disk);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Disk, disk_free)

static void put_piece(Disk *disk, unsigned i, Piece piece)
{
	disk->pieces[i] = piece;
	reader_pool_put(disk->pool, &disk->pieces[i]);
}

static void put(Disk *disk, unsigned i, unsigned file, uint64_t physical, bool goes_on)
{
	put_piece(disk, i,
		  (Piece){ .file = &disk->files[file],
			   .physical = physical,
			   .length = LONG_BYTES,
			   .goes_on = goes_on });
}

/* Put the short pieces from @first up to @end, each of a file of its own. */
static void put_short(Disk *disk, unsigned first, unsigned end)
{
	for (unsigned i = first; i < end; i++)
		put_piece(disk, i,
			  (Piece){ .file = &disk->files[i % FILES],
				   .physical = 10 * i,
				   .length = SHORT_BYTES });
}

/* Whether the thread is a reader, and sleeps. */
static bool is_sleeping_reader(const char *id)
{
	g_autofree char *path = g_build_filename("/proc/self/task", id, "stat", NULL);
	g_autofree char *stat = NULL;

	return g_file_get_contents(path, &stat, NULL, NULL) && strstr(stat, " (reader) S ");
}

static unsigned count_sleeping_readers(void)
{
	g_autoptr(GDir) threads = g_dir_open("/proc/self/task", 0, NULL);
	const char *id;
	unsigned n = 0;

	while ((id = g_dir_read_name(threads)))
		n += is_sleeping_reader(id);

	return n;
}

/* A pool whose readers wait for work.  One of them may have slept on the mutex at the first look. */
static Disk *disk_new_idle(unsigned n_readers)
{
	Disk *disk = disk_new(n_readers);

	for (unsigned n_looks = 0; n_looks < 2; n_looks++)
		while (count_sleeping_readers() < n_readers)
			g_usleep(1000);

	return disk;
}

/* Readers that were woken would have begun in this time. */
static void assert_none_is_begun(Disk *disk)
{
	g_usleep(20000);
	g_auto(Locked) locked G_GNUC_UNUSED = locked_take(&disk->mutex);

	g_assert_cmpuint(disk->n_begun, ==, 0);
}

/* Wait until @n pieces were begun. */
static void await_begun(Disk *disk, unsigned n)
{
	g_auto(Locked) locked G_GNUC_UNUSED = locked_take(&disk->mutex);

	while (disk->n_begun < n)
		pthread_cond_wait(&disk->changed, &disk->mutex);
}

static void open_disk(Disk *disk)
{
	g_auto(Locked) locked G_GNUC_UNUSED = locked_take(&disk->mutex);

	disk->is_open = true;
	pthread_cond_broadcast(&disk->changed);
}

static void test_pieces_are_read_up_the_disk_and_then_from_its_lower_end(void)
{
	static const uint64_t put_order[] = { 50, 70, 10, 90, 60, 30, 60, 20 };
	static const uint64_t read_order[] = { 50, 60, 60, 70, 90, 10, 20, 30 };
	g_autoptr(Disk) disk = disk_new(1);

	for (unsigned i = 0; i < G_N_ELEMENTS(put_order); i++) {
		put(disk, i, i % FILES, put_order[i], false);
		await_begun(disk, 1);
	}
	open_disk(disk);
	for (unsigned i = 0; i < G_N_ELEMENTS(put_order); i++)
		reader_pool_wait(disk->pool, &disk->pieces[i]);

	g_assert_cmpmem(disk->order, sizeof(read_order), read_order, sizeof(read_order));
}

static void test_what_is_put_ahead_of_the_reader_is_read_on_its_way(void)
{
	static const uint64_t read_order[] = { 50, 55, 80, 45 };
	g_autoptr(Disk) disk = disk_new(1);

	put(disk, 0, 0, 50, false);
	await_begun(disk, 1);
	put(disk, 1, 1, 80, false);
	put(disk, 2, 2, 45, false);
	put(disk, 3, 3, 55, false);
	open_disk(disk);
	for (unsigned i = 0; i < 4; i++)
		reader_pool_wait(disk->pool, &disk->pieces[i]);

	g_assert_cmpmem(disk->order, sizeof(read_order), read_order, sizeof(read_order));
}

static void test_what_is_put_while_it_is_plugged_is_read_in_order(void)
{
	static const uint64_t read_order[] = { 10, 50, 70, 90, 20, 60 };
	g_autoptr(Disk) disk = disk_new(1);

	open_disk(disk);
	reader_pool_plug(disk->pool);
	put(disk, 0, 0, 90, false);
	put(disk, 1, 1, 70, false);
	put(disk, 2, 0, 50, false);
	put(disk, 3, 1, 10, false);
	reader_pool_unplug(disk->pool);
	for (unsigned i = 0; i < 4; i++)
		reader_pool_wait(disk->pool, &disk->pieces[i]);

	reader_pool_plug(disk->pool);
	put(disk, 4, 0, 60, false);
	put(disk, 5, 1, 20, false);
	reader_pool_unplug(disk->pool);
	for (unsigned i = 4; i < 6; i++)
		reader_pool_wait(disk->pool, &disk->pieces[i]);

	g_assert_cmpmem(disk->order, sizeof(read_order), read_order, sizeof(read_order));
}

static void test_every_piece_is_read_once_and_a_file_by_one_reader_at_a_time(void)
{
	g_autoptr(Disk) disk = disk_new(4);
	g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);

	open_disk(disk);
	for (unsigned i = 0; i < PIECES_MAX; i++)
		put(disk, i, i * 7 % FILES, 1 + i * 7919 % 1009 * PIECES_MAX + i, i % 3 == 0);
	for (unsigned i = 0; i < PIECES_MAX; i++)
		reader_pool_wait(disk->pool, &disk->pieces[i]);

	g_assert_cmpuint(disk->n_read, ==, PIECES_MAX);
	for (unsigned i = 0; i < PIECES_MAX; i++)
		g_assert_true(g_hash_table_add(seen, GSIZE_TO_POINTER(disk->order[i])));
}

static void test_readers_work_at_the_same_time(void)
{
	g_autoptr(Disk) disk = disk_new(3);

	for (unsigned i = 0; i < 4; i++)
		put(disk, i, i, 10 * i, false);
	/* All three wait at the disk, which is closed. */
	await_begun(disk, 3);
	open_disk(disk);
	for (unsigned i = 0; i < 4; i++)
		reader_pool_wait(disk->pool, &disk->pieces[i]);
	g_assert_cmpuint(disk->n_read, ==, 4);
}

static void test_what_is_withdrawn_is_not_read(void)
{
	static const uint64_t read_order[] = { 10, 30 };
	g_autoptr(Disk) disk = disk_new(1);

	put(disk, 0, 0, 10, false);
	await_begun(disk, 1);
	put(disk, 1, 1, 20, false);
	put(disk, 2, 2, 30, false);
	reader_pool_withdraw(disk->pool, &disk->pieces[1]);
	g_assert_cmpint(disk->pieces[1].state, ==, PIECE_WITHDRAWN);
	open_disk(disk);
	/* A withdrawal waits for a piece that is being read, and accepts one that was read. */
	reader_pool_withdraw(disk->pool, &disk->pieces[0]);
	g_assert_cmpint(disk->pieces[0].state, ==, PIECE_DONE);
	reader_pool_wait(disk->pool, &disk->pieces[2]);
	reader_pool_withdraw(disk->pool, &disk->pieces[2]);

	g_assert_cmpuint(disk->n_read, ==, 2);
	g_assert_cmpmem(disk->order, sizeof(read_order), read_order, sizeof(read_order));
}

static void test_what_goes_on_is_not_fetched_and_others_are_once(void)
{
	static const uint64_t fetched[] = { 30, 50, 60 };
	g_autoptr(Disk) disk = disk_new(1);

	put(disk, 0, 0, 10, false);
	await_begun(disk, 1);
	put(disk, 1, 0, 20, true);
	put(disk, 2, 1, 30, false);
	put(disk, 3, 1, 40, true);
	put(disk, 4, 2, 50, false);
	put(disk, 5, 3, 60, false);
	open_disk(disk);
	for (unsigned i = 0; i < 6; i++)
		reader_pool_wait(disk->pool, &disk->pieces[i]);

	g_assert_cmpuint(disk->n_fetched, ==, G_N_ELEMENTS(fetched));
	g_assert_cmpmem(disk->fetched, sizeof(fetched), fetched, sizeof(fetched));
}

static void test_what_is_cached_is_not_fetched(void)
{
	static const uint64_t fetched[] = { 30 };
	g_autoptr(Disk) disk = disk_new(1);

	put(disk, 0, 0, 10, false);
	await_begun(disk, 1);
	put_piece(disk, 1,
		  (Piece){ .file = &disk->files[1],
			   .physical = 20,
			   .length = LONG_BYTES,
			   .is_cached = true });
	put(disk, 2, 2, 30, false);
	open_disk(disk);
	for (unsigned i = 0; i < 3; i++)
		reader_pool_wait(disk->pool, &disk->pieces[i]);

	g_assert_cmpuint(disk->n_fetched, ==, G_N_ELEMENTS(fetched));
	g_assert_cmpmem(disk->fetched, sizeof(fetched), fetched, sizeof(fetched));
}

/* On a rotating disk one reader reads through the page cache, and all read directly, also one file. */
static void test_direct_pieces_wait_for_no_other_reader(void)
{
	g_autoptr(Disk) disk = disk_new_for(4, 1);

	put(disk, 0, 0, 10, false);
	await_begun(disk, 1);
	put(disk, 1, 1, 20, false);
	for (unsigned i = 2; i < 5; i++)
		put_piece(disk, i,
			  (Piece){ .file = &disk->files[i],
				   .physical = 30 + i,
				   .length = LONG_BYTES,
				   .is_direct = true });
	await_begun(disk, 4);
	g_assert_cmpint(disk->pieces[1].state, ==, PIECE_QUEUED);
	open_disk(disk);
	for (unsigned i = 0; i < 5; i++)
		reader_pool_wait(disk->pool, &disk->pieces[i]);
	g_assert_cmpuint(disk->n_fetched, ==, 0);
}

static void test_readers_begin_when_eight_pieces_wait(void)
{
	g_autoptr(Disk) disk = disk_new_idle(4);

	put_short(disk, 0, SHORT_PIECES - 1);
	assert_none_is_begun(disk);
	put_short(disk, SHORT_PIECES - 1, SHORT_PIECES);
	await_begun(disk, 1);
	open_disk(disk);
	for (unsigned i = 0; i < SHORT_PIECES; i++)
		reader_pool_wait(disk->pool, &disk->pieces[i]);
}

static void test_readers_begin_when_256_kib_wait(void)
{
	g_autoptr(Disk) disk = disk_new_idle(4);

	put_short(disk, 0, 1);
	put_piece(disk, 1,
		  (Piece){ .file = &disk->files[1],
			   .physical = 20,
			   .length = LONG_BYTES - SHORT_BYTES - 1 });
	assert_none_is_begun(disk);
	put_piece(disk, 2, (Piece){ .file = &disk->files[2], .physical = 30, .length = 1 });
	await_begun(disk, 1);
	open_disk(disk);
	for (unsigned i = 0; i < 3; i++)
		reader_pool_wait(disk->pool, &disk->pieces[i]);
}

static void test_what_was_withdrawn_does_not_count(void)
{
	g_autoptr(Disk) disk = disk_new_idle(4);

	for (unsigned turn = 0; turn < 2; turn++) {
		put_short(disk, 0, SHORT_PIECES - 1);
		for (unsigned i = 0; i < SHORT_PIECES - 1; i++)
			reader_pool_withdraw(disk->pool, &disk->pieces[i]);
		put_piece(disk, 0,
			  (Piece){ .file = &disk->files[0], .length = LONG_BYTES - SHORT_BYTES });
		reader_pool_withdraw(disk->pool, &disk->pieces[0]);
	}
	put_short(disk, 0, SHORT_PIECES - 1);
	assert_none_is_begun(disk);
	for (unsigned i = 0; i < SHORT_PIECES - 1; i++)
		reader_pool_withdraw(disk->pool, &disk->pieces[i]);
}

static void *wait_for_last(void *data)
{
	Disk *disk = data;

	reader_pool_wait(disk->pool, &disk->pieces[2]);
	return NULL;
}

/* All of them begin, not only the one with the piece. */
static void test_readers_begin_when_the_owner_waits(void)
{
	g_autoptr(Disk) disk = disk_new_idle(4);
	GThread *owner;

	put_short(disk, 0, 3);
	assert_none_is_begun(disk);
	owner = g_thread_new("owner", wait_for_last, disk);
	await_begun(disk, 3);
	open_disk(disk);
	g_thread_join(owner);
	for (unsigned i = 0; i < 2; i++)
		reader_pool_wait(disk->pool, &disk->pieces[i]);
}

static void test_a_few_pieces_that_were_put_while_it_was_plugged_are_read(void)
{
	g_autoptr(Disk) disk = disk_new_idle(1);

	reader_pool_plug(disk->pool);
	put_short(disk, 0, 3);
	reader_pool_unplug(disk->pool);
	await_begun(disk, 1);
	open_disk(disk);
	await_begun(disk, 3);
	for (unsigned i = 0; i < 3; i++)
		reader_pool_wait(disk->pool, &disk->pieces[i]);
}

/* As the window of a pass: each piece is waited for, some are withdrawn, and readers fall idle in between. */
static void test_no_piece_is_left_in_any_order_of_calls(void)
{
	g_autoptr(Disk) disk = disk_new(4);
	g_autoptr(GRand) random = g_rand_new_with_seed(1);

	open_disk(disk);
	for (unsigned first = 0; first < PIECES_MAX;) {
		unsigned n = (unsigned)g_rand_int_range(random, 1, 20);
		unsigned end = MIN(PIECES_MAX, first + n);
		bool is_plugged = g_rand_boolean(random);

		if (is_plugged)
			reader_pool_plug(disk->pool);
		put_short(disk, first, end);
		if (is_plugged)
			reader_pool_unplug(disk->pool);
		for (; first < end; first++)
			if (g_rand_int_range(random, 0, 4) == 0)
				reader_pool_withdraw(disk->pool, &disk->pieces[first]);
			else
				reader_pool_wait(disk->pool, &disk->pieces[first]);
	}
}

static void test_readers_with_nothing_to_do_end(void)
{
	g_autoptr(Disk) disk = disk_new(4);

	reader_pool_end(disk->pool);
	reader_pool_free(NULL);
}

/* The threads whose I/O a throttle asked for. */
typedef struct {
	pthread_mutex_t mutex;
	GHashTable *asked; /* set of their ids */
	int64_t now_usec;
} Accounts;

static int64_t accounts_now_usec(void *data)
{
	Accounts *accounts = data;

	return accounts->now_usec;
}

static void accounts_sleep_usec(int64_t usec, void *data)
{
	g_assert_not_reached();
}

static bool accounts_thread_io(int id, ThreadIo *ret, void *data)
{
	Accounts *accounts = data;
	g_auto(Locked) locked G_GNUC_UNUSED = locked_take(&accounts->mutex);

	g_hash_table_add(accounts->asked, GINT_TO_POINTER(id));
	*ret = (ThreadIo){ 0 };
	return true;
}

static void no_fetch(const Piece *piece, void *data)
{
}

static void no_read(Piece *piece, unsigned reader, void *data)
{
}

static void test_readers_are_with_the_throttle_as_long_as_they_are_there(void)
{
	g_autoptr(GHashTable) asked = g_hash_table_new(NULL, NULL);
	Accounts accounts = { PTHREAD_MUTEX_INITIALIZER, asked, G_USEC_PER_SEC };
	ThrottleClock clock = { accounts_now_usec, accounts_sleep_usec, &accounts,
				accounts_thread_io };
	g_autoptr(Throttle) throttle = throttle_new(1 << 20, &clock);
	ReaderPoolWork work = { no_read, no_fetch, NULL, 0, throttle };
	g_autoptr(GError) error = NULL;
	g_autoptr(ReaderPool) pool = reader_pool_new(4, &work, &error);
	atomic_bool stop = false;

	g_assert_no_error(error);
	reader_pool_end(pool);
	g_assert_cmpuint(g_hash_table_size(asked), ==, 4);

	g_hash_table_remove_all(asked);
	g_assert_true(throttle_take(throttle, 1, &stop));
	g_assert_cmpuint(g_hash_table_size(asked), ==, 1);
	g_assert_true(g_hash_table_contains(asked, GINT_TO_POINTER(gettid())));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/reader-pool/pieces-are-read-up-the-disk-and-then-from-its-lower-end",
			test_pieces_are_read_up_the_disk_and_then_from_its_lower_end);
	g_test_add_func("/reader-pool/what-is-put-ahead-of-the-reader-is-read-on-its-way",
			test_what_is_put_ahead_of_the_reader_is_read_on_its_way);
	g_test_add_func("/reader-pool/what-is-put-while-it-is-plugged-is-read-in-order",
			test_what_is_put_while_it_is_plugged_is_read_in_order);
	g_test_add_func("/reader-pool/every-piece-is-read-once-and-a-file-by-one-reader-at-a-time",
			test_every_piece_is_read_once_and_a_file_by_one_reader_at_a_time);
	g_test_add_func("/reader-pool/readers-work-at-the-same-time",
			test_readers_work_at_the_same_time);
	g_test_add_func("/reader-pool/what-is-withdrawn-is-not-read",
			test_what_is_withdrawn_is_not_read);
	g_test_add_func("/reader-pool/what-goes-on-is-not-fetched-and-others-are-once",
			test_what_goes_on_is_not_fetched_and_others_are_once);
	g_test_add_func("/reader-pool/what-is-cached-is-not-fetched",
			test_what_is_cached_is_not_fetched);
	g_test_add_func("/reader-pool/direct-pieces-wait-for-no-other-reader",
			test_direct_pieces_wait_for_no_other_reader);
	g_test_add_func("/reader-pool/readers-begin-when-eight-pieces-wait",
			test_readers_begin_when_eight_pieces_wait);
	g_test_add_func("/reader-pool/readers-begin-when-256-kib-wait",
			test_readers_begin_when_256_kib_wait);
	g_test_add_func("/reader-pool/what-was-withdrawn-does-not-count",
			test_what_was_withdrawn_does_not_count);
	g_test_add_func("/reader-pool/readers-begin-when-the-owner-waits",
			test_readers_begin_when_the_owner_waits);
	g_test_add_func("/reader-pool/a-few-pieces-that-were-put-while-it-was-plugged-are-read",
			test_a_few_pieces_that_were_put_while_it_was_plugged_are_read);
	g_test_add_func("/reader-pool/no-piece-is-left-in-any-order-of-calls",
			test_no_piece_is_left_in_any_order_of_calls);
	g_test_add_func("/reader-pool/readers-with-nothing-to-do-end",
			test_readers_with_nothing_to_do_end);
	g_test_add_func("/reader-pool/readers-are-with-the-throttle-as-long_as-they-are-there",
			test_readers_are_with_the_throttle_as_long_as_they_are_there);

	return g_test_run();
}
