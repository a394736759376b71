/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/file/fs-location.h"

#include "kernel-ioctl/call/fd.h"
#include "kernel-ioctl/call/system-call.h"
#include "kernel-ioctl/file/file-stat.h"
#include "kernel-ioctl/file/open-file.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

bool fs_location_read(int fd, FsLocation *ret, GError **error)
{
	FsIdentity identity;
	FileStat stat;

	if (!fs_identity_read(fd, &identity, error))
		return false;

	errno = file_stat_at(fd, "", &stat);
	if (errno)
		return system_call_failed(error, "read the device of the filesystem");

	*ret = (FsLocation){ .is_btrfs = identity.kind == FS_KIND_BTRFS };
	if (ret->is_btrfs) {
		memcpy(ret->fsid, identity.fsid, FS_UUID_BYTES);
	} else {
		ret->major = stat.device_major;
		ret->minor = stat.device_minor;
	}
	return true;
}

bool fs_location_of_path(const char *path, FsLocation *ret)
{
	g_auto(Fd) fd = -1;
	struct stat state;
	int cause;

	if (stat(path, &state) != 0)
		return false;
	if (S_ISBLK(state.st_mode)) {
		*ret = (FsLocation){ .major = major(state.st_rdev), .minor = minor(state.st_rdev) };
		return true;
	}
	return open_file_or_directory(path, &fd, &cause) == OPEN_OPENED &&
	       fs_location_read(fd, ret, NULL);
}
