/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/context/witnesses.h"
#include "tests/unit/failing-store.h"
#include "tests/unit/pass-fixture.h"

#define NOTE "witnesses"

static void add(Witnesses *witnesses, uint64_t inode)
{
	const Witness one = { 5, inode, 4096 * inode, { inode + 1, UINT64_MAX - inode } };

	witnesses_add(witnesses, &one);
}

static bool has(const Witnesses *witnesses, uint64_t inode)
{
	for (size_t i = 0; i < witnesses_count(witnesses); i++)
		if (witnesses_at(witnesses, i)->inode == inode)
			return true;

	return false;
}

static void test_the_latest_stay_and_some_of_all_ages(void)
{
	g_autoptr(Witnesses) witnesses = witnesses_new();
	unsigned n_young = 0, n_aged = 0;

	for (uint64_t i = 0; i < 10000; i++)
		add(witnesses, i);
	g_assert_cmpuint(witnesses_count(witnesses), ==, WITNESSES_LATEST + WITNESSES_OLD);
	for (uint64_t i = 10000 - WITNESSES_LATEST; i < 10000; i++)
		g_assert_true(has(witnesses, i));

	for (size_t i = 0; i < WITNESSES_OLD; i++) {
		n_aged += witnesses_at(witnesses, i)->inode < 5000;
		n_young += witnesses_at(witnesses, i)->inode >= 5000;
	}
	g_assert_cmpuint(n_aged, >, 0);
	g_assert_cmpuint(n_young, >, 0);
}

static void test_the_oldest_of_the_latest_ages_first(void)
{
	g_autoptr(Witnesses) witnesses = witnesses_new();

	for (uint64_t i = 0; i <= WITNESSES_LATEST; i++)
		add(witnesses, i);
	g_assert_cmpuint(witnesses_count(witnesses), ==, WITNESSES_LATEST + 1);
	for (uint64_t i = 0; i <= WITNESSES_LATEST; i++)
		g_assert_cmpuint(witnesses_at(witnesses, i)->inode, ==, i);
}

static void test_a_place_is_kept_once(void)
{
	g_autoptr(Witnesses) witnesses = witnesses_new();

	add(witnesses, 7);
	add(witnesses, 7);
	g_assert_cmpuint(witnesses_count(witnesses), ==, 1);
}

static void test_the_store_has_them_all(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	g_autoptr(Witnesses) witnesses = witnesses_new();
	g_autoptr(Witnesses) loaded = NULL;

	for (uint64_t i = 0; i < 100; i++)
		add(witnesses, i);
	witnesses->until = UINT64_MAX;
	g_assert_true(witnesses_save(witnesses, fixture->pass.store, NOTE, NULL));
	g_assert_true(witnesses_load(fixture->pass.store, NOTE, &loaded, NULL));

	g_assert_cmpuint(loaded->until, ==, UINT64_MAX);
	g_assert_cmpuint(loaded->n_old, ==, 100 - WITNESSES_LATEST);
	g_assert_cmpuint(loaded->old->len, ==, WITNESSES_OLD);
	g_assert_cmpuint(loaded->latest->len, ==, WITNESSES_LATEST);
	for (size_t i = 0; i < witnesses_count(loaded); i++)
		g_assert_cmpmem(witnesses_at(loaded, i), sizeof(Witness),
				witnesses_at(witnesses, i), sizeof(Witness));
}

static void test_of_a_damaged_note_nothing_is_taken(void)
{
	const char *damaged[] = { "", "x", "7", "7 0\n", "7 0\nL 1 2 3 4", "7 0\nX 1 2 3 4 5\n\n" };
	g_autoptr(PassFixture) fixture = pass_fixture_new();

	for (size_t i = 0; i < G_N_ELEMENTS(damaged); i++) {
		g_autoptr(Witnesses) loaded = NULL;

		g_assert_true(hash_store_set_note(fixture->pass.store, NOTE, damaged[i], NULL));
		g_assert_true(witnesses_load(fixture->pass.store, NOTE, &loaded, NULL));
		g_assert_cmpuint(witnesses_count(loaded), ==, 0);
	}
}

static void test_no_more_are_taken_than_are_kept(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	g_autoptr(GString) text = g_string_new("7 0");
	g_autoptr(Witnesses) loaded = NULL;

	for (unsigned i = 0; i < 1000; i++)
		g_string_append_printf(text, "\nO 5 %u 0 1 1", i);
	g_assert_true(hash_store_set_note(fixture->pass.store, NOTE, text->str, NULL));
	g_assert_true(witnesses_load(fixture->pass.store, NOTE, &loaded, NULL));
	g_assert_cmpuint(witnesses_count(loaded), ==, WITNESSES_OLD);
}

static void test_no_more_of_the_latest_are_taken_than_are_kept(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	g_autoptr(GString) text = g_string_new("7 0");
	g_autoptr(Witnesses) loaded = NULL;

	for (unsigned i = 0; i <= WITNESSES_LATEST; i++)
		g_string_append_printf(text, "\nL 5 %u 0 1 1", i);
	g_assert_true(hash_store_set_note(fixture->pass.store, NOTE, text->str, NULL));
	g_assert_true(witnesses_load(fixture->pass.store, NOTE, &loaded, NULL));
	g_assert_cmpuint(loaded->latest->len, ==, WITNESSES_LATEST);
}

static bool keep_even(Witness *witness, void *data, bool *ret, GError **error)
{
	(void)error;
	witness->values[0] = *(const uint64_t *)data;
	*ret = witness->inode % 2 == 0;
	return true;
}

static void test_a_filter_drops_some_and_changes_others(void)
{
	g_autoptr(Witnesses) witnesses = witnesses_new();
	uint64_t value = 42;

	for (uint64_t i = 0; i < 50; i++)
		add(witnesses, i);
	g_assert_true(witnesses_filter(witnesses, keep_even, &value, NULL));
	g_assert_cmpuint(witnesses_count(witnesses), ==, 25);
	for (size_t i = 0; i < 25; i++)
		g_assert_cmpuint(witnesses_at(witnesses, i)->values[0], ==, 42);
}

static void test_a_sample_is_of_all_that_was_added(void)
{
	WitnessSample sample = { 0 };
	unsigned n_late = 0;

	for (uint64_t i = 0; i < WITNESS_SAMPLE; i++)
		witness_sample_add(&sample, 5, i, 0);
	g_assert_cmpuint(witness_sample_count(&sample), ==, WITNESS_SAMPLE);
	for (uint64_t i = 0; i < WITNESS_SAMPLE; i++)
		g_assert_cmpuint(sample.places[i].inode, ==, i);

	for (uint64_t i = WITNESS_SAMPLE; i < 100000; i++)
		witness_sample_add(&sample, 5, i, 0);
	g_assert_cmpuint(witness_sample_count(&sample), ==, WITNESS_SAMPLE);
	for (size_t i = 0; i < WITNESS_SAMPLE; i++)
		n_late += sample.places[i].inode >= 50000;
	g_assert_cmpuint(n_late, >, 0);
	g_assert_cmpuint(n_late, <, WITNESS_SAMPLE);
}

typedef struct {
	HashStore *store;
	Witnesses *witnesses;
} Kept;

static bool save_them(void *data, GError **error)
{
	const Kept *kept = data;

	return witnesses_save(kept->witnesses, kept->store, NOTE, error);
}

static bool load_them(void *data, GError **error)
{
	const Kept *kept = data;
	g_autoptr(Witnesses) loaded = NULL;

	return witnesses_load(kept->store, NOTE, &loaded, error);
}

static void test_errors_are_passed_on(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	g_autoptr(Witnesses) witnesses = witnesses_new();
	Kept kept = { fixture->pass.store, witnesses };

	add(witnesses, 7);
	failing_store_try(kept.store, save_them, &kept);
	failing_store_try(kept.store, load_them, &kept);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_random_set_seed(1);
	g_test_add_func("/witnesses/ages", test_the_latest_stay_and_some_of_all_ages);
	g_test_add_func("/witnesses/oldest", test_the_oldest_of_the_latest_ages_first);
	g_test_add_func("/witnesses/once", test_a_place_is_kept_once);
	g_test_add_func("/witnesses/store", test_the_store_has_them_all);
	g_test_add_func("/witnesses/damaged", test_of_a_damaged_note_nothing_is_taken);
	g_test_add_func("/witnesses/bounded", test_no_more_are_taken_than_are_kept);
	g_test_add_func("/witnesses/bounded-latest",
			test_no_more_of_the_latest_are_taken_than_are_kept);
	g_test_add_func("/witnesses/filter", test_a_filter_drops_some_and_changes_others);
	g_test_add_func("/witnesses/sample", test_a_sample_is_of_all_that_was_added);
	g_test_add_func("/witnesses/errors-are-passed-on", test_errors_are_passed_on);
	return g_test_run();
}
