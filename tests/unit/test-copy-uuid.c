/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/file/copy-uuid.h"
#include "kernel-ioctl/file/own-options.h"
#include "tests/unit/scratch.h"

#include <sys/sysmacros.h>

#define TEMPORARY "fs/btrfs/01000000-0000-0000-0000-000000000000"

static const uint8_t fsid[FS_UUID_BYTES] = { 1 };

static Scratch *new_kernel(const char *options)
{
	Scratch *kernel = scratch_new();
	g_autofree char *mountinfo =
		g_strdup_printf("22 1 0:21 / /proc rw - proc proc rw\n"
				"32 1 8:17 / /srv rw shared:1 - xfs /dev/sdb1 %s\n"
				"33 1 8:32 / /mnt rw - xfs /dev/sdc %s\n",
				options, options);

	scratch_put(kernel, "mountinfo", mountinfo);
	scratch_put(kernel, "devices/sdb/device/wwid", "naa.1\n");
	scratch_put(kernel, "devices/sdb/sdb1/partition", "1\n");
	scratch_put(kernel, "devices/sdc/dm/uuid", "LVM-2\n");
	scratch_link(kernel, "devices/sdb/sdb1", "dev/block/8:17");
	scratch_link(kernel, "devices/sdc", "dev/block/8:32");
	return kernel;
}

static bool read_xfs(const Scratch *kernel, unsigned minor, uint8_t ret[FS_UUID_BYTES])
{
	g_autofree char *mountinfo = scratch_path(kernel, "mountinfo");
	g_autofree char *options = own_options_read(mountinfo, 8, minor);

	g_assert_nonnull(options);
	return copy_uuid_of_xfs(kernel->path, options, makedev(8, minor), fsid, ret);
}

static void test_an_xfs_is_a_copy_if_it_is_mounted_with_nouuid(void)
{
	g_autoptr(Scratch) plain = new_kernel("rw,attr2,logdev=/dev/nouuid");
	g_autoptr(Scratch) kernel = new_kernel("rw,nouuid,attr2");
	uint8_t one[FS_UUID_BYTES], other[FS_UUID_BYTES];

	g_assert_false(read_xfs(plain, 17, one));
	g_assert_true(read_xfs(kernel, 17, one));
	g_assert_true(read_xfs(kernel, 32, other));
	g_assert_false(fs_uuid_equal(one, other));
	g_assert_false(fs_uuid_equal(one, fsid));
}

static void test_loop_devices_of_one_file_are_told_apart(void)
{
	g_autoptr(Scratch) kernel = new_kernel("rw,nouuid");
	uint8_t one[FS_UUID_BYTES], other[FS_UUID_BYTES];

	scratch_put(kernel, "devices/sdc/dm/uuid", "");
	scratch_put(kernel, "devices/sdc/loop/backing_file", "/srv/image\n");
	scratch_put(kernel, "devices/sdc/loop/offset", "1048576\n");
	g_assert_true(read_xfs(kernel, 32, one));
	scratch_put(kernel, "devices/sdc/loop/offset", "2097152\n");
	g_assert_true(read_xfs(kernel, 32, other));
	g_assert_false(fs_uuid_equal(one, other));
}

/* Numbers and the kernel's names are given anew at each boot. */
static void test_it_goes_by_what_lasts_of_a_device(void)
{
	g_autoptr(Scratch) kernel = new_kernel("rw,nouuid");
	uint8_t first[FS_UUID_BYTES], again[FS_UUID_BYTES];

	g_assert_true(read_xfs(kernel, 17, first));
	scratch_put(kernel, "mountinfo", "32 1 8:65 / /srv rw - xfs /dev/sde1 rw,nouuid\n");
	scratch_put(kernel, "devices/sde/device/wwid", "naa.1\n");
	scratch_put(kernel, "devices/sde/sde1/partition", "1\n");
	scratch_link(kernel, "devices/sde/sde1", "dev/block/8:65");
	g_assert_true(read_xfs(kernel, 65, again));
	g_assert_true(fs_uuid_equal(first, again));

	scratch_put(kernel, "devices/sde/sde1/partition", "2\n");
	g_assert_true(read_xfs(kernel, 65, again));
	g_assert_false(fs_uuid_equal(first, again));
}

static void test_a_btrfs_is_a_copy_if_the_kernel_made_up_its_uuid(void)
{
	static const uint8_t on_disk[FS_UUID_BYTES] = { 2 };
	g_autoptr(Scratch) kernel = new_kernel("rw");
	uint8_t uuid[FS_UUID_BYTES];
	char text[FS_UUID_TEXT_BYTES];

	/* Kernels before 6.7, and "btrfstune -m". */
	g_assert_false(copy_uuid_of_btrfs(kernel->path, fsid, on_disk, uuid));
	scratch_put(kernel, TEMPORARY "/temp_fsid", "0\n");
	scratch_link(kernel, "devices/sdc", TEMPORARY "/devices/sdc");
	g_assert_false(copy_uuid_of_btrfs(kernel->path, fsid, on_disk, uuid));

	scratch_put(kernel, TEMPORARY "/temp_fsid", "1\n");
	g_assert_false(copy_uuid_of_btrfs(kernel->path, fsid, fsid, uuid));
	g_assert_true(copy_uuid_of_btrfs(kernel->path, fsid, on_disk, uuid));
	fs_uuid_format(uuid, text);
	g_assert_true(g_uuid_string_is_valid(text));
	g_assert_cmpint(text[14], ==, '8');
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/copy-uuid/xfs", test_an_xfs_is_a_copy_if_it_is_mounted_with_nouuid);
	g_test_add_func("/copy-uuid/loop", test_loop_devices_of_one_file_are_told_apart);
	g_test_add_func("/copy-uuid/device", test_it_goes_by_what_lasts_of_a_device);
	g_test_add_func("/copy-uuid/btrfs", test_a_btrfs_is_a_copy_if_the_kernel_made_up_its_uuid);
	return g_test_run();
}
