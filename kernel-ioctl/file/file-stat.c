/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/file/file-stat.h"

#include "kernel-ioctl/call/timestamp.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static int64_t nsec_of(const struct statx_timestamp *time)
{
	return timestamp_nsec(time->tv_sec, time->tv_nsec);
}

int file_stat_at(int dir_fd, const char *name, FileStat *ret)
{
	int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | (*name ? 0 : AT_EMPTY_PATH);
	struct statx stx;
	int result;

	memset(&stx, 0, sizeof(stx));
	do
		result = statx(dir_fd, name, flags, STATX_BASIC_STATS | STATX_BTIME | STATX_MNT_ID,
			       &stx);
	while (result < 0 && errno == EINTR);
	if (result < 0)
		return errno;

	*ret = (FileStat){
		.inode = stx.stx_ino,
		.mount_id = stx.stx_mask & STATX_MNT_ID ? stx.stx_mnt_id : 0,
		.size_bytes = stx.stx_size,
		.allocated_bytes = stx.stx_blocks * 512,
		.btime_nsec = stx.stx_mask & STATX_BTIME ? nsec_of(&stx.stx_btime) : 0,
		.mtime_nsec = nsec_of(&stx.stx_mtime),
		.ctime_nsec = nsec_of(&stx.stx_ctime),
		.device_major = stx.stx_dev_major,
		.device_minor = stx.stx_dev_minor,
		.nlink = stx.stx_nlink,
		.uid = stx.stx_uid,
		.mode = stx.stx_mode,
		.is_immutable = stx.stx_attributes & STATX_ATTR_IMMUTABLE,
		.is_mount_root = stx.stx_attributes & STATX_ATTR_MOUNT_ROOT,
	};
	return 0;
}
