/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fill-model --directory=DIR --bytes=N [--first=N] [--check=N] [--seconds=N] [--shape=NAME] [--seed=N]
 *            [--threads=N]
 *
 * Writes the objects of a ContentModel as files, from number @first on, until they have so many bytes.  A block is one
 * 64-bit number, repeated: the sum that the model gives it.  So blocks are equal only where the model says so, and zram
 * keeps such a block in the 16 bytes of its entry.
 *
 * A file is written out as a whole before it is closed, so on btrfs it is usually one extent.  Its pages are dropped.
 *
 * With --check, nothing is written: the content of one in N of these files is compared with what was written.
 *
 * It begins no file after so many seconds.  The result is one line of JSON.
 */
#include "tests/bench/bench-store.h"
#include "tests/bench/content-model.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <inttypes.h>
#include <locale.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK_BYTES         4096
#define WORDS               (BLOCK_BYTES / sizeof(uint64_t))
#define PIECE_BLOCKS        64 /* small enough for the cache of a processor */
#define FILES_PER_DIRECTORY 1000
#define MOST_THREADS        16
#define MODE                0700

/* What was written; a duplicate equals one of an object with a lower number. */
typedef struct {
	uint64_t files, blocks, duplicates;
} Tally;

typedef struct {
	ContentModel model;
	int directory;
	uint64_t check; /* one in so many files; 0: write them */
	double end;     /* by bench_store_seconds() */

	pthread_mutex_t lock; /* holds all below */
	uint64_t next;        /* number of an object */
	uint64_t left_bytes;
	Tally tally;
} Fill;

typedef struct {
	Fill *fill;
	int fd;
	uint32_t filled; /* blocks of @piece */
	off_t done;
	uint64_t piece[PIECE_BLOCKS * WORDS];
	uint64_t found[PIECE_BLOCKS * WORDS]; /* by a check */
} Writer;

static void fail(const char *what)
{
	fprintf(stderr, "fill-model: %s: %s\n", what, strerror(errno));
	exit(EXIT_FAILURE);
}

static void write_piece(Writer *writer, size_t bytes)
{
	const char *piece = (const char *)writer->piece;
	size_t done = 0;

	while (done < bytes) {
		ssize_t now =
			pwrite(writer->fd, piece + done, bytes - done, writer->done + (off_t)done);

		if (now < 0)
			fail("write");
		done += (size_t)now;
	}
}

static void check_piece(Writer *writer, size_t bytes)
{
	ssize_t got = pread(writer->fd, writer->found, bytes, writer->done);

	if (got < 0)
		fail("read");
	if ((size_t)got != bytes || memcmp(writer->found, writer->piece, bytes) != 0) {
		fprintf(stderr, "fill-model: a file is not as it was written\n");
		exit(EXIT_FAILURE);
	}
}

static void flush_piece(Writer *writer)
{
	size_t bytes = (size_t)writer->filled * BLOCK_BYTES;

	if (writer->fill->check > 0)
		check_piece(writer, bytes);
	else
		write_piece(writer, bytes);
	writer->done += (off_t)bytes;
	writer->filled = 0;
}

static void put_block(Writer *writer, uint64_t number)
{
	uint64_t *block = writer->piece + writer->filled * WORDS;

	for (size_t i = 0; i < WORDS; i++)
		block[i] = number;
	if (++writer->filled == PIECE_BLOCKS)
		flush_piece(writer);
}

static int open_file(const Fill *fill, uint64_t number)
{
	g_autofree char *folder = g_strdup_printf("%06" PRIu64, number / FILES_PER_DIRECTORY);
	g_autofree char *path = g_strdup_printf("%s/%09" PRIu64, folder, number);
	int fd;

	if (fill->check == 0 && mkdirat(fill->directory, folder, MODE) < 0 && errno != EEXIST)
		fail("mkdir");
	fd = openat(fill->directory, path,
		    O_CLOEXEC | (fill->check > 0 ? O_RDONLY : O_WRONLY | O_CREAT | O_EXCL), MODE);
	if (fd < 0)
		fail("open");
	return fd;
}

/* Write it out, and give its pages back. */
static void end_file(Writer *writer)
{
	flush_piece(writer);
	if (writer->fill->check == 0 &&
	    sync_file_range(writer->fd, 0, 0,
			    SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
				    SYNC_FILE_RANGE_WAIT_AFTER) < 0)
		fail("sync_file_range");
	posix_fadvise(writer->fd, 0, 0, POSIX_FADV_DONTNEED);
	close(writer->fd);
}

static void do_object(Writer *writer, uint64_t number, Tally *tally)
{
	const ContentModel *model = &writer->fill->model;
	uint64_t blocks = 0, duplicates = 0;
	ContentCursor cursor;
	ContentRun run;

	writer->fd = open_file(writer->fill, number);
	writer->done = 0;
	content_cursor_init(&cursor, model, number);
	while (content_cursor_next(&cursor, &run)) {
		for (uint32_t i = 0; i < run.blocks; i++)
			put_block(writer, content_run_sum(model, &run, i));
		blocks += run.blocks;
		if (run.origin != number)
			duplicates += run.blocks;
	}
	end_file(writer);

	tally->files++;
	tally->blocks += blocks;
	tally->duplicates += duplicates;
}

/* The number of the next object that this thread writes; false at the end. */
static bool take(Fill *fill, uint64_t *ret_number)
{
	bool is_left;

	pthread_mutex_lock(&fill->lock);
	is_left = fill->left_bytes > 0 && bench_store_seconds() < fill->end;
	if (is_left) {
		uint64_t bytes = content_model_bytes(&fill->model, fill->next, BLOCK_BYTES);

		*ret_number = fill->next++;
		fill->left_bytes -= MIN(bytes, fill->left_bytes);
	}
	pthread_mutex_unlock(&fill->lock);
	return is_left;
}

static void *do_objects(void *data)
{
	g_autofree Writer *writer = g_new0(Writer, 1);
	Tally own = { 0 };
	uint64_t number;

	writer->fill = data;
	while (take(writer->fill, &number))
		if (writer->fill->check == 0 || number % writer->fill->check == 0)
			do_object(writer, number, &own);

	pthread_mutex_lock(&writer->fill->lock);
	writer->fill->tally.files += own.files;
	writer->fill->tally.blocks += own.blocks;
	writer->fill->tally.duplicates += own.duplicates;
	pthread_mutex_unlock(&writer->fill->lock);
	return NULL;
}

static void print_result(const Fill *fill, double seconds)
{
	const Tally *tally = &fill->tally;

	printf("{\"files\": %" PRIu64 ", \"next\": %" PRIu64 ", \"bytes\": %" PRIu64
	       ", \"duplicate_bytes\": %" PRIu64 ", \"wall\": %.2f, \"cpu\": %.2f}\n",
	       tally->files, fill->next, tally->blocks * BLOCK_BYTES,
	       tally->duplicates * BLOCK_BYTES, seconds, bench_store_cpu_seconds());
}

int main(int argc, char **argv)
{
	g_autofree char *directory = NULL, *shape = NULL;
	int64_t bytes = 0, first = 0, check = 0, seed = 1;
	int threads = 4;
	double seconds = G_MAXDOUBLE;
	const GOptionEntry entries[] = {
		{ "directory", 0, 0, G_OPTION_ARG_FILENAME, &directory, "Where files go", "DIR" },
		{ "bytes", 0, 0, G_OPTION_ARG_INT64, &bytes, "How much is written", "N" },
		{ "first", 0, 0, G_OPTION_ARG_INT64, &first, "Number of the first object", "N" },
		{ "check", 0, 0, G_OPTION_ARG_INT64, &check, "Compare one in N files", "N" },
		{ "seconds", 0, 0, G_OPTION_ARG_DOUBLE, &seconds, "How long it may take", "N" },
		{ "shape", 0, 0, G_OPTION_ARG_STRING, &shape, content_model_shapes(), "NAME" },
		{ "seed", 0, 0, G_OPTION_ARG_INT64, &seed, "Of the content", "N" },
		{ "threads", 0, 0, G_OPTION_ARG_INT, &threads, "Files at a time", "N" },
		G_OPTION_ENTRY_NULL,
	};
	g_autoptr(GOptionContext) context = g_option_context_new(NULL);
	g_autoptr(GError) error = NULL;
	Fill fill = { .lock = PTHREAD_MUTEX_INITIALIZER };
	pthread_t workers[MOST_THREADS];
	double begin = bench_store_seconds();

	setlocale(LC_ALL, "C");
	g_option_context_add_main_entries(context, entries, NULL);
	if (!g_option_context_parse(context, &argc, &argv, &error)) {
		fprintf(stderr, "fill-model: %s\n", error->message);
		return 2;
	}
	fill.model = (ContentModel){
		.seed = (uint64_t)seed,
		.reclaimable = content_model_shape(shape ? shape : "archival"),
	};
	if (!directory || bytes <= 0 || first < 0 || check < 0 || threads < 1 ||
	    threads > MOST_THREADS || fill.model.reclaimable < 0) {
		fprintf(stderr, "fill-model: see --help\n");
		return 2;
	}
	fill.check = (uint64_t)check;
	fill.end = begin + seconds;
	fill.next = (uint64_t)first;
	fill.left_bytes = (uint64_t)bytes;
	fill.directory = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fill.directory < 0)
		fail(directory);
	for (int i = 0; i < threads; i++)
		if (pthread_create(&workers[i], NULL, do_objects, &fill) != 0)
			fail("pthread_create");
	for (int i = 0; i < threads; i++)
		pthread_join(workers[i], NULL);
	close(fill.directory);
	print_result(&fill, bench_store_seconds() - begin);
	return 0;
}
