/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/btrfs/btrfs-space.h"

#include "kernel-ioctl/call/system-call.h"

#include <linux/btrfs.h>
#include <linux/btrfs_tree.h>

static uint32_t copies_of(uint64_t profile)
{
	if (profile & BTRFS_BLOCK_GROUP_RAID1C4)
		return 4;
	if (profile & BTRFS_BLOCK_GROUP_RAID1C3)
		return 3;
	if (profile & (BTRFS_BLOCK_GROUP_DUP | BTRFS_BLOCK_GROUP_RAID1 | BTRFS_BLOCK_GROUP_RAID10))
		return 2;
	return 1;
}

static void add(BtrfsSpace *space, const struct btrfs_ioctl_space_info *info)
{
	/* The entry of the global reserve is no block group. */
	if (info->flags & BTRFS_SPACE_INFO_GLOBAL_RSV) {
		space->metadata_kept_bytes += info->total_bytes;
		return;
	}
	if (info->flags & BTRFS_BLOCK_GROUP_DATA) {
		space->data_used_bytes += info->used_bytes;
		space->data_copies = MAX(space->data_copies, copies_of(info->flags));
	}
	if (!(info->flags & BTRFS_BLOCK_GROUP_METADATA))
		return;

	space->metadata_used_bytes += info->used_bytes;
	space->metadata_total_bytes += info->total_bytes;
	space->metadata_copies = MAX(space->metadata_copies, copies_of(info->flags));
}

static bool read_block_groups(int fd, BtrfsSpace *space, GError **error)
{
	struct btrfs_ioctl_space_args count = { 0 };
	g_autofree struct btrfs_ioctl_space_args *spaces = NULL;

	if (system_call_ioctl(fd, BTRFS_IOC_SPACE_INFO, &count) < 0)
		return system_call_failed(error, "count the block groups of the btrfs");

	spaces = g_malloc0(sizeof(*spaces) + count.total_spaces * sizeof(spaces->spaces[0]));
	spaces->space_slots = count.total_spaces;
	if (system_call_ioctl(fd, BTRFS_IOC_SPACE_INFO, spaces) < 0)
		return system_call_failed(error, "read the space in use by the btrfs");

	for (uint64_t i = 0; i < MIN(spaces->total_spaces, count.total_spaces); i++)
		add(space, &spaces->spaces[i]);

	return true;
}

static bool read_devices(int fd, BtrfsSpace *space, GError **error)
{
	struct btrfs_ioctl_fs_info_args info = { 0 };
	uint64_t n_met = 0;

	if (system_call_ioctl(fd, BTRFS_IOC_FS_INFO, &info) < 0)
		return system_call_failed(error, "count the devices of the btrfs");

	/* Ids of removed devices are not used again. */
	for (uint64_t id = 1; id <= info.max_id && n_met < info.num_devices; id++) {
		struct btrfs_ioctl_dev_info_args device = { .devid = id };

		if (system_call_ioctl(fd, BTRFS_IOC_DEV_INFO, &device) < 0) {
			if (errno == ENODEV)
				continue;
			return system_call_failed(error, "read the size of a device of the btrfs");
		}
		n_met++;
		space->device_total_bytes += device.total_bytes;
		space->unallocated_bytes +=
			device.total_bytes - MIN(device.total_bytes, device.bytes_used);
	}

	return true;
}

bool btrfs_space_read(int fd, BtrfsSpace *ret, GError **error)
{
	*ret = (BtrfsSpace){ .data_copies = 1, .metadata_copies = 1 };
	return read_block_groups(fd, ret, error) && read_devices(fd, ret, error);
}

int64_t btrfs_space_metadata_growth(const BtrfsSpace *before, const BtrfsSpace *after)
{
	int64_t grown = (int64_t)(after->metadata_used_bytes - before->metadata_used_bytes);

	return grown * after->metadata_copies / after->data_copies;
}

uint64_t btrfs_space_metadata_room(const BtrfsSpace *space)
{
	uint64_t taken = space->metadata_used_bytes + space->metadata_kept_bytes;
	uint64_t made = space->metadata_total_bytes - MIN(space->metadata_total_bytes, taken);

	return made + space->unallocated_bytes / space->metadata_copies;
}
