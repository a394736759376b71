/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/stores/waste-key.h"
#include "cli/stores/waste-sum.h"
#include "cli/terminal/plot.h"

#define DAY_NSEC INT64_C(86400000000000)

static void assert_text(char *text, const char *expected)
{
	g_assert_cmpstr(text, ==, expected);
	g_free(text);
}

static void assert_directory(const char *path, unsigned depth, const char *expected)
{
	static const char *const texts[] = { "/srv", "/srv/deep", "/data" };
	g_autoptr(GPtrArray) bases = g_ptr_array_new();

	for (size_t i = 0; i < G_N_ELEMENTS(texts); i++)
		g_ptr_array_add(bases, (void *)texts[i]);
	assert_text(waste_key_directory(path, bases, depth), expected);
}

static void test_directories_are_cut_at_the_depth(void)
{
	assert_directory("/srv/a/b/c/file", 0, "/srv");
	assert_directory("/srv/a/b/c/file", 1, "/srv/a");
	assert_directory("/srv/a/b/c/file", 2, "/srv/a/b");
	assert_directory("/srv/a/b/c/file", 9, "/srv/a/b/c");
	assert_directory("/srv/file", 3, "/srv");
}

static void test_levels_are_counted_from_the_nearest_place(void)
{
	assert_directory("/srv/deep/a/b/file", 1, "/srv/deep/a");
	assert_directory("/srv/deeper/a/file", 1, "/srv/deeper");
	assert_directory("/data/file", 1, "/data");
	assert_directory("/elsewhere/a/file", 1, "/elsewhere");
	assert_directory("/file", 1, "/");
	assert_directory("/elsewhere/a/file", 0, "/");
	/* No mount shows a file of this filesystem. */
	assert_directory("<FS_TREE>/a/file", 1, "<FS_TREE>/a");
	assert_directory("<FS_TREE>/file", 1, "<FS_TREE>");
}

static void test_types_are_endings_of_names(void)
{
	assert_text(waste_key_type("/srv/a.b/Picture.JPG"), ".jpg");
	assert_text(waste_key_type("/srv/archive.tar.gz"), ".gz");
	assert_text(waste_key_type("/srv/.bashrc"), "(none)");
	assert_text(waste_key_type("/srv/.hidden.txt"), ".txt");
	assert_text(waste_key_type("/srv/a.b/name"), "(none)");
	assert_text(waste_key_type("/srv/end."), "(none)");
	assert_text(waste_key_type("/srv/version-1.25"), "(none)");
	assert_text(waste_key_type("/srv/Mr. Smith"), "(none)");
	assert_text(waste_key_type("/srv/a.\xff\x1b[2J"), "(none)");
	assert_text(waste_key_type("/srv/a.averylongending"), "(none)");
}

static void test_ages_have_bounds(void)
{
	const int64_t now = 20000 * DAY_NSEC;

	assert_text(waste_key_age(now, now), "under 1 day");
	assert_text(waste_key_age(now + 1, now), "in the future");
	assert_text(waste_key_age(now - DAY_NSEC + 1, now), "under 1 day");
	assert_text(waste_key_age(now - DAY_NSEC, now), "1 to 7 days");
	assert_text(waste_key_age(now - 7 * DAY_NSEC, now), "7 to 30 days");
	assert_text(waste_key_age(now - 364 * DAY_NSEC, now), "6 to 12 months");
	assert_text(waste_key_age(now - 365 * DAY_NSEC, now), "1 to 2 years");
	assert_text(waste_key_age(now - 1825 * DAY_NSEC, now), "over 5 years");
	assert_text(waste_key_age(INT64_MIN, now), "over 5 years");
	assert_text(waste_key_age(INT64_MAX, now), "in the future");
}

static void test_an_owner_without_a_name_is_a_number(void)
{
	assert_text(waste_key_owner(0), "root");
	assert_text(waste_key_owner(4000000001), "4000000001");
}

static void assert_entry(const GPtrArray *entries, guint i, const char *key, uint64_t reclaimable,
			 uint64_t shared, uint64_t files)
{
	const WasteEntry *entry = entries->pdata[i];

	g_assert_cmpstr(entry->key, ==, key);
	g_assert_cmpuint(entry->reclaimable_bytes, ==, reclaimable);
	g_assert_cmpuint(entry->shared_bytes, ==, shared);
	g_assert_cmpuint(entry->files, ==, files);
}

static void test_sums_come_with_most_to_reclaim_first(void)
{
	g_autoptr(WasteSum) sum = waste_sum_new();

	waste_sum_add(sum, "a", 10, 0);
	waste_sum_add(sum, "b", 20, 5);
	waste_sum_add(sum, "c", 0, 7);
	waste_sum_add(sum, "d", 0, 7);
	waste_sum_add(sum, "a", 11, 1);

	g_autoptr(GPtrArray) entries = waste_sum_sorted(sum);
	g_assert_cmpuint(entries->len, ==, 4);
	assert_entry(entries, 0, "a", 21, 1, 2);
	assert_entry(entries, 1, "b", 20, 5, 1);
	assert_entry(entries, 2, "c", 0, 7, 0);
	assert_entry(entries, 3, "d", 0, 7, 0);
	g_assert_cmpuint(waste_sum_total(sum)->reclaimable_bytes, ==, 41);
	g_assert_cmpuint(waste_sum_total(sum)->shared_bytes, ==, 20);
	g_assert_cmpuint(waste_sum_total(sum)->files, ==, 3);
}

static void test_keys_are_bounded_and_nothing_is_lost(void)
{
	g_autoptr(WasteSum) sum = waste_sum_new();

	for (unsigned i = 0; i < WASTE_KEYS_MOST + 100; i++) {
		g_autofree char *key = g_strdup_printf("%u", i);

		waste_sum_add(sum, key, 1, 0);
	}

	g_autoptr(GPtrArray) entries = waste_sum_sorted(sum);
	g_assert_cmpuint(entries->len, ==, WASTE_KEYS_MOST);
	assert_entry(entries, 0, WASTE_OTHERS, 101, 0, 101);
	g_assert_cmpuint(waste_sum_total(sum)->files, ==, WASTE_KEYS_MOST + 100);
}

static void test_a_bar_is_as_long_as_its_part(void)
{
	assert_text(plot_bar_text(100, 100, 4, false), "####");
	assert_text(plot_bar_text(50, 100, 4, false), "##");
	assert_text(plot_bar_text(1, 100, 4, false), "#");
	assert_text(plot_bar_text(0, 100, 4, false), "");
	assert_text(plot_bar_text(0, 0, 4, false), "");
	assert_text(plot_bar_text(UINT64_MAX, UINT64_MAX, 2, true), "██");
	assert_text(plot_bar_text(3, 8, 2, true), "▊");
	assert_text(plot_bar_text(1, 1000, 2, true), "▏");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/waste/directory/depth", test_directories_are_cut_at_the_depth);
	g_test_add_func("/waste/directory/place", test_levels_are_counted_from_the_nearest_place);
	g_test_add_func("/waste/type", test_types_are_endings_of_names);
	g_test_add_func("/waste/age", test_ages_have_bounds);
	g_test_add_func("/waste/owner", test_an_owner_without_a_name_is_a_number);
	g_test_add_func("/waste/sum", test_sums_come_with_most_to_reclaim_first);
	g_test_add_func("/waste/bound", test_keys_are_bounded_and_nothing_is_lost);
	g_test_add_func("/waste/bar", test_a_bar_is_as_long_as_its_part);

	return g_test_run();
}
