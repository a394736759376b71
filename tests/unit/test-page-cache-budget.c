/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/disks/page-cache-budget.h"

#define WINDOW (UINT64_C(16) << 20)

static bool memory_is_free;
static uint64_t seen_bytes;

static bool is_free(uint64_t kept_bytes)
{
	seen_bytes = kept_bytes;
	return memory_is_free;
}

static void test_what_was_added_is_taken_once(void)
{
	g_autoptr(PageCacheBudget) kept = page_cache_budget_new(is_free);

	memory_is_free = true;
	g_assert_true(page_cache_budget_add(kept, 7, 3, WINDOW));
	g_assert_false(page_cache_budget_take(kept, 7, 4));
	g_assert_false(page_cache_budget_take(kept, 3, 7));
	g_assert_true(page_cache_budget_take(kept, 7, 3));
	g_assert_false(page_cache_budget_take(kept, 7, 3));
}

static void test_without_free_memory_nothing_is_kept(void)
{
	g_autoptr(PageCacheBudget) kept = page_cache_budget_new(is_free);

	memory_is_free = false;
	g_assert_false(page_cache_budget_add(kept, 1, 0, WINDOW));
	g_assert_false(page_cache_budget_take(kept, 1, 0));
}

static void test_keeping_ends_soon_after_the_memory_is_full(void)
{
	g_autoptr(PageCacheBudget) kept = page_cache_budget_new(is_free);
	uint32_t n_kept = 0;

	memory_is_free = true;
	g_assert_true(page_cache_budget_add(kept, 1, 0, WINDOW));
	memory_is_free = false;
	while (page_cache_budget_add(kept, 1, n_kept + 1, WINDOW))
		g_assert_cmpuint(++n_kept, <, 4);

	memory_is_free = true;
	for (n_kept = 0; !page_cache_budget_add(kept, 2, 0, WINDOW); n_kept++)
		g_assert_cmpuint(n_kept, <, 4);
}

static void test_what_is_kept_is_counted_in_bytes(void)
{
	g_autoptr(PageCacheBudget) kept = page_cache_budget_new(is_free);
	g_autoptr(GArray) all = NULL;

	memory_is_free = true;
	for (uint32_t i = 0; i < 8; i++)
		g_assert_true(page_cache_budget_add(kept, i, 0, WINDOW));
	g_assert_true(page_cache_budget_add(kept, 0, 0, WINDOW));
	g_assert_cmpuint(seen_bytes, ==, 8 * WINDOW);
	g_assert_true(page_cache_budget_take(kept, 5, 0));
	for (unsigned i = 0; i < 4; i++)
		page_cache_budget_may_keep(kept);
	g_assert_cmpuint(seen_bytes, ==, 7 * WINDOW);

	all = page_cache_budget_take_all(kept);
	for (unsigned i = 0; i < 4; i++)
		page_cache_budget_may_keep(kept);
	g_assert_cmpuint(seen_bytes, ==, 0);
}

/* A look at the memory costs more than reading a small file. */
static void test_small_files_are_kept_without_a_look_for_each(void)
{
	g_autoptr(PageCacheBudget) kept = page_cache_budget_new(is_free);

	memory_is_free = true;
	g_assert_true(page_cache_budget_add(kept, 0, 0, 4096));
	memory_is_free = false;
	for (uint32_t i = 1; i < 1000; i++)
		g_assert_true(page_cache_budget_add(kept, i, 0, 4096));
}

static void test_everything_comes_back_in_order(void)
{
	static const KeptWindow windows[] = { { 9, 1 }, { 2, 5 }, { 9, 0 }, { 2, 1 << 20 } };
	static const KeptWindow sorted[] = { { 2, 5 }, { 2, 1 << 20 }, { 9, 0 }, { 9, 1 } };
	g_autoptr(PageCacheBudget) kept = page_cache_budget_new(is_free);
	g_autoptr(GArray) all = NULL;
	g_autoptr(GArray) none = NULL;

	memory_is_free = true;
	for (size_t i = 0; i < G_N_ELEMENTS(windows); i++)
		g_assert_true(
			page_cache_budget_add(kept, windows[i].object, windows[i].window, WINDOW));
	all = page_cache_budget_take_all(kept);
	g_assert_cmpmem(all->data, all->len * sizeof(KeptWindow), sorted, sizeof(sorted));
	none = page_cache_budget_take_all(kept);
	g_assert_cmpuint(none->len, ==, 0);
}

static void test_there_is_a_limit_to_what_is_noted(void)
{
	g_autoptr(PageCacheBudget) kept = page_cache_budget_new(is_free);
	uint32_t n = 0;

	memory_is_free = true;
	while (page_cache_budget_add(kept, n, n, WINDOW))
		n++;
	g_assert_cmpuint(n, ==, 1 << 18);
	g_assert_true(page_cache_budget_take(kept, 0, 0));
	g_assert_true(page_cache_budget_add(kept, n, n, WINDOW));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/kept-pages/what-was-added-is-taken-once",
			test_what_was_added_is_taken_once);
	g_test_add_func("/kept-pages/without-free-memory-nothing-is-kept",
			test_without_free_memory_nothing_is_kept);
	g_test_add_func("/kept-pages/keeping-ends-soon-after-the-memory-is-full",
			test_keeping_ends_soon_after_the_memory_is_full);
	g_test_add_func("/kept-pages/what-is-kept-is-counted-in-bytes",
			test_what_is_kept_is_counted_in_bytes);
	g_test_add_func("/kept-pages/small-files-are-kept-without-a-look-for-each",
			test_small_files_are_kept_without_a_look_for_each);
	g_test_add_func("/kept-pages/everything-comes-back-in-order",
			test_everything_comes_back_in_order);
	g_test_add_func("/kept-pages/there-is-a-limit-to-what-is-noted",
			test_there_is_a_limit_to_what_is_noted);

	return g_test_run();
}
