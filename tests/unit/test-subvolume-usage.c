/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/arguments/subvolume-names.h"
#include "cli/snapshots/block-holders.h"
#include "cli/snapshots/root-sets.h"
#include "cli/snapshots/subvolume-usage.h"
#include "kernel-ioctl/btrfs/btrfs-subvolumes.h"

#include <stdlib.h>

static void test_a_set_has_one_number(void)
{
	g_autoptr(RootSets) sets = root_sets_new(130);
	RootSet a = root_sets_of_one(sets, 0), b = root_sets_of_one(sets, 129);
	RootSet both = root_sets_union(sets, a, b);

	g_assert_cmpuint(root_sets_words(sets), ==, 3);
	g_assert_cmpuint(a, !=, ROOT_SET_EMPTY);
	g_assert_cmpuint(root_sets_of_one(sets, 129), ==, b);
	g_assert_cmpuint(root_sets_union(sets, b, a), ==, both);
	g_assert_cmpuint(root_sets_union(sets, both, a), ==, both);
	g_assert_cmpuint(root_sets_union(sets, ROOT_SET_EMPTY, a), ==, a);
	g_assert_cmpuint(root_sets_union(sets, a, ROOT_SET_EMPTY), ==, a);
	g_assert_cmpuint(root_sets_count(sets), ==, 4);
	g_assert_cmpuint(root_sets_bits(sets, both)[0], ==, 1);
	g_assert_cmpuint(root_sets_bits(sets, both)[1], ==, 0);
	g_assert_cmpuint(root_sets_bits(sets, both)[2], ==, 2);
}

static void test_a_union_of_many_keeps_none_on_the_way(void)
{
	g_autoptr(RootSets) sets = root_sets_new(100);
	RootSet all;

	g_assert_cmpuint(root_sets_gathered(sets), ==, ROOT_SET_EMPTY);
	for (guint i = 0; i < 100; i++)
		root_sets_of_one(sets, i);
	for (guint i = 0; i < 100; i++)
		root_sets_gather(sets, root_sets_of_one(sets, i));
	all = root_sets_gathered(sets);

	g_assert_cmpuint(root_sets_count(sets), ==, 102);
	g_assert_cmpuint(root_sets_bits(sets, all)[0], ==, UINT64_MAX);
	g_assert_cmpuint(root_sets_bits(sets, all)[1], ==, (UINT64_C(1) << 36) - 1);

	/* A single set is itself, however often it comes. */
	root_sets_gather(sets, all);
	root_sets_gather(sets, all);
	root_sets_gather(sets, ROOT_SET_EMPTY);
	g_assert_cmpuint(root_sets_gathered(sets), ==, all);
	g_assert_cmpuint(root_sets_gathered(sets), ==, ROOT_SET_EMPTY);
}

/* More sets and unions than the cache holds, each compared with a bit mask. */
static void test_many_sets_are_told_apart(void)
{
	const guint n = 1 << 12;
	g_autoptr(RootSets) sets = root_sets_new(64);
	g_autofree RootSet *numbers = g_new(RootSet, n);

	for (guint bits = 0; bits < n; bits++) {
		numbers[bits] = ROOT_SET_EMPTY;
		for (guint i = 0; i < 12; i++)
			if (bits >> i & 1)
				numbers[bits] = root_sets_union(sets, numbers[bits],
								root_sets_of_one(sets, i * 5));
	}
	g_assert_cmpuint(root_sets_count(sets), ==, n);
	for (guint i = 0; i < 200000; i++) {
		guint a = g_random_int_range(0, (gint32)n), b = g_random_int_range(0, (gint32)n);

		g_assert_cmpuint(root_sets_union(sets, numbers[a], numbers[b]), ==, numbers[a | b]);
	}
}

static void test_blocks_have_all_who_hold_them(void)
{
	g_autoptr(RootSets) sets = root_sets_new(2);
	g_autoptr(BlockHolders) holders = block_holders_new(sets);
	RootSet a = root_sets_of_one(sets, 0), b = root_sets_of_one(sets, 1), set;
	const uint64_t n = 100000;

	for (uint64_t i = 1; i <= n; i++)
		block_holders_add(holders, i * 16384, a);
	for (uint64_t i = 2; i <= n; i += 2)
		block_holders_add(holders, i * 16384, b);
	block_holders_add(holders, 0, a);

	for (uint64_t i = 1; i <= n; i++) {
		g_assert_true(block_holders_find(holders, i * 16384, &set));
		g_assert_cmpuint(set, ==, i % 2 == 0 ? root_sets_union(sets, a, b) : a);
	}
	g_assert_false(block_holders_find(holders, (n + 1) * 16384, &set));
	g_assert_false(block_holders_find(holders, 0, &set));

	g_autoptr(GArray) counts = block_holders_counts(holders);
	g_assert_cmpuint(g_array_index(counts, uint64_t, a), ==, n / 2);
	g_assert_cmpuint(g_array_index(counts, uint64_t, b), ==, 0);
	g_assert_cmpuint(g_array_index(counts, uint64_t, root_sets_union(sets, a, b)), ==, n / 2);
}

static GArray *list(const BtrfsSubvolume *subvolumes, guint n)
{
	GArray *array = g_array_new(false, false, sizeof(BtrfsSubvolume));

	g_array_append_vals(array, subvolumes, n);
	return array;
}

static void add_sum(GArray *sums, RootSet set, uint64_t data_bytes)
{
	if (set >= sums->len)
		g_array_set_size(sums, set + 1);
	g_array_index(sums, UsageBytes, set) = (UsageBytes){ data_bytes, data_bytes / 10 };
}

static void test_what_only_those_hold_is_free_when_they_are_deleted(void)
{
	static const BtrfsSubvolume subvolumes[] = {
		{ .id = 5 }, { .id = 256 }, { .id = 257 }, { .id = 258, .is_dead = true }
	};
	RootSets *sets = root_sets_new(G_N_ELEMENTS(subvolumes));
	GArray *sums = g_array_new(false, true, sizeof(UsageBytes));
	RootSet one = root_sets_of_one(sets, 1), two = root_sets_of_one(sets, 2);
	RootSet dead = root_sets_of_one(sets, 3);
	RootSet top = root_sets_of_one(sets, 0), both = root_sets_union(sets, one, two);

	add_sum(sums, ROOT_SET_EMPTY, 7); /* a cache */
	add_sum(sums, top, 100);
	add_sum(sums, one, 1000);
	add_sum(sums, two, 10000);
	add_sum(sums, dead, 100000);
	add_sum(sums, both, 1000000);
	add_sum(sums, root_sets_union(sets, one, dead), 10000000);
	add_sum(sums, root_sets_union(sets, top, both), 100000000);
	g_autoptr(SubvolumeUsage) usage =
		subvolume_usage_new(list(subvolumes, G_N_ELEMENTS(subvolumes)), sets, sums);

	const guint none[] = { 0 };
	g_assert_cmpuint(subvolume_usage_exclusive(usage, none, 1).data_bytes, ==, 100);
	const guint first[] = { 1 }, second[] = { 2 }, pair[] = { 2, 1 }, all[] = { 0, 1, 2 };
	g_assert_cmpuint(subvolume_usage_exclusive(usage, first, 1).data_bytes, ==, 10001000);
	g_assert_cmpuint(subvolume_usage_exclusive(usage, first, 1).metadata_bytes, ==, 1000100);
	g_assert_cmpuint(subvolume_usage_exclusive(usage, second, 1).data_bytes, ==, 10000);
	g_assert_cmpuint(subvolume_usage_exclusive(usage, pair, 2).data_bytes, ==, 11011000);
	g_assert_cmpuint(subvolume_usage_exclusive(usage, all, 3).data_bytes, ==, 111011100);
	g_assert_cmpuint(subvolume_usage_exclusive(usage, NULL, 0).data_bytes, ==, 0);
	g_assert_cmpuint(subvolume_usage_referenced(usage, 1).data_bytes, ==, 111001000);
	g_assert_cmpuint(subvolume_usage_referenced(usage, 2).data_bytes, ==, 101010000);
	g_assert_cmpuint(subvolume_usage_being_freed(usage).data_bytes, ==, 100000);
}

/* The ids of a range as a text, "256 258"; @ret_said is the message. */
static char *range(const GArray *subvolumes, guint first, guint last, char **ret_said)
{
	g_autoptr(GString) text = g_string_new(NULL);
	g_autoptr(GError) error = NULL;
	g_autoptr(GArray) places = subvolume_range_list(subvolumes, first, last, &error);

	g_assert_true(!places == !!error);
	for (guint i = 0; places && i < places->len; i++)
		g_string_append_printf(
			text, "%s%" G_GUINT64_FORMAT, i > 0 ? " " : "",
			g_array_index(subvolumes, BtrfsSubvolume, g_array_index(places, guint, i))
				.id);
	*ret_said = error ? g_strdup(error->message) : NULL;
	return g_strdup(text->str);
}

static void test_a_range_is_by_creation_among_snapshots_of_one_subvolume(void)
{
	static const BtrfsSubvolume subvolumes[] = {
		{ .id = 5 },
		{ .id = 256, .otransid = 5, .uuid = { 1 } },
		{ .id = 257, .otransid = 30, .uuid = { 2 }, .parent_uuid = { 1 } },
		{ .id = 258, .otransid = 10, .uuid = { 3 }, .parent_uuid = { 1 } },
		{ .id = 259, .otransid = 20, .uuid = { 4 }, .parent_uuid = { 1 } },
		/* A snapshot of another, deleted one, in the same transaction. */
		{ .id = 260, .otransid = 20, .uuid = { 5 }, .parent_uuid = { 9 } },
		{ .id = 261, .otransid = 20, .uuid = { 6 }, .parent_uuid = { 1 }, .is_dead = true },
		{ .id = 262, .otransid = 20, .uuid = { 7 }, .parent_uuid = { 1 } },
		/* Subvolumes received one after another. */
		{ .id = 263, .otransid = 40, .uuid = { 8 }, .parent_uuid = { 3 } },
		{ .id = 264, .otransid = 41, .uuid = { 10 }, .parent_uuid = { 8 } },
		/* Parents of each other, which none can be. */
		{ .id = 265, .otransid = 50, .uuid = { 11 }, .parent_uuid = { 12 } },
		{ .id = 266, .otransid = 51, .uuid = { 12 }, .parent_uuid = { 11 } },
	};
	static const struct {
		guint first;
		guint last;
		const char *ids;
		const char *said;
	} cases[] = {
		{ 3, 2, "258 259 262 257", NULL },
		{ 3, 4, "258 259", NULL },
		{ 4, 7, "259 262", NULL },
		{ 3, 3, "258", NULL },
		{ 3, 9, "258 263 264", NULL },
		{ 1, 3, "256 258", NULL },
		{ 2, 3, "", "the second was created before the first" },
		{ 3, 5, "", "they are not snapshots of the same subvolume" },
		/* Snapshots of nothing have no common source. */
		{ 0, 1, "", "they are not snapshots of the same subvolume" },
		{ 10, 4, "", "they are not snapshots of the same subvolume" },
	};
	g_autoptr(GArray) all = list(subvolumes, G_N_ELEMENTS(subvolumes));

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *said = NULL;
		g_autofree char *ids = range(all, cases[i].first, cases[i].last, &said);

		g_assert_cmpstr(ids, ==, cases[i].ids);
		g_assert_cmpstr(said, ==, cases[i].said);
	}
}

static void make_directory(const char *parent, const char *name)
{
	g_autofree char *path = g_build_filename(parent, name, NULL);

	g_assert_cmpint(g_mkdir_with_parents(path, 0700), ==, 0);
}

static void test_a_range_is_split_where_both_ends_are_directories(void)
{
	static const struct {
		const char *typed;
		const char *first; /* NULL: it is no range */
		const char *last;
	} cases[] = {
		{ "1..5", "1", "5" },
		{ "1..deep/5", "1", "deep/5" },
		{ "deep/1..5", "deep/1", "deep/5" },
		{ "a..b..c", "a..b", "c" },
		{ "a..b", NULL, NULL },
		{ "1/../5", NULL, NULL },
		{ "1..absent", NULL, NULL },
		{ "..5", NULL, NULL },
		{ "1..", NULL, NULL },
		{ "absent", NULL, NULL },
	};
	g_autofree char *top = g_dir_make_tmp("dedupd-test-XXXXXX", NULL);
	g_autofree char *remove = g_strdup_printf("rm -r '%s'", top);

	make_directory(top, "1");
	make_directory(top, "5");
	make_directory(top, "deep/1");
	make_directory(top, "deep/5");
	make_directory(top, "a..b");
	make_directory(top, "c");
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *typed = g_build_filename(top, cases[i].typed, NULL);
		g_autofree char *first = NULL, *last = NULL;
		g_autofree char *right_first =
			cases[i].first ? g_build_filename(top, cases[i].first, NULL) : NULL;
		g_autofree char *right_last =
			cases[i].last ? g_build_filename(top, cases[i].last, NULL) : NULL;

		g_assert_cmpint(subvolume_range_split(typed, &first, &last), ==, !!cases[i].first);
		g_assert_cmpstr(first, ==, right_first);
		g_assert_cmpstr(last, ==, right_last);
	}
	g_assert_cmpint(system(remove), ==, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/root-sets/a-union-of-many-keeps-none-on-the-way",
			test_a_union_of_many_keeps_none_on_the_way);
	g_test_add_func("/root-sets/a_set_has_one_number", test_a_set_has_one_number);
	g_test_add_func("/root-sets/many_sets_are_told_apart", test_many_sets_are_told_apart);
	g_test_add_func("/block-holders/blocks_have_all_who_hold_them",
			test_blocks_have_all_who_hold_them);
	g_test_add_func("/subvolume-usage/what_only_those_hold_is_free_when_they_are_deleted",
			test_what_only_those_hold_is_free_when_they_are_deleted);
	g_test_add_func("/subvolume-names/"
			"a_range_is_by_creation_among_snapshots_of_one_subvolume",
			test_a_range_is_by_creation_among_snapshots_of_one_subvolume);
	g_test_add_func("/subvolume-names/a_range_is_split_where_both_ends_are_directories",
			test_a_range_is_split_where_both_ends_are_directories);
	return g_test_run();
}
