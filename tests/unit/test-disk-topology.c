/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/machine/disk-topology.h"
#include "tests/unit/scratch.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define UUID "00112233-4455-6677-8899-aabbccddeeff"

static const uint8_t uuid[FS_UUID_BYTES] = { 0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77,
					     0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff };

/* A machine: sys, dev and mountinfo in a directory of the test. */
typedef struct {
	Scratch *scratch;
	char *sysfs;
	char *dev;
	char *mountinfo;
	DiskTopology topology;
} Machine;

static bool locate(const char *path, FsLocation *ret)
{
	static const struct {
		const char *path;
		FsLocation location;
	} known[] = {
		{ "/on btrfs/image (deleted) 1", { .is_btrfs = true } },
		{ "/on disk/image", { .major = 8, .minor = 1 } },
		{ "/on tmpfs/image", { .major = 0, .minor = 30 } },
		{ "/on itself/image", { .major = 7, .minor = 0 } },
		{ "/dev/a log", { .major = 8, .minor = 16 } },
		{ "/dev/real-time", { .major = 8, .minor = 32 } },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(known); i++) {
		if (!g_str_equal(path, known[i].path))
			continue;
		*ret = known[i].location;
		memcpy(ret->fsid, uuid, FS_UUID_BYTES);
		return true;
	}

	return false;
}

static void machine_set_up(Machine *machine, const void *data)
{
	machine->scratch = scratch_new();
	machine->sysfs = scratch_path(machine->scratch, "sys");
	machine->dev = scratch_path(machine->scratch, "dev");
	machine->mountinfo = scratch_path(machine->scratch, "mountinfo");
	machine->topology = (DiskTopology){
		.sysfs = machine->sysfs,
		.dev = machine->dev,
		.mountinfo = machine->mountinfo,
		.locate = locate,
	};
}

static void machine_tear_down(Machine *machine, const void *data)
{
	g_free(machine->sysfs);
	g_free(machine->dev);
	g_free(machine->mountinfo);
	scratch_free(machine->scratch);
}

static void set(const Machine *machine, const char *device, const char *name, const char *value)
{
	g_autofree char *path = g_build_filename(machine->sysfs, "devices", device, name, NULL);
	g_autofree char *directory = g_path_get_dirname(path);
	g_autofree char *line = g_strconcat(value, "\n", NULL);

	g_assert_cmpint(g_mkdir_with_parents(directory, 0755), ==, 0);
	g_assert_true(g_file_set_contents(path, line, -1, NULL));
}

static void link_to_device(const Machine *machine, const char *device, const char *link)
{
	g_autofree char *target = g_build_filename(machine->sysfs, "devices", device, NULL);
	g_autofree char *path = g_build_filename(machine->sysfs, link, NULL);
	g_autofree char *directory = g_path_get_dirname(path);

	g_assert_cmpint(g_mkdir_with_parents(directory, 0755), ==, 0);
	g_assert_cmpint(symlink(target, path), ==, 0);
}

/* Paths of devices are below sys/devices, "pci/sda" or "virtual/dm-0". */
static void add_device(const Machine *machine, const char *device, const char *numbers)
{
	g_autofree char *link = g_build_filename("dev/block", numbers, NULL);

	set(machine, device, "dev", numbers);
	link_to_device(machine, device, link);
}

static void add_partition(const Machine *machine, const char *device, const char *numbers)
{
	add_device(machine, device, numbers);
	set(machine, device, "partition", "1");
}

static void add_slave(const Machine *machine, const char *upper, const char *lower)
{
	g_autofree char *name = g_path_get_basename(lower);
	g_autofree char *link = g_build_filename("devices", upper, "slaves", name, NULL);

	link_to_device(machine, lower, link);
}

static void add_two_disks(const Machine *machine)
{
	add_device(machine, "pci/sda", "8:0");
	add_partition(machine, "pci/sda/sda1", "8:1");
	add_device(machine, "pci/sdb", "8:16");
	add_partition(machine, "pci/sdb/sdb1", "8:17");
}

/* Assert the names of the disks found. */
static void assert_found(const Machine *machine, const FsLocation *location, const char *expected)
{
	g_autoptr(GPtrArray) disks = disk_topology_find(&machine->topology, location);
	g_autoptr(GString) names = g_string_new(NULL);

	for (size_t i = 0; i < disks->len; i++)
		g_string_append_printf(names, "%s%s", i ? " " : "",
				       ((const Disk *)disks->pdata[i])->name);
	g_assert_cmpstr(names->str, ==, expected);
}

static void assert_under(const Machine *machine, unsigned major, unsigned minor,
			 const char *expected)
{
	assert_found(machine, &(FsLocation){ .major = major, .minor = minor }, expected);
}

static void test_a_partition_lies_on_its_disk(Machine *machine, const void *data)
{
	add_two_disks(machine);
	assert_under(machine, 8, 0, "sda");
	assert_under(machine, 8, 17, "sdb");
}

static void test_a_partition_of_md_lies_on_the_disks_of_its_members(Machine *machine,
								    const void *data)
{
	add_two_disks(machine);
	add_device(machine, "virtual/md0", "9:0");
	add_partition(machine, "virtual/md0/md0p1", "259:0");
	add_slave(machine, "virtual/md0", "pci/sdb/sdb1");
	add_slave(machine, "virtual/md0", "pci/sda/sda1");
	assert_under(machine, 259, 0, "sda sdb");
}

static void test_luks_on_lvm_lies_on_the_disk_below_both(Machine *machine, const void *data)
{
	add_two_disks(machine);
	add_device(machine, "virtual/dm-0", "254:0");
	set(machine, "virtual/dm-0", "dm/uuid", "LVM-abc");
	add_slave(machine, "virtual/dm-0", "pci/sdb/sdb1");
	add_device(machine, "virtual/dm-1", "254:1");
	set(machine, "virtual/dm-1", "dm/uuid", "CRYPT-LUKS2-abc");
	add_slave(machine, "virtual/dm-1", "virtual/dm-0");
	assert_under(machine, 254, 1, "sdb");
}

static void test_a_volume_on_two_partitions_of_a_disk_has_it_once(Machine *machine,
								  const void *data)
{
	add_two_disks(machine);
	add_partition(machine, "pci/sda/sda2", "8:2");
	add_device(machine, "virtual/dm-0", "254:0");
	add_slave(machine, "virtual/dm-0", "pci/sda/sda1");
	add_slave(machine, "virtual/dm-0", "pci/sda/sda2");
	assert_under(machine, 254, 0, "sda");
}

static void test_ways_to_one_disk_are_one_disk(Machine *machine, const void *data)
{
	add_two_disks(machine);
	add_device(machine, "virtual/dm-0", "254:0");
	set(machine, "virtual/dm-0", "dm/uuid", "mpath-3600");
	add_slave(machine, "virtual/dm-0", "pci/sda");
	add_slave(machine, "virtual/dm-0", "pci/sdb");
	add_device(machine, "virtual/dm-1", "254:1");
	set(machine, "virtual/dm-1", "dm/uuid", "part1-mpath-3600");
	add_slave(machine, "virtual/dm-1", "virtual/dm-0");
	assert_under(machine, 254, 1, "dm-0");
}

static void test_nvme_and_zram_are_disks(Machine *machine, const void *data)
{
	add_device(machine, "virtual/nvme-subsystem/nvme-subsys0/nvme0n1", "259:0");
	add_partition(machine, "virtual/nvme-subsystem/nvme-subsys0/nvme0n1/nvme0n1p2", "259:2");
	add_device(machine, "virtual/zram0", "253:0");
	assert_under(machine, 259, 2, "nvme0n1");
	assert_under(machine, 253, 0, "zram0");
}

static void test_a_btrfs_lies_on_all_its_devices(Machine *machine, const void *data)
{
	FsLocation location = { .is_btrfs = true };

	memcpy(location.fsid, uuid, FS_UUID_BYTES);
	add_two_disks(machine);
	link_to_device(machine, "pci/sdb/sdb1", "fs/btrfs/" UUID "/devices/sdb1");
	link_to_device(machine, "pci/sda", "fs/btrfs/" UUID "/devices/sda");
	assert_found(machine, &location, "sda sdb");
}

static void test_a_btrfs_may_lie_on_many_devices(Machine *machine, const void *data)
{
	FsLocation location = { .is_btrfs = true };
	g_autoptr(GPtrArray) disks = NULL;

	memcpy(location.fsid, uuid, FS_UUID_BYTES);
	for (unsigned i = 0; i < 100; i++) {
		g_autofree char *device = g_strdup_printf("virtual/nvme%un1", i);
		g_autofree char *numbers = g_strdup_printf("259:%u", i);
		g_autofree char *link = g_strdup_printf("fs/btrfs/" UUID "/devices/nvme%un1", i);

		add_device(machine, device, numbers);
		link_to_device(machine, device, link);
	}
	disks = disk_topology_find(&machine->topology, &location);
	g_assert_cmpuint(disks->len, ==, 100);
	for (unsigned i = 0; i < disks->len; i++)
		g_assert_cmpuint(((const Disk *)disks->pdata[i])->minor, ==, i);
}

static void test_a_loop_lies_where_its_file_does(Machine *machine, const void *data)
{
	add_two_disks(machine);
	link_to_device(machine, "pci/sda/sda1", "fs/btrfs/" UUID "/devices/sda1");
	link_to_device(machine, "pci/sdb/sdb1", "fs/btrfs/" UUID "/devices/sdb1");
	add_device(machine, "virtual/loop0", "7:0");
	set(machine, "virtual/loop0", "loop/backing_file", "/on btrfs/image (deleted) 1");
	add_device(machine, "virtual/loop1", "7:1");
	set(machine, "virtual/loop1", "loop/backing_file", "/on disk/image");
	add_partition(machine, "virtual/loop1/loop1p1", "259:7");
	assert_under(machine, 7, 0, "sda sdb");
	assert_under(machine, 259, 7, "sda");
}

static void test_a_loop_over_what_is_no_disk_is_the_disk(Machine *machine, const void *data)
{
	add_device(machine, "virtual/loop0", "7:0");
	set(machine, "virtual/loop0", "loop/backing_file", "/on tmpfs/image");
	add_device(machine, "virtual/loop1", "7:1");
	set(machine, "virtual/loop1", "loop/backing_file", "/in another namespace/image");
	assert_under(machine, 7, 0, "loop0");
	assert_under(machine, 7, 1, "loop1");
}

static void test_devices_on_themselves_have_an_end(Machine *machine, const void *data)
{
	add_device(machine, "virtual/loop0", "7:0");
	set(machine, "virtual/loop0", "loop/backing_file", "/on itself/image");
	assert_under(machine, 7, 0, "loop0");
}

/* The names of @n devices, each on the one before; the lowest is sda. */
static void add_stack(const Machine *machine, unsigned n)
{
	g_autofree char *lower = g_strdup("pci/sda");

	add_device(machine, lower, "8:0");
	for (unsigned i = 1; i < n; i++) {
		g_autofree char *numbers = g_strdup_printf("254:%u", i);
		char *upper = g_strdup_printf("virtual/dm-%u", i);

		add_device(machine, upper, numbers);
		add_slave(machine, upper, lower);
		g_free(lower);
		lower = upper;
	}
}

static void test_devices_on_devices_are_followed_to_a_limit(Machine *machine, const void *data)
{
	add_stack(machine, 33);
	assert_under(machine, 254, 1, "sda");
	assert_under(machine, 254, 31, "sda");
	/* Nobody stacks more, so that the last one that is looked at counts as the disk. */
	assert_under(machine, 254, 32, "dm-1");
}

static void test_an_xfs_lies_on_its_log_and_its_real_time_device_too(Machine *machine,
								     const void *data)
{
	static const char mounts[] = "20 1 8:17 / / rw - xfs /dev/sdb1 rw,logdev=/dev/other\n"
				     "nonsense\n"
				     "21 20 8:1 / /a rw,relatime shared:1 master:2 - xfs /dev/sda1 "
				     "rw,attr2,logdev=/dev/a\\040log,rtdev=/dev/real-time,noquota\n"
				     "22 20 8:1 /x /b rw - xfs /dev/sda1 "
				     "rw,attr2,logdev=/dev/a\\040log,rtdev=/dev/real-time,noquota\n"
				     "23 20 8:1 / - -\n";

	add_two_disks(machine);
	add_device(machine, "pci/sdc", "8:32");
	g_assert_true(g_file_set_contents(machine->mountinfo, mounts, -1, NULL));
	assert_under(machine, 8, 1, "sda sdb sdc");
	assert_under(machine, 8, 17, "sdb");
}

static void test_what_is_gone_is_no_disk(Machine *machine, const void *data)
{
	FsLocation location = { .is_btrfs = true };
	g_autofree char *dangling = g_build_filename(machine->sysfs, "dev/block/8:48", NULL);

	memcpy(location.fsid, uuid, FS_UUID_BYTES);
	assert_under(machine, 8, 0, "");
	assert_under(machine, 0, 30, "");
	assert_found(machine, &location, "");

	add_two_disks(machine);
	link_to_device(machine, "pci/sdd", "fs/btrfs/" UUID "/devices/sdd");
	link_to_device(machine, "pci/sda", "fs/btrfs/" UUID "/devices/sda");
	g_assert_cmpint(symlink("../nowhere", dangling), ==, 0);
	assert_found(machine, &location, "sda");
	assert_under(machine, 8, 48, "");
}

static const Disk *only_disk(const GPtrArray *disks)
{
	g_assert_cmpuint(disks->len, ==, 1);
	return disks->pdata[0];
}

static void test_a_disk_says_what_it_is(Machine *machine, const void *data)
{
	const FsLocation location = { .major = 8, .minor = 1 };
	g_autofree char *by_id = g_build_filename(machine->dev, "disk/by-id", NULL);
	g_autofree char *wwn = g_build_filename(by_id, "wwn-0x5000", NULL);
	g_autofree char *ata = g_build_filename(by_id, "ata-Some disk", NULL);
	g_autofree char *part = g_build_filename(by_id, "wwn-0x5000-part1", NULL);
	g_autoptr(GPtrArray) disks = NULL;
	const Disk *disk;

	add_two_disks(machine);
	set(machine, "pci/sda", "queue/rotational", "1");
	set(machine, "pci/sda", "removable", "0");
	g_assert_cmpint(g_mkdir_with_parents(by_id, 0755), ==, 0);
	g_assert_cmpint(symlink("../../sda", wwn), ==, 0);
	g_assert_cmpint(symlink("../../sda", ata), ==, 0);
	g_assert_cmpint(symlink("../../sda1", part), ==, 0);

	disks = disk_topology_find(&machine->topology, &location);
	disk = only_disk(disks);
	g_assert_cmpstr(disk->name, ==, "sda");
	g_assert_cmpuint(disk->major, ==, 8);
	g_assert_cmpuint(disk->minor, ==, 0);
	g_assert_cmpstr(disk->ids[0], ==, "ata-Some disk");
	g_assert_cmpstr(disk->ids[1], ==, "wwn-0x5000");
	g_assert_null(disk->ids[2]);
	g_assert_true(disk->is_rotating);
	g_assert_false(disk->is_removable);
	g_assert_true(g_str_has_suffix(disk->stat_path, "/sda/stat"));
}

static void test_what_can_be_taken_out_is_removable(Machine *machine, const void *data)
{
	static const struct {
		const char *device;
		const char *numbers;
		const char *removable;
		unsigned minor;
		bool is_removable;
	} disks[] = {
		{ "pci/sda", "8:0", "0", 0, false },
		{ "pci/sdb", "8:16", "1", 16, true },
		{ "pci/usb1/1-1/sdc", "8:32", "0", 32, true },
		{ "pci/usbless/sdd", "8:48", "0", 48, false },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(disks); i++) {
		const FsLocation location = { .major = 8, .minor = disks[i].minor };
		g_autoptr(GPtrArray) found = NULL;

		add_device(machine, disks[i].device, disks[i].numbers);
		set(machine, disks[i].device, "removable", disks[i].removable);
		found = disk_topology_find(&machine->topology, &location);
		g_assert_cmpint(only_disk(found)->is_removable, ==, disks[i].is_removable);
	}
}

static void add_id(const Machine *machine, const char *id)
{
	g_autofree char *by_id = g_build_filename(machine->dev, "disk/by-id", NULL);
	g_autofree char *link = g_build_filename(by_id, id, NULL);

	g_assert_cmpint(g_mkdir_with_parents(by_id, 0755), ==, 0);
	g_assert_cmpint(symlink("../../sda", link), ==, 0);
}

/* The facts that a search in @topology finds, of the disk of sda1 or sda2. */
static void assert_seen(const DiskTopology *topology, unsigned minor, bool is_removable,
			const char *id)
{
	const FsLocation location = { .major = 8, .minor = minor };
	g_autoptr(GPtrArray) disks = disk_topology_find(topology, &location);
	const Disk *disk = only_disk(disks);

	g_assert_cmpstr(disk->name, ==, "sda");
	g_assert_cmpstr(disk->ids[0], ==, id);
	g_assert_cmpint(disk->is_removable, ==, is_removable);
}

static void test_a_look_reads_each_disk_once(Machine *machine, const void *data)
{
	const FsLocation location = { .major = 8, .minor = 1 };
	g_autoptr(DiskTopology) look = disk_topology_new_look(&machine->topology);
	g_autoptr(GPtrArray) arrays = NULL;

	add_two_disks(machine);
	add_partition(machine, "pci/sda/sda2", "8:2");
	set(machine, "pci/sda", "removable", "0");
	add_id(machine, "ata-1");

	/* A search for arrays takes nothing of the disk. */
	arrays = disk_topology_find_arrays(look, &location);
	g_assert_cmpuint(arrays->len, ==, 0);
	assert_seen(look, 1, false, "ata-1");

	set(machine, "pci/sda", "removable", "1");
	add_id(machine, "ata-0");
	assert_seen(look, 1, false, "ata-1");
	assert_seen(look, 2, false, "ata-1");

	g_autoptr(DiskTopology) later = disk_topology_new_look(&machine->topology);
	assert_seen(later, 2, true, "ata-0");
}

static void test_a_look_finds_arrays_of_known_disks(Machine *machine, const void *data)
{
	const FsLocation location = { .major = 9, .minor = 0 };
	g_autoptr(DiskTopology) look = disk_topology_new_look(&machine->topology);

	/* Without visible members. */
	add_device(machine, "virtual/md0", "9:0");
	set(machine, "virtual/md0", "md/sync_action", "idle");
	for (size_t i = 0; i < 2; i++) {
		g_autoptr(GPtrArray) arrays = disk_topology_find_arrays(look, &location);
		g_autoptr(GPtrArray) disks = disk_topology_find(look, &location);

		g_assert_cmpuint(arrays->len, ==, 1);
		g_assert_cmpuint(disks->len, ==, 1);
	}
}

static void test_a_look_reads_mountinfo_once(Machine *machine, const void *data)
{
	const FsLocation location = { .major = 8, .minor = 1 };
	g_autoptr(DiskTopology) look = disk_topology_new_look(&machine->topology);

	add_two_disks(machine);
	g_assert_true(g_file_set_contents(
		machine->mountinfo, "31 1 8:1 / /srv rw - xfs /dev/sda1 rw,logdev=/dev/a\\040log\n",
		-1, NULL));
	for (size_t i = 0; i < 2; i++) {
		g_autoptr(GPtrArray) disks = disk_topology_find(look, &location);

		g_assert_cmpuint(disks->len, ==, 2);
		unlink(machine->mountinfo);
	}
}

static void test_the_kernel_knows_nothing_of_virtual_disks(Machine *machine, const void *data)
{
	const FsLocation location = { .major = 252, .minor = 0 };
	g_autoptr(GPtrArray) disks = NULL;

	add_device(machine, "pci/virtio0/vda", "252:0");
	set(machine, "pci/virtio0/vda", "queue/rotational", "1");

	disks = disk_topology_find(&machine->topology, &location);
	g_assert_true(only_disk(disks)->is_virtual);
	g_assert_false(only_disk(disks)->is_rotating);
}

#define ADD(name, test)                                                                            \
	g_test_add("/disk-topology/" name, Machine, NULL, machine_set_up, test, machine_tear_down)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	ADD("a-partition-lies-on-its-disk", test_a_partition_lies_on_its_disk);
	ADD("a-partition-of-md-lies-on-the-disks-of-its-members",
	    test_a_partition_of_md_lies_on_the_disks_of_its_members);
	ADD("luks-on-lvm-lies-on-the-disk-below-both",
	    test_luks_on_lvm_lies_on_the_disk_below_both);
	ADD("a-volume-on-two-partitions-of-a-disk-has-it-once",
	    test_a_volume_on_two_partitions_of_a_disk_has_it_once);
	ADD("ways-to-one-disk-are-one-disk", test_ways_to_one_disk_are_one_disk);
	ADD("nvme-and-zram-are-disks", test_nvme_and_zram_are_disks);
	ADD("a-btrfs-lies-on-all-its-devices", test_a_btrfs_lies_on_all_its_devices);
	ADD("a-btrfs-may-lie-on-many-devices", test_a_btrfs_may_lie_on_many_devices);
	ADD("a-loop-lies-where-its-file-does", test_a_loop_lies_where_its_file_does);
	ADD("a-loop-over-what-is-no-disk-is-the-disk",
	    test_a_loop_over_what_is_no_disk_is_the_disk);
	ADD("devices-on-themselves-have-an-end", test_devices_on_themselves_have_an_end);
	ADD("devices-on-devices-are-followed-to-a-limit",
	    test_devices_on_devices_are_followed_to_a_limit);
	ADD("an-xfs-lies-on-its-log-and-its-real-time-device-too",
	    test_an_xfs_lies_on_its_log_and_its_real_time_device_too);
	ADD("what-is-gone-is-no-disk", test_what_is_gone_is_no_disk);
	ADD("a-disk-says-what-it-is", test_a_disk_says_what_it_is);
	ADD("what-can-be-taken-out-is-removable", test_what_can_be_taken_out_is_removable);
	ADD("the-kernel-knows-nothing-of-virtual-disks",
	    test_the_kernel_knows_nothing_of_virtual_disks);
	ADD("a-look-reads-each-disk-once", test_a_look_reads_each_disk_once);
	ADD("a-look-finds-arrays-of-known-disks", test_a_look_finds_arrays_of_known_disks);
	ADD("a-look-reads-mountinfo-once", test_a_look_reads_mountinfo_once);

	return g_test_run();
}
