/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/plan/sharing-cost.h"

#include "common/mounts/metadata-reserve.h"

#define KIB UINT64_C(1024)
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)

static SharingCost *new_cost(uint64_t min_run_bytes)
{
	const SharingCostLimits limits = {
		.min_run_bytes = min_run_bytes,
		.node_bytes = 16384,
		.metadata_copies = 1,
		.data_copies = 1,
	};

	return sharing_cost_new(&limits);
}

/* Judge a step that frees so many bytes without writing any. */
static CostVerdict judge_gain(SharingCost *cost, uint64_t bytes, const ExtentStep *steps,
			      size_t n_steps)
{
	const ExtentGain gain = { bytes, 0 };

	return sharing_cost_judge(cost, &gain, steps, n_steps);
}

/* Judge the steps of one target: @n_pieces of @piece_bytes in each of @n_places, from as many extents. */
static CostVerdict judge_places(SharingCost *cost, uint64_t inode, uint64_t offset,
				uint64_t piece_bytes, unsigned n_pieces, unsigned n_places)
{
	g_autoptr(GArray) steps = g_array_new(false, true, sizeof(ExtentStep));

	for (unsigned place = 0; place < n_places; place++) {
		for (unsigned i = 0; i < n_pieces; i++) {
			ExtentStep step = {
				.from = STEP_FROM_PLACE,
				.target = { .root = 256 + place, .inode = inode, .offset = offset },
				.target_offset = offset + i * piece_bytes,
				.length = piece_bytes,
				/* No two are adjacent. */
				.source = { .root = 5, .inode = 1000 + i },
				.source_offset = 2 * i * piece_bytes,
				.source_extent = { .address = (1 + i) * GIB },
			};

			g_array_append_val(steps, step);
		}
	}

	return judge_gain(cost, n_pieces * piece_bytes, (const ExtentStep *)(void *)steps->data,
			  steps->len);
}

static CostVerdict judge(SharingCost *cost, uint64_t inode, uint64_t offset, uint64_t piece_bytes,
			 unsigned n_pieces)
{
	return judge_places(cost, inode, offset, piece_bytes, n_pieces, 1);
}

static void test_what_stays_in_one_piece_is_worth_it_whatever_its_size(void)
{
	g_autoptr(SharingCost) cost = new_cost(64 * KIB);

	for (uint64_t i = 0; i < 1000; i++)
		g_assert_cmpint(judge(cost, 257, i * 8 * KIB, 4 * KIB, 1), ==, COST_WORTH);
}

static void test_a_piece_at_the_bound_loses_no_extent(void)
{
	g_autoptr(SharingCost) cost = new_cost(64 * KIB);

	/* 128 KiB in two pieces each: one more item per 128 KiB. */
	for (uint64_t i = 0; i < 1000; i++)
		g_assert_cmpint(judge(cost, 257, i * 128 * KIB, 64 * KIB, 2), ==, COST_WORTH);
}

static void test_few_pieces_are_free_and_many_are_not(void)
{
	static const struct {
		uint64_t piece_bytes;
		unsigned n_pieces;
		CostVerdict verdict;
	} cases[] = {
		{ 4 * KIB, 17, COST_WORTH },     { 4 * KIB, 18, COST_WORTH },
		{ 4 * KIB, 19, COST_PIECES },    { 4 * KIB, 256, COST_PIECES },
		{ 56 * KIB, 256, COST_PIECES },  { 64 * KIB, 256, COST_WORTH },
		{ 128 * KIB, 1024, COST_WORTH },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(SharingCost) cost = new_cost(64 * KIB);

		g_assert_cmpint(judge(cost, 257, 0, cases[i].piece_bytes, cases[i].n_pieces), ==,
				cases[i].verdict);
	}
}

static void test_the_minimum_is_an_average_over_the_file(void)
{
	g_autoptr(SharingCost) cost = new_cost(64 * KIB);
	uint64_t offset = 0;
	unsigned n = 0;

	/* Three more items per 16 KiB: the free ones are soon used up. */
	while (judge(cost, 257, offset, 4 * KIB, 4) == COST_WORTH) {
		offset += 16 * KIB;
		n++;
	}
	g_assert_cmpuint(n, ==, 5);
	/* Another file has its own account. */
	g_assert_cmpint(judge(cost, 258, 0, 4 * KIB, 4), ==, COST_WORTH);
	/* A target that frees much for few items pays for others. */
	g_assert_cmpint(judge(cost, 257, GIB, MIB, 1), ==, COST_WORTH);
	g_assert_cmpint(judge(cost, 257, offset, 4 * KIB, 4), ==, COST_WORTH);
}

static void test_another_minimum_lets_others_through(void)
{
	g_autoptr(SharingCost) none = new_cost(0);
	g_autoptr(SharingCost) small = new_cost(4 * KIB);
	g_autoptr(SharingCost) large = new_cost(MIB);

	g_assert_cmpint(judge(none, 257, 0, 4 * KIB, 10000), ==, COST_WORTH);
	g_assert_cmpint(judge(small, 257, 0, 4 * KIB, 10000), ==, COST_WORTH);
	g_assert_cmpint(judge(large, 257, 0, 64 * KIB, 256), ==, COST_PIECES);
}

static void test_a_file_is_not_cut_without_end(void)
{
	g_autoptr(SharingCost) cost = new_cost(0);
	CostVerdict verdict = COST_WORTH;
	uint64_t n = 0;

	while (verdict == COST_WORTH) {
		verdict = judge(cost, 257, n * 64 * MIB, 16 * KIB, 4096);
		n++;
	}
	g_assert_cmpint(verdict, ==, COST_PIECES);
	g_assert_cmpuint(n - 1, ==, SHARING_COST_ITEMS_MAX / 4095);
}

/* Count refused targets of @target_bytes over extents of @source_bytes of one file, side by side. */
static unsigned count_refused(uint64_t target_bytes, uint64_t source_bytes)
{
	g_autoptr(SharingCost) cost = new_cost(64 * KIB);
	unsigned n_refused = 0;

	for (uint64_t offset = 0; offset < 64 * MIB; offset += target_bytes) {
		g_autoptr(GArray) steps = g_array_new(false, true, sizeof(ExtentStep));
		uint64_t at = offset;

		while (at < offset + target_bytes) {
			uint64_t extent = at / source_bytes;
			uint64_t end = MIN((extent + 1) * source_bytes, offset + target_bytes);
			ExtentStep step = {
				.target = { .root = 5, .inode = 257, .offset = offset },
				.target_offset = at,
				.length = end - at,
				.source = { .root = 5,
					    .inode = 258,
					    .offset = extent * source_bytes },
				.source_offset = at,
				.source_extent = { .address = (1 + extent) * GIB },
			};

			g_array_append_val(steps, step);
			at = end;
		}
		n_refused += judge_gain(cost, target_bytes, (const ExtentStep *)(void *)steps->data,
					steps->len) != COST_WORTH;
	}

	return n_refused;
}

static void test_copies_cut_at_other_places_are_in_no_more_pieces_than_before(void)
{
	g_assert_cmpuint(count_refused(32 * KIB, 36 * KIB), ==, 0);
	g_assert_cmpuint(count_refused(36 * KIB, 32 * KIB), ==, 0);
	g_assert_cmpuint(count_refused(8 * KIB, 12 * KIB), ==, 0);
	/* A file of long extents does not become one of short ones. */
	g_assert_cmpuint(count_refused(MIB, 4 * KIB), ==, 64);
}

static void test_holes_are_no_pieces(void)
{
	g_autoptr(SharingCost) cost = new_cost(64 * KIB);
	g_autoptr(GArray) steps = g_array_new(false, true, sizeof(ExtentStep));

	for (unsigned i = 0; i < 1000; i++) {
		ExtentStep step = {
			.from = STEP_FROM_HOLE,
			.target = { .root = 5, .inode = 257 },
			.target_offset = i * 4 * KIB,
			.length = 4 * KIB,
		};

		g_array_append_val(steps, step);
	}
	g_assert_cmpint(
		judge_gain(cost, 4000 * KIB, (const ExtentStep *)(void *)steps->data, steps->len),
		==, COST_WORTH);
}

static void add_step(GArray *steps, uint64_t root, uint64_t offset, StepFrom from)
{
	ExtentStep step = {
		.from = from,
		.target = { .root = root, .inode = 257 },
		.target_offset = offset,
		.length = 4 * KIB,
	};

	if (from == STEP_FROM_PLACE) {
		step.source.inode = 258;
		step.source_offset = offset;
		step.source_extent.address = GIB;
	}
	g_array_append_val(steps, step);
}

static void test_what_is_copied_comes_last_and_is_in_pieces_too(void)
{
	g_autoptr(SharingCost) cost = new_cost(64 * KIB);
	g_autoptr(GArray) steps = g_array_new(false, true, sizeof(ExtentStep));

	/* Nine pieces with eight gaps, in two subvolumes: sixteen more items in each. */
	for (unsigned i = 0; i < 18; i++)
		add_step(steps, 256 + i / 9, 2 * (i % 9) * 4 * KIB, STEP_FROM_PLACE);
	for (unsigned i = 0; i < 16; i++)
		add_step(steps, 256 + i / 8, (2 * (i % 8) + 1) * 4 * KIB, STEP_FROM_COPY);
	g_assert_cmpint(
		judge_gain(cost, 36 * KIB, (const ExtentStep *)(void *)steps->data, steps->len), ==,
		COST_WORTH);
	/* One more is not free: 44 KiB are less than 64. */
	g_assert_cmpint(judge(cost, 257, MIB, 4 * KIB, 2), ==, COST_PIECES);
}

static void test_snapshots_cost_copies_of_leaves(void)
{
	g_autoptr(SharingCost) near = new_cost(64 * KIB);
	g_autoptr(SharingCost) far = new_cost(64 * KIB);
	unsigned n_far = 0;

	/* Small adjacent files are in a few leaves, which are copied once for each snapshot. */
	for (uint64_t i = 0; i < 10000; i++)
		g_assert_cmpint(judge_places(near, 257 + i, 0, 4 * KIB, 1, 4), ==, COST_WORTH);
	/* Scattered ones each need their own copies. */
	for (uint64_t i = 0; i < 10000; i++)
		n_far += judge_places(far, 257 + 1000 * i, 0, 4 * KIB, 1, 4) == COST_WORTH;
	g_assert_cmpuint(n_far, <=, 10);
	g_assert_cmpint(judge_places(far, 1, 0, 128 * KIB, 1, 4), ==, COST_WORTH);
	/* One reference needs no copy. */
	g_assert_cmpint(judge_places(far, 1, 0, 4 * KIB, 1, 1), ==, COST_WORTH);
	/* This many snapshots are too expensive even then. */
	g_assert_cmpint(judge_places(near, 300, 0, 4 * KIB, 1, 31), ==, COST_METADATA);
}

static void test_copies_of_metadata_are_set_against_copies_of_data(void)
{
	static const struct {
		uint32_t metadata_copies, data_copies;
		CostVerdict verdict;
	} cases[] = {
		{ 1, 1, COST_WORTH },
		{ 2, 1, COST_METADATA },
		{ 2, 2, COST_WORTH },
		{ 4, 2, COST_METADATA },
	};

	/* About 2.5 KiB of copies for 4 KiB. */
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		const SharingCostLimits limits = {
			.node_bytes = 16384,
			.metadata_copies = cases[i].metadata_copies,
			.data_copies = cases[i].data_copies,
		};
		g_autoptr(SharingCost) cost = sharing_cost_new(&limits);

		g_assert_cmpint(judge_places(cost, 257, 0, 4 * KIB, 1, 6), ==, cases[i].verdict);
	}
}

static void test_what_is_gained_by_writing_pays_for_half_as_much(void)
{
	static const struct {
		uint32_t metadata_copies, data_copies;
		ExtentGain gain;
		uint64_t n_items;
		bool pays;
	} cases[] = {
		{ 1, 1, { 1600, 0 }, 10, true },     { 1, 1, { 1600, 0 }, 11, false },
		{ 1, 1, { 3201, 1 }, 10, true },     { 1, 1, { 3200, 1 }, 10, false },
		{ 1, 1, { 7200, 4000 }, 10, true },  { 1, 1, { 7200, 4001 }, 10, false },
		{ 2, 1, { 3200, 0 }, 10, true },     { 2, 1, { 3199, 0 }, 10, false },
		{ 2, 1, { 10400, 4000 }, 10, true }, { 2, 1, { 10400, 4001 }, 10, false },
		{ 2, 2, { 7200, 4000 }, 10, true },  { 2, 2, { 7200, 4001 }, 10, false },
		{ 2, 1, { 8192, 4096 }, 6, true },   { 2, 1, { 8192, 4096 }, 7, false },
		{ 1, 1, { 4096, 4096 }, 0, true },   { 1, 1, { 4096, 4096 }, 1, false },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		const SharingCostLimits limits = {
			.min_run_bytes = 64 * KIB,
			.node_bytes = 16384,
			.metadata_copies = cases[i].metadata_copies,
			.data_copies = cases[i].data_copies,
		};
		g_autoptr(SharingCost) cost = sharing_cost_new(&limits);

		g_assert_cmpint(sharing_cost_pays(cost, &cases[i].gain, cases[i].n_items), ==,
				cases[i].pays);
	}
}

static void test_what_was_refused_counts_for_nothing(void)
{
	g_autoptr(SharingCost) cost = new_cost(64 * KIB);

	g_assert_cmpint(judge(cost, 257, 0, 4 * KIB, 4), ==, COST_WORTH);
	for (unsigned i = 0; i < 100; i++)
		g_assert_cmpint(judge(cost, 257, MIB, 4 * KIB, 100), ==, COST_PIECES);
	g_assert_cmpint(judge(cost, 257, 2 * MIB, 4 * KIB, 14), ==, COST_WORTH);
}

static void test_room_for_metadata_is_kept(void)
{
	static const struct {
		uint64_t total, used, kept, unallocated, device;
		uint32_t copies;
		bool is_touched;
	} cases[] = {
		/* Unallocated space can become metadata, in as many copies as there are. */
		{ 32 * MIB, 30 * MIB, 2 * MIB, 100 * MIB, 512 * MIB, 2, false },
		{ 32 * MIB, 30 * MIB, 2 * MIB, 16 * MIB, 512 * MIB, 2, false },
		{ 32 * MIB, 30 * MIB, 2 * MIB, 15 * MIB, 512 * MIB, 2, true },
		{ 32 * MIB, 30 * MIB, 2 * MIB, 8 * MIB, 512 * MIB, 1, false },
		/* Space of existing groups that is not used, without the kernel's reserve. */
		{ 32 * MIB, 8 * MIB, 4 * MIB, 0, 512 * MIB, 2, false },
		{ 32 * MIB, 8 * MIB, 17 * MIB, 0, 512 * MIB, 2, true },
		{ 32 * MIB, 31 * MIB, 4 * MIB, 0, 512 * MIB, 2, true },
		/* A 256th of the devices, within bounds. */
		{ 8 * GIB, 8 * GIB - 255 * MIB, 0, 0, GIB * 1024, 1, true },
		{ 8 * GIB, 8 * GIB - 256 * MIB, 0, 0, GIB * 1024, 1, false },
		{ 8 * GIB, 8 * GIB - 31 * MIB, 0, 0, 8 * GIB, 1, true },
		{ 8 * GIB, 8 * GIB - 32 * MIB, 0, 0, 8 * GIB, 1, false },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		const BtrfsSpace space = {
			.metadata_total_bytes = cases[i].total,
			.metadata_used_bytes = cases[i].used,
			.metadata_kept_bytes = cases[i].kept,
			.metadata_copies = cases[i].copies,
			.unallocated_bytes = cases[i].unallocated,
			.device_total_bytes = cases[i].device,
		};

		g_assert_cmpint(metadata_reserve_is_touched(&space), ==, cases[i].is_touched);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/sharing-cost/what-stays-in-one-piece-is-worth-it-whatever-its-size",
			test_what_stays_in_one_piece_is_worth_it_whatever_its_size);
	g_test_add_func("/sharing-cost/a-piece-at-the-bound-loses-no-extent",
			test_a_piece_at_the_bound_loses_no_extent);
	g_test_add_func("/sharing-cost/few-pieces-are-free-and-many-are-not",
			test_few_pieces_are_free_and_many_are_not);
	g_test_add_func("/sharing-cost/the-minimum-is-an-average-over-the-file",
			test_the_minimum_is_an_average_over_the_file);
	g_test_add_func("/sharing-cost/another-minimum-lets-others-through",
			test_another_minimum_lets_others_through);
	g_test_add_func("/sharing-cost/a-file-is-not-cut-without-end",
			test_a_file_is_not_cut_without_end);
	g_test_add_func(
		"/sharing-cost/copies-cut-at-other-places-are-in-no-more-pieces-than-before",
		test_copies_cut_at_other_places_are_in_no_more_pieces_than_before);
	g_test_add_func("/sharing-cost/holes-are-no-pieces", test_holes_are_no_pieces);
	g_test_add_func("/sharing-cost/what-is-copied-comes-last-and-is-in-pieces-too",
			test_what_is_copied_comes_last_and_is_in_pieces_too);
	g_test_add_func("/sharing-cost/snapshots-cost-copies-of-leaves",
			test_snapshots_cost_copies_of_leaves);
	g_test_add_func("/sharing-cost/copies-of-metadata-are-set-against-copies-of-data",
			test_copies_of_metadata_are_set_against_copies_of_data);
	g_test_add_func("/sharing-cost/what-is-gained-by-writing-pays-for-half-as-much",
			test_what_is_gained_by_writing_pays_for_half_as_much);
	g_test_add_func("/sharing-cost/what-was-refused-counts-for-nothing",
			test_what_was_refused_counts_for_nothing);
	g_test_add_func("/sharing-cost/room-for-metadata-is-kept", test_room_for_metadata_is_kept);

	return g_test_run();
}
