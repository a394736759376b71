/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/btrfs/btrfs-info.h"

#include "kernel-ioctl/call/system-call.h"

#include <linux/btrfs.h>
#include <string.h>

#define WANTED (BTRFS_FS_INFO_FLAG_CSUM_INFO | BTRFS_FS_INFO_FLAG_GENERATION)

bool btrfs_info_read(int fd, BtrfsInfo *ret, GError **error)
{
	struct btrfs_ioctl_fs_info_args info = { .flags = WANTED };

	if (system_call_ioctl(fd, BTRFS_IOC_FS_INFO, &info) < 0)
		return system_call_failed(error, "read the parameters of the btrfs");

	if ((info.flags & WANTED) != WANTED || info.csum_size == 0 ||
	    info.csum_size > BTRFS_SUM_BYTES_MAX) {
		g_set_error_literal(error, G_FILE_ERROR, G_FILE_ERROR_NOSYS,
				    "cannot read the parameters of the btrfs: "
				    "the kernel does not tell its checksums");
		return false;
	}

	*ret = (BtrfsInfo){
		.checksum = btrfs_checksum_of_type(info.csum_type),
		.sum_bytes = info.csum_size,
		.sector_bytes = info.sectorsize,
		.node_bytes = info.nodesize,
		.generation = info.generation,
	};
	memcpy(ret->uuid, info.fsid, FS_UUID_BYTES);
	return true;
}

bool btrfs_has_simple_quotas(const uint8_t uuid[FS_UUID_BYTES])
{
	char text[FS_UUID_TEXT_BYTES];
	g_autofree char *path = NULL;
	g_autofree char *mode = NULL;

	fs_uuid_format(uuid, text);
	path = g_build_filename("/sys/fs/btrfs", text, "qgroups/mode", NULL);
	return g_file_get_contents(path, &mode, NULL, NULL) &&
	       strcmp(g_strstrip(mode), "squota") == 0;
}

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
