/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/context/known-file.h"

#include "common/files/skip.h"

#define TODAY UINT32_C(20000)

static const Stamp seen = { 4096, 1, 2, 3 };

/* A row with the stamp above. */
static Object known(ObjectState state, unsigned flags)
{
	return (Object){ .id = 7,
			 .size_bytes = 4096,
			 .btime_nsec = 1,
			 .mtime_nsec = 2,
			 .ctime_nsec = 3,
			 .state = state,
			 .flags = flags };
}

static void assert_verdict(const Object *row, NoCowPolicy no_data_cow, StampVerdict expected)
{
	Settings settings = { .no_data_cow = no_data_cow };

	g_assert_cmpint(known_file_compare(row, &seen, &settings, TODAY), ==, expected);
}

static void test_what_has_its_stamp_still_holds(void)
{
	Object done = known(OBJECT_DONE, OBJECT_SHARED);
	Object half = known(OBJECT_HALF, 0);

	assert_verdict(&done, NO_COW_SKIP, STAMP_SAME);
	assert_verdict(&half, NO_COW_SHARE, STAMP_SAME);
}

static void test_what_was_too_young_is_read_again(void)
{
	Object racy = known(OBJECT_DONE, OBJECT_RACY);

	assert_verdict(&racy, NO_COW_SKIP, STAMP_CHANGED);
}

static void test_only_what_was_read_to_its_end_may_be_doubted(void)
{
	Object done = known(OBJECT_DONE, 0);
	Object half = known(OBJECT_HALF, 0);

	done.ctime_nsec = half.ctime_nsec = 4;
	assert_verdict(&done, NO_COW_SKIP, STAMP_DOUBTED);
	assert_verdict(&half, NO_COW_SKIP, STAMP_CHANGED);
}

static void test_what_was_not_read_is_doubted_like_what_was(void)
{
	Object alone = known(OBJECT_SEEN, OBJECT_HAS_HEAD);
	Settings settings = { .read = READ_POLICY_SAME_SIZE };

	alone.ctime_nsec = 4;
	g_assert_cmpint(known_file_compare(&alone, &seen, &settings, TODAY), ==, STAMP_DOUBTED);
}

static void test_when_all_is_to_be_read_the_rest_is_too(void)
{
	Object alone = known(OBJECT_SEEN, 0);
	Object whole = known(OBJECT_DONE, OBJECT_WHOLE);
	Object all = known(OBJECT_DONE, 0);
	Object *rows[] = { &alone, &whole, &all };

	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		Settings settings = { .read = READ_POLICY_SAME_SIZE };

		g_assert_cmpint(known_file_compare(rows[i], &seen, &settings, TODAY), ==,
				STAMP_SAME);
		settings.read = READ_POLICY_ALL;
		g_assert_cmpint(known_file_compare(rows[i], &seen, &settings, TODAY), ==,
				rows[i] == &all ? STAMP_SAME : STAMP_CHANGED);
	}
}

static void test_a_doubt_of_long_ago_is_settled_by_reading(void)
{
	Object doubted = known(OBJECT_DONE, 0);

	doubted.doubted_day = TODAY - 1;
	assert_verdict(&doubted, NO_COW_SKIP, STAMP_SAME);
	doubted.doubted_day = TODAY - 40;
	assert_verdict(&doubted, NO_COW_SKIP, STAMP_CHANGED);
}

static void test_what_another_policy_made_of_it_does_not_hold(void)
{
	Object shared = known(OBJECT_DONE, OBJECT_NO_COW);
	Object left = known(OBJECT_SKIPPED, 0);
	Object inside = known(OBJECT_SKIPPED, 0);

	left.skip_reason = SKIP_NO_COW;
	inside.skip_reason = SKIP_INLINE;
	assert_verdict(&shared, NO_COW_SHARE, STAMP_SAME);
	assert_verdict(&shared, NO_COW_SKIP, STAMP_CHANGED);
	assert_verdict(&left, NO_COW_SKIP, STAMP_SAME);
	assert_verdict(&left, NO_COW_SHARE, STAMP_CHANGED);
	assert_verdict(&inside, NO_COW_SHARE, STAMP_SAME);
}

/* A newer version may have stored it, and this pass has no counter for it. */
static void test_a_reason_that_is_not_known_does_not_hold(void)
{
	Object left = known(OBJECT_SKIPPED, 0);

	left.skip_reason = SKIP_SWAP_FILE;
	assert_verdict(&left, NO_COW_SKIP, STAMP_SAME);
	left.skip_reason = SKIP_REASONS;
	assert_verdict(&left, NO_COW_SKIP, STAMP_CHANGED);
	left.skip_reason = UINT32_MAX;
	assert_verdict(&left, NO_COW_SHARE, STAMP_CHANGED);
}

static void test_another_generation_is_another_file(void)
{
	Object row = known(OBJECT_DONE, 0);

	row.generation = 5;
	g_assert_true(known_file_is_other(&row, 6));
	g_assert_false(known_file_is_other(&row, 5));
}

static void test_a_generation_that_is_not_known_tells_nothing(void)
{
	Object row = known(OBJECT_DONE, 0);

	g_assert_false(known_file_is_other(&row, 6));
	row.generation = 5;
	g_assert_false(known_file_is_other(&row, 0));
}

static void test_what_always_changes_waits(void)
{
	const uint64_t then = 1700000000;
	Object often = known(OBJECT_DONE, 0);
	Object left = known(OBJECT_SKIPPED, 0);
	Settings settings = { .changing = CHANGING_WAIT };
	Stamp changed = seen, other;

	often.changes = 3;
	often.changed_sec = then;
	changed.mtime_nsec = changed.ctime_nsec = 10;
	g_assert_true(known_file_waits(&often, &changed, &settings, then + 60));
	g_assert_false(known_file_waits(&often, &changed, &settings, then + 3600));
	g_assert_cmpuint(known_file_changes(&often, &changed), ==, 4);
	g_assert_false(known_file_has_settled(&often, then + 60));
	g_assert_true(known_file_has_settled(&often, then + 3600));

	/* It must be read for another reason. */
	g_assert_false(known_file_waits(&often, &seen, &settings, then + 60));
	g_assert_cmpuint(known_file_changes(&often, &seen), ==, 3);

	other = changed;
	other.btime_nsec = 9;
	g_assert_false(known_file_waits(&often, &other, &settings, then + 60));
	g_assert_cmpuint(known_file_changes(&often, &other), ==, 0);

	settings.changing = CHANGING_READ;
	g_assert_false(known_file_waits(&often, &changed, &settings, then + 60));

	/* Nothing is known of the contents of a skipped file. */
	left.skip_reason = SKIP_CHANGES_OFTEN;
	assert_verdict(&left, NO_COW_SKIP, STAMP_CHANGED);
	left.skip_reason = SKIP_UNREADABLE;
	assert_verdict(&left, NO_COW_SKIP, STAMP_SAME);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/known-file/what-has-its-stamp-still-holds",
			test_what_has_its_stamp_still_holds);
	g_test_add_func("/known-file/what-always-changes-waits", test_what_always_changes_waits);
	g_test_add_func("/known-file/what-was-too-young-is-read-again",
			test_what_was_too_young_is_read_again);
	g_test_add_func("/known-file/only-what-was-read-to-its-end-may-be-doubted",
			test_only_what_was_read_to_its_end_may_be_doubted);
	g_test_add_func("/known-file/what-was-not-read-is-doubted-like-what-was",
			test_what_was_not_read_is_doubted_like_what_was);
	g_test_add_func("/known-file/when-all-is-to-be-read-the-rest-is-too",
			test_when_all_is_to_be_read_the_rest_is_too);
	g_test_add_func("/known-file/a-doubt-of-long-ago-is-settled-by-reading",
			test_a_doubt_of_long_ago_is_settled_by_reading);
	g_test_add_func("/known-file/what-another-policy-made-of-it-does-not-hold",
			test_what_another_policy_made_of_it_does_not_hold);
	g_test_add_func("/known-file/a-reason-that-is-not-known-does-not-hold",
			test_a_reason_that_is_not_known_does_not_hold);
	g_test_add_func("/known-file/another-generation-is-another-file",
			test_another_generation_is_another_file);
	g_test_add_func("/known-file/a-generation-that-is-not-known-tells-nothing",
			test_a_generation_that_is_not_known_tells_nothing);

	return g_test_run();
}
