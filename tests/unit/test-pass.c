/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/context/pass.h"

#include <glib.h>

#define HOUR_USEC (INT64_C(3600) * G_USEC_PER_SEC)

static void test_a_pass_belongs_to_the_day_on_which_it_began(void)
{
	static const struct {
		int64_t started_usec;
		uint32_t day;
	} cases[] = {
		{ 0, 0 },
		{ 24 * HOUR_USEC - 1, 0 },
		{ 24 * HOUR_USEC, 1 },
		{ INT64_C(1700000000) * G_USEC_PER_SEC, 19675 }, /* 2023-11-14 */
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		PassResult result = { .started_usec = cases[i].started_usec };
		Pass pass = { .result = &result };

		g_assert_cmpuint(pass_day(&pass), ==, cases[i].day);
	}
}

static void test_bytes_of_all_causes_are_pinned(void)
{
	PassResult result = { 0 };
	uint64_t expected = 0;

	for (size_t cause = PIN_NONE + 1; cause < PIN_CAUSES; cause++) {
		uint64_t bytes = UINT64_C(1) << cause;

		result.ledger.pinned[cause] = (PinnedSum){ 1, bytes, 1000 };
		expected += bytes;
		g_assert_cmpuint(pass_result_pinned_bytes(&result), ==, expected);
	}
}

/* Only a dry run over extents leaves open what it would free. */
static void test_what_a_dry_run_would_free_has_two_bounds(void)
{
	static const struct {
		bool is_dry_run;
		bool found_by_checksums;
		uint64_t unsure_bytes;
		uint64_t low, high;
	} cases[] = {
		{ false, false, 0, 1000, 1000 }, { false, true, 0, 1000, 1000 },
		{ true, false, 0, 1000, 1000 },  { true, true, 0, 1000, 1000 + 200 - 30 + 4 },
		{ true, true, 999, 1, 1174 },    { true, true, 1000, 0, 1174 },
		{ true, true, 1001, 0, 1174 },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		PassResult result = {
			.is_dry_run = cases[i].is_dry_run,
			.found_by_checksums = cases[i].found_by_checksums,
			.freed = { .bytes = 1000, .unsure_bytes = cases[i].unsure_bytes },
			.rewritten = { .bytes = 200 },
			.deferred = { .written_bytes = 30 },
		};

		result.ledger.pinned[PIN_PIECES].bytes = 4;
		g_assert_cmpuint(pass_result_freed_low(&result), ==, cases[i].low);
		g_assert_cmpuint(pass_result_freed_high(&result), ==, cases[i].high);
	}
}

/* A pass that mostly writes for later has a negative sum. */
static void test_metadata_and_deferred_copies_count_against_the_net_bytes(void)
{
	PassResult result = { .freed = { .bytes = 1000 } };

	g_assert_cmpint(pass_result_net_bytes(&result), ==, 1000);
	result.freed.kept_bytes = 30;
	g_assert_cmpint(pass_result_net_bytes(&result), ==, 970);
	result.freed.kept_bytes = -30;
	g_assert_cmpint(pass_result_net_bytes(&result), ==, 1030);
	result.deferred.written_bytes = 1500;
	g_assert_cmpint(pass_result_net_bytes(&result), ==, -470);
}

static void test_the_trouble_is_the_error_or_the_reason_to_stop(void)
{
	PassResult result = { 0 };

	g_assert_null(pass_result_trouble(&result));
	result.stopped_reason = g_strdup("it is on hold");
	g_assert_cmpstr(pass_result_trouble(&result), ==, "it is on hold");
	result.error = g_error_new_literal(G_FILE_ERROR, 0, "cannot read /srv");
	g_assert_cmpstr(pass_result_trouble(&result), ==, "cannot read /srv");
	pass_result_clear(&result);
	g_assert_null(pass_result_trouble(&result));
}

static void test_only_unreadable_files_count_as_known_to_be_unreadable(void)
{
	PassResult result = { 0 };

	for (SkipReason reason = 0; reason < SKIP_REASONS; reason++)
		pass_result_add_known(&result, reason);
	g_assert_cmpuint(result.n_known_unreadable, ==, 1);
	pass_result_add_known(&result, SKIP_UNREADABLE);
	g_assert_cmpuint(result.n_known_unreadable, ==, 2);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/pass/day", test_a_pass_belongs_to_the_day_on_which_it_began);
	g_test_add_func("/pass/pinned-bytes", test_bytes_of_all_causes_are_pinned);
	g_test_add_func("/pass/bounds-of-freed-bytes",
			test_what_a_dry_run_would_free_has_two_bounds);
	g_test_add_func("/pass/net-bytes",
			test_metadata_and_deferred_copies_count_against_the_net_bytes);
	g_test_add_func("/pass/trouble", test_the_trouble_is_the_error_or_the_reason_to_stop);
	g_test_add_func("/pass/known-unreadable",
			test_only_unreadable_files_count_as_known_to_be_unreadable);
	return g_test_run();
}
