/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/inventory/same-sizes.h"

/* A file, and whether no other file may be identical to it. */
typedef struct {
	uint64_t size_bytes;
	uint64_t head;
	SizedState state;
	bool is_alone;
} Case;

/* Add @files, which are in the order in which they come out, from the last to the first. */
static void check(bool by_head, const Case *files, size_t n_files)
{
	g_autoptr(SameSizes) sizes = same_sizes_new(by_head, 1 << 20, g_get_tmp_dir(), NULL);
	g_autoptr(GError) error = NULL;
	const SizedFile *file;

	for (size_t i = n_files; i > 0; i--) {
		SizedFile added = {
			.id.inode = i,
			.stamp.size_bytes = files[i - 1].size_bytes,
			.head = files[i - 1].head,
			.state = files[i - 1].state,
		};

		g_assert_true(same_sizes_add(sizes, &added, &error));
	}
	g_assert_true(same_sizes_sort(sizes, &error));

	for (size_t i = 0; i < n_files; i++) {
		g_assert_true(same_sizes_next(sizes, &file, &error));
		g_assert_nonnull(file);
		g_assert_cmpuint(file->stamp.size_bytes, ==, files[i].size_bytes);
		g_assert_cmpuint(file->head, ==, files[i].head);
		g_assert_cmpint(file->is_alone, ==, files[i].is_alone);
	}
	g_assert_true(same_sizes_next(sizes, &file, &error));
	g_assert_null(file);
	g_assert_true(same_sizes_next(sizes, &file, &error));
	g_assert_null(file);
}

static void test_nothing_comes_of_nothing(void)
{
	check(false, NULL, 0);
	check(true, NULL, 0);
}

static void test_a_size_that_others_have_is_not_alone(void)
{
	static const Case files[] = {
		{ 1, 0, SIZED_NEW, true },          { 2, 0, SIZED_NEW, false },
		{ 2, 0, SIZED_NEW, false },         { 3, 0, SIZED_SEEN, true },
		{ 4, 0, SIZED_NEW, false },         { 4, 0, SIZED_NEW, false },
		{ 4, 0, SIZED_NEW, false },         { 5, 0, SIZED_KNOWN, true },
		{ UINT64_MAX, 0, SIZED_NEW, true },
	};

	check(false, files, G_N_ELEMENTS(files));
}

static void test_a_head_that_others_have_is_not_alone(void)
{
	static const Case files[] = {
		{ 1, 7, SIZED_NEW, true },   { 2, 7, SIZED_NEW, false },
		{ 2, 7, SIZED_SEEN, false }, { 2, 8, SIZED_NEW, true },
		{ 3, 8, SIZED_NEW, true },   { 4, 1, SIZED_NEW, true },
		{ 4, 2, SIZED_KNOWN, true }, { 4, 3, SIZED_SEEN, true },
	};

	check(true, files, G_N_ELEMENTS(files));
}

static void test_a_head_that_is_not_known_may_be_any_of_its_size(void)
{
	static const Case files[] = {
		{ 1, 7, SIZED_NEW, true },   { 2, 0, SIZED_KNOWN, false },
		{ 2, 7, SIZED_NEW, false },  { 2, 8, SIZED_SEEN, false },
		{ 2, 9, SIZED_SEEN, false }, { 3, 9, SIZED_NEW, true },
	};

	check(true, files, G_N_ELEMENTS(files));
}

static void test_by_size_heads_do_not_count(void)
{
	static const Case files[] = { { 2, 7, SIZED_NEW, false }, { 2, 7, SIZED_NEW, false } };

	check(false, files, G_N_ELEMENTS(files));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/same-sizes/nothing-comes-of-nothing", test_nothing_comes_of_nothing);
	g_test_add_func("/same-sizes/a-size-that-others-have-is-not-alone",
			test_a_size_that_others_have_is_not_alone);
	g_test_add_func("/same-sizes/a-head-that-others-have-is-not-alone",
			test_a_head_that_others_have_is_not_alone);
	g_test_add_func("/same-sizes/a-head-that-is-not-known-may-be-any-of-its-size",
			test_a_head_that_is_not_known_may_be_any_of_its_size);
	g_test_add_func("/same-sizes/by-size-heads-do-not-count", test_by_size_heads_do_not_count);

	return g_test_run();
}
