/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/objects/holders.h"

#include "hashstore/objects/open-extents.h"
#include "hashstore/objects/pinned.h"
#include "tests/store/store-fixture.h"

#include <string.h>

#define MIB (UINT64_C(1) << 20)

static void assert_text(const uint64_t *roots, size_t n, const char *expected)
{
	g_autofree char *text = holders_text(roots, n);
	g_autoptr(GArray) read = holders_parse(text);

	g_assert_cmpstr(text, ==, expected);
	g_assert_nonnull(read);
	g_assert_cmpmem(read->data, read->len * sizeof(uint64_t), roots, n * sizeof(uint64_t));
}

static void test_a_set_is_written_in_ranges(void)
{
	assert_text((const uint64_t[]){ 256 }, 1, "256");
	assert_text((const uint64_t[]){ 256, 257, 258 }, 3, "256-258");
	assert_text((const uint64_t[]){ 256, 258, 259, 300 }, 4, "256,258-259,300");
	/* What follows the set in memory is not part of it. */
	assert_text((const uint64_t[]){ 256, 257, 258 }, 2, "256-257");
}

static void test_what_is_no_set_is_refused(void)
{
	static const char *const texts[] = {
		"", "x", "5,", "5,5", "7-5", "9,3", "1-", "-1", "0", "1-99999999999", "5-6,6",
	};

	for (size_t i = 0; i < G_N_ELEMENTS(texts); i++)
		g_assert_null(holders_parse(texts[i]));
}

/* Ranges that the store itself would write as one. */
static void test_a_set_may_be_written_in_any_ranges(void)
{
	static const char *const texts[] = { "5-8", "5,6,7,8", "5-6,7-8", "5,6-8", "5-5,6-6,7,8" };
	static const uint64_t expected[] = { 5, 6, 7, 8 };

	for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
		g_autoptr(GArray) roots = holders_parse(texts[i]);

		g_assert_nonnull(roots);
		g_assert_cmpmem(roots->data, roots->len * sizeof(uint64_t), expected,
				sizeof(expected));
	}
}

/* Ranges of a damaged store take no memory without end. */
static void test_a_set_has_a_limit(void)
{
	static const struct {
		const char *text;
		guint n; /* 0: refused */
	} cases[] = {
		{ "1-1048576", 1 << 20 },     { "1-1048577", 0 },
		{ "7,11-1048585", 1 << 20 },  { "7,11-1048586", 0 },
		{ "1-1048576,1048578", 0 },   { "9223372036854775806-9223372036854775807", 2 },
		{ "9223372036854775808", 0 }, { "5-9223372036854775808", 0 },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GArray) roots = holders_parse(cases[i].text);

		g_assert_cmpuint(roots ? roots->len : 0, ==, cases[i].n);
	}
}

static void test_a_set_has_each_subvolume_once_and_knows_which(void)
{
	static const uint64_t given[] = { 300, 256, 300, UINT64_MAX, 256, 257 };
	static const uint64_t expected[] = { 256, 257, 300, UINT64_MAX };
	g_autoptr(GArray) roots = g_array_new(false, false, sizeof(uint64_t));

	holders_make_unique(roots);
	g_assert_cmpuint(roots->len, ==, 0);
	g_assert_false(holders_has(roots, 256));

	g_array_append_vals(roots, given, G_N_ELEMENTS(given));
	holders_make_unique(roots);
	g_assert_cmpmem(roots->data, roots->len * sizeof(uint64_t), expected, sizeof(expected));
	for (size_t i = 0; i < G_N_ELEMENTS(expected); i++)
		g_assert_true(holders_has(roots, expected[i]));
	g_assert_false(holders_has(roots, 255));
	g_assert_false(holders_has(roots, 299));
}

static uint64_t put_set(HashStore *store, const uint64_t *roots, size_t n)
{
	GError *error = NULL;
	uint64_t id;

	g_assert_true(hash_store_put_holders(store, roots, n, &id, &error));
	g_assert_no_error(error);
	return id;
}

static void hold(HashStore *store, uint64_t number, uint64_t holders, uint64_t bytes)
{
	PinnedExtent row = { .extent = { number * MIB, 100 },
			     .cause = 14,
			     .root = 300,
			     .uncovered_bytes = bytes,
			     .holders = holders,
			     .bytes = bytes };
	GError *error = NULL;
	bool kept;

	g_assert_true(hash_store_put_pinned(store, &row, &kept, &error));
	g_assert_no_error(error);
	g_assert_true(kept);
}

static HeldExtents sum(HashStore *store)
{
	GError *error = NULL;
	HeldExtents held;

	g_assert_true(hash_store_sum_held(store, &held, &error));
	g_assert_no_error(error);
	return held;
}

static void test_each_set_is_kept_once(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	HashStore *store = store_fixture_open(fixture);
	const uint64_t one[] = { 256, 257 }, other[] = { 256, 258 };
	uint64_t id = put_set(store, one, 2);
	g_autofree char *text = NULL;
	g_autofree char *none = NULL;
	GError *error = NULL;

	g_assert_cmpuint(id, >, 0);
	g_assert_cmpuint(put_set(store, one, 2), ==, id);
	g_assert_cmpuint(put_set(store, other, 2), !=, id);
	g_assert_true(hash_store_get_holders(store, id, &text, &error));
	g_assert_cmpstr(text, ==, "256-257");
	g_assert_true(hash_store_get_holders(store, 1000, &none, &error));
	g_assert_null(none);
	g_assert_no_error(error);
	hash_store_close(store);
}

/* Its text would be too long.  The newest subvolume tells when to look again. */
static void test_of_very_many_subvolumes_the_last_is_kept(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(HashStore) store = store_fixture_open(fixture);
	g_autofree char *many = NULL;
	g_autofree char *last = NULL;
	GError *error = NULL;
	uint64_t roots[893];

	for (size_t i = 0; i < G_N_ELEMENTS(roots); i++)
		roots[i] = 256 + 2 * i;
	/* 372 of three digits and a comma, 520 of four, and one of eight; then it has nine. */
	roots[892] = 10000000;
	g_assert_true(hash_store_get_holders(store, put_set(store, roots, G_N_ELEMENTS(roots)),
					     &many, &error));
	g_assert_cmpuint(strlen(many), ==, 372 * 4 + 520 * 5 + 8);
	roots[892] = 100000000;
	g_assert_true(hash_store_get_holders(store, put_set(store, roots, G_N_ELEMENTS(roots)),
					     &last, &error));
	g_assert_cmpstr(last, ==, "100000000");
	g_assert_no_error(error);
}

static void test_what_is_held_is_summed_up(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	HashStore *store = store_fixture_open(fixture);
	uint64_t one = put_set(store, (const uint64_t[]){ 256 }, 1);
	uint64_t other = put_set(store, (const uint64_t[]){ 257 }, 1);
	GError *error = NULL;
	HeldExtents held;
	bool found;

	g_assert_cmpuint(sum(store).bytes, ==, 0);
	hold(store, 1, one, 4096);
	hold(store, 2, other, 8192);
	hold(store, 3, other, 16384);

	held = sum(store);
	g_assert_cmpuint(held.extents, ==, 3);
	g_assert_cmpuint(held.bytes, ==, 4096 + 8192 + 16384);
	g_assert_true(hash_store_next_held(store, one, &held, &found, &error));
	g_assert_true(found);
	g_assert_cmpuint(held.holders, ==, other);
	g_assert_cmpuint(held.extents, ==, 2);

	/* An extent that is gone is no longer held. */
	g_assert_true(hash_store_drop_extent(store, 2 * MIB, &error));
	g_assert_no_error(error);
	g_assert_cmpuint(sum(store).bytes, ==, 4096 + 16384);
	hash_store_close(store);
}

static void test_sets_that_hold_nothing_are_forgotten(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	HashStore *store = store_fixture_open(fixture);
	uint64_t used = put_set(store, (const uint64_t[]){ 256 }, 1);
	uint64_t unused = put_set(store, (const uint64_t[]){ 257 }, 1);
	g_autofree char *text = NULL;
	g_autofree char *none = NULL;
	GError *error = NULL;

	hold(store, 1, used, 4096);
	g_assert_true(hash_store_drop_unused_holders(store, &error));
	g_assert_true(hash_store_get_holders(store, used, &text, &error));
	g_assert_true(hash_store_get_holders(store, unused, &none, &error));
	g_assert_no_error(error);
	g_assert_nonnull(text);
	g_assert_null(none);
	hash_store_close(store);
}

static void test_what_is_held_stays_when_all_is_matched_anew(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	HashStore *store = store_fixture_open(fixture);
	GError *error = NULL;

	hold(store, 1, put_set(store, (const uint64_t[]){ 256 }, 1), 4096);
	hold(store, 2, 0, 4096);
	g_assert_true(hash_store_clear_pinned(store, &error));
	g_assert_no_error(error);

	g_assert_cmpuint(sum(store).extents, ==, 1);
	hash_store_close(store);
}

/* sum() of SQLite fails where whole numbers overflow. */
static void test_numbers_that_are_too_large_for_a_sum_fail_nothing(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	HashStore *store = store_fixture_open(fixture);
	uint64_t one = put_set(store, (const uint64_t[]){ 256 }, 1);
	uint64_t other = put_set(store, (const uint64_t[]){ 257 }, 1);

	for (uint64_t i = 1; i <= 3; i++)
		hold(store, i, one, INT64_MAX);
	g_assert_cmpuint(sum(store).extents, ==, 3);
	g_assert_cmpuint(sum(store).bytes, ==, INT64_MAX);

	/* A number below zero counts as none. */
	for (uint64_t i = 4; i <= 6; i++)
		hold(store, i, other, UINT64_C(1) << 63);
	g_assert_cmpuint(sum(store).extents, ==, 6);
	g_assert_cmpuint(sum(store).bytes, ==, INT64_MAX);
	hash_store_close(store);
}

static HoldersSummary summary(HashStore *store)
{
	HoldersSummary summary;
	GError *error = NULL;

	g_assert_true(hash_store_sum_holders(store, &summary, &error));
	g_assert_no_error(error);
	return summary;
}

static void note(HashStore *store, uint64_t n, uint64_t last, const char *path)
{
	const HoldersSummary noted = { n, last, (char *)path };
	GError *error = NULL;

	g_assert_true(hash_store_note_holders(store, &noted, &error));
	g_assert_no_error(error);
}

static void assert_summary(HashStore *store, uint64_t n, uint64_t last, const char *path)
{
	g_auto(HoldersSummary) found = summary(store);

	g_assert_cmpuint(found.n, ==, n);
	g_assert_cmpuint(found.last, ==, last);
	g_assert_cmpstr(found.last_path, ==, path);
}

static void test_the_newest_holder_has_the_name_that_was_noted_of_it(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	HashStore *store = store_fixture_open(fixture);

	assert_summary(store, 0, 0, NULL);
	hold(store, 1, put_set(store, (const uint64_t[]){ 256, 257, 300 }, 3), 4096);
	assert_summary(store, 3, 300, NULL);

	/* One subvolume is gone, but the set still contains it. */
	note(store, 2, 300, "/srv/a b");
	assert_summary(store, 2, 300, "/srv/a b");
	note(store, 2, 300, NULL);
	assert_summary(store, 2, 300, NULL);

	/* A note about another holder does not count. */
	note(store, 1, 256, "/srv/old");
	assert_summary(store, 3, 300, NULL);
	note(store, 4, 300, "/srv/new");
	assert_summary(store, 3, 300, NULL);
	hash_store_close(store);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/holders/a-set-is-written-in-ranges", test_a_set_is_written_in_ranges);
	g_test_add_func("/holders/what-is-no-set-is-refused", test_what_is_no_set_is_refused);
	g_test_add_func("/holders/a-set-may-be-written-in-any-ranges",
			test_a_set_may_be_written_in_any_ranges);
	g_test_add_func("/holders/a-set-has-a-limit", test_a_set_has_a_limit);
	g_test_add_func("/holders/a-set-has-each-subvolume-once-and-knows-which",
			test_a_set_has_each_subvolume_once_and_knows_which);
	g_test_add_func("/holders/each-set-is-kept-once", test_each_set_is_kept_once);
	g_test_add_func("/holders/of-very-many-subvolumes-the-last-is-kept",
			test_of_very_many_subvolumes_the_last_is_kept);
	g_test_add_func("/holders/what-is-held-is-summed-up", test_what_is_held_is_summed_up);
	g_test_add_func("/holders/sets-that-hold-nothing-are-forgotten",
			test_sets_that_hold_nothing_are_forgotten);
	g_test_add_func("/holders/what-is-held-stays-when-all-is-matched-anew",
			test_what_is_held_stays_when_all_is_matched_anew);
	g_test_add_func("/holders/numbers-that-are-too-large-for-a-sum-fail-nothing",
			test_numbers_that_are_too_large_for_a_sum_fail_nothing);
	g_test_add_func("/holders/the-newest-has-the-name-that-was-noted-of-it",
			test_the_newest_holder_has_the_name_that_was_noted_of_it);

	return g_test_run();
}
