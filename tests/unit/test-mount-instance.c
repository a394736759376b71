/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/file/mount-instance.h"
#include "tests/unit/scratch.h"

#include <glib/gstdio.h>
#include <sys/sysmacros.h>

#define UUID    "01000000-0000-0000-0000-000000000000"
#define BOOT_ID "sys/kernel/random/boot_id"

static const FsIdentity xfs = { FS_KIND_XFS, { 0 }, 4096, true, { 0 }, { 1 } };
static const FsIdentity btrfs = { FS_KIND_BTRFS, { 0 }, 4096, true, { 0 }, { 1 } };

static char *read_from(const Scratch *kernel, const FsIdentity *identity)
{
	return mount_instance_read(kernel->path, kernel->path, NULL, identity, makedev(253, 1));
}

static Scratch *new_kernel(void)
{
	Scratch *kernel = scratch_new();

	scratch_put(kernel, BOOT_ID, "one-boot\n");
	scratch_put(kernel, "fs/btrfs/" UUID "/generation", "7\n");
	scratch_put(kernel, "fs/xfs/dm-1/log/log_head_lsn", "1:2\n");
	scratch_link(kernel, "devices/virtual/block/dm-1", "dev/block/253:1");
	return kernel;
}

static void test_it_stays_the_same_while_the_filesystem_is_mounted(void)
{
	const FsIdentity *kinds[] = { &xfs, &btrfs };

	for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
		g_autoptr(Scratch) kernel = new_kernel();
		g_autofree char *first = read_from(kernel, kinds[i]);
		g_autofree char *second = read_from(kernel, kinds[i]);

		g_assert_nonnull(first);
		g_assert_cmpstr(first, ==, second);
	}
}

static void test_another_directory_or_another_boot_is_another_one(void)
{
	g_autoptr(Scratch) kernel = new_kernel();
	g_autofree char *directory = scratch_path(kernel, "fs/btrfs/" UUID);
	g_autofree char *aside = scratch_path(kernel, "aside");
	g_autofree char *first = read_from(kernel, &btrfs);
	g_autofree char *second = NULL;
	g_autofree char *third = NULL;

	/* Keep the first one, or its number might be used again. */
	g_assert_cmpint(g_rename(directory, aside), ==, 0);
	scratch_put(kernel, "fs/btrfs/" UUID "/generation", "7\n");
	second = read_from(kernel, &btrfs);
	g_assert_cmpstr(first, !=, second);

	scratch_put(kernel, BOOT_ID, "another-boot\n");
	third = read_from(kernel, &btrfs);
	g_assert_cmpstr(second, !=, third);
}

static void test_what_the_kernel_does_not_say_is_not_known(void)
{
	g_autoptr(Scratch) kernel = scratch_new();

	scratch_put(kernel, BOOT_ID, "one-boot\n");
	g_assert_null(read_from(kernel, &xfs));
	g_assert_null(read_from(kernel, &btrfs));
	scratch_link(kernel, "devices/virtual/block/dm-1", "dev/block/253:1");
	g_assert_null(read_from(kernel, &xfs));
}

static void test_the_id_of_the_boot_is_read_or_given(void)
{
	g_autoptr(Scratch) kernel = new_kernel();
	g_autofree char *boot = scratch_path(kernel, BOOT_ID);
	g_autofree char *is_read = read_from(kernel, &xfs);
	g_autofree char *given = NULL;

	g_assert_cmpint(g_unlink(boot), ==, 0);
	g_assert_null(read_from(kernel, &xfs));
	g_assert_null(read_from(kernel, &btrfs));
	/* As systemd writes it. */
	given = mount_instance_read(kernel->path, kernel->path, "oneboot", &xfs, makedev(253, 1));
	g_assert_cmpstr(is_read, ==, given);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/mount-instance/same",
			test_it_stays_the_same_while_the_filesystem_is_mounted);
	g_test_add_func("/mount-instance/other",
			test_another_directory_or_another_boot_is_another_one);
	g_test_add_func("/mount-instance/unknown", test_what_the_kernel_does_not_say_is_not_known);
	g_test_add_func("/mount-instance/boot", test_the_id_of_the_boot_is_read_or_given);
	return g_test_run();
}
