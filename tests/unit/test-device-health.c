/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/machine/device-health.h"
#include "tests/unit/scratch.h"

#include <string.h>
#include <unistd.h>

#define UUID "00112233-4455-6677-8899-aabbccddeeff"

static const FsLocation on_md0 = { .major = 9, .minor = 0 };
static const FsLocation on_luks = { .major = 254, .minor = 0 };
static const FsLocation btrfs = {
	.is_btrfs = true,
	.fsid = { 0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc,
		  0xdd, 0xee, 0xff },
};

static bool locate(const char *path, FsLocation *ret)
{
	return false;
}

/* sda under md0 under an encrypted device; a btrfs filesystem on that and on sdb. */
static Scratch *sysfs_new(void)
{
	Scratch *sysfs = scratch_new();

	scratch_put(sysfs, "devices/sda/dev", "8:0\n");
	scratch_put(sysfs, "devices/sdb/dev", "8:16\n");
	scratch_put(sysfs, "devices/md0/dev", "9:0\n");
	scratch_put(sysfs, "devices/md0/md/degraded", "0\n");
	scratch_put(sysfs, "devices/md0/md/sync_action", "idle\n");
	scratch_link(sysfs, "devices/sda", "devices/md0/slaves/sda");
	scratch_put(sysfs, "devices/dm-0/dev", "254:0\n");
	scratch_link(sysfs, "devices/md0", "devices/dm-0/slaves/md0");
	scratch_link(sysfs, "devices/md0", "dev/block/9:0");
	scratch_link(sysfs, "devices/dm-0", "dev/block/254:0");
	scratch_link(sysfs, "devices/dm-0", "fs/btrfs/" UUID "/devices/dm-0");
	scratch_link(sysfs, "devices/sdb", "fs/btrfs/" UUID "/devices/sdb");
	scratch_put(sysfs, "fs/btrfs/" UUID "/devinfo/1/missing", "0\n");
	scratch_put(sysfs, "fs/btrfs/" UUID "/devinfo/2/missing", "0\n");
	scratch_put(sysfs, "fs/btrfs/" UUID "/exclusive_operation", "none\n");
	return sysfs;
}

static void assert_health(const Scratch *sysfs, const FsLocation *location, const char *lack,
			  const char *work, uint64_t errors)
{
	const DiskTopology topology = {
		.sysfs = sysfs->path,
		.dev = "/nonexistent",
		.mountinfo = "/nonexistent",
		.locate = locate,
	};
	g_auto(DeviceHealth) health = { 0 };

	device_health_read(&topology, location, &health);
	g_assert_cmpstr(health.lack, ==, lack);
	g_assert_cmpstr(health.btrfs_work ? health.btrfs_work : health.array_work, ==, work);
	g_assert_cmpuint(health.errors, ==, errors);
}

static void test_what_is_whole_and_idle_has_no_trouble(void)
{
	g_autoptr(Scratch) sysfs = sysfs_new();

	assert_health(sysfs, &on_md0, NULL, NULL, 0);
	assert_health(sysfs, &on_luks, NULL, NULL, 0);
	assert_health(sysfs, &btrfs, NULL, NULL, 0);
}

static void test_an_array_without_a_device_is_seen_through_what_lies_on_it(void)
{
	static const FsLocation *const locations[] = { &on_md0, &on_luks, &btrfs };
	g_autoptr(Scratch) sysfs = sysfs_new();

	scratch_put(sysfs, "devices/md0/md/degraded", "1\n");
	for (size_t i = 0; i < G_N_ELEMENTS(locations); i++)
		assert_health(sysfs, locations[i], "md0 lacks 1 of its devices", NULL, 0);
}

static void test_what_an_array_does_is_told(void)
{
	static const struct {
		const char *action;
		const char *work;
	} rows[] = {
		{ "idle\n", NULL },
		{ "frozen\n", NULL },
		{ "resync\n", "a resync of md0" },
		{ "recover\n", "a recovery of md0" },
		{ "check\n", "a check of md0" },
		{ "repair\n", "a repair of md0" },
		{ "reshape\n", "a reshaping of md0" },
	};
	g_autoptr(Scratch) sysfs = sysfs_new();

	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		scratch_put(sysfs, "devices/md0/md/sync_action", rows[i].action);
		assert_health(sysfs, &on_luks, NULL, rows[i].work, 0);
	}
}

static void test_a_btrfs_says_which_device_it_lacks_and_what_it_does(void)
{
	g_autoptr(Scratch) sysfs = sysfs_new();

	scratch_put(sysfs, "fs/btrfs/" UUID "/devinfo/2/missing", "1\n");
	assert_health(sysfs, &btrfs, "device 2 of the btrfs is missing", NULL, 0);
	scratch_put(sysfs, "fs/btrfs/" UUID "/exclusive_operation", "balance\n");
	assert_health(sysfs, &btrfs, "device 2 of the btrfs is missing", "a balance of the btrfs",
		      0);
	scratch_put(sysfs, "fs/btrfs/" UUID "/exclusive_operation", "balance paused\n");
	assert_health(sysfs, &btrfs, "device 2 of the btrfs is missing", NULL, 0);
	assert_health(sysfs, &on_md0, NULL, NULL, 0);
}

static void test_errors_of_devices_are_added_up_without_those_of_data(void)
{
	g_autoptr(Scratch) sysfs = sysfs_new();

	scratch_put(sysfs, "fs/btrfs/" UUID "/devinfo/1/error_stats",
		    "write_errs 1\nread_errs 20\nflush_errs 300\ncorruption_errs 4000\n"
		    "generation_errs 50000\n");
	scratch_put(sysfs, "fs/btrfs/" UUID "/devinfo/2/error_stats",
		    "write_errs 0\nread_errs 5\nnonsense\nflush_errs 0\n");
	assert_health(sysfs, &btrfs, NULL, NULL, 326);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/device-health/no-trouble", test_what_is_whole_and_idle_has_no_trouble);
	g_test_add_func("/device-health/an-array-lacks-a-device",
			test_an_array_without_a_device_is_seen_through_what_lies_on_it);
	g_test_add_func("/device-health/what-an-array-does", test_what_an_array_does_is_told);
	g_test_add_func("/device-health/a-btrfs-lacks-a-device",
			test_a_btrfs_says_which_device_it_lacks_and_what_it_does);
	g_test_add_func("/device-health/errors",
			test_errors_of_devices_are_added_up_without_those_of_data);

	return g_test_run();
}
