/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/btrfs/btrfs-scrub.h"

#include "kernel-ioctl/call/system-call.h"

#include <linux/btrfs.h>
#include <stdint.h>

bool btrfs_is_being_scrubbed(int fd)
{
	struct btrfs_ioctl_fs_info_args info = { 0 };
	uint64_t n_met = 0;

	if (system_call_ioctl(fd, BTRFS_IOC_FS_INFO, &info) < 0)
		return false;

	/* Ids of removed devices are not used again. */
	for (uint64_t id = 1; id <= info.max_id && n_met < info.num_devices; id++) {
		struct btrfs_ioctl_scrub_args scrub = { .devid = id };

		if (system_call_ioctl(fd, BTRFS_IOC_SCRUB_PROGRESS, &scrub) == 0)
			return true;
		if (errno != ENOTCONN && errno != ENODEV)
			return false;
		n_met += errno == ENOTCONN;
	}

	return false;
}
