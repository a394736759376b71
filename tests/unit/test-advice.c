/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/files/advice.h"

#include <string.h>

/* Check the cause and the remedy. */
static void check_advice(const char *name, const char *advice)
{
	const char *remedy = advice ? strstr(advice, "; ") : NULL;

	if (!remedy || remedy == advice || remedy[2] == '\0')
		g_error("of %s there is no advice: %s", name, advice ? advice : "NULL");
}

static void test_all_that_may_be_left_has_a_cause_and_a_remedy(void)
{
	for (SkipReason reason = 0; reason < SKIP_REASONS; reason++)
		if (skip_reason_is_known(reason))
			check_advice(skip_reason_name(reason), advice_of_skip(reason));
	for (PinCause cause = PIN_NONE + 1; cause < PIN_CAUSES; cause++)
		check_advice(pin_cause_name(cause), advice_of_pin(cause));
}

static void test_what_is_not_known_has_no_advice(void)
{
	g_assert_null(advice_of_pin(PIN_NONE));
	g_assert_null(advice_of_pin(PIN_CAUSES));
	g_assert_null(advice_of_skip(SKIP_REASONS));
	g_assert_null(advice_of_skip((SkipReason)22));
}

static void test_costs_name_the_factor_that_covers_them(void)
{
	g_autofree char *known = advice_of_costs(SKIP_CLONES, 200 << 20, UINT64_C(31) << 30);
	g_autofree char *unknown = advice_of_costs(SKIP_CLONES, 200 << 20, 0);
	g_autofree char *other = advice_of_costs(SKIP_SMALL, 200 << 20, UINT64_C(31) << 30);

	g_assert_nonnull(strstr(known, "31 GiB would have to be compared for 200 MiB"));
	g_assert_nonnull(strstr(known, "MaxCompare=159 "));
	g_assert_cmpstr(unknown, ==, advice_of_skip(SKIP_CLONES));
	g_assert_cmpstr(other, ==, advice_of_skip(SKIP_SMALL));
}

static void test_extents_are_told_with_what_keeps_them(void)
{
	static const struct {
		PinCause cause;
		uint64_t n, uncovered, places;
		const char *by, *said;
	} cases[] = {
		{ PIN_UNCOVERED, 1, 127 << 20, 1, "/vms/a",
		  "127 MiB of this extent exist nowhere else, shown by /vms/a; freed when that is "
		  "overwritten or deleted" },
		{ PIN_UNCOVERED, 3, 4096, 1, NULL,
		  "4 KiB of these 3 extents exist nowhere else; freed when that is overwritten or "
		  "deleted" },
		{ PIN_PIECES, 1, 0, 1, NULL,
		  "would split the file into too many extents (MinRun=)" },
		{ PIN_TOO_COSTLY, 1, 0, 5119, NULL,
		  "not tried: 5119 references or more would have to be compared; raise "
		  "MaxCompare=, or delete snapshots that show them" },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *said =
			advice_of_extents(cases[i].cause, cases[i].n, cases[i].uncovered,
					  cases[i].places, cases[i].by);

		g_assert_cmpstr(said, ==, cases[i].said);
	}
}

static void test_a_file_that_keeps_its_own_extents_is_told_both_parts(void)
{
	g_autofree char *said =
		advice_of_own_extents(PIN_UNCOVERED, 1, UINT64_C(10) << 20, UINT64_C(16) << 20);

	g_assert_true(g_str_has_prefix(said, "6 MiB of it equal other data, but btrfs frees only "
					     "whole extents, and 10 MiB of its 16 MiB exist "
					     "nowhere else; Rewrite=auto"));
	g_assert_null(advice_of_own_extents(PIN_UNCOVERED, 1, 4096, 4096));
	g_assert_null(advice_of_own_extents(PIN_PIECES, 1, 4096, 8192));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/advice/all-has-some", test_all_that_may_be_left_has_a_cause_and_a_remedy);
	g_test_add_func("/advice/unknown-has-none", test_what_is_not_known_has_no_advice);
	g_test_add_func("/advice/costs", test_costs_name_the_factor_that_covers_them);
	g_test_add_func("/advice/extents", test_extents_are_told_with_what_keeps_them);
	g_test_add_func("/advice/own-extents",
			test_a_file_that_keeps_its_own_extents_is_told_both_parts);

	return g_test_run();
}
