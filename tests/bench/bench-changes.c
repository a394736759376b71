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
#include "daemon/context/object-table.h"
#include "hashstore/anchors/groups.h"
#include "hashstore/objects/objects.h"
#include "tests/bench/bench-store.h"

#include <inttypes.h>
#include <stdio.h>

#define UUID         "6c2f3d4e-0000-4000-8000-000000000002"
#define EXTENT_BYTES 8192

typedef struct {
	BenchStore store;
	int changed;
	int runs;
} Bench;

static void put(HashStore *store, uint64_t place, uint64_t content)
{
	GError *error = NULL;
	Object object = {
		.inode = (1 + place) * EXTENT_BYTES,
		.size_bytes = EXTENT_BYTES,
		.ctime_nsec = (int64_t)content,
		.mtime_nsec = 2,
		.digest = bench_store_mix(content) | 1,
	};
	Anchor whole = { .digest = object.digest, .block = ANCHOR_WHOLE_BLOCK };

	bench_store_check(hash_store_new_object(store, &object.id, &error), &error);
	whole.object = object.id;
	bench_store_check(hash_store_put_anchor(store, &whole, &error) &&
				  hash_store_put(store, &object, &error),
			  &error);
}

static ObjectTable *new_table(const Bench *bench, HashStore *store)
{
	GError *error = NULL;
	Settings settings = { .state_directory = (char *)bench->store.directory };
	ObjectTable *table = object_table_new(store, RANK_BY_SIZE, &settings, NULL, &error);

	bench_store_check(table, &error);
	return table;
}

/* Count and rank all members, as matching does. */
static void walk(HashStore *store, ObjectTable *table)
{
	GError *error = NULL;
	g_autoptr(Groups) groups = groups_open(store, object_table_is_live, table, &error);
	const Group *group;

	bench_store_check(groups, &error);
	for (int turn = 0; turn < 2; turn++) {
		if (turn > 0)
			bench_store_check(groups_rewind(groups, &error), &error);
		for (;;) {
			bench_store_check(groups_next(groups, &group, &error), &error);
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

	bench_store_check(hash_store_settle(store, object_table_is_live, table, &error), &error);
}

static void fill(const Bench *bench, uint64_t n_objects)
{
	HashStore *store = bench_store_open(&bench->store, true);
	GError *error = NULL;
	g_autoptr(ObjectTable) table = NULL;

	for (uint64_t i = 0; i < n_objects; i++)
		put(store, i, i);
	bench_store_check(hash_store_commit(store, &error), &error);
	table = new_table(bench, store);
	settle(store, table);
	bench_store_check(hash_store_commit(store, &error), &error);
	hash_store_close(store);
}

static void measure(const Bench *bench, uint64_t n_objects, int run)
{
	double times[7] = { bench_store_seconds() };
	uint64_t before = bench_store_read_bytes();
	HashStore *store = bench_store_open(&bench->store, false);
	GError *error = NULL;
	g_autoptr(ObjectTable) table = NULL;

	times[1] = bench_store_seconds();
	for (int i = 0; i < bench->changed; i++) {
		uint64_t changed =
			bench_store_mix((uint64_t)(run * bench->changed + i)) % n_objects;

		put(store, changed, i % 2 ? n_objects + changed : changed / 2);
	}
	bench_store_check(hash_store_commit(store, &error), &error);
	times[2] = bench_store_seconds();
	table = new_table(bench, store);
	times[3] = bench_store_seconds();
	walk(store, table);
	times[4] = bench_store_seconds();
	settle(store, table);
	times[5] = bench_store_seconds();
	bench_store_check(hash_store_commit(store, &error), &error);
	hash_store_close(store);
	times[6] = bench_store_seconds();

	printf("%9" PRIu64, n_objects);
	for (size_t i = 1; i < G_N_ELEMENTS(times); i++)
		printf(" %7.1f", (times[i] - times[i - 1]) * 1e3);
	printf(" %7.1f %7.1f\n", (times[6] - times[0]) * 1e3,
	       (double)(bench_store_read_bytes() - before) / (1 << 20));
	fflush(stdout);
}

int main(int argc, char **argv)
{
	g_autofree char *directory = NULL;
	Bench bench = {
		.store = { .uuid = UUID, .memory_bytes = 64 << 20 },
		.changed = 10,
		.runs = 5,
	};
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
	bench.store.directory = directory ? directory : "/var/tmp/bench-changes";

	printf("%9s %7s %7s %7s %7s %7s %7s %7s %7s\n", "objects", "open", "put", "table", "groups",
	       "settle", "close", "ms", "MiB");
	for (int i = 1; i < MAX(argc, 2); i++) {
		uint64_t n = argc > 1 ? g_ascii_strtoull(argv[i], NULL, 10) : 1000000;

		bench_store_remove(&bench.store);
		fill(&bench, n);
		for (int run = 0; run < bench.runs; run++) {
			bench_store_forget_cached(&bench.store);
			measure(&bench, n, run);
		}
		bench_store_remove(&bench.store);
	}

	return 0;
}
