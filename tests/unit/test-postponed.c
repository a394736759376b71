/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/context/postponed.h"
#include "tests/unit/failing-store.h"
#include "tests/unit/pass-fixture.h"

static bool is_found(PassFixture *fixture, uint32_t id)
{
	const Object *found;

	g_assert_true(hash_store_find(fixture->pass.store, id, &found, NULL));
	return found;
}

static void test_what_was_postponed_is_unsettled_again(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	g_autoptr(Postponed) postponed = postponed_new();
	uint32_t done = pass_fixture_put(fixture, 8, 0);
	uint32_t busy = pass_fixture_put(fixture, 8, 0);
	uint32_t settled_below;

	postponed_add(postponed, fixture->pass.store, busy);
	postponed_add(postponed, fixture->pass.store, busy);
	g_assert_false(postponed_is_all(postponed, 2));
	pass_fixture_settle(fixture);
	settled_below = hash_store_settled_below(fixture->pass.store);
	g_assert_true(postponed_renew(postponed, fixture->pass.store, NULL));

	g_assert_true(is_found(fixture, done));
	g_assert_false(is_found(fixture, busy));
	g_assert_true(is_found(fixture, settled_below));
	g_assert_cmpuint(hash_store_settled_below(fixture->pass.store), ==, settled_below);
	g_assert_cmpuint(hash_store_next_object(fixture->pass.store), ==, settled_below + 1);
}

static void test_what_is_settled_is_no_target_to_be_postponed(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	g_autoptr(Postponed) postponed = postponed_new();
	uint32_t source = pass_fixture_put(fixture, 8, 0);

	pass_fixture_settle(fixture);
	postponed_add(postponed, fixture->pass.store, source);
	g_assert_true(postponed_renew(postponed, fixture->pass.store, NULL));
	g_assert_true(is_found(fixture, source));
}

static void test_a_stretch_is_postponed_with_its_extents(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	g_autoptr(Postponed) postponed = postponed_new();
	Object row = { .subvolume = OBJECT_STRETCHES, .inode = 77, .size_bytes = 1 << 20 };
	uint32_t stretch = pass_fixture_put_object(fixture, &row);
	uint32_t extent;

	row = (Object){ .subvolume = OBJECT_EXTENTS, .parent = 77, .size_bytes = 1 << 16 };
	extent = pass_fixture_put_object(fixture, &row);
	postponed_add(postponed, fixture->pass.store, extent);
	g_assert_true(postponed_is_all(postponed, 1));
	g_assert_true(postponed_add_stretches(postponed, fixture->pass.store, NULL));
	g_assert_true(postponed_is_all(postponed, 2));
	pass_fixture_settle(fixture);
	g_assert_true(postponed_renew(postponed, fixture->pass.store, NULL));

	g_assert_false(is_found(fixture, extent));
	g_assert_false(is_found(fixture, stretch));
}

static void test_what_was_renewed_is_known_by_its_new_id(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	g_autoptr(Postponed) postponed = postponed_new();
	uint32_t object = pass_fixture_put(fixture, 8, 0);
	uint32_t renewed, later;

	g_assert_false(postponed_has(postponed, object));
	postponed_add(postponed, fixture->pass.store, object);
	g_assert_true(postponed_has(postponed, object));
	pass_fixture_settle(fixture);
	renewed = hash_store_next_object(fixture->pass.store);
	g_assert_true(postponed_renew(postponed, fixture->pass.store, NULL));
	later = pass_fixture_put(fixture, 8, 0);

	/* The other unsettled objects were found since. */
	g_assert_false(postponed_is_all(postponed, 1));
	g_assert_true(postponed_has(postponed, renewed));
	g_assert_false(postponed_has(postponed, object));
	g_assert_false(postponed_has(postponed, later));
}

static void test_all_is_left_unsettled_when_none_or_the_rest_was_done(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	g_autoptr(Postponed) postponed = postponed_new();

	g_assert_false(postponed_is_all(postponed, 0));
	g_assert_false(postponed_is_all(postponed, 1));
	postponed_add(postponed, fixture->pass.store, pass_fixture_put(fixture, 8, 0));
	g_assert_true(postponed_is_all(postponed, 1));
	g_assert_false(postponed_is_all(postponed, 2));
	g_assert_false(postponed_has_rest(postponed));
	postponed_add_rest(postponed);
	g_assert_true(postponed_has_rest(postponed));
	g_assert_true(postponed_is_all(postponed, 2));
}

static void test_more_than_can_be_remembered_is_all(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	g_autoptr(Postponed) postponed = postponed_new();

	for (uint32_t id = 1; id < 1 << 20; id++)
		postponed_add(postponed, fixture->pass.store, id);
	g_assert_true(postponed_is_all(postponed, 1 << 20));
	g_assert_false(postponed_has_rest(postponed));
}

typedef struct {
	HashStore *store;
	uint32_t extent;
} Postponing;

static bool postpone(void *data, GError **error)
{
	const Postponing *one = data;
	g_autoptr(Postponed) postponed = postponed_new();

	postponed_add(postponed, one->store, one->extent);
	return postponed_add_stretches(postponed, one->store, error);
}

typedef struct {
	HashStore *store;
	Postponed *postponed;
} Renewing;

static bool renew(void *data, GError **error)
{
	const Renewing *one = data;

	return postponed_renew(one->postponed, one->store, error);
}

static void test_errors_are_passed_on(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	g_autoptr(Postponed) postponed = postponed_new();
	const Object stretch = { .subvolume = OBJECT_STRETCHES,
				 .inode = 77,
				 .size_bytes = 1 << 20 };
	const Object extent = { .parent = 77, .size_bytes = 1 << 16 };
	Postponing adding = { .store = fixture->pass.store };
	Renewing renewing = { fixture->pass.store, postponed };

	pass_fixture_put_object(fixture, &stretch);
	adding.extent = pass_fixture_put_object(fixture, &extent);
	failing_store_try(adding.store, postpone, &adding);
	postponed_add(postponed, renewing.store, adding.extent);
	pass_fixture_settle(fixture);
	failing_store_try(renewing.store, renew, &renewing);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/postponed/what-was-postponed-is-unsettled-again",
			test_what_was_postponed_is_unsettled_again);
	g_test_add_func("/postponed/what-is-settled-is-no-target-to-be-postponed",
			test_what_is_settled_is_no_target_to_be_postponed);
	g_test_add_func("/postponed/a-stretch-is-postponed-with-its-extents",
			test_a_stretch_is_postponed_with_its_extents);
	g_test_add_func("/postponed/what-was-renewed-is-known-by-its-new-id",
			test_what_was_renewed_is_known_by_its_new_id);
	g_test_add_func("/postponed/all-is-left-unsettled-when-none-or-the-rest-was-done",
			test_all_is_left_unsettled_when_none_or_the_rest_was_done);
	g_test_add_func("/postponed/more-than-can-be-remembered-is-all",
			test_more_than_can_be_remembered_is_all);
	g_test_add_func("/postponed/errors-are-passed-on", test_errors_are_passed_on);

	return g_test_run();
}
