/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/plan/extent-queue.h"

#include "common/content/run.h"

#define KIB UINT64_C(1024)
#define MIB (1024 * KIB)

static ExtentStep step(uint64_t target_offset, uint64_t source_offset, uint64_t length)
{
	return (ExtentStep){
		.target = { .root = 5, .inode = 300 },
		.source = { .root = 5, .inode = 400 },
		.target_offset = target_offset,
		.source_offset = source_offset,
		.length = length,
	};
}

static void push_with_runs(ExtentQueue *queue, uint64_t bytenr, uint64_t size_bytes,
			   const ExtentStep *steps, guint n_steps, guint n_runs)
{
	g_autoptr(GArray) array = g_array_new(false, false, sizeof(ExtentStep));
	g_autoptr(GArray) parts = g_array_new(false, false, sizeof(CopyPart));
	g_autoptr(GArray) holders = g_array_new(false, false, sizeof(uint64_t));
	g_autoptr(GArray) runs = g_array_new(false, true, sizeof(Run));
	Object target = { .inode = bytenr, .size_bytes = size_bytes };

	g_array_append_vals(array, steps, n_steps);
	g_array_set_size(runs, n_runs);
	extent_queue_push(queue, &target, array, parts, holders, runs);
}

static void push(ExtentQueue *queue, uint64_t bytenr, const ExtentStep *steps, guint n_steps)
{
	push_with_runs(queue, bytenr, 4 * KIB, steps, n_steps, 0);
}

/* Take from the first @targets, and any number of steps. */
static GArray *take(ExtentQueue *queue, guint targets, guint ret_targets)
{
	GArray *all = g_array_new(false, false, sizeof(TakenSteps));
	const QueueTake limits = {
		.targets = targets,
		.steps = 100,
		.bytes = 100 * MIB,
		.window_bytes = 16 * MIB,
	};

	g_assert_cmpuint(extent_queue_take(queue, &limits, all), ==, ret_targets);
	return all;
}

static void assert_taken(const TakenSteps *taken, uint64_t offset, uint64_t length)
{
	g_assert_cmpuint(taken->joined.target_offset, ==, offset);
	g_assert_cmpuint(taken->joined.length, ==, length);
	g_assert_true(!taken->alone || taken->alone->length == length);
}

static void assert_step(const GArray *all, guint i, uint64_t offset, uint64_t length)
{
	g_assert_cmpuint(i, <, all->len);
	assert_taken(&g_array_index(all, TakenSteps, i), offset, length);
}

/* The first step of the first target is joined with others so that it has this length. */
static void assert_joined(ExtentQueue *queue, uint64_t offset, uint64_t length)
{
	TakenSteps taken;

	g_assert_true(extent_queue_take_joined(queue, &taken));
	g_assert_null(taken.alone);
	assert_taken(&taken, offset, length);
}

static void assert_alone(ExtentQueue *queue)
{
	TakenSteps taken;

	g_assert_false(extent_queue_take_joined(queue, &taken));
}

static void test_targets_come_in_the_order_in_which_they_were_added(void)
{
	g_autoptr(ExtentQueue) queue = extent_queue_new();
	g_autoptr(PlannedTarget) first = NULL;
	g_autoptr(PlannedTarget) second = NULL;
	ExtentStep one = step(0, 0, 4 * KIB);

	g_assert_true(extent_queue_is_empty(queue));
	push(queue, 7, &one, 1);
	push(queue, 8, &one, 1);
	first = extent_queue_pop(queue);
	second = extent_queue_pop(queue);
	g_assert_cmpuint(first->extent.inode, ==, 7);
	g_assert_cmpuint(second->extent.inode, ==, 8);
	g_assert_cmpuint(first->steps->len, ==, 1);
	g_assert_true(extent_queue_is_empty(queue));
}

static void test_what_goes_on_in_both_files_is_joined(void)
{
	g_autoptr(ExtentQueue) queue = extent_queue_new();
	const ExtentStep first[] = { step(0, 64 * KIB, 8 * KIB), step(8 * KIB, 72 * KIB, 4 * KIB) };
	const ExtentStep second[] = { step(12 * KIB, 76 * KIB, 16 * KIB) };
	const ExtentStep third[] = { step(MIB, 2 * MIB, KIB), step(28 * KIB, 92 * KIB, 3 * KIB) };

	push(queue, 1, first, 2);
	push(queue, 2, second, 1);
	push(queue, 3, third, 2);
	assert_joined(queue, 0, 31 * KIB);
}

static void test_what_goes_on_in_one_file_only_is_not_joined(void)
{
	const ExtentStep first = step(0, 0, 4 * KIB);
	ExtentStep others[] = {
		step(4 * KIB, 8 * KIB, 4 * KIB), step(8 * KIB, 4 * KIB, 4 * KIB),
		step(4 * KIB, 4 * KIB, 4 * KIB), step(4 * KIB, 4 * KIB, 4 * KIB),
		step(4 * KIB, 4 * KIB, 4 * KIB),
	};

	others[2].source.inode++;
	others[3].target.root++;
	others[4].is_taken = true;
	for (size_t i = 0; i < G_N_ELEMENTS(others); i++) {
		g_autoptr(ExtentQueue) queue = extent_queue_new();

		push(queue, 1, &first, 1);
		push(queue, 2, &others[i], 1);
		assert_alone(queue);
		/* What was not taken may be taken later. */
		assert_alone(queue);
	}
}

static ExtentStep hole_step(uint64_t target_offset, uint64_t length)
{
	return (ExtentStep){
		.from = STEP_FROM_HOLE,
		.target = { .root = 5, .inode = 300 },
		.target_offset = target_offset,
		.length = length,
	};
}

static void test_zeros_that_go_on_in_one_file_are_joined(void)
{
	g_autoptr(ExtentQueue) queue = extent_queue_new();
	const ExtentStep first[] = { hole_step(0, 8 * KIB), step(64 * KIB, 8 * KIB, 4 * KIB) };
	const ExtentStep second[] = { hole_step(MIB, 4 * KIB), hole_step(12 * KIB, 3 * KIB) };
	const ExtentStep third[] = { hole_step(8 * KIB, 4 * KIB) };

	push(queue, 1, first, 2);
	push(queue, 2, second, 2);
	push(queue, 3, third, 1);
	assert_joined(queue, 0, 15 * KIB);
}

static ExtentStep copy_step(uint64_t target_offset, uint64_t source_offset, uint64_t length)
{
	return (ExtentStep){
		.from = STEP_FROM_COPY,
		.target = { .root = 5, .inode = 300 },
		.target_offset = target_offset,
		.source_offset = source_offset,
		.length = length,
	};
}

static void test_copies_of_different_targets_are_not_joined(void)
{
	g_autoptr(ExtentQueue) queue = extent_queue_new();
	const ExtentStep first[] = { copy_step(0, 4 * KIB, 4 * KIB),
				     copy_step(4 * KIB, 8 * KIB, 8 * KIB) };
	const ExtentStep second = copy_step(12 * KIB, 16 * KIB, 4 * KIB);

	push(queue, 1, first, 2);
	g_assert_false(extent_queue_ends_before(queue, &second));
	push(queue, 2, &second, 1);
	assert_joined(queue, 0, 12 * KIB);
	g_assert_cmpuint(extent_queue_set_done(queue, &first[0], 16 * KIB), ==, 12 * KIB);
}

static void test_it_knows_what_goes_on_with_its_last_target(void)
{
	g_autoptr(ExtentQueue) queue = extent_queue_new();
	const ExtentStep steps[] = { step(0, 0, 4 * KIB), step(MIB, 0, 4 * KIB) };
	const ExtentStep behind = step(4 * KIB, 4 * KIB, KIB);
	const ExtentStep elsewhere = step(8 * KIB, 4 * KIB, KIB);
	const ExtentStep second = step(MIB + 4 * KIB, 4 * KIB, KIB);

	g_assert_false(extent_queue_ends_before(queue, &behind));
	push(queue, 1, steps, 2);
	g_assert_true(extent_queue_ends_before(queue, &behind));
	g_assert_true(extent_queue_ends_before(queue, &second));
	g_assert_false(extent_queue_ends_before(queue, &elsewhere));
}

static void test_it_knows_whom_it_has(void)
{
	g_autoptr(ExtentQueue) queue = extent_queue_new();
	g_autoptr(GArray) none = g_array_new(false, false, sizeof(uint32_t));
	g_autoptr(GHashTable) nobody = g_hash_table_new(NULL, NULL);
	g_autoptr(GHashTable) some = g_hash_table_new(NULL, NULL);
	Object target = { .id = 9 };

	g_hash_table_add(some, GUINT_TO_POINTER(4));
	g_hash_table_add(some, GUINT_TO_POINTER(9));
	g_assert_false(extent_queue_has_any(queue, some));
	extent_queue_push(queue, &target, none, none, none, none);
	g_assert_true(extent_queue_has_any(queue, some));
	g_assert_false(extent_queue_has_any(queue, nobody));
	planned_target_free(extent_queue_pop(queue));
	g_assert_false(extent_queue_has_any(queue, some));
}

static void test_a_target_without_steps_has_nothing_to_take(void)
{
	g_autoptr(ExtentQueue) queue = extent_queue_new();
	g_autoptr(GArray) steps = NULL;

	push(queue, 1, NULL, 0);
	assert_alone(queue);
	steps = take(queue, 8, 1);
	g_assert_cmpuint(steps->len, ==, 0);
}

static void test_steps_of_several_targets_are_taken_once(void)
{
	g_autoptr(ExtentQueue) queue = extent_queue_new();
	const ExtentStep first[] = { step(0, 0, 8 * KIB), step(MIB, MIB, 4 * KIB) };
	const ExtentStep second[] = { step(8 * KIB, 8 * KIB, 8 * KIB) };
	const ExtentStep third[] = { step(2 * MIB, 0, KIB) };
	g_autoptr(GArray) two = NULL;
	g_autoptr(GArray) rest = NULL;

	push(queue, 1, first, 2);
	push(queue, 2, second, 1);
	push(queue, 3, third, 1);
	two = take(queue, 2, 2);
	g_assert_cmpuint(two->len, ==, 2);
	assert_step(two, 0, 0, 16 * KIB);
	assert_step(two, 1, MIB, 4 * KIB);

	rest = take(queue, 8, 3);
	g_assert_cmpuint(rest->len, ==, 1);
	assert_step(rest, 0, 2 * MIB, KIB);
}

static void test_no_more_is_taken_than_the_limits_allow(void)
{
	const ExtentStep first[] = { step(0, 0, 64 * MIB), step(100 * MIB, 0, KIB) };
	const ExtentStep second[] = { step(200 * MIB, 0, KIB) };
	QueueTake limits = {
		.targets = 8, .steps = 1, .bytes = 100 * MIB, .window_bytes = 16 * MIB
	};
	g_autoptr(ExtentQueue) queue = extent_queue_new();
	g_autoptr(GArray) steps = g_array_new(false, false, sizeof(TakenSteps));

	push(queue, 1, first, 2);
	push(queue, 2, second, 1);
	/* A target counts only if nothing of it is left. */
	g_assert_cmpuint(extent_queue_take(queue, &limits, steps), ==, 0);
	g_assert_cmpuint(steps->len, ==, 1);
	limits.steps = 8;
	limits.bytes = KIB;
	g_assert_cmpuint(extent_queue_take(queue, &limits, steps), ==, 1);
	g_assert_cmpuint(steps->len, ==, 2);
}

/* Ten files show all of the target: if it differs in the first one, the others are not compared. */
static void test_references_to_one_extent_count_once(void)
{
	ExtentStep steps[10];
	QueueTake limits = {
		.targets = 8, .steps = 100, .bytes = 2 * MIB, .window_bytes = 16 * MIB
	};
	g_autoptr(ExtentQueue) queue = extent_queue_new();
	g_autoptr(GArray) taken = g_array_new(false, false, sizeof(TakenSteps));

	for (guint number = 0; number < 3; number++) {
		for (guint i = 0; i < G_N_ELEMENTS(steps); i++) {
			steps[i] = step(0, number * 8 * MIB, MIB);
			steps[i].target.inode = 1000 * number + i;
		}
		push_with_runs(queue, number + 1, MIB, steps, G_N_ELEMENTS(steps), 0);
	}

	g_assert_cmpuint(extent_queue_take(queue, &limits, taken), ==, 2);
	g_assert_cmpuint(taken->len, ==, 20);
	for (guint i = 0; i < taken->len; i++)
		g_assert_cmpuint(g_array_index(taken, TakenSteps, i).first, ==, i / 10 * 10);
}

/* The other steps of such a target are shared before. */
static void test_what_needs_a_copy_is_taken_with_it_only(void)
{
	g_autoptr(ExtentQueue) queue = extent_queue_new();
	g_autoptr(GArray) copied = g_array_new(false, true, sizeof(ExtentStep));
	g_autoptr(GArray) parts = g_array_new(false, true, sizeof(CopyPart));
	g_autoptr(GArray) none = g_array_new(false, false, sizeof(uint64_t));
	const ExtentStep steps[] = { copy_step(0, 4 * KIB, 4 * KIB),
				     copy_step(4 * KIB, 8 * KIB, 8 * KIB), step(MIB, 0, KIB) };
	g_autoptr(GArray) taken = NULL;
	Object target = { .id = 9 };

	g_array_append_vals(copied, steps, G_N_ELEMENTS(steps));
	g_array_set_size(parts, 1);
	extent_queue_push(queue, &target, copied, parts, none, none);
	taken = take(queue, 1, 1);
	g_assert_cmpuint(taken->len, ==, 1);
	assert_taken(&g_array_index(taken, TakenSteps, 0), MIB, KIB);
	assert_joined(queue, 0, 12 * KIB);
}

static bool is_done(const PlannedTarget *planned, guint i)
{
	return g_array_index(planned->steps, ExtentStep, i).is_done;
}

static void test_what_was_shared_together_is_done_as_far_as_it_went(void)
{
	g_autoptr(ExtentQueue) queue = extent_queue_new();
	g_autoptr(PlannedTarget) one = NULL;
	g_autoptr(PlannedTarget) other = NULL;
	const ExtentStep first[] = { step(0, 0, 8 * KIB), step(MIB, MIB, 4 * KIB) };
	const ExtentStep second[] = { step(8 * KIB, 8 * KIB, 8 * KIB),
				      step(16 * KIB, 16 * KIB, 8 * KIB) };
	g_autoptr(GArray) steps = NULL;

	push(queue, 1, first, 2);
	push(queue, 2, second, 2);
	steps = take(queue, 1, 1);
	assert_step(steps, 0, 0, 24 * KIB);
	/* A round may end in the middle of a step, which is then not done. */
	g_assert_cmpuint(
		extent_queue_set_done(queue, &g_array_index(steps, TakenSteps, 0).joined, 20 * KIB),
		==, 16 * KIB);

	one = extent_queue_pop(queue);
	other = extent_queue_pop(queue);
	g_assert_true(is_done(one, 0));
	g_assert_false(is_done(one, 1));
	g_assert_true(is_done(other, 0));
	g_assert_false(is_done(other, 1));
}

static void test_it_is_full_with_many_targets_much_data_or_many_runs(void)
{
	g_autoptr(ExtentQueue) many = extent_queue_new();
	g_autoptr(ExtentQueue) large = extent_queue_new();
	g_autoptr(ExtentQueue) rich = extent_queue_new();

	for (unsigned i = 0; i < 255; i++)
		push(many, i, NULL, 0);
	g_assert_false(extent_queue_is_full(many));
	push(many, 255, NULL, 0);
	g_assert_true(extent_queue_is_full(many));
	planned_target_free(extent_queue_pop(many));
	g_assert_false(extent_queue_is_full(many));

	for (unsigned i = 0; i < 15; i++)
		push_with_runs(large, i, 128 * MIB, NULL, 0, 0);
	g_assert_false(extent_queue_is_full(large));
	push_with_runs(large, 15, 128 * MIB, NULL, 0, 0);
	g_assert_true(extent_queue_is_full(large));
	for (unsigned i = 0; i < 16; i++) {
		planned_target_free(extent_queue_pop(large));
		push(large, i, NULL, 0);
	}
	g_assert_false(extent_queue_is_full(large));

	push_with_runs(rich, 0, 4 * KIB, NULL, 0, (guint)(8 * MIB / sizeof(Run)) + 1);
	g_assert_true(extent_queue_is_full(rich));
	planned_target_free(extent_queue_pop(rich));
	g_assert_false(extent_queue_is_full(rich));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/extent-queue/targets-come-in-the-order-in-which-they-were-added",
			test_targets_come_in_the_order_in_which_they_were_added);
	g_test_add_func("/extent-queue/what-goes-on-in-both-files-is-joined",
			test_what_goes_on_in_both_files_is_joined);
	g_test_add_func("/extent-queue/what-goes-on-in-one-file-only-is-not-joined",
			test_what_goes_on_in_one_file_only_is_not_joined);
	g_test_add_func("/extent-queue/zeros-that-go-on-in-one-file-are-joined",
			test_zeros_that_go_on_in_one_file_are_joined);
	g_test_add_func("/extent-queue/copies-of-different-targets-are-not-joined",
			test_copies_of_different_targets_are_not_joined);
	g_test_add_func("/extent-queue/it-knows-what-goes-on-with-its-last-target",
			test_it_knows_what_goes_on_with_its_last_target);
	g_test_add_func("/extent-queue/it-knows-whom-it-has", test_it_knows_whom_it_has);
	g_test_add_func("/extent-queue/a-target-without-steps-has-nothing-to-take",
			test_a_target_without_steps_has_nothing_to_take);
	g_test_add_func("/extent-queue/steps-of-several-targets-are-taken-once",
			test_steps_of_several_targets_are_taken_once);
	g_test_add_func("/extent-queue/no-more-is-taken-than-the-limits-allow",
			test_no_more_is_taken_than_the_limits_allow);
	g_test_add_func("/extent-queue/references-to-one-extent-count-once",
			test_references_to_one_extent_count_once);
	g_test_add_func("/extent-queue/what-needs-a-copy-is-taken-with-it-only",
			test_what_needs_a_copy_is_taken_with_it_only);
	g_test_add_func("/extent-queue/what-was-shared-together-is-done-as-far-as-it-went",
			test_what_was_shared_together_is_done_as_far_as_it_went);
	g_test_add_func("/extent-queue/it-is-full-with-many-targets-much-data-or-many-runs",
			test_it_is_full_with_many_targets_much_data_or_many_runs);
	return g_test_run();
}
