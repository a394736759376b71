/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/bench/bench-store.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static char *path_of(const BenchStore *bench, const char *suffix)
{
	return g_strconcat(bench->directory, "/", bench->uuid, suffix, NULL);
}

HashStore *bench_store_open(const BenchStore *bench, bool rebuild)
{
	const HashStoreOptions options = {
		.directory = bench->directory,
		.uuid = bench->uuid,
		.kind = bench->kind ? bench->kind : "btrfs",
		.block_bytes = 4096,
		.anchor_blocks = bench->anchor_blocks ? bench->anchor_blocks : 4,
		.window_anchors = bench->window_anchors ? bench->window_anchors : 16,
		.memory_bytes = bench->memory_bytes,
		.stop = bench->stop,
		.rebuild = rebuild,
	};
	GError *error = NULL;
	HashStore *store = hash_store_open(&options, &error);

	bench_store_check(store, &error);
	return store;
}

void bench_store_forget_cached(const BenchStore *bench)
{
	g_autofree char *path = path_of(bench, ".sqlite");
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fsync(fd) < 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0)
		fprintf(stderr, "%s: caches are warm: %s\n", g_get_prgname(), g_strerror(errno));
	if (fd >= 0)
		close(fd);
}

void bench_store_remove(const BenchStore *bench)
{
	static const char *const suffixes[] = { ".sqlite", ".sqlite-wal", ".sqlite-shm", ".lock" };

	for (size_t i = 0; i < G_N_ELEMENTS(suffixes); i++) {
		g_autofree char *path = path_of(bench, suffixes[i]);

		g_unlink(path);
	}
}

void bench_store_check(bool done, GError *const *error)
{
	if (done)
		return;
	fprintf(stderr, "%s: %s\n", g_get_prgname(), (*error)->message);
	exit(1);
}

double bench_store_seconds(void)
{
	return (double)g_get_monotonic_time() / G_USEC_PER_SEC;
}

double bench_store_cpu_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);

	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* A line of the kernel's account of this process; @key has the line's end before it. */
static uint64_t io_bytes(const char *key)
{
	g_autofree char *text = NULL;
	const char *line;

	if (!g_file_get_contents("/proc/self/io", &text, NULL, NULL))
		return 0;

	line = strstr(text, key);
	return line ? g_ascii_strtoull(line + strlen(key), NULL, 10) : 0;
}

uint64_t bench_store_read_bytes(void)
{
	return io_bytes("\nread_bytes: ");
}

uint64_t bench_store_written_bytes(void)
{
	return io_bytes("\nwchar: ");
}

uint64_t bench_store_mix(uint64_t number)
{
	number += UINT64_C(0x9e3779b97f4a7c15);
	number = (number ^ number >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	number = (number ^ number >> 27) * UINT64_C(0x94d049bb133111eb);

	return number ^ number >> 31;
}
