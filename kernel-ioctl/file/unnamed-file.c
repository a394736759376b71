/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/file/unnamed-file.h"

#include "kernel-ioctl/btrfs/btrfs-inode.h"
#include "kernel-ioctl/call/fd.h"
#include "kernel-ioctl/file/file-attributes.h"
#include "kernel-ioctl/file/open-file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/btrfs_tree.h>

int unnamed_file_make(int directory_fd)
{
	int fd = openat(directory_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd >= 0)
		file_attributes_drop_inherited(fd);
	return fd;
}

static int open_subvolume(int mount_fd, uint64_t subvolume)
{
	FileId id = { subvolume, BTRFS_FIRST_FREE_OBJECTID, 0 };
	g_autoptr(GError) failed = NULL;
	BtrfsInodeItem inode;
	bool found;

	if (!btrfs_inode_read(mount_fd, id.subvolume, id.inode, &inode, &found, &failed) ||
	    !found) {
		errno = EIO;
		return -1;
	}

	id.generation = (uint32_t)inode.generation;
	return open_directory_by_id(mount_fd, FS_KIND_BTRFS, &id);
}

int unnamed_file_make_in_subvolume(int mount_fd, uint64_t subvolume)
{
	g_auto(Fd) directory = open_subvolume(mount_fd, subvolume);

	if (directory < 0)
		return -1;
	return unnamed_file_make(directory);
}
