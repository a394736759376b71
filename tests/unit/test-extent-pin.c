/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/pinned/extent-pin.h"

#include "tests/unit/fake-cover.h"

#define BLOCK  FAKE_COVER_BLOCK_BYTES
#define BLOCKS UINT64_C(100)

/* A reference that shows blocks [@first, @end). */
static ExtentRef place(uint64_t inode, uint64_t first, uint64_t end)
{
	return (ExtentRef){
		.root = 5,
		.inode = inode,
		.position = first * BLOCK,
		.length = (end - first) * BLOCK,
	};
}

static void test_the_place_that_shows_most_is_named(void)
{
	g_autoptr(FakeCover) fake = fake_cover_new(BLOCKS);
	const ExtentRef places[] = { place(1, 0, 50), place(2, 10, 80), place(3, 60, 90) };
	ExtentPin pin;

	fake_cover_add(fake, 0, 30);
	fake_cover_add(fake, 40, 70);
	pin = extent_pin_uncovered(places, 3, fake->cover, BLOCK, SKIP_PINNED);
	g_assert_cmpint(pin.cause, ==, PIN_UNCOVERED);
	g_assert_cmpuint(pin.place.inode, ==, 2);
	g_assert_cmpuint(pin.uncovered_bytes, ==, 20 * BLOCK);
	g_assert_cmpuint(pin.places, ==, 3);
}

static void test_what_no_file_shows_does_not_count(void)
{
	g_autoptr(FakeCover) fake = fake_cover_new(BLOCKS);
	const ExtentRef places[] = { place(1, 20, 40), place(2, 0, 10) };
	ExtentPin pin;

	fake_cover_add(fake, 20, 39);
	fake_cover_add(fake, 0, 10);
	pin = extent_pin_uncovered(places, 2, fake->cover, BLOCK, SKIP_PINNED);
	g_assert_cmpuint(pin.place.inode, ==, 1);
	g_assert_cmpuint(pin.uncovered_bytes, ==, BLOCK);
}

static void test_of_equal_places_the_first_is_named(void)
{
	g_autoptr(FakeCover) fake = fake_cover_new(BLOCKS);
	const ExtentRef places[] = { place(7, 0, 10), place(8, 20, 30) };
	ExtentPin pin = extent_pin_uncovered(places, 2, fake->cover, BLOCK, SKIP_PINNED);

	g_assert_cmpuint(pin.place.inode, ==, 7);
}

static void test_without_a_cover_all_is_uncovered(void)
{
	const ExtentRef places[] = { place(1, 0, 10), place(2, 0, 60) };
	ExtentPin pin = extent_pin_uncovered(places, 2, NULL, BLOCK, SKIP_NEEDS_READING);

	g_assert_cmpint(pin.cause, ==, PIN_NEEDS_READING);
	g_assert_cmpuint(pin.place.inode, ==, 2);
	g_assert_cmpuint(pin.uncovered_bytes, ==, 60 * BLOCK);
}

static void test_a_file_that_is_deleted_is_told_from_others(void)
{
	g_autoptr(FakeCover) fake = fake_cover_new(BLOCKS);
	ExtentRef places[] = { place(1, 0, 10), place(2, 0, 60) };

	places[0].is_deleted = true;
	g_assert_cmpint(extent_pin_uncovered(places, 2, fake->cover, BLOCK, SKIP_PINNED).cause, ==,
			PIN_UNCOVERED);
	places[1].is_deleted = true;
	g_assert_cmpint(extent_pin_uncovered(places, 2, fake->cover, BLOCK, SKIP_PINNED).cause, ==,
			PIN_DELETED_FILE);
}

static void test_only_some_reasons_are_causes(void)
{
	static const struct {
		SkipReason reason;
		PinCause cause;
	} cases[] = {
		{ SKIP_PINNED, PIN_UNFIT_SOURCES },
		{ SKIP_READ_ONLY_SNAPSHOT, PIN_READ_ONLY_SNAPSHOT },
		{ SKIP_IMMUTABLE, PIN_IMMUTABLE },
		{ SKIP_PIECES, PIN_PIECES },
		{ SKIP_METADATA, PIN_METADATA },
		{ SKIP_LEASED, PIN_NONE },
		{ SKIP_OUTSIDE, PIN_NONE },
		{ SKIP_OWN_STATE, PIN_NONE },
	};
	const ExtentRef kept = place(9, 0, 10);

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		ExtentPin pin = extent_pin_kept(&kept, 4, cases[i].reason);

		g_assert_cmpint(pin.cause, ==, cases[i].cause);
		g_assert_cmpuint(pin.place.inode, ==, 9);
		g_assert_cmpuint(pin.places, ==, 4);
		g_assert_cmpuint(pin.uncovered_bytes, ==, 0);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/extent-pin/the-place-that-shows-most-is-named",
			test_the_place_that_shows_most_is_named);
	g_test_add_func("/extent-pin/what-no-file-shows-does-not-count",
			test_what_no_file_shows_does_not_count);
	g_test_add_func("/extent-pin/of-equal-places-the-first-is-named",
			test_of_equal_places_the_first_is_named);
	g_test_add_func("/extent-pin/without-a-cover-all-is-uncovered",
			test_without_a_cover_all_is_uncovered);
	g_test_add_func("/extent-pin/a-file-that-is-deleted-is-told-from-others",
			test_a_file_that_is_deleted_is_told_from_others);
	g_test_add_func("/extent-pin/only-some-reasons-are-causes",
			test_only_some_reasons_are_causes);

	return g_test_run();
}
