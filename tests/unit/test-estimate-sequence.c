/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/estimate-sequence.h"

#define BLOCK         UINT64_C(4096)
#define ANCHOR_BLOCKS 4
#define USUAL_WINDOW  2

#define BLOCKS_OF_WINDOW_MAX UINT64_C(64)

static atomic_bool stop;

typedef struct {
	Settings settings;
	EstimateTask task;
	EstimateSequence *sequence;
	uint64_t n_added;
	/* Of the runs. */
	uint64_t n_blocks;
	uint64_t target; /* of which blocks are looked for */
	uint64_t n_at_target;
	uint64_t source;
	uint32_t ways;
	uint64_t at_target_by_way[ESTIMATE_WAYS]; /* blocks of runs there, from any source */
} Fixture;

static void set_up(Fixture *fixture, const void *data)
{
	fixture->settings.memory_bytes = SETTINGS_MEMORY_MIN_BYTES;
	fixture->task = (EstimateTask){ .settings = &fixture->settings,
					.directory = g_get_tmp_dir(),
					.identity.block_bytes = BLOCK,
					.stop = &stop };
	fixture->sequence =
		estimate_sequence_new(&fixture->task, ANCHOR_BLOCKS, USUAL_WINDOW, NULL);
	g_assert_nonnull(fixture->sequence);
}

static void tear_down(Fixture *fixture, const void *data)
{
	estimate_sequence_free(fixture->sequence);
}

/* A file whose data has a period; returns the position of its first block. */
static uint64_t add_file(Fixture *fixture, uint64_t n_blocks, uint64_t period)
{
	uint64_t first;

	estimate_sequence_blocks(fixture->sequence, &first);
	for (uint64_t i = 0; i < n_blocks; i++)
		g_assert_true(estimate_sequence_add(fixture->sequence, 1000 + i % period,
						    fixture->n_added++ * BLOCK, NULL));
	g_assert_true(estimate_sequence_end_file(fixture->sequence, NULL));
	return first;
}

static bool take(const SequenceRun *run, void *data, GError **error)
{
	Fixture *fixture = data;

	uint64_t begin = MAX(run->target, fixture->target);
	uint64_t end = MIN(run->target + run->n_blocks, fixture->target + fixture->n_at_target);

	fixture->n_blocks += run->n_blocks;
	for (unsigned way = 0; way < ESTIMATE_WAYS && begin < end; way++)
		fixture->at_target_by_way[way] += run->ways >> way & 1 ? end - begin : 0;
	if (run->target <= fixture->target &&
	    run->source + fixture->target == fixture->source + run->target &&
	    run->target + run->n_blocks >= fixture->target + fixture->n_at_target)
		fixture->ways |= run->ways;
	return true;
}

/* Find the runs, and note the ways by which @n blocks at @target are found to equal those at @source. */
static void match(Fixture *fixture, uint64_t target, uint64_t source, uint64_t n)
{
	fixture->target = target;
	fixture->source = source;
	fixture->n_at_target = n;
	g_assert_true(estimate_sequence_match(fixture->sequence, take, fixture, NULL));
}

/* The blocks of runs are those that were compared. */
static void check_compared(const Fixture *fixture, uint64_t times)
{
	g_test_message("%" G_GUINT64_FORMAT " blocks compared, of %" G_GUINT64_FORMAT,
		       fixture->n_blocks, fixture->n_added);
	g_assert_cmpuint(fixture->n_blocks, <, times * fixture->n_added);
}

static void test_one_block_repeated_is_compared_a_few_times(Fixture *fixture, const void *data)
{
	uint64_t n = (UINT64_C(64) << 20) / BLOCK;
	uint64_t one = add_file(fixture, n, 1);
	uint64_t other = add_file(fixture, n, 1);

	match(fixture, other, one, n);
	check_compared(fixture, 100);
	g_assert_cmpuint(fixture->ways, ==, ESTIMATE_ALL_WAYS);
}

static void test_short_periods_are_compared_a_few_times(Fixture *fixture, const void *data)
{
	uint64_t n = (UINT64_C(64) << 20) / BLOCK;
	uint64_t one = add_file(fixture, n, 3);
	uint64_t other = add_file(fixture, n, 3);

	match(fixture, other, one, n);
	check_compared(fixture, 120);
	g_assert_cmpuint(fixture->ways, ==, ESTIMATE_ALL_WAYS);
}

static void test_the_last_of_many_equal_files_finds_the_first(Fixture *fixture, const void *data)
{
	uint64_t first = add_file(fixture, 300, 300), last = 0;

	for (int i = 0; i < 200; i++)
		last = add_file(fixture, 300, 300);
	match(fixture, last, first, 300);
	check_compared(fixture, 4);
	g_assert_cmpuint(fixture->ways, ==, ESTIMATE_ALL_WAYS);
}

/* What one way finds does not take the room of what another one would. */
static void test_each_way_goes_over_what_repeats_itself(Fixture *fixture, const void *data)
{
	static const uint64_t lengths[] = { 1024, 2048, 3072, 5120, 8192 };
	uint64_t last = 0, n = lengths[G_N_ELEMENTS(lengths) - 1];

	for (size_t i = 0; i < G_N_ELEMENTS(lengths); i++)
		last = add_file(fixture, lengths[i], 1);
	match(fixture, last, 0, n);
	for (unsigned way = 0; way < ESTIMATE_WINDOWS; way++)
		g_assert_cmpuint(fixture->at_target_by_way[way], >=, n - 2 * BLOCKS_OF_WINDOW_MAX);
}

static void add(const char *name, void (*test)(Fixture *, const void *))
{
	g_test_add(name, Fixture, NULL, set_up, test, tear_down);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	add("/estimate-sequence/one-block-repeated-is-compared-a-few-times",
	    test_one_block_repeated_is_compared_a_few_times);
	add("/estimate-sequence/short-periods-are-compared-a-few-times",
	    test_short_periods_are_compared_a_few_times);
	add("/estimate-sequence/each-way-goes-over-what-repeats-itself",
	    test_each_way_goes_over_what_repeats_itself);
	add("/estimate-sequence/the-last-of-many-equal-files-finds-the-first",
	    test_the_last_of_many_equal_files_finds_the_first);
	return g_test_run();
}
