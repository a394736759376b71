/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/anchors/sorter.h"

#include <glib.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
	uint32_t key;
	uint32_t copy; /* of the key, to know that records stay whole */
	char rest[5];
} Record;

static int compare(const void *a, const void *b)
{
	const Record *one = a, *other = b;

	return (one->key > other->key) - (one->key < other->key);
}

static atomic_bool stop;
static unsigned n_compared;

/* Ask to stop after a while. */
static int compare_and_stop(const void *a, const void *b)
{
	if (++n_compared == 40000)
		atomic_store(&stop, true);

	return compare(a, b);
}

static int compare_keys(const void *a, const void *b)
{
	const uint32_t *one = a, *other = b;

	return (*one > *other) - (*one < *other);
}

/* The sorter must return @keys in order, and then the end. */
static void check_walk(Sorter *sorter, const uint32_t *keys, size_t n)
{
	GError *error = NULL;
	const void *next;

	for (size_t i = 0; i < n; i++) {
		Record record;

		g_assert_true(sorter_next(sorter, &next, &error));
		g_assert_no_error(error);
		g_assert_nonnull(next);
		memcpy(&record, next, sizeof(record));
		g_assert_cmpuint(record.key, ==, keys[i]);
		g_assert_cmpuint(record.copy, ==, keys[i]);
		g_assert_cmpstr(record.rest, ==, "rest");
	}
	for (int i = 0; i < 2; i++) {
		g_assert_true(sorter_next(sorter, &next, &error));
		g_assert_null(next);
	}
}

/* Sort @n random records of keys below @range; some of the walks are cut short. */
static void check_sorter(size_t n, size_t memory_bytes, uint32_t range)
{
	g_autoptr(Sorter) sorter =
		sorter_new(sizeof(Record), compare, memory_bytes, g_get_tmp_dir(), NULL);
	g_autofree uint32_t *keys = g_new(uint32_t, n + 1);
	GError *error = NULL;
	const void *next;

	for (size_t i = 0; i < n; i++) {
		Record record = { .rest = "rest" };

		keys[i] = g_random_int() % range;
		record.key = keys[i];
		record.copy = keys[i];
		g_assert_true(sorter_add(sorter, &record, &error));
		g_assert_no_error(error);
	}
	g_assert_cmpuint(sorter_count(sorter), ==, n);
	g_assert_true(sorter_sort(sorter, &error));
	g_assert_no_error(error);

	qsort(keys, n, sizeof(*keys), compare_keys);
	check_walk(sorter, keys, n);
	g_assert_true(sorter_rewind(sorter, &error));
	for (size_t i = 0; i < n / 2; i++)
		g_assert_true(sorter_next(sorter, &next, &error));
	g_assert_true(sorter_rewind(sorter, &error));
	check_walk(sorter, keys, n);
}

static void test_records_that_fit_are_sorted_in_memory(void)
{
	check_sorter(0, 1 << 20, 10);
	check_sorter(1, 1 << 20, 10);
	check_sorter(10000, 1 << 20, UINT32_MAX);
	check_sorter(10000, 1 << 20, 3);
}

static void test_records_that_do_not_fit_are_sorted_through_files(void)
{
	check_sorter(10000, 1 << 16, UINT32_MAX);
	check_sorter(10000, 1 << 16, 3);
	/* As many records as fill the buffer a whole number of times. */
	check_sorter((1 << 16) / 2 / sizeof(Record) * 4, 1 << 16, 1000);
}

static void test_any_number_of_runs_is_merged_within_the_limit(void)
{
	/* Levels: one record a buffer, and two runs at a time. */
	check_sorter(1000, 1, UINT32_MAX);
	check_sorter(1000, 8 * sizeof(Record), UINT32_MAX);
	/* Thousands of runs, 32 at a time. */
	check_sorter(100000, 80 * sizeof(Record), UINT32_MAX);
	for (size_t n = 1; n < 200; n++)
		check_sorter(n, 2 * 5 * sizeof(Record), 50);
}

static void test_merges_end_early_when_asked_to_stop(void)
{
	/* After the stop, each run is a file: fewer than a process may have open by default. */
	const size_t n_runs = 800, n_in_run = 50;
	g_autoptr(Sorter) sorter =
		sorter_new(sizeof(Record), compare_and_stop, 2 * n_in_run * sizeof(Record),
			   g_get_tmp_dir(), &stop);
	GError *error = NULL;
	const void *next;

	atomic_store(&stop, false);
	n_compared = 0;
	for (size_t i = 0; i < n_runs * n_in_run; i++) {
		const Record record = { .key = g_random_int(), .rest = "rest" };
		bool was_stopped = atomic_load(&stop);
		unsigned before = n_compared;

		g_assert_true(sorter_add(sorter, &record, &error));
		g_assert_no_error(error);
		if (was_stopped)
			g_assert_cmpuint(n_compared - before, <, n_in_run * 10);
	}
	g_assert_true(atomic_load(&stop));
	g_assert_cmpuint(sorter_count(sorter), ==, n_runs * n_in_run);

	n_compared = 0;
	g_assert_true(sorter_sort(sorter, &error));
	g_assert_true(sorter_next(sorter, &next, &error));
	g_assert_null(next);
	g_assert_true(sorter_rewind(sorter, &error));
	g_assert_true(sorter_next(sorter, &next, &error));
	g_assert_null(next);
	g_assert_cmpuint(n_compared, <, n_in_run * 10);
}

static void test_directory_that_cannot_hold_files_is_named(void)
{
	g_autoptr(Sorter) sorter =
		sorter_new(sizeof(Record), compare, 100, "/nonexistent/dir", NULL);
	g_autoptr(GError) error = NULL;
	const Record record = { .rest = "rest" };

	for (int i = 0; i < 100 && sorter_add(sorter, &record, &error); i++)
		;
	g_assert_error(error, G_FILE_ERROR, G_FILE_ERROR_NOENT);
	g_assert_nonnull(strstr(error->message, "/nonexistent/dir"));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/sorter/records-that-fit-are-sorted-in-memory",
			test_records_that_fit_are_sorted_in_memory);
	g_test_add_func("/sorter/records-that-do-not-fit-are-sorted-through-files",
			test_records_that_do_not_fit_are_sorted_through_files);
	g_test_add_func("/sorter/any-number-of-runs-is-merged-within-the-limit",
			test_any_number_of_runs_is_merged_within_the_limit);
	g_test_add_func("/sorter/merges-end-early-when-asked-to-stop",
			test_merges_end_early_when_asked_to_stop);
	g_test_add_func("/sorter/directory-that-cannot-hold-files-is-named",
			test_directory_that_cannot_hold_files_is_named);

	return g_test_run();
}
