/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/estimate/estimate-forecast.h"

#include <glib.h>

#define MIB (UINT64_C(1) << 20)

static const Settings settings = { .memory_bytes = 64 * MIB };

static Estimate estimate_of(bool by_checksums)
{
	return (Estimate){
		.by_checksums = by_checksums,
		.data_bytes = 1000 * MIB,
		.read_bytes = by_checksums ? MIB : 500 * MIB,
		.usec = 10 * G_USEC_PER_SEC,
		.n_files = 100,
		.n_runs = 1000,
		.pass = { 100 * MIB, 100 * MIB, 100 * MIB },
	};
}

static void test_a_budget_says_how_long_it_takes(void)
{
	Estimate estimate = estimate_of(false);
	EstimateForecast forecast = estimate_forecast(&estimate, &settings, 10 * MIB);

	/* All data once, and freed data twice: it is compared with its source. */
	g_assert_cmpuint(forecast.read_bytes, ==, 1200 * MIB);
	g_assert_cmpint(forecast.rate_origin, ==, RATE_BUDGET);
	g_assert_cmpint(forecast.usec, ==, 120 * G_USEC_PER_SEC);
	g_assert_cmpuint(forecast.memory_bytes, ==, 64 * MIB);
}

static void test_without_a_budget_what_was_read_tells_the_rate(void)
{
	Estimate estimate = estimate_of(false);
	EstimateForecast forecast = estimate_forecast(&estimate, &settings, 0);

	g_assert_cmpint(forecast.rate_origin, ==, RATE_MEASURED);
	g_assert_cmpuint(forecast.rate_bytes, ==, 50 * MIB);
}

static void test_checksums_say_nothing_of_the_rate(void)
{
	Estimate estimate = estimate_of(true);
	EstimateForecast forecast = estimate_forecast(&estimate, &settings, 0);

	g_assert_cmpint(forecast.rate_origin, ==, RATE_ASSUMED);
	g_assert_cmpuint(forecast.read_bytes, ==, 201 * MIB);
	g_assert_cmpstr(rate_origin_name(forecast.rate_origin), ==, "assumed");
}

static void test_more_anchors_make_a_larger_store(void)
{
	g_assert_cmpuint(estimate_store_bytes(90000, 100), >, estimate_store_bytes(50000, 100));
	g_assert_cmpuint(estimate_store_bytes(50000, 100), >, 50000 * 8);
}

static void test_each_run_costs_metadata(void)
{
	Estimate estimate = estimate_of(true);
	EstimateForecast forecast = estimate_forecast(&estimate, &settings, 0);

	g_assert_cmpuint(forecast.metadata_bytes, ==, 160000);
	estimate.n_runs = 0;
	forecast = estimate_forecast(&estimate, &settings, 0);
	g_assert_cmpuint(forecast.metadata_bytes, ==, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/estimate-forecast/a-budget-says-how-long-it-takes",
			test_a_budget_says_how_long_it_takes);
	g_test_add_func("/estimate-forecast/without-a-budget-what-was-read-tells-the-rate",
			test_without_a_budget_what_was_read_tells_the_rate);
	g_test_add_func("/estimate-forecast/checksums-say-nothing-of-the-rate",
			test_checksums_say_nothing_of_the_rate);
	g_test_add_func("/estimate-forecast/more-anchors-make-a-larger-store",
			test_more_anchors_make_a_larger_store);
	g_test_add_func("/estimate-forecast/each-run-costs-metadata", test_each_run_costs_metadata);
	return g_test_run();
}
