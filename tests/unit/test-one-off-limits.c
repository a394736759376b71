/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/pass/one-off-limits.h"
#include "tests/unit/failing-store.h"
#include "tests/unit/pass-fixture.h"

static bool keeps_left_out(PassFixture *fixture)
{
	g_autoptr(GError) error = NULL;
	bool applied;

	fixture->pass.keeps_left_out = !fixture->settings.is_for_one_pass;
	applied = one_off_limits_apply(&fixture->pass, &error);
	g_assert_no_error(error);
	g_assert_true(applied);
	return fixture->pass.keeps_left_out;
}

static void give_limits(PassFixture *fixture, uint64_t min_size, uint64_t min_age, char **excludes)
{
	fixture->settings.has_given_limits = true;
	fixture->settings.min_size_bytes = min_size;
	fixture->settings.min_age_usec = min_age;
	fixture->settings.excludes = excludes;
}

static void test_files_are_dropped_when_the_same_limits_come_twice(void)
{
	char one[] = "one", two[] = "two", both[] = "onetwo";
	char *only_one[] = { one, NULL }, *in_order[] = { one, two, NULL };
	char *reversed[] = { two, one, NULL }, *joined[] = { both, NULL };
	const struct {
		uint64_t min_size, min_age;
		char **excludes;
	} cases[] = {
		/* Each differs little from the one before. */
		{ 0, 0, NULL },      { 1, 0, NULL },    { 1, 1, NULL },
		{ 1, 11, NULL },     { 11, 1, NULL },   { 11, 1, only_one },
		{ 11, 1, in_order }, { 11, 1, joined }, { 11, 1, reversed },
	};
	g_autoptr(PassFixture) fixture = pass_fixture_new();

	pass_fixture_put(fixture, 8, 0);
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		give_limits(fixture, cases[i].min_size, cases[i].min_age, cases[i].excludes);
		g_test_message("case %zu", i);
		g_assert_true(keeps_left_out(fixture));
		for (int again = 0; again < 3; again++)
			g_assert_false(keeps_left_out(fixture));
	}
	give_limits(fixture, 0, 0, NULL);
	g_assert_true(keeps_left_out(fixture));
	fixture->settings.excludes = NULL;
}

static void test_what_the_configuration_excludes_is_dropped_at_once(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();

	pass_fixture_put(fixture, 8, 0);
	fixture->settings.min_size_bytes = 100;
	g_assert_false(keeps_left_out(fixture));
	fixture->settings.min_size_bytes = 200;
	g_assert_false(keeps_left_out(fixture));

	/* A pass without limits of its own ends the row of passes with the same ones. */
	fixture->settings.has_given_limits = true;
	g_assert_true(keeps_left_out(fixture));
	fixture->settings.has_given_limits = false;
	g_assert_false(keeps_left_out(fixture));
	fixture->settings.has_given_limits = true;
	g_assert_true(keeps_left_out(fixture));
	g_assert_false(keeps_left_out(fixture));
}

/* Nor does it count for the passes after it. */
static void test_a_pass_that_a_caller_asked_for_drops_nothing(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();

	pass_fixture_put(fixture, 8, 0);
	fixture->settings.has_given_limits = true;
	g_assert_true(keeps_left_out(fixture));
	fixture->settings.is_for_one_pass = true;
	fixture->settings.min_size_bytes = 100;
	g_assert_true(keeps_left_out(fixture));
	g_assert_true(keeps_left_out(fixture));
	fixture->settings.is_for_one_pass = false;
	fixture->settings.min_size_bytes = 0;
	g_assert_false(keeps_left_out(fixture));
}

static void test_a_dry_run_is_not_the_first_of_two(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();

	pass_fixture_put(fixture, 8, 0);
	fixture->settings.has_given_limits = true;
	fixture->settings.dry_run = true;
	g_assert_true(keeps_left_out(fixture));
	g_assert_true(keeps_left_out(fixture));
	fixture->settings.dry_run = false;
	g_assert_true(keeps_left_out(fixture));
	g_assert_false(keeps_left_out(fixture));
}

/* There is nothing to keep, and the next pass with these limits is the second one. */
static void test_a_first_pass_leaves_out_what_it_likes(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();

	fixture->settings.has_given_limits = true;
	g_assert_false(keeps_left_out(fixture));
	pass_fixture_put(fixture, 8, 0);
	g_assert_false(keeps_left_out(fixture));
}

static bool apply_them(void *data, GError **error)
{
	return one_off_limits_apply(data, error);
}

static void test_errors_are_passed_on(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();

	give_limits(fixture, 1, 2, NULL);
	failing_store_try(fixture->pass.store, apply_them, &fixture->pass);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

#define ADD(name, test) g_test_add_func("/one-off-limits/" name, test)
	ADD("the-same-limits-twice", test_files_are_dropped_when_the_same_limits_come_twice);
	ADD("the-configuration", test_what_the_configuration_excludes_is_dropped_at_once);
	ADD("for-one-pass", test_a_pass_that_a_caller_asked_for_drops_nothing);
	ADD("a-dry-run", test_a_dry_run_is_not_the_first_of_two);
	ADD("a-first-pass", test_a_first_pass_leaves_out_what_it_likes);
	g_test_add_func("/one-off-limits/errors-are-passed-on", test_errors_are_passed_on);

	return g_test_run();
}
