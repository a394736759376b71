/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/plan/extent-sources.h"

#include <glib.h>

#define KIB UINT64_C(1024)

static void test_a_place_in_a_file_follows_from_its_reference(void)
{
	static const struct {
		uint64_t place_offset, place_position, position;
		bool is_beside, is_source;
		uint64_t offset;
	} cases[] = {
		/* The reference begins in the middle of the extent, and its file has data before it. */
		{ 100 * KIB, 60 * KIB, 60 * KIB, true, true, 100 * KIB },
		{ 100 * KIB, 60 * KIB, 64 * KIB, true, true, 104 * KIB },
		{ 100 * KIB, 60 * KIB, 20 * KIB, true, false, 60 * KIB },
		{ 100 * KIB, 60 * KIB, 76 * KIB, true, false, 116 * KIB },
		/* The extent would begin before the file. */
		{ 40 * KIB, 60 * KIB, 20 * KIB, true, false, 0 },
		{ 40 * KIB, 60 * KIB, 16 * KIB, false, false, 0 },
		{ 0, 0, 200 * KIB, true, false, 200 * KIB },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GArray) places = g_array_new(false, false, sizeof(ExtentRef));
		ExtentSource source = { .places = places };
		const ExtentRef place = {
			.root = 5,
			.inode = 300,
			.offset = cases[i].place_offset,
			.position = cases[i].place_position,
			.length = 16 * KIB,
		};
		SourceBeside beside;

		g_array_append_val(places, place);
		g_test_message("case %zu", i);
		g_assert_cmpuint(extent_source_besides(&source, cases[i].position, &beside, 1), ==,
				 cases[i].is_beside);
		if (!cases[i].is_beside)
			continue;
		g_assert_cmpuint(beside.root, ==, 5);
		g_assert_cmpuint(beside.inode, ==, 300);
		g_assert_cmpuint(beside.offset, ==, cases[i].offset);
		g_assert_true(beside.is_source == cases[i].is_source);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/extent-sources/a-place-in-a-file-follows-from-its-reference",
			test_a_place_in_a_file_follows_from_its_reference);

	return g_test_run();
}
