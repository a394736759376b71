/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench-changes - what the store and the matching cost when little changed since the last pass.
 *
 * bench-changes [--directory=DIR] [--changed=N] [--runs=N] [OBJECTS…]
 *
 * For each number of objects, as extents of two blocks with an entry each, all settled: so many of
 * them are replaced by new ones, which is matched and settled.  One line for each run, with nothing
 * of the store cached: milliseconds to open, to put and commit, to make the ObjectTable, to walk the
 * groups twice, to settle, and to commit and close; what was read from the disk.  Half of the
 * new objects equal an old one.
 */
#include "daemon/object-table.h"
#include "hashstore/groups.h"
#include "hashstore/objects.h"
#include "hashstore/open-extents.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define UUID         "6c2f3d4e-0000-4000-8000-000000000002"
#define EXTENT_BYTES 8192

typedef struct {
	const char *directory;
	int changed;
	int runs;
} Bench;

static double now_ms(void)
{
	return (double)g_get_monotonic_time() / 1e3;
}

static void check(bool done, GError *error)
{
	if (done)
		return;
	fprintf(stderr, "bench-changes: %s\n", error->message);
	exit(1);
}

/* A bijection of 64-bit numbers that looks random (splitmix64). */
static uint64_t mix(uint64_t number)
{
	number += UINT64_C(0x9e3779b97f4a7c15);
	number = (number ^ number >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	number = (number ^ number >> 27) * UINT64_C(0x94d049bb133111eb);

	return number ^ number >> 31;
}

static HashStore *open_store(const Bench *bench, bool rebuild)
{
	const HashStoreOptions options = {
		.directory = bench->directory,
		.uuid = UUID,
		.kind = "btrfs",
		.block_bytes = 4096,
		.anchor_blocks = 4,
		.window_anchors = 16,
		.memory_bytes = 64 << 20,
		.rebuild = rebuild,
	};
	GError *error = NULL;
	HashStore *store = hash_store_open(&options, &error);

	check(store, error);
	return store;
}

static void put(HashStore *store, uint64_t place, uint64_t content)
{
	GError *error = NULL;
	Object object = {
		.inode = (1 + place) * EXTENT_BYTES,
		.size_bytes = EXTENT_BYTES,
		.ctime_nsec = (int64_t)content,
		.mtime_nsec = 2,
		.digest = mix(content) | 1,
	};
	Anchor whole = { .digest = object.digest, .block = ANCHOR_WHOLE_BLOCK };

	check(hash_store_new_object(store, &object.id, &error), error);
	whole.object = object.id;
	check(hash_store_put_anchor(store, &whole, &error) &&
		      hash_store_put(store, &object, &error),
	      error);
}

static ObjectTable *new_table(const Bench *bench, HashStore *store)
{
	GError *error = NULL;
	Settings settings = { .state_directory = (char *)bench->directory };
	ObjectTable *table = object_table_new(store, RANK_BY_SIZE, &settings, NULL, &error);

	check(table, error);
	return table;
}

/* Count and rank all members, as matching does. */
static void walk(HashStore *store, ObjectTable *table)
{
	GError *error = NULL;
	g_autoptr(Groups) groups = groups_open(store, object_table_is_live, table, &error);
	const Group *group;

	check(groups, error);
	for (int turn = 0; turn < 2; turn++) {
		if (turn > 0)
			check(groups_rewind(groups, &error), error);
		for (;;) {
			check(groups_next(groups, &group, &error), error);
			if (!group)
				break;
			for (size_t i = 0; i < group->n_members; i++) {
				object_table_count(table, group->members[i].object);
				object_table_rank(table, group->members[i].object);
			}
		}
	}
}

static void settle(HashStore *store, ObjectTable *table)
{
	GError *error = NULL;

	check(hash_store_settle(store, object_table_is_live, table, &error), error);
}

static uint64_t read_from_disk(void)
{
	g_autofree char *text = NULL;
	const char *line;

	if (!g_file_get_contents("/proc/self/io", &text, NULL, NULL))
		return 0;
	line = strstr(text, "\nread_bytes:");
	return line ? g_ascii_strtoull(line + strlen("\nread_bytes:"), NULL, 10) : 0;
}

/* Of the store alone: the machine's caches are others' too. */
static void forget_cached(const Bench *bench)
{
	g_autofree char *path = g_strconcat(bench->directory, "/", UUID, ".sqlite", NULL);
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fsync(fd) < 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0)
		fprintf(stderr, "bench-changes: caches are warm: %s\n", g_strerror(errno));
	if (fd >= 0)
		close(fd);
}

static void fill(const Bench *bench, uint64_t n_objects)
{
	HashStore *store = open_store(bench, true);
	GError *error = NULL;
	g_autoptr(ObjectTable) table = NULL;

	for (uint64_t i = 0; i < n_objects; i++)
		put(store, i, i);
	check(hash_store_commit(store, &error), error);
	table = new_table(bench, store);
	settle(store, table);
	check(hash_store_commit(store, &error), error);
	hash_store_close(store);
}

static void measure(const Bench *bench, uint64_t n_objects, int run)
{
	double times[7] = { now_ms() };
	uint64_t before = read_from_disk();
	HashStore *store = open_store(bench, false);
	GError *error = NULL;
	g_autoptr(ObjectTable) table = NULL;

	times[1] = now_ms();
	for (int i = 0; i < bench->changed; i++) {
		uint64_t changed = mix((uint64_t)(run * bench->changed + i)) % n_objects;

		put(store, changed, i % 2 ? n_objects + changed : changed / 2);
	}
	check(hash_store_commit(store, &error), error);
	times[2] = now_ms();
	table = new_table(bench, store);
	times[3] = now_ms();
	walk(store, table);
	times[4] = now_ms();
	settle(store, table);
	times[5] = now_ms();
	check(hash_store_commit(store, &error), error);
	hash_store_close(store);
	times[6] = now_ms();

	printf("%9" PRIu64, n_objects);
	for (size_t i = 1; i < G_N_ELEMENTS(times); i++)
		printf(" %7.1f", times[i] - times[i - 1]);
	printf(" %7.1f %7.1f\n", times[6] - times[0],
	       (double)(read_from_disk() - before) / (1 << 20));
	fflush(stdout);
}

static void remove_files(const Bench *bench)
{
	static const char *const suffixes[] = { ".sqlite", ".sqlite-wal", ".sqlite-shm", ".lock" };

	for (size_t i = 0; i < G_N_ELEMENTS(suffixes); i++) {
		g_autofree char *path = g_strconcat(bench->directory, "/", UUID, suffixes[i], NULL);

		g_unlink(path);
	}
}

int main(int argc, char **argv)
{
	g_autofree char *directory = NULL;
	Bench bench = { .changed = 10, .runs = 5 };
	const GOptionEntry entries[] = {
		{ "directory", 0, 0, G_OPTION_ARG_FILENAME, &directory, "On a real disk", "DIR" },
		{ "changed", 0, 0, G_OPTION_ARG_INT, &bench.changed, "Objects replaced", "N" },
		{ "runs", 0, 0, G_OPTION_ARG_INT, &bench.runs, "Times", "N" },
		G_OPTION_ENTRY_NULL,
	};
	g_autoptr(GOptionContext) context = g_option_context_new("[OBJECTS…]");
	g_autoptr(GError) error = NULL;

	g_option_context_add_main_entries(context, entries, NULL);
	if (!g_option_context_parse(context, &argc, &argv, &error)) {
		fprintf(stderr, "bench-changes: %s\n", error->message);
		return 2;
	}
	bench.directory = directory ? directory : "/var/tmp/bench-changes";

	printf("%9s %7s %7s %7s %7s %7s %7s %7s %7s\n", "objects", "open", "put", "table", "groups",
	       "settle", "close", "ms", "MiB");
	for (int i = 1; i < MAX(argc, 2); i++) {
		uint64_t n = argc > 1 ? g_ascii_strtoull(argv[i], NULL, 10) : 1000000;

		remove_files(&bench);
		fill(&bench, n);
		for (int run = 0; run < bench.runs; run++) {
			forget_cached(&bench);
			measure(&bench, n, run);
		}
		remove_files(&bench);
	}

	return 0;
}
