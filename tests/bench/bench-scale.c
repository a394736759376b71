/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench-scale - what passes over terabytes cost, and their store.
 *
 * bench-scale [--directory=DIR] [--kind=btrfs|XFS] [--tib=N] [--shape=NAME] [--days=N] [--daily=SHARE]
 *             [--neighbours=N]
 *
 * Only the filesystem is simulated: a ContentModel gives the block sums of its objects.  Digests, anchors, store,
 * sorters, object table, matching and the order of runs are those of dedupd.  Runs are counted, not planned: a
 * plan asks the kernel for references.
 *
 * 1. The first pass: all objects are put, with commits as in a pass, matched and settled.  Matching and settling
 *    are each interrupted once after a moment, and begun again.
 * 2. On btrfs a second pass, in which the whole copies are gone.
 * 3. Daily passes.  Each day a part of the data is rewritten, in groups of neighbours.  On XFS these are the
 *    same files again.  On btrfs the new extents lie behind all others, and the store learns once a week which
 *    ones are gone.
 *
 * The result is one line of JSON; tests/bench/scale makes a page of it.
 */
#include "common/content/anchor-shape.h"
#include "common/content/object-sums.h"
#include "common/content/run.h"
#include "common/content/zeros.h"
#include "daemon/context/object-table.h"
#include "daemon/context/pass.h"
#include "daemon/fingerprint/anchor-writer.h"
#include "daemon/match/match.h"
#include "daemon/match/run-order.h"
#include "hashstore/anchors/segments.h"
#include "hashstore/objects/objects.h"
#include "tests/bench/bench-store.h"
#include "tests/bench/content-model.h"
#include "tests/bench/watch.h"

#include <inttypes.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#define UUID            "6c2f3d4e-0000-4000-8000-000000000003"
#define BLOCK_BYTES     4096
#define TIB             ((double)(UINT64_C(1) << 40))
#define COMMIT_SECONDS  30.0
#define NEIGHBOURS_MOST 4096
#define WEEK            7
#define COLD_DAYS       30 /* one of so many daily passes finds nothing of the store cached */
#define BEHIND          UINT64_MAX
#define FILE_NAME       "a-usual-name.txt"

typedef struct {
	double wall, cpu;
} Cost;

typedef struct {
	/* Set by main(). */
	ContentModel model;
	BenchStore at;
	bool is_btrfs;
	double tib;
	int days;
	double daily;
	int neighbours; /* objects that change together */
	atomic_bool stop;
	Settings settings;
	PassResult result;
	Watch *watch;

	/* The simulated filesystem. */
	uint64_t next_number; /* of the content of the next object */
	uint64_t next_place;  /* address of the next extent, or inode of the next file */
	uint64_t bytes;
	uint64_t blocks, duplicates; /* made so far */
	GArray *gone;                /* uint64_t: addresses that the store still has */
	double due_bytes;            /* to be rewritten */
	int64_t lost_bytes;          /* deleted, and not yet written again */
	uint64_t chance;

	/* The store, and what passes over it took. */
	HashStore *store;
	double committed, longest_gap;
	uint64_t runs, run_blocks;
	Cost fill, match, settle;
	double stop_match, stop_settle, open_after_stop, open_cold, close;
} Bench;

static double now(void)
{
	return bench_store_seconds();
}

static Cost cost_begin(void)
{
	return (Cost){ now(), bench_store_cpu_seconds() };
}

static Cost cost_since(Cost begun)
{
	return (Cost){ now() - begun.wall, bench_store_cpu_seconds() - begun.cpu };
}

static void open_store(Bench *bench, bool rebuild)
{
	atomic_store(&bench->stop, false);
	bench->store = bench_store_open(&bench->at, rebuild);
	bench->committed = now();
}

static void close_store(Bench *bench)
{
	hash_store_close(bench->store);
	bench->store = NULL;
}

static void commit(Bench *bench)
{
	GError *error = NULL;

	bench_store_check(hash_store_commit(bench->store, &error), &error);
	bench->longest_gap = MAX(bench->longest_gap, now() - bench->committed);
	bench->committed = now();
}

/* Compute the sums of object @number and put its anchors; *ret has the id, the size and the digest. */
static void put_anchors(Bench *bench, uint64_t number, Object *ret)
{
	GError *error = NULL;
	uint32_t k = hash_store_about(bench->store)->anchor_blocks;
	AnchorWriter writer = { .store = bench->store, .anchor_blocks = k };
	ObjectSumsSink sink = anchor_writer_sink(&writer);
	ObjectSums sums;
	ContentCursor cursor;
	ContentRun run;

	bench_store_check(hash_store_new_object(bench->store, &ret->id, &error), &error);
	writer.object = ret->id;
	object_sums_init(&sums, k, hash_store_about(bench->store)->window_anchors,
			 ZEROS_RUN_BYTES / BLOCK_BYTES);
	content_cursor_init(&cursor, &bench->model, number);
	while (content_cursor_next(&cursor, &run)) {
		for (uint32_t i = 0; i < run.blocks; i++)
			object_sums_add(&sums, content_run_sum(&bench->model, &run, i), &sink);
		bench->blocks += run.blocks;
		bench->duplicates += run.origin != number ? run.blocks : 0;
	}

	ret->size_bytes = object_sums_blocks(&sums) * BLOCK_BYTES;
	ret->digest = object_sums_finish(&sums, ret->size_bytes, &sink);
	bench_store_check(anchor_writer_take_error(&writer, &error), &error);
}

/* Put a new object BEHIND all others, or instead of the one at @wanted_place; returns its length. */
static uint64_t put_object(Bench *bench, uint64_t wanted_place)
{
	GError *error = NULL;
	uint64_t place = wanted_place == BEHIND ? bench->next_place : wanted_place;
	uint64_t number = bench->next_number++;
	int64_t time_nsec = (int64_t)(number * 1000);
	Object object = {
		.inode = place,
		.btime_nsec = bench->is_btrfs ? 0 : time_nsec,
		.ctime_nsec = time_nsec,
		.mtime_nsec = time_nsec,
	};
	Anchor whole = { .block = ANCHOR_WHOLE_BLOCK };

	if (!bench->is_btrfs) {
		object.generation = (uint32_t)number;
		object.parent = place - place % 16;
		object.name = (const uint8_t *)FILE_NAME;
		object.name_bytes = strlen(FILE_NAME);
	}
	put_anchors(bench, number, &object);
	if (bench->is_btrfs) {
		object.ctime_nsec = (int64_t)(number >> 10);
		object.mtime_nsec = (int64_t)(object.size_bytes / BLOCK_BYTES);
	}
	whole.object = object.id;
	whole.digest = object.digest;
	bench_store_check(hash_store_put_anchor(bench->store, &whole, &error) &&
				  hash_store_put(bench->store, &object, &error),
			  &error);
	if (now() - bench->committed >= COMMIT_SECONDS)
		commit(bench);

	bench->bytes += object.size_bytes;
	if (wanted_place == BEHIND)
		bench->next_place += bench->is_btrfs ? object.size_bytes : 1;
	return object.size_bytes;
}

static void match_objects(Bench *bench, ObjectTable *table)
{
	GError *error = NULL;
	Pass pass = {
		.settings = &bench->settings,
		.stop = &bench->stop,
		.block_bytes = BLOCK_BYTES,
		.store = bench->store,
		.result = &bench->result,
	};
	g_autoptr(Sorter) runs =
		sorter_new(sizeof(Run), run_compare, bench->settings.memory_bytes / 4,
			   bench->settings.state_directory, &bench->stop);
	g_autoptr(RunOrder) order = run_order_new(runs, NULL, NULL);
	const OrderedRun *run;
	uint64_t ignored;

	bench_store_check(match_all(&pass, table, NULL, runs, &ignored, &error), &error);
	bench->runs = 0;
	bench->run_blocks = 0;
	while (!atomic_load(&bench->stop)) {
		bench_store_check(run_order_next(order, &run, &error), &error);
		if (!run)
			break;
		bench->runs++;
		bench->run_blocks += run->run.blocks;
	}
}

/* Match and settle all that was committed, unless interrupted or done before. */
static void match_and_settle(Bench *bench, double stop_match_after, double stop_settle_after)
{
	GError *error = NULL;
	Cost begun = cost_begin();
	g_autoptr(ObjectTable) table = NULL;

	if (hash_store_settled_below(bench->store) == hash_store_next_object(bench->store))
		return;
	table = object_table_new(bench->store, bench->is_btrfs ? RANK_BY_SIZE : RANK_BY_GAIN,
				 &bench->settings, NULL, &error);
	bench_store_check(table, &error);
	watch_step(bench->watch, "match");
	if (stop_match_after > 0)
		watch_stop_after(bench->watch, stop_match_after);
	match_objects(bench, table);
	if (atomic_load(&bench->stop))
		return;
	bench->match = cost_since(begun);

	begun = cost_begin();
	bench->committed = now();
	watch_step(bench->watch, "settle");
	if (stop_settle_after > 0)
		watch_stop_after(bench->watch, stop_settle_after);
	bench_store_check(hash_store_settle(bench->store, object_table_is_kept, table, &error),
			  &error);
	commit(bench);
	if (!atomic_load(&bench->stop))
		bench->settle = cost_since(begun);
}

/* Match and settle, which is interrupted, and open the store again; seconds from the request to the closed store. */
static double interrupt(Bench *bench, double stop_match_after, double stop_settle_after)
{
	double began, took;

	match_and_settle(bench, stop_match_after, stop_settle_after);
	close_store(bench);
	took = watch_since_stop(bench->watch);
	bench_store_forget_cached(&bench->at);
	began = now();
	open_store(bench, false);
	if (took > 0)
		bench->open_after_stop = MAX(bench->open_after_stop, now() - began);

	return took;
}

static void first_pass(Bench *bench)
{
	uint64_t wanted = (uint64_t)(bench->tib * TIB);
	double moment = MIN(1.0, bench->tib / 10);
	Cost begun = cost_begin();
	double began;

	open_store(bench, true);
	while (bench->bytes < wanted) {
		put_object(bench, BEHIND);
		watch_progress(bench->watch, "put", (double)bench->bytes / (double)wanted);
	}
	commit(bench);
	bench->fill = cost_since(begun);

	bench->stop_match = interrupt(bench, moment, 0);
	bench->stop_settle = interrupt(bench, 0, moment);
	match_and_settle(bench, 0, 0);
	began = now();
	close_store(bench);
	bench->close = now() - began;
}

static void drop(Bench *bench, uint64_t address)
{
	GError *error = NULL;

	bench_store_check(hash_store_drop(bench->store, OBJECT_EXTENTS, address, &error), &error);
}

/* Drop the extents that are copies of whole ones: the first pass freed them. */
static void second_pass(Bench *bench)
{
	uint64_t address = BLOCK_BYTES, n = bench->next_number;

	bench_store_forget_cached(&bench->at);
	open_store(bench, false);
	for (uint64_t number = 0; number < n; number++) {
		uint64_t bytes = content_model_bytes(&bench->model, number, BLOCK_BYTES);

		if (content_model_is_copy(&bench->model, number)) {
			drop(bench, address);
			bench->bytes -= bytes;
		}
		address += bytes;
	}
	commit(bench);
	match_and_settle(bench, 0, 0);
	close_store(bench);
}

/* The places of a few neighbours somewhere; returns how many bytes they have. */
static uint64_t choose_neighbours(Bench *bench, uint64_t *ret_places, unsigned *ret_n)
{
	GError *error = NULL;
	uint64_t place = bench_store_mix(bench->chance++) % bench->next_place;
	uint64_t bytes = 0;
	bool is_first = true;
	const Object *found;

	*ret_n = 0;
	while (*ret_n < (unsigned)bench->neighbours) {
		bench_store_check(hash_store_find_before(bench->store, 0, place, &found, &error),
				  &error);
		if (!found)
			break;
		/* A long extent is more likely to be at a place: it is not chosen. */
		if (is_first) {
			is_first = false;
		} else {
			ret_places[(*ret_n)++] = found->inode;
			bytes += found->size_bytes;
		}
		place = found->inode - 1;
	}

	return bytes;
}

/* Rewrite a part of the data; returns how many bytes are new. */
static uint64_t change(Bench *bench, int day)
{
	uint64_t places[NEIGHBOURS_MOST];
	uint64_t added = 0;
	unsigned n;

	/* Neighbours may be more than the part of a day, of which later days then have less. */
	bench->due_bytes += (double)bench->bytes * bench->daily;
	while (bench->due_bytes > 0) {
		uint64_t bytes = choose_neighbours(bench, places, &n), new_bytes = 0, size;

		if (bench->is_btrfs) {
			g_array_append_vals(bench->gone, places, n);
			for (bench->lost_bytes += (int64_t)bytes; bench->lost_bytes > 0;
			     bench->lost_bytes -= (int64_t)size) {
				size = put_object(bench, BEHIND);
				new_bytes += size;
			}
		} else {
			for (unsigned i = 0; i < n; i++)
				new_bytes += put_object(bench, places[i]);
		}
		bench->bytes -= bytes;
		bench->due_bytes -= (double)new_bytes;
		added += new_bytes;
	}
	if (day % WEEK == 0) {
		for (guint i = 0; i < bench->gone->len; i++)
			drop(bench, g_array_index(bench->gone, uint64_t, i));
		g_array_set_size(bench->gone, 0);
	}
	commit(bench);

	return added;
}

typedef struct {
	uint64_t content_bytes, file_bytes, anchors, objects;
	uint32_t segments;
} Size;

static Size measure_size(Bench *bench)
{
	GError *error = NULL;
	Size size;

	open_store(bench, false);
	size.content_bytes = hash_store_content_bytes(bench->store);
	size.file_bytes = hash_store_file_bytes(bench->store);
	bench_store_check(
		hash_store_count_anchors(bench->store, &size.anchors, &size.segments, &error) &&
			hash_store_count_objects(bench->store, &size.objects, &error),
		&error);
	close_store(bench);

	return size;
}

static void print_size(const char *name, const Size *size, uint64_t bytes)
{
	printf("\"%s\": {\"data_bytes\": %" PRIu64 ", \"content_bytes\": %" PRIu64
	       ", \"file_bytes\": %" PRIu64 ", \"anchors\": %" PRIu64 ", \"objects\": %" PRIu64
	       ", \"segments\": %u}, ",
	       name, bytes, size->content_bytes, size->file_bytes, size->anchors, size->objects,
	       size->segments);
}

static void print_cost(const char *name, Cost cost)
{
	printf("\"%s\": {\"wall\": %.3f, \"cpu\": %.3f}, ", name, cost.wall, cost.cpu);
}

static void print_first(Bench *bench, const Size *size)
{
	printf("{\"tib\": %g, \"kind\": \"%s\", ", bench->tib, bench->at.kind);
	print_cost("fill", bench->fill);
	print_cost("match", bench->match);
	print_cost("settle", bench->settle);
	print_size("first", size, bench->bytes);
	printf("\"duplicate_share\": %.4f, \"runs\": %" PRIu64 ", \"run_blocks\": %" PRIu64
	       ", \"duplicate_blocks\": %" PRIu64 ", \"first_gap\": %.3f, "
	       "\"stop_match\": %.3f, \"stop_settle\": %.3f, \"open_after_stop\": %.3f, \"close\": "
	       "%.3f, ",
	       (double)bench->duplicates / (double)bench->blocks, bench->runs, bench->run_blocks,
	       bench->duplicates, bench->longest_gap, bench->stop_match, bench->stop_settle,
	       bench->open_after_stop, bench->close);
}

static void daily_passes(Bench *bench)
{
	g_autoptr(GString) files = g_string_new(NULL), contents = g_string_new(NULL);
	g_autoptr(GString) warm = g_string_new(NULL), cold = g_string_new(NULL);
	uint64_t written = bench_store_written_bytes(), added = 0;
	Cost begun = cost_begin();

	for (int day = 1; day <= bench->days; day++) {
		bool is_cold = day % COLD_DAYS == 1;
		double began;
		Size size;

		watch_progress(bench->watch, "days", (double)day / bench->days);
		if (is_cold)
			bench_store_forget_cached(&bench->at);
		began = now();
		open_store(bench, false);
		if (is_cold)
			bench->open_cold = MAX(bench->open_cold, now() - began);
		added += change(bench, day);
		match_and_settle(bench, 0, 0);
		close_store(bench);
		g_string_append_printf(is_cold ? cold : warm, ", %.3f", now() - began);

		size = measure_size(bench);
		g_string_append_printf(files, ", %" PRIu64, size.file_bytes);
		g_string_append_printf(contents, ", %" PRIu64, size.content_bytes);
	}
	begun = cost_since(begun);

	print_cost("year", begun);
	printf("\"added_bytes\": %" PRIu64 ", \"written_bytes\": %" PRIu64 ", "
	       "\"open_cold\": %.4f, \"warm\": [%s], \"cold\": [%s], \"files\": [%s], "
	       "\"contents\": [%s], ",
	       added, bench_store_written_bytes() - written, bench->open_cold,
	       warm->len ? warm->str + 2 : "", cold->len ? cold->str + 2 : "",
	       files->len ? files->str + 2 : "", contents->len ? contents->str + 2 : "");
}

static void run(Bench *bench)
{
	Size size;
	struct rusage usage;

	bench_store_remove(&bench->at);
	bench->watch = watch_new(bench->at.directory, &bench->stop);
	first_pass(bench);
	size = measure_size(bench);
	print_first(bench, &size);
	if (bench->is_btrfs) {
		Cost begun = cost_begin();

		second_pass(bench);
		print_cost("second_pass", cost_since(begun));
	}
	size = measure_size(bench);
	print_size("second", &size, bench->bytes);

	bench->longest_gap = 0;
	daily_passes(bench);
	size = measure_size(bench);
	print_size("last", &size, bench->bytes);
	getrusage(RUSAGE_SELF, &usage);
	printf("\"daily_gap\": %.3f, \"peak_rss_bytes\": %" PRIu64 ", \"peak_own_bytes\": %" PRIu64
	       ", \"peak_disk_bytes\": %" PRIu64 "}\n",
	       bench->longest_gap, (uint64_t)usage.ru_maxrss << 10,
	       watch_peak_own_bytes(bench->watch), watch_peak_disk_bytes(bench->watch));
	watch_free(bench->watch);
	bench_store_remove(&bench->at);
}

int main(int argc, char **argv)
{
	g_autofree char *directory = NULL, *shape = NULL, *kind = NULL;
	int seed = 1;
	Bench bench = {
		.tib = 0.01,
		.days = 365,
		.daily = 0.001,
		.neighbours = 8,
		.next_place = BLOCK_BYTES,
	};
	const GOptionEntry entries[] = {
		{ "directory", 0, 0, G_OPTION_ARG_FILENAME, &directory, "On a real disk", "DIR" },
		{ "kind", 0, 0, G_OPTION_ARG_STRING, &kind, "btrfs or XFS", "KIND" },
		{ "tib", 0, 0, G_OPTION_ARG_DOUBLE, &bench.tib, "Data", "TIB" },
		{ "shape", 0, 0, G_OPTION_ARG_STRING, &shape, content_model_shapes(), "NAME" },
		{ "days", 0, 0, G_OPTION_ARG_INT, &bench.days, "Daily passes", "N" },
		{ "daily", 0, 0, G_OPTION_ARG_DOUBLE, &bench.daily, "Rewritten each day", "SHARE" },
		{ "neighbours", 0, 0, G_OPTION_ARG_INT, &bench.neighbours, "That change together",
		  "N" },
		{ "seed", 0, 0, G_OPTION_ARG_INT, &seed, "Of the content", "N" },
		G_OPTION_ENTRY_NULL,
	};
	g_autoptr(GOptionContext) context = g_option_context_new(NULL);
	g_autoptr(GError) error = NULL;

	g_option_context_add_main_entries(context, entries, NULL);
	if (!g_option_context_parse(context, &argc, &argv, &error)) {
		fprintf(stderr, "bench-scale: %s\n", error->message);
		return 2;
	}
	/* JSON has points in numbers. */
	setlocale(LC_NUMERIC, "C");

	bench.model.seed = (uint64_t)seed;
	bench.model.reclaimable = content_model_shape(shape ? shape : "archival");
	bench.is_btrfs = !kind || strcmp(kind, "btrfs") == 0;
	bench.neighbours = CLAMP(bench.neighbours, 1, NEIGHBOURS_MOST);
	if (bench.model.reclaimable < 0 || (!bench.is_btrfs && strcmp(kind, "XFS") != 0)) {
		fprintf(stderr, "bench-scale: shapes are %s; kinds are btrfs and XFS\n",
			content_model_shapes());
		return 2;
	}
	bench.settings.memory_bytes = UINT64_C(64) << 20;
	bench.settings.state_directory = directory ? directory : (char *)"/var/tmp/bench-scale";
	bench.settings.zeros = ZEROS_KEEP;
	bench.at = (BenchStore){
		.directory = bench.settings.state_directory,
		.uuid = UUID,
		.memory_bytes = bench.settings.memory_bytes,
		.kind = bench.is_btrfs ? "btrfs" : "XFS",
		.anchor_blocks = anchor_shape(bench.is_btrfs).blocks,
		.window_anchors = anchor_shape(bench.is_btrfs).window,
		.stop = &bench.stop,
	};
	bench.gone = g_array_new(false, false, sizeof(uint64_t));
	run(&bench);
	g_array_unref(bench.gone);

	return 0;
}
