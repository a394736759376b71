/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/inventory/file-prefixes.h"

static void test_the_head_of_a_small_file_is_all_of_it(void)
{
	static const struct {
		uint64_t size_bytes;
		uint32_t block_bytes;
		bool is_whole;
		uint64_t head_bytes;
	} cases[] = {
		{ 0, 4096, true, 0 },
		{ 1, 4096, true, 1 },
		{ 16384, 4096, true, 16384 },
		{ 16385, 4096, false, 4096 },
		{ UINT64_MAX, 4096, false, 4096 },
		/* Blocks of XFS may be smaller than 4 KiB, or larger. */
		{ 16384, 1024, true, 16384 },
		{ 16385, 1024, false, 4096 },
		{ 16385, 8192, false, 8192 },
		{ 16385, 65536, true, 16385 },
		{ 65536, 65536, true, 65536 },
		{ 65537, 65536, false, 65536 },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_assert_cmpint(file_head_is_whole(cases[i].size_bytes, cases[i].block_bytes), ==,
				cases[i].is_whole);
		g_assert_cmpuint(file_head_bytes(cases[i].size_bytes, cases[i].block_bytes), ==,
				 cases[i].head_bytes);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/file-prefixes/the-head-of-a-small-file-is-all-of-it",
			test_the_head_of_a_small_file_is_all_of_it);
	return g_test_run();
}
