/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/disks/throttle.h"
#include "common/threads/thread.h"

#include "hashstore/anchors/spill-run.h"

#include <unistd.h>

#define MIB    (UINT64_C(1) << 20)
#define SECOND INT64_C(1000000)

/* A clock that advances only by sleeping. */
typedef struct {
	int64_t now_usec;
	int64_t longest_usec; /* of all sleeps */
	int64_t late_usec;    /* added to each sleep */
	unsigned n_sleeps;
	unsigned stop_after; /* raise stop in this sleep */
	bool counts;         /* what the thread does */
	ThreadIo io;
	int other_id; /* of a thread; 0: none */
	ThreadIo other_io;
	unsigned n_counted;
	atomic_bool stop;
} Clock;

static int64_t now_usec(void *data)
{
	return ((Clock *)data)->now_usec;
}

static void sleep_usec(int64_t usec, void *data)
{
	Clock *clock = data;

	g_assert_cmpint(usec, >, 0);
	clock->now_usec += usec + clock->late_usec;
	clock->longest_usec = MAX(clock->longest_usec, usec);
	if (++clock->n_sleeps == clock->stop_after)
		atomic_store(&clock->stop, true);
}

static bool thread_io(int id, ThreadIo *ret, void *data)
{
	Clock *clock = data;

	*ret = id == clock->other_id ? clock->other_io : clock->io;
	clock->n_counted++;
	return clock->counts;
}

static Throttle *throttle_on(Clock *clock, uint64_t rate_bytes)
{
	ThrottleClock seam = { now_usec, sleep_usec, clock, thread_io };

	return throttle_new(rate_bytes, &seam);
}

static void take(Throttle *throttle, Clock *clock, uint64_t bytes)
{
	g_assert_true(throttle_take(throttle, bytes, &clock->stop));
}

static void test_no_limit_never_waits(void)
{
	Clock clock = { .now_usec = 5 };
	g_autoptr(Throttle) throttle = throttle_on(&clock, 0);

	g_assert_false(throttle_is_limited(throttle));
	for (int i = 0; i < 1000; i++)
		take(throttle, &clock, UINT64_C(1) << 50);
	g_assert_cmpuint(clock.n_sleeps, ==, 0);
}

/* The rate holds within a sixteenth of a second and a piece. */
static void check_rate(uint64_t rate_bytes, uint64_t piece_bytes, int64_t late_usec)
{
	Clock clock = { .now_usec = 12345, .late_usec = late_usec };
	g_autoptr(Throttle) throttle = throttle_on(&clock, rate_bytes);
	uint64_t least = 10 * rate_bytes;
	uint64_t taken = 0;

	g_assert_true(throttle_is_limited(throttle));
	while (clock.now_usec < 12345 + 10 * SECOND) {
		take(throttle, &clock, piece_bytes);
		taken += piece_bytes;
	}
	g_assert_cmpuint(taken, <=, least + rate_bytes / 16 + 2 * piece_bytes);
	g_assert_cmpuint(taken + rate_bytes / 16 + 2 * piece_bytes, >=, least);
}

static void test_the_rate_holds_whatever_the_pieces(void)
{
	static const uint64_t rates[] = { 64 << 10, 1 << 20, 10 << 20, UINT64_C(1) << 30 };
	static const uint64_t pieces[] = { 4096, 1 << 20 };

	for (size_t i = 0; i < G_N_ELEMENTS(rates); i++)
		for (size_t j = 0; j < G_N_ELEMENTS(pieces); j++)
			check_rate(rates[i], pieces[j], 0);
}

static void test_the_rate_holds_if_sleeps_last_too_long(void)
{
	check_rate(10 * MIB, 1 << 20, 20000);
	check_rate(10 * MIB, 4096, 20000);
}

static void test_an_idle_bucket_holds_a_sixteenth_of_a_second(void)
{
	Clock clock = { 0 };
	g_autoptr(Throttle) throttle = throttle_on(&clock, 16 * MIB);
	int64_t start_usec;

	clock.now_usec += 3600 * SECOND;
	start_usec = clock.now_usec;
	take(throttle, &clock, MIB);
	g_assert_cmpuint(clock.n_sleeps, ==, 0);

	/* The bucket is empty: the next request waits for this one. */
	take(throttle, &clock, 16 * MIB);
	take(throttle, &clock, 1);
	g_assert_cmpint(clock.now_usec - start_usec, >=, SECOND - 1000);
	g_assert_cmpint(clock.now_usec - start_usec, <=, SECOND + 50000);
}

/* I/O without permission. */
static void do_io(Clock *clock, uint64_t read_bytes, uint64_t write_bytes)
{
	clock->io.read_bytes += read_bytes;
	clock->io.write_bytes += write_bytes;
}

static int64_t time_of_settling(Throttle *throttle, Clock *clock)
{
	int64_t start_usec;

	clock->now_usec += SECOND / 50;
	start_usec = clock->now_usec;
	throttle_settle(throttle, &clock->stop);
	return clock->now_usec - start_usec;
}

static void test_what_was_done_without_leave_is_paid_for(void)
{
	Clock clock = { .counts = true };
	g_autoptr(Throttle) throttle = throttle_on(&clock, 16 * MIB);

	take(throttle, &clock, MIB);
	do_io(&clock, 5 * MIB, 4 * MIB);
	g_assert_cmpint(time_of_settling(throttle, &clock), >=, SECOND / 2 - SECOND / 50 - 1000);

	/* Only once. */
	g_assert_cmpint(time_of_settling(throttle, &clock), ==, 0);

	/* The next reader pays, too. */
	do_io(&clock, 8 * MIB, 0);
	clock.now_usec += SECOND / 1000;
	clock.n_sleeps = 0;
	take(throttle, &clock, 1);
	g_assert_cmpuint(clock.n_sleeps, >, 8);
}

static void test_what_was_not_needed_is_given_back(void)
{
	Clock clock = { .now_usec = SECOND, .counts = true };
	g_autoptr(Throttle) throttle = throttle_on(&clock, 16 * MIB);
	int64_t start_usec = clock.now_usec;

	/* So much that it would take half a minute; it is not read. */
	take(throttle, &clock, 500 * MIB);
	for (int i = 0; i < 4; i++)
		time_of_settling(throttle, &clock);
	clock.now_usec += SECOND;
	time_of_settling(throttle, &clock);
	clock.now_usec += SECOND;
	time_of_settling(throttle, &clock);
	take(throttle, &clock, 1);
	g_assert_cmpint(clock.now_usec - start_usec, <, 3 * SECOND);
}

static void test_what_is_read_late_was_needed(void)
{
	Clock clock = { .now_usec = SECOND, .counts = true };
	g_autoptr(Throttle) throttle = throttle_on(&clock, 16 * MIB);
	int64_t start_usec = clock.now_usec;

	/* Eight pieces are always under way. */
	for (int i = 0; i < 8; i++)
		take(throttle, &clock, MIB);
	for (int i = 0; i < 160; i++) {
		take(throttle, &clock, MIB);
		do_io(&clock, MIB, 0);
	}
	g_assert_cmpint(clock.now_usec - start_usec, >, 10 * SECOND - SECOND / 8);
}

typedef struct {
	Throttle *throttle;
	Clock *clock;
} Helper;

/* Read the bytes of another thread's permission, and as many again. */
static void *helper(void *data)
{
	Helper *helper = data;

	helper->clock->other_id = gettid();
	throttle_join(helper->throttle);
	helper->clock->other_io.read_bytes += 32 * MIB;
	throttle_leave(helper->throttle);
	return NULL;
}

static void test_threads_pay_together(void)
{
	Clock clock = { .now_usec = SECOND, .counts = true };
	g_autoptr(Throttle) throttle = throttle_on(&clock, 16 * MIB);
	Helper data = { throttle, &clock };
	int64_t start_usec = clock.now_usec;

	take(throttle, &clock, 16 * MIB);
	g_thread_join(thread_new("helper", helper, &data, NULL));
	clock.now_usec += SECOND / 2;
	take(throttle, &clock, 1);
	g_assert_cmpint(clock.now_usec - start_usec, >, 2 * SECOND - SECOND / 8);
	g_assert_cmpint(clock.now_usec - start_usec, <, 2 * SECOND + SECOND / 8);
}

/* The StoreIo of the test's thread. */
static const StoreIo *store_io(void *data)
{
	return store_io_of_thread();
}

/* Write a file like a store.  Returns its cost by the kernel's count, in whole pages. */
static uint64_t write_store(Clock *clock)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *zeros = g_malloc0(4 * MIB);
	g_autoptr(SpillRun) run = spill_run_new(g_get_tmp_dir(), 4 * MIB, 0, &error);
	uint64_t before = store_io_bytes(store_io_of_thread());
	uint64_t done;

	g_assert_no_error(error);
	g_assert_true(spill_run_write(run, zeros, 1, &error));
	done = store_io_bytes(store_io_of_thread()) - before;
	clock->io.write_bytes += done;
	return done;
}

static void test_the_store_is_charged_to_its_own_disk(void)
{
	Clock clock = { .now_usec = SECOND, .counts = true };
	ThrottleClock seam = { now_usec, sleep_usec, &clock, thread_io, store_io };
	g_autoptr(DiskBudget) of_files = disk_budget_new(&(DiskRules){ .limits.bytes = MIB });
	g_autoptr(DiskBudget) of_store = disk_budget_new(&(DiskRules){ .limits.bytes = 2 * MIB });
	g_autoptr(Throttle) throttle = throttle_new(0, &seam);
	uint64_t done;

	throttle_add_disk(throttle, of_files, NULL);
	throttle_add_store_disk(throttle, of_store, NULL);
	take(throttle, &clock, MIB);
	do_io(&clock, MIB, 0);
	done = write_store(&clock);
	if (done == 0) {
		g_test_skip("files there are not on a disk");
		return;
	}

	/* The request waits for the debt of one disk; the other one is not used. */
	g_assert_cmpint(time_of_settling(throttle, &clock), >, 3 * SECOND / 2);
	g_assert_cmpuint(disk_budget_charged_bytes(of_files), ==, MIB);
	g_assert_cmpuint(disk_budget_charged_bytes(of_store), ==, done);

	/* Permission for data is taken on the disk with the data. */
	take(throttle, &clock, MIB);
	g_assert_cmpuint(disk_budget_charged_bytes(of_files), ==, 2 * MIB);
	g_assert_cmpuint(disk_budget_charged_bytes(of_store), ==, done);
	throttle_leave(throttle);
}

static void test_a_disk_may_hold_files_and_the_store(void)
{
	Clock clock = { .now_usec = SECOND, .counts = true };
	ThrottleClock seam = { now_usec, sleep_usec, &clock, thread_io, store_io };
	g_autoptr(DiskBudget) both = disk_budget_new(&(DiskRules){ .limits.bytes = 2 * MIB });
	g_autoptr(Throttle) throttle = throttle_new(0, &seam);
	uint64_t done;

	throttle_add_disk(throttle, both, NULL);
	throttle_add_store_disk(throttle, both, NULL);
	throttle_join(throttle);
	done = write_store(&clock);
	do_io(&clock, MIB, 0);
	time_of_settling(throttle, &clock);
	g_assert_cmpuint(disk_budget_charged_bytes(both), ==, MIB + done);
	throttle_leave(throttle);
}

static void test_a_store_on_no_disk_is_charged_to_those_of_the_files(void)
{
	Clock clock = { .now_usec = SECOND, .counts = true };
	ThrottleClock seam = { now_usec, sleep_usec, &clock, thread_io, store_io };
	g_autoptr(DiskBudget) of_files = disk_budget_new(&(DiskRules){ .limits.bytes = 2 * MIB });
	g_autoptr(Throttle) throttle = throttle_new(0, &seam);
	uint64_t done;

	throttle_add_disk(throttle, of_files, NULL);
	throttle_join(throttle);
	done = write_store(&clock);
	do_io(&clock, MIB, 0);
	time_of_settling(throttle, &clock);
	g_assert_cmpuint(disk_budget_charged_bytes(of_files), ==, MIB + done);
	throttle_leave(throttle);
}

static void test_a_new_limit_does_not_apply_to_what_was_read_before(void)
{
	Clock clock = { .now_usec = SECOND, .counts = true };
	g_autoptr(DiskBudget) budget = disk_budget_new(&(DiskRules){ 0 });
	g_autoptr(Throttle) throttle = throttle_on(&clock, 0);

	throttle_add_disk(throttle, budget, NULL);
	throttle_join(throttle);
	take(throttle, &clock, 64 * MIB);
	do_io(&clock, 1024 * MIB, 0);
	disk_budget_set_rules(budget, &(DiskRules){ .limits.bytes = 16 * MIB });
	take(throttle, &clock, MIB);
	take(throttle, &clock, MIB);
	g_assert_cmpint(clock.now_usec, <=, 2 * SECOND);
	g_assert_cmpuint(disk_budget_charged_bytes(budget), ==, (1024 + 2) * MIB);

	/* From then on all counts. */
	do_io(&clock, (2 + 32) * MIB, 0);
	clock.now_usec += SECOND;
	take(throttle, &clock, MIB);
	g_assert_cmpint(clock.now_usec, >=, 3 * SECOND);
	throttle_leave(throttle);
}

static void test_a_loop_may_settle_as_often_as_it_likes(void)
{
	Clock clock = { .counts = true };
	g_autoptr(Throttle) throttle = throttle_on(&clock, 16 * MIB);
	unsigned n_before;

	clock.now_usec = SECOND;
	throttle_settle(throttle, &clock.stop);
	n_before = clock.n_counted;
	for (int i = 0; i < 1000; i++)
		throttle_settle(throttle, &clock.stop);
	g_assert_cmpuint(clock.n_counted, ==, n_before);
}

static void test_a_debt_is_no_reason_to_ignore_a_stop(void)
{
	Clock clock = { .counts = true, .stop_after = 3 };
	g_autoptr(Throttle) throttle = throttle_on(&clock, MIB);

	take(throttle, &clock, 1);
	do_io(&clock, 1000 * MIB, 0);
	g_assert_cmpint(time_of_settling(throttle, &clock), <=, 3 * SECOND / 20);
	g_assert_true(atomic_load(&clock.stop));
}

static void test_every_disk_is_charged_for_all(void)
{
	static const uint64_t rates[] = { 64 * MIB, 8 * MIB, 0 };
	Clock clock = { .now_usec = SECOND };
	g_autoptr(Throttle) throttle = throttle_on(&clock, 0);
	uint64_t taken = 0;

	for (size_t i = 0; i < G_N_ELEMENTS(rates); i++) {
		g_autoptr(DiskBudget) budget =
			disk_budget_new(&(DiskRules){ .limits.bytes = rates[i] });

		throttle_add_disk(throttle, budget, NULL);
	}

	for (; clock.now_usec < 11 * SECOND; taken += MIB)
		take(throttle, &clock, MIB);
	g_assert_cmpuint(taken, >=, 79 * MIB);
	g_assert_cmpuint(taken, <=, 83 * MIB);
}

static void test_a_stop_is_heeded_within_a_twentieth_of_a_second(void)
{
	Clock clock = { .stop_after = 3 };
	g_autoptr(Throttle) throttle = throttle_on(&clock, 1000);

	take(throttle, &clock, 1000 * 1000);
	g_assert_false(throttle_take(throttle, 1, &clock.stop));
	g_assert_cmpuint(clock.n_sleeps, ==, 3);
	g_assert_cmpint(clock.longest_usec, <=, SECOND / 20);
	g_assert_cmpint(clock.now_usec, <=, 3 * SECOND / 20);
}

static void test_a_raised_stop_is_not_waited_for(void)
{
	Clock clock = { .stop = true };
	g_autoptr(Throttle) limited = throttle_on(&clock, 1000);
	g_autoptr(Throttle) unlimited = throttle_on(&clock, 0);

	g_assert_false(throttle_take(limited, 5000, &clock.stop));
	g_assert_false(throttle_take(limited, 5000, &clock.stop));
	g_assert_false(throttle_take(limited, 0, &clock.stop));
	g_assert_false(throttle_take(unlimited, 1, &clock.stop));
	g_assert_cmpuint(clock.n_sleeps, ==, 0);
}

static void test_nothing_costs_nothing(void)
{
	Clock clock = { 0 };
	g_autoptr(Throttle) throttle = throttle_on(&clock, 1);

	take(throttle, &clock, 1000000);
	take(throttle, &clock, 0);
	g_assert_cmpuint(clock.n_sleeps, ==, 0);
}

static void test_while_it_is_held_nobody_gets_leave(void)
{
	Clock clock = { .now_usec = 5, .stop_after = 3 };
	g_autoptr(Throttle) throttle = throttle_on(&clock, 0);

	throttle_hold(throttle, true);
	g_assert_true(throttle_is_limited(throttle));
	g_assert_false(throttle_take(throttle, MIB, &clock.stop));
	g_assert_cmpuint(clock.n_sleeps, ==, 3);

	atomic_store(&clock.stop, false);
	throttle_hold(throttle, false);
	g_assert_false(throttle_is_limited(throttle));
	take(throttle, &clock, MIB);
	g_assert_cmpuint(clock.n_sleeps, ==, 3);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/throttle/no-limit-never-waits", test_no_limit_never_waits);
	g_test_add_func("/throttle/the-rate-holds-whatever-the-pieces",
			test_the_rate_holds_whatever_the_pieces);
	g_test_add_func("/throttle/the-rate-holds-if-sleeps-last-too-long",
			test_the_rate_holds_if_sleeps_last_too_long);
	g_test_add_func("/throttle/an-idle-bucket-holds-a-sixteenth-of-a-second",
			test_an_idle_bucket_holds_a_sixteenth_of_a_second);
	g_test_add_func("/throttle/what-was-done-without-leave-is-paid-for",
			test_what_was_done_without_leave_is_paid_for);
	g_test_add_func("/throttle/what-was-not-needed-is-given-back",
			test_what_was_not_needed_is_given_back);
	g_test_add_func("/throttle/what-is-read-late-was-needed",
			test_what_is_read_late_was_needed);
	g_test_add_func("/throttle/threads-pay-together", test_threads_pay_together);
	g_test_add_func("/throttle/new-limit",
			test_a_new_limit_does_not_apply_to_what_was_read_before);
	g_test_add_func("/throttle/a-loop-may-settle-as-often-as-it-likes",
			test_a_loop_may_settle_as_often_as_it_likes);
	g_test_add_func("/throttle/a-debt-is-no-reason-to-ignore-a-stop",
			test_a_debt_is_no_reason_to_ignore_a_stop);
	g_test_add_func("/throttle/every-disk-is-charged-for-all",
			test_every_disk_is_charged_for_all);
	g_test_add_func("/throttle/the-store-is-charged-to-its-own-disk",
			test_the_store_is_charged_to_its_own_disk);
	g_test_add_func("/throttle/a-disk-may-hold-files-and-the-store",
			test_a_disk_may_hold_files_and_the_store);
	g_test_add_func("/throttle/a-store-on-no-disk-is-charged-to-those-of-the-files",
			test_a_store_on_no_disk_is_charged_to_those_of_the_files);
	g_test_add_func("/throttle/a-stop-is-heeded-within-a-twentieth-of-a-second",
			test_a_stop_is_heeded_within_a_twentieth_of_a_second);
	g_test_add_func("/throttle/a-raised-stop-is-not-waited-for",
			test_a_raised_stop_is_not_waited_for);
	g_test_add_func("/throttle/nothing-costs-nothing", test_nothing_costs_nothing);
	g_test_add_func("/throttle/held", test_while_it_is_held_nobody_gets_leave);
	return g_test_run();
}
