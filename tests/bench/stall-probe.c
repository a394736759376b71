/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * stall-probe FILE read|write FIRST END - how long one read or write of 4 KiB takes, one every
 * millisecond, within [FIRST, END) bytes of the file, until SIGTERM.
 *
 * A write puts there what was there.  Then one line goes to standard output: how many there were, and the
 * median, the 99th percentile and the longest in microseconds, each with the millisecond of waiting left
 * out.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BLOCK_BYTES 4096
#define PERIOD_NSEC 1000000
#define PROBES_MAX  (1 << 20)

static volatile sig_atomic_t is_ended;

static void end(int number)
{
	(void)number;
	is_ended = 1;
}

static int64_t now_nsec(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	const int64_t *one = a;
	const int64_t *other = b;

	return (*one > *other) - (*one < *other);
}

/* One probe; negative errno where it fails. */
static int64_t probe(int fd, int is_write, uint64_t offset, char *block)
{
	int64_t begun = now_nsec();
	ssize_t done = is_write ? pwrite(fd, block, BLOCK_BYTES, (off_t)offset)
				: pread(fd, block, BLOCK_BYTES, (off_t)offset);

	return done == BLOCK_BYTES ? now_nsec() - begun : -errno;
}

static size_t probe_until_ended(int fd, int is_write, uint64_t first, uint64_t end_bytes,
				int64_t *taken_nsec)
{
	uint64_t n_blocks = (end_bytes - first) / BLOCK_BYTES;
	struct timespec period = { .tv_nsec = PERIOD_NSEC };
	char block[BLOCK_BYTES];
	size_t n;

	for (n = 0; n < PROBES_MAX && !is_ended; n++) {
		uint64_t offset = first + (n * 7919 % n_blocks) * BLOCK_BYTES;

		if (is_write && pread(fd, block, BLOCK_BYTES, (off_t)offset) != BLOCK_BYTES)
			break;
		taken_nsec[n] = probe(fd, is_write, offset, block);
		if (taken_nsec[n] < 0)
			break;
		nanosleep(&period, NULL);
	}

	return n;
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = end };
	int is_write = argc == 5 && strcmp(argv[2], "write") == 0;
	int64_t *taken_nsec = malloc(PROBES_MAX * sizeof(*taken_nsec));
	size_t n;
	int fd;

	if (argc != 5 || !taken_nsec) {
		fprintf(stderr, "usage: stall-probe FILE read|write FIRST END\n");
		return 2;
	}

	sigaction(SIGTERM, &action, NULL);
	fd = open(argv[1], is_write ? O_RDWR : O_RDONLY);
	if (fd < 0) {
		perror(argv[1]);
		return 1;
	}

	n = probe_until_ended(fd, is_write, strtoull(argv[3], NULL, 10),
			      strtoull(argv[4], NULL, 10), taken_nsec);
	qsort(taken_nsec, n, sizeof(*taken_nsec), compare);
	if (n > 0)
		printf("%zu %.1f %.1f %.1f\n", n, (double)taken_nsec[n / 2] / 1e3,
		       (double)taken_nsec[n * 99 / 100] / 1e3, (double)taken_nsec[n - 1] / 1e3);
	free(taken_nsec);
	close(fd);
	return n == 0;
}
