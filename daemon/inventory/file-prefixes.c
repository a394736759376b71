/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/inventory/file-prefixes.h"

#include "common/content/block-sums.h"
#include "common/content/object-sums.h"
#include "common/content/sum-cache.h"
#include "common/files/special-files.h"
#include "common/threads/thread.h"
#include "daemon/context/known-file.h"
#include "kernel-ioctl/call/fd.h"
#include "kernel-ioctl/file/extent-map.h"
#include "kernel-ioctl/file/file-stat.h"
#include "kernel-ioctl/file/page-cache.h"
#include "kernel-ioctl/machine/thread-io.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#define WHOLE_BYTES (UINT64_C(16) << 10)
#define HEAD_BYTES  (UINT64_C(4) << 10)

/* A solid-state disk is fastest with so many reads at a time; more would only queue. */
#define THREADS 8

struct FilePrefixes {
	/* Set at creation, never changed. */
	Pass *pass;
	BlockSums *sums;
	GThread *threads[THREADS];
	size_t n_threads;
	size_t piece_bytes; /* the longest head, in whole blocks */

	/* Guarded by mutex. */
	pthread_mutex_t mutex;
	pthread_cond_t begun;
	pthread_cond_t ended;
	FileHead *files;
	size_t n_files;
	uint64_t turn;
	size_t n_busy;
	bool is_closing;
	uint64_t disk_bytes; /* by readers that ended */

	/* Guarded by shared_mutex: state of the worker, which waits meanwhile or does not use it. */
	pthread_mutex_t shared_mutex;
	SumCache *cache;

	/* Thread: any. */
	atomic_size_t next;
};

/* One thread's own. */
typedef struct {
	FilePrefixes *heads;
	ExtentMap *extents;
	uint8_t *buffer;
	uint64_t *block_sums;
	uint64_t shared_at; /* the address of the whole head, if other files share it */
} Reader;

bool file_head_is_whole(uint64_t size_bytes, uint32_t block_bytes)
{
	return size_bytes <= MAX(WHOLE_BYTES, block_bytes);
}

uint64_t file_head_bytes(uint64_t size_bytes, uint32_t block_bytes)
{
	return file_head_is_whole(size_bytes, block_bytes) ? size_bytes
							   : MAX(HEAD_BYTES, block_bytes);
}

static size_t blocks_of(const FilePrefixes *heads, uint64_t bytes)
{
	return (bytes + heads->pass->block_bytes - 1) / heads->pass->block_bytes;
}

static HeadOutcome forbid(FileHead *head, SkipReason reason)
{
	head->reason = reason;
	return HEAD_FORBIDDEN;
}

/* Find out where the head lies, and whether it can be shared. */
static HeadOutcome locate(Reader *reader, FileHead *head)
{
	uint64_t length = file_head_bytes(head->stamp.size_bytes, reader->heads->pass->block_bytes);
	uint64_t shared_bytes = 0;
	g_autoptr(GError) unmapped = NULL;
	const MappedExtent *extent = NULL;

	reader->shared_at = 0;
	head->physical = 0;
	extent_map_start(reader->extents, head->fd, 0, length, false);
	for (;;) {
		if (!extent_map_next(reader->extents, &extent, &unmapped))
			return forbid(head, SKIP_UNREADABLE);
		if (!extent)
			break;
		if (extent->flags & EXTENT_INLINE)
			return forbid(head, SKIP_INLINE);
		if (extent->logical == 0)
			head->physical = extent->physical;
		if (!(extent->flags & EXTENT_SHARED))
			continue;

		shared_bytes += extent->length;
		if (extent->logical == 0 && extent->length >= length &&
		    mapped_extent_is_addressed(extent))
			reader->shared_at = extent->physical;
	}

	head->is_shared = shared_bytes > length / 2;
	return HEAD_READ;
}

static bool is_in_cache(Reader *reader, size_t n_blocks)
{
	FilePrefixes *heads = reader->heads;
	bool is_known = false;
	size_t n_alike;

	if (!reader->shared_at)
		return false;

	pthread_mutex_lock(&heads->shared_mutex);
	n_alike = sum_cache_get(heads->cache, reader->shared_at, reader->block_sums, n_blocks,
				&is_known);
	pthread_mutex_unlock(&heads->shared_mutex);
	return is_known && n_alike == n_blocks;
}

static void put_into_cache(Reader *reader, size_t n_blocks)
{
	FilePrefixes *heads = reader->heads;

	if (!reader->shared_at)
		return;

	pthread_mutex_lock(&heads->shared_mutex);
	sum_cache_put(heads->cache, reader->shared_at, reader->block_sums, n_blocks);
	pthread_mutex_unlock(&heads->shared_mutex);
}

static bool may_read(FilePrefixes *heads, uint64_t bytes)
{
	Throttle *throttle = heads->pass->throttle;

	return pass_checkpoint(heads->pass) && (!throttle_is_limited(throttle) ||
						throttle_take(throttle, bytes, heads->pass->stop));
}

/*
 * Keep pages in the page cache only if they may be wanted again: if the rest of the file is read, or the kernel
 * compares.
 */
static void drop_or_keep(FilePrefixes *heads, const FileHead *head)
{
	bool is_all = file_head_is_whole(head->stamp.size_bytes, heads->pass->block_bytes);
	bool is_kept = false;

	if (!is_all || !heads->pass->settings->dry_run) {
		pthread_mutex_lock(&heads->shared_mutex);
		is_kept = page_cache_budget_add(heads->pass->kept, head->object, 0,
						MIN(heads->piece_bytes, head->stamp.size_bytes));
		pthread_mutex_unlock(&heads->shared_mutex);
	}
	if (!is_kept)
		page_cache_drop(head->fd, 0, heads->piece_bytes);
}

/* Read @length bytes from the beginning; a file that ends earlier has changed. */
static HeadOutcome read_bytes(Reader *reader, FileHead *head, uint64_t length)
{
	uint64_t resident = page_cache_resident_bytes(head->fd, 0, length);
	uint64_t done = 0;

	if (!may_read(reader->heads, length - MIN(length, resident)))
		return HEAD_STOPPED;
	/* No readahead: read exactly the head. */
	if (resident < length)
		posix_fadvise(head->fd, 0, 0, POSIX_FADV_RANDOM);

	while (done < length) {
		ssize_t got = pread(head->fd, reader->buffer + done, length - done, (off_t)done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return forbid(head, SKIP_UNREADABLE);
		if (got == 0)
			return HEAD_CHANGED;
		done += (uint64_t)got;
	}

	head->read_bytes += length;
	if (resident < (length + 1) / 2)
		drop_or_keep(reader->heads, head);
	return HEAD_READ;
}

/* The sums of the head's blocks.  The block at the end of file is padded with zeros, as on the disk. */
static HeadOutcome read_sums(Reader *reader, FileHead *head, uint64_t length, size_t n_blocks)
{
	FilePrefixes *heads = reader->heads;
	uint32_t block_bytes = heads->pass->block_bytes;
	HeadOutcome outcome = read_bytes(reader, head, length);
	SkipReason reason;

	if (outcome != HEAD_READ)
		return outcome;
	if (special_files_match(reader->buffer, length, &reason))
		return forbid(head, reason);

	memset(reader->buffer + length, 0, n_blocks * block_bytes - length);
	for (size_t i = 0; i < n_blocks; i++)
		reader->block_sums[i] =
			block_sums_of_data(heads->sums, reader->buffer + i * block_bytes, false);
	put_into_cache(reader, n_blocks);
	return HEAD_READ;
}

/* The digest that a whole file with these blocks would have. */
static uint64_t digest_of_whole(const Reader *reader, uint64_t size_bytes, size_t n_blocks)
{
	uint64_t zeros = block_sums_of_zeros(reader->heads->sums, false);
	ObjectSums sums;

	object_sums_init(&sums, 0, 0, 0);
	for (size_t i = 0; i < n_blocks; i++) {
		if (reader->block_sums[i] == zeros)
			object_sums_add_zeros(&sums, 1, NULL);
		else
			object_sums_add(&sums, reader->block_sums[i], NULL);
	}
	return object_sums_finish(&sums, size_bytes, NULL);
}

static uint64_t digest_of_head(const Reader *reader, size_t n_blocks)
{
	uint64_t digest = XXH3_64bits(reader->block_sums, n_blocks * sizeof(uint64_t));

	return digest ? digest : 1;
}

static HeadOutcome digest_open_file(Reader *reader, FileHead *head)
{
	uint32_t block_bytes = reader->heads->pass->block_bytes;
	uint64_t size = head->stamp.size_bytes;
	uint64_t length = file_head_bytes(size, block_bytes);
	size_t n_blocks = blocks_of(reader->heads, length);
	HeadOutcome outcome = locate(reader, head);

	if (outcome == HEAD_READ && !is_in_cache(reader, n_blocks))
		outcome = read_sums(reader, head, length, n_blocks);
	if (outcome != HEAD_READ)
		return outcome;

	head->digest = file_head_is_whole(size, block_bytes)
			       ? digest_of_whole(reader, size, n_blocks)
			       : digest_of_head(reader, n_blocks);
	return HEAD_READ;
}

static bool read_attributes(const Pass *pass, FileHead *head, GError **error)
{
	FsKind kind = pass->filesystem->identity.kind;

	if (head->is_by_id && head->is_plain) {
		head->attributes = (FileAttributes){ .generation = head->id.generation };
		return true;
	}
	if (head->is_by_id)
		return file_attributes_read_known(head->fd, kind, head->id.generation,
						  &head->attributes, error);
	return file_attributes_read(head->fd, kind, &head->attributes, error);
}

/* Writing out stores through mmap can change the stamp after the file was listed: then read it once more. */
static HeadOutcome read_open_file(Reader *reader, FileHead *head)
{
	const Pass *pass = reader->heads->pass;
	g_autoptr(GError) unread = NULL;
	SkipReason reason;

	for (int turn = 0; turn < 2; turn++) {
		HeadOutcome outcome;
		FileStat stat;
		Stamp now;

		if (!read_attributes(pass, head, &unread))
			return HEAD_CHANGED;
		if (special_files_are_forbidden(pass->settings, &head->attributes, &reason))
			return forbid(head, reason);

		outcome = digest_open_file(reader, head);
		if (outcome != HEAD_READ)
			return outcome;
		if (file_stat_at(head->fd, "", &stat) != 0 || stat.inode != head->id.inode ||
		    stat.size_bytes != head->stamp.size_bytes)
			return HEAD_CHANGED;

		now = known_file_present_stamp(&stat);
		if (stamp_compare(&head->stamp, &now) == STAMP_SAME)
			return HEAD_READ;
		head->stamp = now;
		head->is_plain = false;
	}

	return HEAD_CHANGED;
}

static void read_head(Reader *reader, FileHead *head)
{
	const Filesystem *filesystem = reader->heads->pass->filesystem;
	int failed;

	head->is_by_id = head->fd < 0;
	if (head->is_by_id)
		head->opened = open_regular_file_by_id(filesystem->fd, filesystem->identity.kind,
						       &head->id, &head->fd, &failed);
	head->outcome =
		head->opened == OPEN_OPENED ? read_open_file(reader, head) : HEAD_NOT_OPENED;
	fd_close(&head->fd);
}

/* Wait for more work than that of @turn; false: there will be none. */
static bool wait_for_turn(FilePrefixes *heads, uint64_t *turn)
{
	bool goes_on;

	pthread_mutex_lock(&heads->mutex);
	while (heads->turn == *turn && !heads->is_closing)
		pthread_cond_wait(&heads->begun, &heads->mutex);
	*turn = heads->turn;
	goes_on = !heads->is_closing;
	pthread_mutex_unlock(&heads->mutex);
	return goes_on;
}

static void end_turn(FilePrefixes *heads)
{
	pthread_mutex_lock(&heads->mutex);
	if (--heads->n_busy == 0)
		pthread_cond_signal(&heads->ended);
	pthread_mutex_unlock(&heads->mutex);
}

static void *read_heads(void *data)
{
	FilePrefixes *heads = data;
	g_autoptr(ExtentMap) extents = extent_map_new();
	g_autofree uint8_t *buffer = g_malloc(heads->piece_bytes);
	g_autofree uint64_t *block_sums = g_new(uint64_t, blocks_of(heads, heads->piece_bytes));
	Reader reader = { heads, extents, buffer, block_sums, 0 };
	uint64_t turn = 0;

	throttle_join(heads->pass->throttle);
	while (wait_for_turn(heads, &turn)) {
		for (;;) {
			size_t i = atomic_fetch_add(&heads->next, 1);

			if (i >= heads->n_files)
				break;
			read_head(&reader, &heads->files[i]);
		}
		end_turn(heads);
	}
	throttle_leave(heads->pass->throttle);
	pthread_mutex_lock(&heads->mutex);
	heads->disk_bytes += thread_io_read_bytes();
	pthread_mutex_unlock(&heads->mutex);
	return NULL;
}

/* As many as can be had, but at least one. */
static bool start_threads(FilePrefixes *heads, size_t n_wanted, GError **error)
{
	g_autoptr(GError) failed = NULL;

	while (heads->n_threads < n_wanted) {
		GThread *thread = thread_new("heads", read_heads, heads, &failed);

		if (!thread)
			break;
		heads->threads[heads->n_threads++] = thread;
	}
	if (heads->n_threads > 0)
		return true;

	g_propagate_prefixed_error(error, g_steal_pointer(&failed), "cannot start a thread: ");
	return false;
}

FilePrefixes *file_prefixes_new(Pass *pass, GError **error)
{
	FilePrefixes *heads = g_new0(FilePrefixes, 1);
	size_t n_threads;

	heads->pass = pass;
	heads->sums = block_sums_new(hash_store_about(pass->store), NULL);
	heads->cache = sum_cache_new(pass->settings->state_directory, pass->block_bytes,
				     pass->settings->memory_bytes * SUM_CACHE_MEMORIES);
	heads->piece_bytes = MAX(WHOLE_BYTES, pass->block_bytes);
	/* With a limit, threads would only wait for each other.  A rotating disk would seek between them. */
	n_threads = throttle_is_limited(pass->throttle) || pass->parallelism.n_readers == 1
			    ? 1
			    : THREADS;
	pthread_mutex_init(&heads->mutex, NULL);
	pthread_mutex_init(&heads->shared_mutex, NULL);
	pthread_cond_init(&heads->begun, NULL);
	pthread_cond_init(&heads->ended, NULL);
	if (start_threads(heads, n_threads, error))
		return heads;

	file_prefixes_free(heads);
	return NULL;
}

void file_prefixes_free(FilePrefixes *heads)
{
	if (!heads)
		return;

	file_prefixes_wait(heads);
	pthread_mutex_lock(&heads->mutex);
	heads->is_closing = true;
	pthread_cond_broadcast(&heads->begun);
	pthread_mutex_unlock(&heads->mutex);
	for (size_t i = 0; i < heads->n_threads; i++)
		g_thread_join(heads->threads[i]);
	heads->pass->result->disk_bytes += heads->disk_bytes;

	pthread_mutex_destroy(&heads->mutex);
	pthread_mutex_destroy(&heads->shared_mutex);
	pthread_cond_destroy(&heads->begun);
	pthread_cond_destroy(&heads->ended);
	block_sums_free(heads->sums);
	sum_cache_free(heads->cache);
	g_free(heads);
}

void file_prefixes_start(FilePrefixes *heads, FileHead *files, size_t n_files)
{
	pthread_mutex_lock(&heads->mutex);
	heads->files = files;
	heads->n_files = n_files;
	heads->n_busy = heads->n_threads;
	heads->turn++;
	atomic_store(&heads->next, 0);
	pthread_cond_broadcast(&heads->begun);
	pthread_mutex_unlock(&heads->mutex);
}

void file_prefixes_wait(FilePrefixes *heads)
{
	pthread_mutex_lock(&heads->mutex);
	while (heads->n_busy > 0)
		pthread_cond_wait(&heads->ended, &heads->mutex);
	pthread_mutex_unlock(&heads->mutex);
}
