/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/share/full-alloc-groups.h"

#include "tests/unit/window-fixture.h"

#include <errno.h>
#include <string.h>

/* 'a' to 'g' lie in one group, 'h' to 't' in the next one, and 'u' to 'z' in a third one. */
#define GROUP_BLOCKS 13

static const Filesystem xfs = { .identity.kind = FS_KIND_XFS };
static const Picture target = { "123456", "abcdef", 0 };

/* Two equal files, of which the source has these places; NULL: a hole. */
static void draw(WindowFixture *fixture, const char *source_places)
{
	const Picture source = { target.content, source_places, 0 };
	const Picture zeros = { "000000", target.places, 0 };

	window_fixture_draw(fixture, source_places ? &target : &zeros,
			    source_places ? &source : NULL);
	window_fixture_map(fixture, 0, 0, strlen(target.content));
}

/* Have the groups leave blocks, so that these states remain. */
static void assert_left(WindowFixture *fixture, const FullAllocGroups *groups, const char *expected)
{
	uint64_t n_left = 0;

	for (const char *state = expected; *state; state++)
		n_left += *state == '-';
	g_assert_cmpuint(full_alloc_groups_leave(groups, fixture->window), ==,
			 n_left * FIXTURE_BLOCK);
	window_fixture_assert_states(fixture, expected);
}

static void test_blocks_of_a_full_group_are_no_sources(WindowFixture *fixture, const void *data)
{
	g_autoptr(FullAllocGroups) groups = NULL;

	window_fixture_pose_as_xfs(GROUP_BLOCKS, 0);
	groups = full_alloc_groups_new(&xfs);
	draw(fixture, "htuvij");
	assert_left(fixture, groups, "cccccc");
	g_assert_true(full_alloc_groups_add(groups, fixture->window, 0, 6, ENOSPC));
	assert_left(fixture, groups, "--cc--");

	/* Also blocks that were compared, but none that is different. */
	draw(fixture, "wxhijk");
	fixture->window->states[3] = BLOCK_EQUAL;
	fixture->window->states[4] = BLOCK_DIFFERENT;
	g_assert_cmpuint(full_alloc_groups_leave(groups, fixture->window), ==, 3 * FIXTURE_BLOCK);
	window_fixture_assert_states(fixture, "cc--x-");

	/* A hole lies in no group. */
	draw(fixture, NULL);
	assert_left(fixture, groups, "cccccc");
	g_assert_false(full_alloc_groups_add(groups, fixture->window, 0, 6, ENOSPC));
}

static void test_the_first_block_that_is_not_shared_names_the_group(WindowFixture *fixture,
								    const void *data)
{
	g_autoptr(FullAllocGroups) groups = NULL;

	window_fixture_pose_as_xfs(GROUP_BLOCKS, 0);
	groups = full_alloc_groups_new(&xfs);
	draw(fixture, "hiuvjk");
	window_fixture_move(fixture->target, "hicdef");
	g_assert_false(full_alloc_groups_add(groups, fixture->window, 0, 2, ENOSPC));
	g_assert_true(full_alloc_groups_add(groups, fixture->window, 0, 6, ENOSPC));
	draw(fixture, "hiuvjk");
	assert_left(fixture, groups, "cc--cc");

	/* Of the blocks that were to be shared. */
	g_assert_true(full_alloc_groups_add(groups, fixture->window, 4, 6, ENOSPC));
	draw(fixture, "hiuvjk");
	assert_left(fixture, groups, "------");
}

/* What is shared already stays a source. */
static void test_shared_blocks_are_left_alone(WindowFixture *fixture, const void *data)
{
	g_autoptr(FullAllocGroups) groups = NULL;

	window_fixture_pose_as_xfs(GROUP_BLOCKS, 0);
	groups = full_alloc_groups_new(&xfs);
	draw(fixture, "hijklm");
	g_assert_true(full_alloc_groups_add(groups, fixture->window, 0, 6, ENOSPC));
	window_fixture_move(fixture->target, "hbcklf");
	g_assert_true(dedupe_window_map_again(fixture->window, NULL));
	g_assert_cmpuint(full_alloc_groups_leave(groups, fixture->window), ==, 3 * FIXTURE_BLOCK);
	window_fixture_assert_states(fixture, "c--cc-");
}

static void test_a_group_is_full_for_one_project(WindowFixture *fixture, const void *data)
{
	g_autoptr(FullAllocGroups) groups = NULL;

	window_fixture_pose_as_xfs(GROUP_BLOCKS, 7);
	groups = full_alloc_groups_new(&xfs);
	draw(fixture, "hijklm");
	g_assert_true(full_alloc_groups_add(groups, fixture->window, 0, 6, ENOSPC));
	window_fixture_pose_as_xfs(GROUP_BLOCKS, 8);
	assert_left(fixture, groups, "cccccc");
	window_fixture_pose_as_xfs(GROUP_BLOCKS, 7);
	assert_left(fixture, groups, "------");
}

static void test_an_owner_whose_quota_is_used_up_gets_nothing(WindowFixture *fixture,
							      const void *data)
{
	g_autoptr(FullAllocGroups) groups = NULL;

	window_fixture_pose_as_xfs(GROUP_BLOCKS, 7);
	groups = full_alloc_groups_new(&xfs);
	draw(fixture, "hijklm");
	g_assert_true(full_alloc_groups_add(groups, fixture->window, 0, 6, EDQUOT));
	draw(fixture, "uvwxyz");
	assert_left(fixture, groups, "------");
	draw(fixture, NULL);
	assert_left(fixture, groups, "------");

	window_fixture_pose_as_xfs(GROUP_BLOCKS, 8);
	draw(fixture, "hijklm");
	assert_left(fixture, groups, "cccccc");
}

static void test_other_errors_and_filesystems_say_nothing(WindowFixture *fixture, const void *data)
{
	static const Filesystem btrfs = { .identity.kind = FS_KIND_BTRFS };
	g_autoptr(FullAllocGroups) of_xfs = NULL;
	g_autoptr(FullAllocGroups) of_btrfs = NULL;
	/* The geometry cannot be read. */
	g_autoptr(FullAllocGroups) unknown = full_alloc_groups_new(&xfs);

	window_fixture_pose_as_xfs(GROUP_BLOCKS, 0);
	of_xfs = full_alloc_groups_new(&xfs);
	of_btrfs = full_alloc_groups_new(&btrfs);
	draw(fixture, "hijklm");
	g_assert_false(full_alloc_groups_add(of_xfs, fixture->window, 0, 6, EIO));
	g_assert_false(full_alloc_groups_add(of_btrfs, fixture->window, 0, 6, ENOSPC));
	g_assert_false(full_alloc_groups_add(of_btrfs, fixture->window, 0, 6, EDQUOT));
	g_assert_false(full_alloc_groups_add(unknown, fixture->window, 0, 6, ENOSPC));

	/* Whose file it is cannot be read. */
	window_fixture_pose_as_xfs(0, 0);
	g_assert_false(full_alloc_groups_add(of_xfs, fixture->window, 0, 6, EDQUOT));
	assert_left(fixture, of_xfs, "cccccc");
	assert_left(fixture, of_btrfs, "cccccc");
	assert_left(fixture, unknown, "cccccc");
	full_alloc_groups_free(NULL);
}

#define ADD(name, test)                                                                            \
	g_test_add("/full-alloc-groups/" name, WindowFixture, NULL, window_fixture_set_up, test,   \
		   window_fixture_tear_down)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	ADD("blocks-of-a-full-group-are-no-sources", test_blocks_of_a_full_group_are_no_sources);
	ADD("the-first-block-that-is-not-shared-names-the-group",
	    test_the_first_block_that_is_not_shared_names_the_group);
	ADD("shared-blocks-are-left-alone", test_shared_blocks_are_left_alone);
	ADD("a-group-is-full-for-one-project", test_a_group_is_full_for_one_project);
	ADD("an-owner-whose-quota-is-used-up-gets-nothing",
	    test_an_owner_whose_quota_is_used_up_gets_nothing);
	ADD("other-errors-and-filesystems-say-nothing",
	    test_other_errors_and_filesystems_say_nothing);

	return g_test_run();
}
