/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * Preloaded into dedupd, filesystems have what cannot be had on a machine for tests.  An XFS:
 *
 * FEIGN_FULL_GROUP=N: sharing with what lies in allocation group N fails for want of space.
 * FEIGN_USED_UP_USER=UID: sharing onto files of this user fails, as their quota is used up.
 * FEIGN_USED_UP_PROJECT=ID: the same of a project, which the kernel calls want of space.
 * FEIGN_INODES=INODE:FLAGS:EXTENTS,...: these inodes have also these fsx_xflags (hexadecimal), and that
 * many extents unless it is 0.
 * FEIGN_OLD_KERNEL: no inode can be asked for its names.
 * FEIGN_UNREADABLE_DIRECTORIES: no directory can be read.
 *
 * A btrfs:
 *
 * FEIGN_SLOW_SEARCHES=USEC: each search in one of its trees takes so much longer.
 */
#include "kernel-ioctl/xfs/xfs-abi.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <linux/btrfs.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int real_ioctl(int fd, unsigned long request, void *argument)
{
	static int (*real)(int, unsigned long, ...);

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "ioctl");
	return real(fd, request, argument);
}

/* Whether what the file has at @offset lies in the group that is said to be full. */
static bool lies_in_full_group(int fd, uint64_t offset)
{
	const char *group = getenv("FEIGN_FULL_GROUP");
	union {
		struct fiemap map;
		uint8_t bytes[sizeof(struct fiemap) + sizeof(struct fiemap_extent)];
	} asked = { .map = { .fm_start = offset, .fm_length = 1, .fm_extent_count = 1 } };
	XfsAbiGeometry geometry = { 0 };

	if (!group || real_ioctl(fd, XFS_ABI_FSGEOMETRY, &geometry) < 0 ||
	    real_ioctl(fd, FS_IOC_FIEMAP, &asked) < 0 || asked.map.fm_mapped_extents == 0)
		return false;

	return asked.map.fm_extents[0].fe_physical / geometry.block_bytes / geometry.group_blocks ==
	       strtoull(group, NULL, 10);
}

/* The error with which sharing onto the file fails, as a quota is used up; 0: with none. */
static int error_of_quota(int fd)
{
	const char *user = getenv("FEIGN_USED_UP_USER");
	const char *project = getenv("FEIGN_USED_UP_PROJECT");
	struct fsxattr attributes = { 0 };
	struct stat stat;

	if (user && fstat(fd, &stat) == 0 && stat.st_uid == strtoul(user, NULL, 10))
		return EDQUOT;
	if (project && real_ioctl(fd, FS_IOC_FSGETXATTR, &attributes) == 0 &&
	    attributes.fsx_projid == strtoul(project, NULL, 10))
		return ENOSPC;

	return 0;
}

/* Whether that is what becomes of all targets; dedupd has one in each call. */
static bool feign_no_space(int fd, struct file_dedupe_range *range)
{
	int error = error_of_quota((int)range->info[0].dest_fd);

	if (!error && lies_in_full_group(fd, range->src_offset))
		error = ENOSPC;
	if (!error)
		return false;

	for (unsigned i = 0; i < range->dest_count; i++)
		range->info[i].status = -error;
	return true;
}

static void feign_attributes(int fd, struct fsxattr *attributes)
{
	const char *inodes = getenv("FEIGN_INODES");
	struct stat stat;

	if (!inodes || fstat(fd, &stat) < 0)
		return;

	for (const char *at = inodes; at && *at; at = strchr(at, ',')) {
		char *flags, *extents;
		uint64_t inode;

		at += *at == ',';
		inode = strtoull(at, &flags, 10);
		if (inode != stat.st_ino)
			continue;
		attributes->fsx_xflags |= (uint32_t)strtoul(flags + 1, &extents, 16);
		if (strtoul(extents + 1, NULL, 10) > 0)
			attributes->fsx_nextents = (uint32_t)strtoul(extents + 1, NULL, 10);
	}
}

static void be_slow(void)
{
	const char *usec = getenv("FEIGN_SLOW_SEARCHES");

	if (usec)
		usleep((useconds_t)strtoul(usec, NULL, 10));
}

int ioctl(int fd, unsigned long request, ...)
{
	va_list arguments;
	void *argument;
	int result;

	va_start(arguments, request);
	argument = va_arg(arguments, void *);
	va_end(arguments);

	if (request == XFS_ABI_GETPARENTS_BY_HANDLE && getenv("FEIGN_OLD_KERNEL")) {
		errno = ENOTTY;
		return -1;
	}
	if (request == BTRFS_IOC_TREE_SEARCH_V2)
		be_slow();
	if (request == FIDEDUPERANGE && feign_no_space(fd, argument))
		return 0;
	result = real_ioctl(fd, request, argument);
	if (result == 0 && request == FS_IOC_FSGETXATTR)
		feign_attributes(fd, argument);
	return result;
}

ssize_t getdents64(int fd, void *buffer, size_t bytes)
{
	static ssize_t (*real)(int, void *, size_t);

	if (getenv("FEIGN_UNREADABLE_DIRECTORIES")) {
		errno = EIO;
		return -1;
	}
	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "getdents64");
	return real(fd, buffer, bytes);
}
