/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/file/write-mark.h"
#include "tests/unit/scratch.h"

#include <sys/sysmacros.h>

#define UUID "01000000-0000-0000-0000-000000000000"

static const FsIdentity xfs = { FS_KIND_XFS, { 0 }, 4096, true, { 0 }, { 1 } };
static const FsIdentity btrfs = { FS_KIND_BTRFS, { 0 }, 4096, true, { 0 }, { 1 } };

/* Write a file of a test's sysfs. */
static void put(const Scratch *sysfs, const char *name, const char *text)
{
	g_autofree char *path = scratch_path(sysfs, name);
	g_autofree char *directory = g_path_get_dirname(path);

	g_assert_cmpint(g_mkdir_with_parents(directory, 0700), ==, 0);
	g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

static void test_of_an_xfs_its_own_device_is_asked(void)
{
	g_autoptr(Scratch) sysfs = scratch_new();
	WriteMark mark;

	put(sysfs, "dev/block/8:17/stat", "  11 0 22 0 33 0 4400 0 0 0 0\n");
	put(sysfs, "dev/block/8:16/stat", "  11 0 22 0 33 0 9999 0 0 0 0\n");
	g_assert_true(write_mark_read(sysfs->path, &xfs, makedev(8, 17), &mark));
	g_assert_cmpuint(mark.written_bytes, ==, 4400 * 512);
	g_assert_cmpuint(mark.generation, ==, 0);
}

static void test_of_a_btrfs_all_devices_are_asked(void)
{
	g_autoptr(Scratch) sysfs = scratch_new();
	WriteMark mark;

	put(sysfs, "fs/btrfs/" UUID "/devices/sda/stat", "0 0 0 0 0 0 100 0 0 0 0\n");
	put(sysfs, "fs/btrfs/" UUID "/devices/sdb/stat", "0 0 0 0 0 0 200 0 0 0 0\n");
	put(sysfs, "fs/btrfs/" UUID "/generation", "4711\n");
	g_assert_true(write_mark_read(sysfs->path, &btrfs, 0, &mark));
	g_assert_cmpuint(mark.written_bytes, ==, 300 * 512);
	g_assert_cmpuint(mark.generation, ==, 4711);
}

static void test_a_kernel_without_the_generation_will_do(void)
{
	g_autoptr(Scratch) sysfs = scratch_new();
	WriteMark mark;

	put(sysfs, "fs/btrfs/" UUID "/devices/sda/stat", "0 0 0 0 0 0 100 0 0 0 0\n");
	g_assert_true(write_mark_read(sysfs->path, &btrfs, 0, &mark));
	g_assert_cmpuint(mark.generation, ==, 0);
}

static void test_what_can_not_be_told_is_not_told(void)
{
	g_autoptr(Scratch) sysfs = scratch_new();
	WriteMark mark;

	g_assert_false(write_mark_read(sysfs->path, &xfs, makedev(8, 17), &mark));
	g_assert_false(write_mark_read(sysfs->path, &btrfs, 0, &mark));
	put(sysfs, "dev/block/8:17/stat", "no numbers\n");
	put(sysfs, "fs/btrfs/" UUID "/devices/sda/stat", "0 0 0\n");
	g_assert_false(write_mark_read(sysfs->path, &xfs, makedev(8, 17), &mark));
	g_assert_false(write_mark_read(sysfs->path, &btrfs, 0, &mark));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/write-mark/xfs", test_of_an_xfs_its_own_device_is_asked);
	g_test_add_func("/write-mark/btrfs", test_of_a_btrfs_all_devices_are_asked);
	g_test_add_func("/write-mark/generation", test_a_kernel_without_the_generation_will_do);
	g_test_add_func("/write-mark/unknown", test_what_can_not_be_told_is_not_told);
	return g_test_run();
}
