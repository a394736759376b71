/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/throttle.h"

#define MIB    (UINT64_C(1) << 20)
#define SECOND INT64_C(1000000)

/* A clock that stands still but for sleeping. */
typedef struct {
	int64_t now_usec;
	int64_t longest_usec; /* of all sleeps */
	int64_t late_usec;    /* each sleep lasts longer by so much */
	unsigned n_sleeps;
	unsigned stop_after; /* raise stop in this sleep */
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

static Throttle *throttle_on(Clock *clock, uint64_t rate_bytes)
{
	ThrottleClock seam = { now_usec, sleep_usec, clock };

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

/* Within a quarter of a second and a piece. */
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
	g_assert_cmpuint(taken, <=, least + rate_bytes / 4 + 2 * piece_bytes);
	g_assert_cmpuint(taken + rate_bytes / 4 + 2 * piece_bytes, >=, least);
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

static void test_an_idle_bucket_holds_a_quarter_of_a_second(void)
{
	Clock clock = { 0 };
	g_autoptr(Throttle) throttle = throttle_on(&clock, 8 * MIB);
	int64_t start_usec;

	clock.now_usec += 3600 * SECOND;
	start_usec = clock.now_usec;
	for (int i = 0; i < 2; i++)
		take(throttle, &clock, MIB);
	g_assert_cmpuint(clock.n_sleeps, ==, 0);

	/* The bucket is empty: what is taken now is waited for by the next one. */
	take(throttle, &clock, 8 * MIB);
	take(throttle, &clock, 1);
	g_assert_cmpint(clock.now_usec - start_usec, >=, SECOND - 1000);
	g_assert_cmpint(clock.now_usec - start_usec, <=, SECOND + 50000);
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

static void test_the_real_clock_waits_too(void)
{
	g_autoptr(Throttle) throttle = throttle_new(10 * MIB, NULL);
	atomic_bool stop = false;
	int64_t start_usec = g_get_monotonic_time();

	g_assert_true(throttle_take(throttle, MIB, &stop));
	g_assert_true(throttle_take(throttle, MIB, &stop));
	g_assert_cmpint(g_get_monotonic_time() - start_usec, >=, SECOND / 10 - 1000);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/throttle/no-limit-never-waits", test_no_limit_never_waits);
	g_test_add_func("/throttle/the-rate-holds-whatever-the-pieces",
			test_the_rate_holds_whatever_the_pieces);
	g_test_add_func("/throttle/the-rate-holds-if-sleeps-last-too-long",
			test_the_rate_holds_if_sleeps_last_too_long);
	g_test_add_func("/throttle/an-idle-bucket-holds-a-quarter-of-a-second",
			test_an_idle_bucket_holds_a_quarter_of_a_second);
	g_test_add_func("/throttle/a-stop-is-heeded-within-a-twentieth-of-a-second",
			test_a_stop_is_heeded_within_a_twentieth_of_a_second);
	g_test_add_func("/throttle/a-raised-stop-is-not-waited-for",
			test_a_raised_stop_is_not_waited_for);
	g_test_add_func("/throttle/nothing-costs-nothing", test_nothing_costs_nothing);
	g_test_add_func("/throttle/the-real-clock-waits-too", test_the_real_clock_waits_too);

	return g_test_run();
}
