/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/plan/extent-tails.h"

#define BLOCK UINT32_C(4096)

/* A reference that shows an extent from @position on; its file has @in_file bytes from there. */
static ExtentRef place(uint64_t position, uint64_t length, uint64_t in_file)
{
	return (ExtentRef){ .root = 5,
			    .inode = 257,
			    .offset = 10 * BLOCK,
			    .position = position,
			    .length = length,
			    .size_bytes = 10 * BLOCK + in_file };
}

static GArray *tails_of(const ExtentRef *refs, size_t n_refs)
{
	GArray *tails = g_array_new(false, false, sizeof(ExtentTail));

	extent_tails_find(refs, n_refs, BLOCK, tails);
	return tails;
}

static void test_a_file_of_whole_blocks_has_no_tail(void)
{
	const ExtentRef refs[] = { place(0, 4 * BLOCK, 4 * BLOCK), place(0, 4 * BLOCK, 9 * BLOCK) };
	g_autoptr(GArray) tails = tails_of(refs, G_N_ELEMENTS(refs));

	g_assert_cmpuint(tails->len, ==, 0);
	g_assert_false(extent_tails_end_in(tails, 3));
}

static void test_files_of_one_length_have_one_tail(void)
{
	const ExtentRef refs[] = { place(0, 4 * BLOCK, 3 * BLOCK + 7),
				   place(0, 4 * BLOCK, 3 * BLOCK + 7) };
	g_autoptr(GArray) tails = tails_of(refs, G_N_ELEMENTS(refs));
	const ExtentTail *tail = &g_array_index(tails, ExtentTail, 0);

	g_assert_cmpuint(tails->len, ==, 1);
	g_assert_cmpuint(tail->block, ==, 3);
	g_assert_cmpuint(tail->bytes, ==, 7);
	g_assert_true(tail->is_everywhere);
	g_assert_true(extent_tails_end_in(tails, 3));
	g_assert_false(extent_tails_end_in(tails, 2));
}

static void test_a_block_that_one_file_goes_on_behind_is_no_tail_everywhere(void)
{
	const ExtentRef refs[] = { place(0, 4 * BLOCK, 3 * BLOCK + 7),
				   place(BLOCK, 3 * BLOCK, 8 * BLOCK) };
	g_autoptr(GArray) tails = tails_of(refs, G_N_ELEMENTS(refs));

	g_assert_cmpuint(tails->len, ==, 1);
	g_assert_false(extent_tails_end_in(tails, 3));
}

static void test_a_place_that_does_not_show_the_block_says_nothing_of_it(void)
{
	const ExtentRef refs[] = { place(0, 2 * BLOCK, 9 * BLOCK),
				   place(2 * BLOCK, 2 * BLOCK, BLOCK + 9) };
	g_autoptr(GArray) tails = tails_of(refs, G_N_ELEMENTS(refs));

	g_assert_cmpuint(tails->len, ==, 1);
	g_assert_true(extent_tails_end_in(tails, 3));
}

static void test_files_may_end_at_several_bytes_of_a_block(void)
{
	const ExtentRef refs[] = { place(0, 4 * BLOCK, 3 * BLOCK + 7),
				   place(0, 4 * BLOCK, 3 * BLOCK + 8),
				   place(0, 4 * BLOCK, 2 * BLOCK + 8) };
	g_autoptr(GArray) tails = tails_of(refs, G_N_ELEMENTS(refs));

	g_assert_cmpuint(tails->len, ==, 3);
	g_assert_true(extent_tails_end_in(tails, 3));
	g_assert_false(extent_tails_end_in(tails, 2));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/extent-tails/whole-blocks", test_a_file_of_whole_blocks_has_no_tail);
	g_test_add_func("/extent-tails/one-length", test_files_of_one_length_have_one_tail);
	g_test_add_func("/extent-tails/goes-on",
			test_a_block_that_one_file_goes_on_behind_is_no_tail_everywhere);
	g_test_add_func("/extent-tails/not-shown",
			test_a_place_that_does_not_show_the_block_says_nothing_of_it);
	g_test_add_func("/extent-tails/several", test_files_may_end_at_several_bytes_of_a_block);
	return g_test_run();
}
