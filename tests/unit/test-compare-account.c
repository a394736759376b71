/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/context/compare-account.h"

#include <glib.h>

#define MIB UINT64_C(1048576)

static void test_slack_pays_until_it_is_spent(void)
{
	static const struct {
		uint64_t compared, gained, cost, gain;
		bool allowed;
	} cases[] = {
		{ 0, 0, COMPARE_SLACK_BYTES, 0, true },
		{ 0, 0, COMPARE_SLACK_BYTES + 1, 0, false },
		{ 1, 0, COMPARE_SLACK_BYTES, 0, false },
		/* Two copies with one reference each pay for themselves. */
		{ COMPARE_SLACK_BYTES, 0, 2 * MIB, MIB, true },
		{ COMPARE_SLACK_BYTES, 0, 3 * MIB, MIB, false },
		/* Earlier freed bytes count, too. */
		{ COMPARE_SLACK_BYTES + 2 * MIB, MIB, 0, 0, true },
		{ COMPARE_SLACK_BYTES + 2 * MIB, MIB, 1, 0, false },
		{ UINT64_C(1) << 50, UINT64_C(1) << 49, COMPARE_SLACK_BYTES, 0, true },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		CompareAccount account = { 2, cases[i].compared, cases[i].gained };

		g_assert_cmpint(compare_account_allows(&account, cases[i].cost, cases[i].gain), ==,
				cases[i].allowed);
	}
}

static void test_an_account_is_low_when_half_of_the_slack_is_spent(void)
{
	CompareAccount account = { 2, COMPARE_SLACK_BYTES / 2, 0 };

	g_assert_false(compare_account_is_low(&account));
	account.compared_bytes++;
	g_assert_true(compare_account_is_low(&account));
	account.gained_bytes = 1;
	g_assert_false(compare_account_is_low(&account));
}

static void test_more_references_are_redirected_if_more_may_be_compared(void)
{
	CompareAccount account = { 2, 0, 0 };

	g_assert_cmpuint(compare_account_most_references(&account), ==, 32);
	account.factor = 1000;
	g_assert_cmpuint(compare_account_most_references(&account), ==, 1000);
}

static void test_each_reference_costs_its_length_and_the_source_once(void)
{
	g_assert_cmpuint(compare_account_cost(MIB, 1, false), ==, 2 * MIB);
	g_assert_cmpuint(compare_account_cost(MIB, 5, false), ==, 6 * MIB);
	g_assert_cmpuint(compare_account_cost(MIB, 5, true), ==, 5 * MIB);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/compare-account/slack-pays-until-it-is-spent",
			test_slack_pays_until_it_is_spent);
	g_test_add_func("/compare-account/an-account-is-low-when-half-of-the-slack-is-spent",
			test_an_account_is_low_when_half_of_the_slack_is_spent);
	g_test_add_func("/compare-account/each-reference-costs-its-length-and-the-source-once",
			test_each_reference_costs_its_length_and_the_source_once);
	g_test_add_func("/compare-account/more-references-are-redirected-if-more-may-be-compared",
			test_more_references_are_redirected_if_more_may_be_compared);
	return g_test_run();
}
