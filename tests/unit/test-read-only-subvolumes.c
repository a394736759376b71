/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/context/read-only-subvolumes.h"

#include "tests/unit/fake-btrfs.h"

#include <errno.h>

#define READ_ONLY UINT64_C(256)
#define WRITABLE  UINT64_C(257)
#define LATER     UINT64_C(258)

static const struct btrfs_root_item read_only = { .flags = GUINT64_TO_LE(UINT64_C(1)),
						  .refs = GUINT32_TO_LE(1u) };
static const struct btrfs_root_item writable = { .refs = GUINT32_TO_LE(1u) };

#define ROOT(id, item)                                                                             \
	{                                                                                          \
		1, { id, BTRFS_ROOT_ITEM_KEY, 0 }, &item, sizeof(item), 1                          \
	}

static const FakeItem items[] = {
	ROOT(5, writable),
	ROOT(READ_ONLY, read_only),
	ROOT(WRITABLE, writable),
	ROOT(LATER, writable),
};

/* A set that read all subvolumes except LATER, which exists by now. */
static ReadOnlySubvolumes *read_all_but_one(SnapshotPolicy policy)
{
	ReadOnlySubvolumes *subvolumes = read_only_subvolumes_new(policy);
	g_autoptr(GError) error = NULL;

	*fake_btrfs() = (FakeBtrfs){ .items = items, .n_items = G_N_ELEMENTS(items) - 1 };
	g_assert_true(read_only_subvolumes_read(subvolumes, FAKE_BTRFS_FD, &error));
	g_assert_no_error(error);
	fake_btrfs()->n_items++;
	return subvolumes;
}

static void test_the_policy_says_what_a_read_only_one_may_be(void)
{
	static const struct {
		SnapshotPolicy policy;
		bool may_be_target;
		bool may_be_source;
	} cases[] = {
		{ SNAPSHOTS_AUTO, true, true },      { SNAPSHOTS_SHARE, true, true },
		{ SNAPSHOTS_WRITABLE, false, true }, { SNAPSHOTS_SOURCE, false, true },
		{ SNAPSHOTS_SKIP, false, false },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(ReadOnlySubvolumes) all = read_all_but_one(cases[i].policy);

		g_assert_cmpint(read_only_subvolumes_may_be_target(all, READ_ONLY), ==,
				cases[i].may_be_target);
		g_assert_cmpint(read_only_subvolumes_may_be_source(all, READ_ONLY), ==,
				cases[i].may_be_source);
		g_assert_true(read_only_subvolumes_may_be_target(all, WRITABLE));
		g_assert_true(read_only_subvolumes_may_be_source(all, WRITABLE));
	}
}

static void test_one_that_is_new_is_looked_up(void)
{
	g_autoptr(ReadOnlySubvolumes) all = read_all_but_one(SNAPSHOTS_SOURCE);
	unsigned n_calls = fake_btrfs()->n_calls;

	g_assert_true(read_only_subvolumes_may_be_target(all, LATER));
	g_assert_cmpuint(fake_btrfs()->n_calls, >, n_calls);

	n_calls = fake_btrfs()->n_calls;
	g_assert_true(read_only_subvolumes_may_be_target(all, LATER));
	g_assert_cmpuint(fake_btrfs()->n_calls, ==, n_calls);
}

static void test_one_that_cannot_be_looked_up_is_left_alone(void)
{
	g_autoptr(ReadOnlySubvolumes) all = read_all_but_one(SNAPSHOTS_SKIP);

	fake_btrfs()->error = EIO;
	g_assert_false(read_only_subvolumes_may_be_source(all, LATER));
	fake_btrfs()->error = 0;
	g_assert_false(read_only_subvolumes_may_be_target(all, 1000));
}

static void test_what_was_never_looked_at_may_be_both(void)
{
	g_autoptr(ReadOnlySubvolumes) none = read_only_subvolumes_new(SNAPSHOTS_SKIP);

	g_assert_true(read_only_subvolumes_may_be_target(none, READ_ONLY));
	g_assert_true(read_only_subvolumes_may_be_source(none, READ_ONLY));
}

static void test_where_all_are_alike_nothing_is_asked(void)
{
	g_autoptr(ReadOnlySubvolumes) all = read_all_but_one(SNAPSHOTS_SHARE);
	g_autoptr(GError) error = NULL;

	g_assert_true(read_only_subvolumes_meet(all, READ_ONLY, FAKE_BTRFS_FD, &error));
	g_assert_true(read_only_subvolumes_may_be_target(all, READ_ONLY));
	g_assert_cmpuint(fake_btrfs()->n_calls, ==, 0);
}

static void test_who_chooses_among_places_is_told_which_are_read_only(void)
{
	g_autoptr(ReadOnlySubvolumes) all = read_all_but_one(SNAPSHOTS_AUTO);
	g_autoptr(ReadOnlySubvolumes) alike = read_all_but_one(SNAPSHOTS_SHARE);

	g_assert_true(read_only_subvolumes_has(all, READ_ONLY));
	g_assert_false(read_only_subvolumes_has(all, WRITABLE));
	g_assert_false(read_only_subvolumes_has(alike, READ_ONLY));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func(
		"/read-only-subvolumes/who-chooses-among-places-is-told-which-are-read-only",
		test_who_chooses_among_places_is_told_which_are_read_only);
	g_test_add_func("/read-only-subvolumes/the-policy-says-what-a-read-only-one-may-be",
			test_the_policy_says_what_a_read_only_one_may_be);
	g_test_add_func("/read-only-subvolumes/one-that-is-new-is-looked-up",
			test_one_that_is_new_is_looked_up);
	g_test_add_func("/read-only-subvolumes/one-that-cannot-be-looked-up-is-left-alone",
			test_one_that_cannot_be_looked_up_is_left_alone);
	g_test_add_func("/read-only-subvolumes/what-was-never-looked-at-may-be-both",
			test_what_was_never_looked_at_may_be_both);
	g_test_add_func("/read-only-subvolumes/where-all-are-alike-nothing-is-asked",
			test_where_all_are_alike_nothing_is_asked);

	return g_test_run();
}
