/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/export/object-index.h"
#include "cli/export/object-line.h"

#include "common/files/skip.h"
#include "hashstore/anchors/anchor.h"

#define GONE_REASON 22 /* what stores may know, and no pass gives any more */

static void test_what_is_half_read_is_not_exported(void)
{
	static const struct {
		ObjectState state;
		uint32_t reason;
		bool is_taken;
	} rows[] = {
		{ OBJECT_DONE, 0, true },
		{ OBJECT_SEEN, 0, true },
		{ OBJECT_HALF, 0, false },
		{ OBJECT_SKIPPED, SKIP_SWAP_FILE, true },
		{ OBJECT_SKIPPED, GONE_REASON, false },
		{ OBJECT_SKIPPED, SKIP_REASONS, false },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		const Object object = { .state = rows[i].state, .skip_reason = rows[i].reason };

		g_assert_cmpint(object_line_takes(&object), ==, rows[i].is_taken);
	}
}

/* Everything set, each kind of object comes back as it was. */
static void test_nothing_is_lost_on_the_way(void)
{
	static const uint64_t subvolumes[] = { OBJECT_EXTENTS, OBJECT_STRETCHES, 256 };

	for (size_t i = 0; i < G_N_ELEMENTS(subvolumes); i++) {
		const bool is_file = subvolumes[i] == 256;
		const Object object = {
			.id = 17,
			.subvolume = subvolumes[i],
			.inode = INT64_MAX,
			.generation = UINT32_MAX,
			.size_bytes = is_file ? INT64_MAX : OBJECT_EXTENT_BYTES_MAX,
			.btime_nsec = is_file ? INT64_MIN : subvolumes[i] == OBJECT_EXTENTS,
			.mtime_nsec = is_file ? -1 : INT64_MAX,
			.ctime_nsec = INT64_MAX,
			.state = OBJECT_DONE,
			.flags = OBJECT_RACY | OBJECT_KEEP_ZEROS | OBJECT_HAS_HEAD,
			.doubted_day = 3,
			.digest = UINT64_MAX,
			.head = 0,
			.changes = 4,
			.changed_sec = 5,
			.parent = INT64_MAX,
			.name = (const uint8_t *)(is_file ? "\xff\n\\" : ""),
			.name_bytes = is_file ? 3 : 0,
		};
		g_autoptr(json_t) line = object_line_write(&object, true, NULL);
		g_autoptr(GByteArray) name = g_byte_array_new();
		GError *error = NULL;
		Object again;

		g_assert_true(object_line_read(line, true, name, &again, &error));
		g_assert_no_error(error);
		g_assert_cmpmem(again.name, again.name_bytes, object.name, object.name_bytes);
		g_autoptr(json_t) again_line = object_line_write(&again, true, NULL);
		g_assert_true(json_equal(line, again_line));
		g_assert_cmpint(again.btime_nsec, ==, object.btime_nsec);
		g_assert_cmpint(again.mtime_nsec, ==, object.mtime_nsec);
		g_assert_cmpint(again.ctime_nsec, ==, object.ctime_nsec);
		g_assert_cmpuint(again.subvolume, ==, object.subvolume);
		g_assert_cmpuint(again.inode, ==, object.inode);
		g_assert_cmpuint(again.parent, ==, object.parent);
		g_assert_cmpuint(again.flags, ==, object.flags);
		g_assert_cmpuint(again.digest, ==, object.digest);
	}
}

static void test_an_extent_that_no_btrfs_has_is_refused(void)
{
	static const uint64_t subvolumes[] = { OBJECT_EXTENTS, OBJECT_STRETCHES };

	for (size_t i = 0; i < G_N_ELEMENTS(subvolumes); i++) {
		const Object object = {
			.id = 17,
			.subvolume = subvolumes[i],
			.inode = 4096,
			.size_bytes = OBJECT_EXTENT_BYTES_MAX + 1,
			.state = OBJECT_SEEN,
		};
		g_autoptr(json_t) line = object_line_write(&object, true, NULL);
		g_autoptr(GByteArray) name = g_byte_array_new();
		g_autoptr(GError) error = NULL;
		Object again;

		g_assert_false(object_line_read(line, true, name, &again, &error));
		g_assert_cmpstr(error->message, ==,
				"\"size_bytes\" is not what an extent can have");
	}
}

static void test_a_block_is_found_where_an_object_has_it(void)
{
	g_autoptr(ObjectIndex) index = object_index_new(4096);
	uint32_t number = 0;

	g_assert_false(object_index_find(index, 1, 0, &number));
	object_index_add(index, 900, 8193, 1);
	object_index_add(index, 7, 0, 2);
	g_assert_cmpuint(object_index_sort(index), ==, 0);

	g_assert_true(object_index_find(index, 900, 2, &number));
	g_assert_cmpuint(number, ==, 1);
	g_assert_false(object_index_find(index, 900, 3, &number));
	g_assert_false(object_index_find(index, 7, 0, &number));
	g_assert_true(object_index_find(index, 7, ANCHOR_WHOLE_BLOCK, &number));
	g_assert_cmpuint(number, ==, 2);
	g_assert_false(object_index_find(index, 8, ANCHOR_WHOLE_BLOCK, &number));

	object_index_add(index, 900, 1, 3);
	g_assert_cmpuint(object_index_sort(index), ==, 900);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/object-line/what-is-half-read-is-not-exported",
			test_what_is_half_read_is_not_exported);
	g_test_add_func("/object-line/nothing-is-lost-on-the-way", test_nothing_is_lost_on_the_way);
	g_test_add_func("/object-line/an-extent-that-no-btrfs-has-is-refused",
			test_an_extent_that_no_btrfs_has_is_refused);
	g_test_add_func("/object-line/a-block-is-found-where-an-object-has-it",
			test_a_block_is_found_where_an_object_has_it);

	return g_test_run();
}
