/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/context/lost-stand-ins.h"

#define INODES_MAX (UINT32_C(1) << 18)

static Object object_of(uint64_t inode, unsigned flags, uint64_t stand)
{
	return (Object){ .inode = inode, .state = OBJECT_DONE, .flags = flags, .stand = stand };
}

static void lose(LostStandIns *lost, uint64_t inode, unsigned flags, uint64_t stand)
{
	const Object object = object_of(inode, flags, stand);

	lost_stand_ins_add(lost, &object);
}

static bool concerns(const LostStandIns *lost, uint64_t inode, uint64_t stand)
{
	const Object object = object_of(inode, 0, stand);

	return lost_stand_ins_concern(lost, &object);
}

static void test_who_relied_on_a_lost_file_is_concerned(void)
{
	g_autoptr(LostStandIns) lost = lost_stand_ins_new();
	Object in_part = object_of(1, 0, 500);

	/* Not in the order of their numbers. */
	lose(lost, 700, OBJECT_CLONED, 0);
	lose(lost, 500, OBJECT_CLONED, 0);
	lose(lost, 600, OBJECT_CLONED, 0);
	g_assert_true(lost_stand_ins_end(lost));
	for (uint64_t stand = 499; stand <= 701; stand++)
		g_assert_cmpint(concerns(lost, 1, stand), ==,
				stand == 500 || stand == 600 || stand == 700);
	g_assert_true(concerns(lost, 1, OBJECT_STAND_SEVERAL));
	g_assert_false(concerns(lost, 1, 0));
	/* It is read again already, since it changed itself. */
	g_assert_false(concerns(lost, 600, 500));
	in_part.state = OBJECT_HALF;
	g_assert_true(lost_stand_ins_concern(lost, &in_part));
	in_part.state = OBJECT_SKIPPED;
	g_assert_false(lost_stand_ins_concern(lost, &in_part));
}

static void test_files_without_clones_are_no_loss(void)
{
	g_autoptr(LostStandIns) lost = lost_stand_ins_new();

	lose(lost, 500, OBJECT_SHARED | OBJECT_WHOLE, 0);
	g_assert_false(lost_stand_ins_end(lost));
	g_assert_false(concerns(lost, 1, 500));

	/* One that relied on others is left out of those that are concerned. */
	lose(lost, 501, 0, 500);
	g_assert_true(lost_stand_ins_end(lost));
	g_assert_false(concerns(lost, 501, OBJECT_STAND_SEVERAL));
	g_assert_true(concerns(lost, 1, OBJECT_STAND_SEVERAL));
}

static void test_if_all_may_be_lost_all_who_relied_on_any_are_concerned(void)
{
	g_autoptr(LostStandIns) lost = lost_stand_ins_new();

	lost_stand_ins_add_all(lost);
	g_assert_true(lost_stand_ins_end(lost));
	g_assert_true(concerns(lost, 1, 500));
	g_assert_false(concerns(lost, 1, 0));
}

static void test_more_than_memory_holds_are_all(void)
{
	g_autoptr(LostStandIns) lost = lost_stand_ins_new();

	for (uint64_t i = 0; i < INODES_MAX; i++)
		lose(lost, 1000 + i, OBJECT_CLONED, 0);
	g_assert_true(lost_stand_ins_end(lost));
	g_assert_true(concerns(lost, 1, 1000));
	g_assert_true(concerns(lost, 1, 1000 + INODES_MAX - 1));
	g_assert_false(concerns(lost, 1, 500));
	lose(lost, 1000 + INODES_MAX, OBJECT_CLONED, 0);
	g_assert_true(lost_stand_ins_end(lost));
	g_assert_true(concerns(lost, 1, 500));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

#define ADD(name, test) g_test_add_func("/lost-stand-ins/" name, test)
	ADD("who-relied-on-a-lost-file", test_who_relied_on_a_lost_file_is_concerned);
	ADD("files-without-clones", test_files_without_clones_are_no_loss);
	ADD("if-all-may-be-lost", test_if_all_may_be_lost_all_who_relied_on_any_are_concerned);
	ADD("more-than-memory-holds", test_more_than_memory_holds_are_all);

	return g_test_run();
}
