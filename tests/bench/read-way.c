/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * read-way WAY FILE [OTHER] - read, prefetch or compare one file in one way, and print what it cost: bytes, seconds,
 * user and system time of this process, and busy time of all processors, which includes kernel threads.
 *
 * What has to be cached before, or must not be cached, is arranged first and not measured.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/fs.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#ifndef RWF_DONTCACHE
#define RWF_DONTCACHE 0x80
#endif

#define PIECE_BYTES   ((size_t)1 << 20)
#define WINDOW_BYTES  ((off_t)16 << 20)
#define HUGE_BYTES    ((size_t)2 << 20)
#define AHEAD_PIECES  4
#define N_THREADS     4
#define DEPTH         8
#define SYS_CACHESTAT 451
#define PAUSES_MAX    50000 /* 10 s */

typedef struct {
	int fd;
	int direct_fd;
	int other_fd; /* -1: none */
	off_t size;
	uint8_t *buffers; /* DEPTH + 1 pieces */
	unsigned flags;   /* of preadv2() */
	int advice;
	bool drops;             /* windows, once they were read */
	bool has_small_buffers; /* pages of 4 KiB instead of huge ones */
	bool fetches;           /* a few pieces ahead */
} Work;

typedef struct {
	const char *name;
	void (*run)(Work *work);
	void (*prepare)(Work *work);
	Work with;
} Way;

static void fail(const char *what)
{
	fprintf(stderr, "read-way: %s: %s\n", what, strerror(errno));
	exit(errno == EOPNOTSUPP ? 77 : 1);
}

static void drop(int fd, off_t start, off_t length)
{
	posix_fadvise(fd, start, length, POSIX_FADV_DONTNEED);
}

static size_t piece_at(const Work *work, off_t offset)
{
	return work->size - offset < (off_t)PIECE_BYTES ? (size_t)(work->size - offset)
							: PIECE_BYTES;
}

static void read_piece(int fd, uint8_t *buffer, size_t length, off_t offset, int flags)
{
	struct iovec vector = { buffer, length };
	ssize_t got = preadv2(fd, &vector, 1, offset, flags);

	/* With RWF_NOWAIT: somebody emptied the page cache. */
	if (got < 0 && errno == EAGAIN)
		got = preadv2(fd, &vector, 1, offset, 0);
	if (got != (ssize_t)length)
		fail("read");
}

static void read_buffered(Work *work)
{
	posix_fadvise(work->fd, 0, 0, work->advice);
	for (off_t at = 0; at < work->size; at += (off_t)PIECE_BYTES) {
		for (off_t i = at == 0 ? 0 : AHEAD_PIECES; work->fetches && i <= AHEAD_PIECES; i++)
			posix_fadvise(work->fd, at + i * (off_t)PIECE_BYTES, (off_t)PIECE_BYTES,
				      POSIX_FADV_WILLNEED);
		read_piece(work->fd, work->buffers, piece_at(work, at), at, (int)work->flags);
		if (work->drops && (at + (off_t)PIECE_BYTES) % WINDOW_BYTES == 0)
			drop(work->fd, at + (off_t)PIECE_BYTES - WINDOW_BYTES, WINDOW_BYTES);
	}
}

static void read_mapped(Work *work)
{
	volatile XXH64_hash_t sum = 0;
	uint8_t *map = mmap(NULL, (size_t)work->size, PROT_READ, MAP_SHARED, work->fd, 0);

	if (map == MAP_FAILED)
		fail("mmap");
	for (off_t at = 0; at < work->size; at += 4096)
		sum = sum + map[at];
	munmap(map, (size_t)work->size);
}

static void read_direct(Work *work)
{
	for (off_t at = 0; at < work->size; at += (off_t)PIECE_BYTES)
		read_piece(work->direct_fd, work->buffers, piece_at(work, at), at, 0);
}

typedef struct {
	Work *work;
	unsigned number;
} Thread;

static void *thread_main(void *data)
{
	const Thread *thread = data;
	Work *work = thread->work;

	for (off_t at = (off_t)(thread->number * PIECE_BYTES); at < work->size;
	     at += (off_t)(N_THREADS * PIECE_BYTES))
		read_piece(work->direct_fd, work->buffers + thread->number * PIECE_BYTES,
			   piece_at(work, at), at, 0);
	return NULL;
}

static void read_by_threads(Work *work)
{
	pthread_t ids[N_THREADS];
	Thread threads[N_THREADS];

	for (unsigned i = 0; i < N_THREADS; i++) {
		threads[i] = (Thread){ work, i };
		if (pthread_create(&ids[i], NULL, thread_main, &threads[i]) != 0)
			fail("thread");
	}
	for (unsigned i = 0; i < N_THREADS; i++)
		pthread_join(ids[i], NULL);
}

/* A context for each request: so the oldest one can be awaited.  The process leaves them to its end. */
static void read_by_aio(Work *work)
{
	aio_context_t contexts[DEPTH] = { 0 };
	struct io_event event;

	for (unsigned i = 0; i < DEPTH; i++)
		if (syscall(SYS_io_setup, 1, &contexts[i]) != 0)
			fail("io_setup");
	for (off_t at = 0; at < work->size + DEPTH * (off_t)PIECE_BYTES; at += (off_t)PIECE_BYTES) {
		unsigned i = (unsigned)(at / (off_t)PIECE_BYTES % DEPTH);
		struct iocb block = {
			.aio_fildes = (uint32_t)work->direct_fd,
			.aio_lio_opcode = IOCB_CMD_PREAD,
			.aio_buf = (uintptr_t)(work->buffers + i * PIECE_BYTES),
			.aio_offset = at,
		};
		struct iocb *blocks = &block;

		if (at >= DEPTH * (off_t)PIECE_BYTES &&
		    (syscall(SYS_io_getevents, contexts[i], 1, 1, &event, NULL) != 1 ||
		     event.res <= 0))
			fail("io_getevents");
		if (at >= work->size)
			continue;
		block.aio_nbytes = piece_at(work, at);
		if (syscall(SYS_io_submit, contexts[i], 1, &blocks) != 1)
			fail("io_submit");
	}
}

static off_t cached_pages(const Work *work)
{
	struct {
		uint64_t offset, length;
	} range = { 0, (uint64_t)work->size };
	uint64_t counts[5] = { 0 };

	if (syscall(SYS_CACHESTAT, work->fd, &range, counts, 0) != 0)
		fail("cachestat");
	return (off_t)counts[0];
}

/* Have all of it fetched, and wait until it is there, or until somebody has emptied the page cache. */
static void prefetch(Work *work, bool by_readahead)
{
	struct timespec pause = { 0, 200 * 1000 };

	for (off_t at = 0; at < work->size; at += (off_t)PIECE_BYTES) {
		if (by_readahead)
			readahead(work->fd, at, PIECE_BYTES);
		else
			posix_fadvise(work->fd, at, (off_t)PIECE_BYTES, POSIX_FADV_WILLNEED);
	}
	for (unsigned i = 0; i < PAUSES_MAX && cached_pages(work) * 4096 < work->size; i++)
		nanosleep(&pause, NULL);
}

static void prefetch_by_readahead(Work *work)
{
	prefetch(work, true);
}

static void prefetch_by_willneed(Work *work)
{
	prefetch(work, false);
}

static void compare_reads(Work *work)
{
	for (off_t at = 0; at < work->size; at += (off_t)PIECE_BYTES) {
		read_piece(work->fd, work->buffers, piece_at(work, at), at, 0);
		read_piece(work->other_fd, work->buffers + PIECE_BYTES, piece_at(work, at), at, 0);
		if (memcmp(work->buffers, work->buffers + PIECE_BYTES, piece_at(work, at)) != 0)
			fail("compare");
	}
}

static void dedupe(Work *work)
{
	struct file_dedupe_range *call =
		calloc(1, sizeof(*call) + sizeof(struct file_dedupe_range_info));

	if (!call)
		fail("memory");
	call->dest_count = 1;
	call->info[0].dest_fd = work->other_fd;
	for (off_t at = 0; at < work->size; at += WINDOW_BYTES) {
		call->src_offset = call->info[0].dest_offset = (uint64_t)at;
		call->src_length =
			(uint64_t)(work->size - at < WINDOW_BYTES ? work->size - at : WINDOW_BYTES);
		if (ioctl(work->fd, FIDEDUPERANGE, call) != 0 || call->info[0].status != 0)
			fail("FIDEDUPERANGE");
	}
	free(call);
}

static void hash(Work *work)
{
	volatile XXH64_hash_t sum = 0;

	for (off_t at = 0; at < work->size; at += 4096)
		sum = sum ^ XXH3_64bits(work->buffers + at % (off_t)(DEPTH * PIECE_BYTES), 4096);
}

/* Cache both files in pages of 4 KiB, or as the kernel's readahead does. */
static void cache_with(const Work *work, int advice, bool fetches)
{
	int fds[] = { work->fd, work->other_fd };

	for (unsigned i = 0; i < 2; i++) {
		Work one = *work;

		one.fd = fds[i];
		one.flags = 0;
		one.drops = false;
		one.advice = advice;
		one.fetches = fetches;
		if (one.fd >= 0)
			read_buffered(&one);
	}
}

static void cache_pages(Work *work)
{
	cache_with(work, POSIX_FADV_RANDOM, true);
}

static void cache_folios(Work *work)
{
	cache_with(work, POSIX_FADV_NORMAL, false);
}

static void cache_nothing(Work *work)
{
	(void)work;
}

static const Way ways[] = {
	{ .name = "cache-pages",
	  .run = read_buffered,
	  .prepare = cache_nothing,
	  .with = { .fd = -1, .advice = POSIX_FADV_RANDOM, .fetches = true } },
	{ .name = "cache-pages-drop",
	  .run = read_buffered,
	  .prepare = cache_nothing,
	  .with = { .fd = -1, .advice = POSIX_FADV_RANDOM, .fetches = true, .drops = true } },
	{ .name = "cache-readahead",
	  .run = read_buffered,
	  .prepare = cache_nothing,
	  .with = { .fd = -1 } },
	{ .name = "cache-readahead-drop",
	  .run = read_buffered,
	  .prepare = cache_nothing,
	  .with = { .fd = -1, .drops = true } },
	{ .name = "cache-sequential",
	  .run = read_buffered,
	  .prepare = cache_nothing,
	  .with = { .fd = -1, .advice = POSIX_FADV_SEQUENTIAL } },
	{ .name = "cache-sequential-drop",
	  .run = read_buffered,
	  .prepare = cache_nothing,
	  .with = { .fd = -1, .advice = POSIX_FADV_SEQUENTIAL, .drops = true } },
	{ .name = "dontcache",
	  .run = read_buffered,
	  .prepare = cache_nothing,
	  .with = { .fd = -1, .flags = RWF_DONTCACHE } },
	{ .name = "direct", .run = read_direct, .prepare = cache_nothing, .with = { .fd = -1 } },
	{ .name = "direct-4k-buffer",
	  .run = read_direct,
	  .prepare = cache_nothing,
	  .with = { .fd = -1, .has_small_buffers = true } },
	{ .name = "direct-threads",
	  .run = read_by_threads,
	  .prepare = cache_nothing,
	  .with = { .fd = -1 } },
	{ .name = "direct-aio",
	  .run = read_by_aio,
	  .prepare = cache_nothing,
	  .with = { .fd = -1 } },
	{ .name = "direct-aio-4k-buffer",
	  .run = read_by_aio,
	  .prepare = cache_nothing,
	  .with = { .fd = -1, .has_small_buffers = true } },
	{ .name = "prefetch-readahead",
	  .run = prefetch_by_readahead,
	  .prepare = cache_nothing,
	  .with = { .fd = -1 } },
	{ .name = "prefetch-willneed",
	  .run = prefetch_by_willneed,
	  .prepare = cache_nothing,
	  .with = { .fd = -1 } },
	{ .name = "cached-read-pages",
	  .run = read_buffered,
	  .prepare = cache_pages,
	  .with = { .fd = -1 } },
	{ .name = "cached-read-folios",
	  .run = read_buffered,
	  .prepare = cache_folios,
	  .with = { .fd = -1 } },
	{ .name = "cached-nowait-folios",
	  .run = read_buffered,
	  .prepare = cache_folios,
	  .with = { .fd = -1, .flags = RWF_NOWAIT } },
	{ .name = "cached-map-folios",
	  .run = read_mapped,
	  .prepare = cache_folios,
	  .with = { .fd = -1 } },
	{ .name = "dedupe-pages", .run = dedupe, .prepare = cache_pages, .with = { .fd = -1 } },
	{ .name = "dedupe-folios", .run = dedupe, .prepare = cache_folios, .with = { .fd = -1 } },
	{ .name = "compare-pages",
	  .run = compare_reads,
	  .prepare = cache_pages,
	  .with = { .fd = -1 } },
	{ .name = "compare-folios",
	  .run = compare_reads,
	  .prepare = cache_folios,
	  .with = { .fd = -1 } },
	{ .name = "hash", .run = hash, .prepare = cache_nothing, .with = { .fd = -1 } },
};

static double busy_seconds(void)
{
	unsigned long long user = 0, nice = 0, system = 0, idle, wait, irq = 0, softirq = 0;
	FILE *stat = fopen("/proc/stat", "r");

	if (!stat || fscanf(stat, "cpu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system,
			    &idle, &wait, &irq, &softirq) != 7)
		fail("/proc/stat");
	fclose(stat);
	return (double)(user + nice + system + irq + softirq) / (double)sysconf(_SC_CLK_TCK);
}

static double seconds(const struct timeval *time)
{
	return (double)time->tv_sec + (double)time->tv_usec / 1e6;
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void measure(const Way *way, Work *work)
{
	struct rusage before, after;
	double busy, begin;

	drop(work->fd, 0, 0);
	if (work->other_fd >= 0)
		drop(work->other_fd, 0, 0);
	way->prepare(work);

	busy = busy_seconds();
	getrusage(RUSAGE_SELF, &before);
	begin = now();
	way->run(work);
	begin = now() - begin;
	getrusage(RUSAGE_SELF, &after);
	printf("%lld %.4f %.4f %.4f %.2f\n", (long long)work->size, begin,
	       seconds(&after.ru_utime) - seconds(&before.ru_utime),
	       seconds(&after.ru_stime) - seconds(&before.ru_stime), busy_seconds() - busy);
	drop(work->fd, 0, 0);
}

static uint8_t *make_buffers(bool are_small)
{
	size_t bytes = (DEPTH + 2) * PIECE_BYTES;
	uint8_t *buffers = aligned_alloc(HUGE_BYTES, bytes);

	if (!buffers)
		fail("memory");
	madvise(buffers, bytes, are_small ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
	memset(buffers, 1, bytes);
	return buffers;
}

int main(int argc, char **argv)
{
	Work work = { .fd = -1, .other_fd = -1 };
	struct stat stat;
	size_t i = 0;

	if (argc == 2 && strcmp(argv[1], "--list") == 0) {
		for (; i < sizeof(ways) / sizeof(ways[0]); i++)
			puts(ways[i].name);
		return 0;
	}
	if (argc < 3)
		return 2;
	while (i < sizeof(ways) / sizeof(ways[0]) && strcmp(ways[i].name, argv[1]) != 0)
		i++;
	if (i == sizeof(ways) / sizeof(ways[0]))
		return 2;

	work = ways[i].with;
	work.other_fd = argc > 3 ? open(argv[3], O_RDONLY) : -1;
	work.fd = open(argv[2], O_RDONLY);
	work.direct_fd = open(argv[2], O_RDONLY | O_DIRECT);
	if (work.fd < 0 || work.direct_fd < 0 || fstat(work.fd, &stat) != 0)
		fail(argv[2]);
	work.size = stat.st_size;
	work.buffers = make_buffers(work.has_small_buffers);
	measure(&ways[i], &work);
	return 0;
}
