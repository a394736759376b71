/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/content/run.h"
#include "daemon/match/match.h"
#include "hashstore/anchors/anchor.h"
#include "hashstore/database/store-state.h"
#include "hashstore/objects/equal-list.h"
#include "tests/unit/failing-store.h"
#include "tests/unit/pass-fixture.h"

/* Damage to the store that shows only while objects are matched: match_all() has to say so. */

static void execute(PassFixture *fixture, const char *sql)
{
	g_autoptr(GError) error = NULL;
	bool done = database_exec(fixture->pass.store->database, sql, &error);

	g_assert_no_error(error);
	g_assert_true(done);
}

/* Two equal objects: @digest is that of all, or of an anchor. */
static void put_equal(PassFixture *fixture, uint64_t digest, uint32_t block)
{
	for (int i = 0; i < 2; i++)
		pass_fixture_put_anchor(fixture, digest, pass_fixture_put(fixture, 100, 0), block);
}

static bool match(PassFixture *fixture, ObjectTable *table, uint64_t *ret_blocks, GError **error)
{
	g_autoptr(Sorter) runs = sorter_new(sizeof(Run), run_compare, 1 << 20,
					    fixture->settings.state_directory, NULL);

	return match_all(&fixture->pass, table, fixture->opener, runs, ret_blocks, error);
}

static void assert_fails(PassFixture *fixture, ObjectTable *table)
{
	g_autoptr(GError) error = NULL;
	uint64_t blocks;

	g_assert_false(match(fixture, table, &blocks, &error));
	g_assert_error(error, HASH_STORE_ERROR, HASH_STORE_ERROR_CORRUPT);
}

static void test_a_target_whose_size_cannot_be_read_is_an_error(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	g_autoptr(ObjectTable) table = NULL;

	put_equal(fixture, 77, ANCHOR_WHOLE_BLOCK);
	table = pass_fixture_table(fixture);
	execute(fixture, "UPDATE object SET record = x'00'");
	assert_fails(fixture, table);
}

/* The table takes such an object for a source, and goes on until the end. */
static void test_an_object_that_cannot_be_read_is_an_error_at_the_end(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	g_autoptr(ObjectTable) table = NULL;

	for (int i = 0; i < 100; i++)
		put_equal(fixture, 1000, 0);
	pass_fixture_settle(fixture);
	pass_fixture_put_anchor(fixture, 1000, pass_fixture_put(fixture, 100, 0), 0);
	table = pass_fixture_table(fixture);
	execute(fixture, "UPDATE object SET record = x'00' WHERE id = 9");
	assert_fails(fixture, table);
}

/* A pass that found nothing new leaves the list alone. */
static void test_a_list_of_equal_objects_that_cannot_be_read_is_an_error(void)
{
	static const struct {
		size_t figure;
		bool is_news;
	} cases[] = {
		{ offsetof(PassResult, files.seen), false },
		{ offsetof(PassResult, files.unchanged), false },
		{ offsetof(PassResult, files.new), true },
		{ offsetof(PassResult, files.changed), true },
		{ offsetof(PassResult, files.read), true },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(PassFixture) fixture = pass_fixture_new();
		g_autoptr(ObjectTable) table = NULL;
		g_autoptr(GError) error = NULL;
		uint64_t blocks;

		*(uint64_t *)(void *)((char *)&fixture->result + cases[i].figure) = 1;
		put_equal(fixture, 77, ANCHOR_WHOLE_BLOCK);
		table = pass_fixture_table(fixture);
		execute(fixture, "DROP TABLE loose_object");
		if (cases[i].is_news) {
			g_assert_false(match(fixture, table, &blocks, &error));
			g_assert_error(error, HASH_STORE_ERROR, HASH_STORE_ERROR_CORRUPT);
		} else {
			g_assert_true(match(fixture, table, &blocks, &error));
			g_assert_no_error(error);
			g_assert_cmpuint(blocks, ==, 100);
		}
	}
}

static bool match_again(void *data, GError **error)
{
	PassFixture *fixture = data;
	g_autoptr(ObjectTable) table = object_table_new(fixture->pass.store, RANK_BY_GAIN,
							&fixture->settings, NULL, error);
	uint64_t blocks;

	return table && match(fixture, table, &blocks, error);
}

static void put_anchors(PassFixture *fixture, uint32_t object)
{
	for (uint32_t i = 0; i < 10; i++)
		pass_fixture_put_anchor(fixture, 1000 + i, object, 10 * i);
}

static void test_errors_are_passed_on(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	uint32_t old = pass_fixture_put(fixture, 100, 0), new;

	put_anchors(fixture, old);
	pass_fixture_settle(fixture);
	new = pass_fixture_put(fixture, 100, OBJECT_NO_COW);
	put_anchors(fixture, new);
	pass_fixture_put_anchor(fixture, ANCHOR_ZEROS_DIGEST, new, 50);
	put_equal(fixture, 77, ANCHOR_WHOLE_BLOCK);
	failing_store_try(fixture->pass.store, match_again, fixture);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

#define ADD(name, test) g_test_add_func("/match/errors/" name, test)
	ADD("a-target-whose-size-cannot-be-read",
	    test_a_target_whose_size_cannot_be_read_is_an_error);
	ADD("an-object-that-cannot-be-read",
	    test_an_object_that_cannot_be_read_is_an_error_at_the_end);
	ADD("a-list-that-cannot-be-read",
	    test_a_list_of_equal_objects_that_cannot_be_read_is_an_error);
	ADD("are-passed-on", test_errors_are_passed_on);

	return g_test_run();
}
