/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench-anchors - what anchors cost: to keep, to group, to settle, and to look up a few new ones.
 *
 * bench-anchors [--directory=DIR] [--memory=MIB] [MILLIONS…]
 *
 * For each number of anchors one line: put (making them up and hash_store_put_anchor(), which sorts,
 * packs and writes when its memory is full), commit, group (groups_open() and a walk over all
 * groups), these three together, and their processor time; the size of the store at rest per
 * anchor; the largest resident memory so far; settle, with its commit, checkpoint and close.  Then,
 * with nothing of the store cached and opened anew: 1,000 more anchors put and committed, the walk
 * over their groups, and what both read from the disk.  "found" has a member among the
 * settled ones.  Digests are uniform, every fifth one equals an earlier one, and an object has
 * 4,000 anchors.
 */
#include "hashstore/anchors/groups.h"
#include "hashstore/objects/objects.h"
#include "tests/bench/bench-store.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>

#define ANCHORS_PER_OBJECT 4000
#define NEW_ANCHORS        1000
#define UUID               "6c2f3d4e-0000-4000-8000-000000000001"

typedef struct {
	double put, commit, group, cpu, settle, look_up_put, look_up; /* seconds */
	uint64_t n_groups, n_members, n_found;
	uint64_t file_bytes, settled_bytes, read_bytes;
	uint32_t n_segments, n_settled;
	long peak_kib;
} Result;

static bool is_live(uint32_t object, void *data)
{
	return true;
}

/* The digest of anchor number @i: that of an earlier one for every fifth. */
static uint64_t digest_of(uint64_t i)
{
	if (i % 5 == 4)
		i = bench_store_mix(i) % i;

	return bench_store_mix(i) | 1;
}

static void put_anchors(HashStore *store, uint64_t begin, uint64_t end)
{
	uint32_t object = 0, block = 0;
	GError *error = NULL;

	for (uint64_t i = begin; i < end; i++) {
		Anchor anchor;

		if ((i - begin) % ANCHORS_PER_OBJECT == 0) {
			bench_store_check(hash_store_new_object(store, &object, &error), &error);
			block = 0;
		}
		block += 1 + (uint32_t)(i * UINT64_C(0x9e3779b97f4a7c15) >> 60);
		anchor = (Anchor){ .digest = digest_of(i), .object = object, .block = block };
		bench_store_check(hash_store_put_anchor(store, &anchor, &error), &error);
	}
}

static void walk(HashStore *store, uint64_t *ret_groups, uint64_t *ret_members)
{
	GError *error = NULL;
	g_autoptr(Groups) groups = groups_open(store, is_live, NULL, &error);
	const Group *group;

	bench_store_check(groups, &error);
	*ret_groups = 0;
	*ret_members = 0;
	for (;;) {
		bench_store_check(groups_next(groups, &group, &error), &error);
		if (!group)
			break;
		(*ret_groups)++;
		*ret_members += group->n_members;
	}
}

static void measure_first_pass(const BenchStore *bench, uint64_t n_anchors, Result *result)
{
	HashStore *store = bench_store_open(bench, true);
	struct rusage usage;
	GError *error = NULL;
	double began = bench_store_seconds(), cpu_began = bench_store_cpu_seconds(), put, committed;
	uint64_t n;

	put_anchors(store, 0, n_anchors);
	put = bench_store_seconds();
	bench_store_check(hash_store_commit(store, &error), &error);
	committed = bench_store_seconds();
	walk(store, &result->n_groups, &result->n_members);
	result->group = bench_store_seconds() - committed;
	result->cpu = bench_store_cpu_seconds() - cpu_began;
	result->put = put - began;
	result->commit = committed - put;
	result->file_bytes = hash_store_file_bytes(store);
	bench_store_check(hash_store_count_anchors(store, &n, &result->n_segments, &error), &error);

	began = bench_store_seconds();
	bench_store_check(hash_store_settle(store, is_live, NULL, &error), &error);
	bench_store_check(hash_store_commit(store, &error), &error);
	hash_store_close(store);
	result->settle = bench_store_seconds() - began;

	getrusage(RUSAGE_SELF, &usage);
	result->peak_kib = usage.ru_maxrss;
}

static void measure_later_pass(const BenchStore *bench, uint64_t n_anchors, Result *result)
{
	HashStore *store;
	GError *error = NULL;
	uint64_t n, before;
	double began;

	bench_store_forget_cached(bench);
	store = bench_store_open(bench, false);
	bench_store_check(hash_store_count_anchors(store, &n, &result->n_settled, &error), &error);
	result->settled_bytes = hash_store_file_bytes(store);

	before = bench_store_read_bytes();
	began = bench_store_seconds();
	put_anchors(store, n_anchors - n_anchors % 5, n_anchors - n_anchors % 5 + NEW_ANCHORS);
	bench_store_check(hash_store_commit(store, &error), &error);
	result->look_up_put = bench_store_seconds() - began;
	began = bench_store_seconds();
	walk(store, &n, &result->n_found);
	result->look_up = bench_store_seconds() - began;
	result->n_found = n;
	result->read_bytes = bench_store_read_bytes() - before;
	hash_store_close(store);
}

static void measure(const BenchStore *bench, uint64_t millions)
{
	uint64_t n = millions * 1000000;
	Result result = { 0 };
	double total;

	bench_store_remove(bench);
	measure_first_pass(bench, n, &result);
	measure_later_pass(bench, n, &result);
	bench_store_remove(bench);

	total = result.put + result.commit + result.group;
	printf("%7" PRIu64 "M %6.2f %6.2f %6.2f %6.2f %6.2f %7.2f %4u %10" PRIu64
	       " %6.2f %4u %6.2f %8ld "
	       "%7.1f %7.1f %6.2f %5" PRIu64 "\n",
	       millions, result.put, result.commit, result.group, total, result.cpu,
	       (double)n / 1e6 / total, result.n_segments, result.n_groups, result.settle,
	       result.n_settled, (double)result.settled_bytes / (double)n, result.peak_kib,
	       result.look_up_put * 1e3, result.look_up * 1e3, (double)result.read_bytes / 1048576,
	       result.n_found);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	g_autofree char *directory = NULL;
	int memory_mib = 64;
	const GOptionEntry entries[] = {
		{ "directory", 0, 0, G_OPTION_ARG_FILENAME, &directory, "On a real disk", "DIR" },
		{ "memory", 0, 0, G_OPTION_ARG_INT, &memory_mib, "Limit for sorting", "MIB" },
		G_OPTION_ENTRY_NULL,
	};
	g_autoptr(GOptionContext) context = g_option_context_new("[MILLIONS…]");
	g_autoptr(GError) error = NULL;
	BenchStore bench = { .uuid = UUID };

	g_option_context_add_main_entries(context, entries, NULL);
	if (!g_option_context_parse(context, &argc, &argv, &error)) {
		fprintf(stderr, "bench-anchors: %s\n", error->message);
		return 2;
	}
	bench.directory = directory ? directory : "/var/tmp/bench-anchors";
	bench.memory_bytes = (size_t)memory_mib << 20;

	printf("%8s %6s %6s %6s %6s %6s %7s %4s %10s %6s %4s %6s %8s %7s %7s %6s %5s\n", "anchors",
	       "put s", "commit", "group", "total", "CPU s", "M/s", "segs", "groups", "settle",
	       "segs", "B/each", "peak KiB", "new ms", "find ms", "MiB", "found");
	for (int i = 1; i < argc; i++)
		measure(&bench, g_ascii_strtoull(argv[i], NULL, 10));
	if (argc == 1)
		measure(&bench, 1);

	return 0;
}
