/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/file/file-attributes.h"

#include "kernel-ioctl/call/system-call.h"

#include <linux/fs.h>

/* The kernel declares these ioctls with long, but every filesystem reads and writes 32 bits. */
typedef union {
	long declared;
	uint32_t written;
} InodeWord;

static bool read_inode_flags(int fd, FileAttributes *attributes)
{
	InodeWord flags = { 0 };

	if (system_call_ioctl(fd, FS_IOC_GETFLAGS, &flags) < 0)
		return false;

	attributes->is_immutable = flags.written & FS_IMMUTABLE_FL;
	attributes->is_append_only = flags.written & FS_APPEND_FL;
	attributes->is_no_cow = flags.written & FS_NOCOW_FL;
	attributes->is_dax = flags.written & FS_DAX_FL;
	return true;
}

/* On XFS only this ioctl tells of the realtime device, and it has all the other flags. */
static bool read_xfs_flags(int fd, FileAttributes *attributes)
{
	struct fsxattr flags = { 0 };

	if (system_call_ioctl(fd, FS_IOC_FSGETXATTR, &flags) < 0)
		return false;

	attributes->is_immutable = flags.fsx_xflags & FS_XFLAG_IMMUTABLE;
	attributes->is_append_only = flags.fsx_xflags & FS_XFLAG_APPEND;
	attributes->is_realtime = flags.fsx_xflags & FS_XFLAG_REALTIME;
	attributes->is_dax = flags.fsx_xflags & FS_XFLAG_DAX;
	attributes->n_extents = flags.fsx_nextents;
	return true;
}

bool file_attributes_read(int fd, FsKind kind, FileAttributes *ret, GError **error)
{
	InodeWord generation = { 0 };

	if (system_call_ioctl(fd, FS_IOC_GETVERSION, &generation) < 0)
		return system_call_failed(error, "read the generation of the file");

	return file_attributes_read_known(fd, kind, generation.written, ret, error);
}

bool file_attributes_read_known(int fd, FsKind kind, uint32_t generation, FileAttributes *ret,
				GError **error)
{
	FileAttributes attributes = { .generation = generation };

	if (kind == FS_KIND_XFS ? !read_xfs_flags(fd, &attributes)
				: !read_inode_flags(fd, &attributes))
		return system_call_failed(error, "read the flags of the file");

	*ret = attributes;
	return true;
}

bool file_attributes_make_plain(int fd)
{
	InodeWord flags = { 0 };

	/*
	 * Setting flags without FS_NOCOW_FL also makes btrfs keep checksums for an empty file.  It accepts no
	 * flag of compression before that.
	 */
	if (system_call_ioctl(fd, FS_IOC_SETFLAGS, &flags) < 0)
		return false;

	flags.written = FS_NOCOMP_FL;
	return system_call_ioctl(fd, FS_IOC_SETFLAGS, &flags) == 0;
}

bool file_attributes_make_no_cow(int fd)
{
	InodeWord flags = { .written = FS_NOCOW_FL };

	return system_call_ioctl(fd, FS_IOC_SETFLAGS, &flags) == 0;
}

void file_attributes_drop_inherited(int fd)
{
	static const uint32_t hints = FS_XFLAG_EXTSIZE | FS_XFLAG_COWEXTSIZE;
	struct fsxattr flags = { 0 };
	uint32_t project;

	if (system_call_ioctl(fd, FS_IOC_FSGETXATTR, &flags) < 0 ||
	    (!(flags.fsx_xflags & hints) && flags.fsx_projid == 0))
		return;

	project = flags.fsx_projid;
	flags.fsx_xflags &= ~hints;
	flags.fsx_extsize = 0;
	flags.fsx_cowextsize = 0;
	flags.fsx_projid = 0;
	if (system_call_ioctl(fd, FS_IOC_FSSETXATTR, &flags) == 0)
		return;

	/* In a user namespace the project cannot be changed. */
	flags.fsx_projid = project;
	system_call_ioctl(fd, FS_IOC_FSSETXATTR, &flags);
}

bool file_attributes_read_project(int fd, uint32_t *ret)
{
	struct fsxattr attributes = { 0 };

	if (system_call_ioctl(fd, FS_IOC_FSGETXATTR, &attributes) < 0)
		return false;

	*ret = attributes.fsx_projid;
	return true;
}
