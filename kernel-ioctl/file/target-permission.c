/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/file/target-permission.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool has_capability(const struct __user_cap_data_struct *sets, unsigned capability)
{
	return sets[CAP_TO_INDEX(capability)].effective & CAP_TO_MASK(capability);
}

TargetPermission target_permission_get(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = { 0 };
	TargetPermission permission = { .uid = geteuid() };

	/* With CAP_DAC_OVERRIDE a process may write to every inode. */
	permission.is_privileged =
		syscall(SYS_capget, &header, sets) == 0 &&
		(has_capability(sets, CAP_SYS_ADMIN) || has_capability(sets, CAP_DAC_OVERRIDE));
	return permission;
}

bool target_permission_covers(const TargetPermission *permission, int dir_fd, const char *name,
			      const FileStat *stat)
{
	if (permission->is_privileged || stat->uid == permission->uid)
		return true;
	/* An ACL that lets anyone write shows in the group bits: acl(5). */
	if (!(stat->mode & (S_IWGRP | S_IWOTH)))
		return false;

	/* A read-only filesystem says nothing about permission. */
	return faccessat(dir_fd, name, W_OK, AT_EACCESS | AT_SYMLINK_NOFOLLOW) == 0 ||
	       (errno != EACCES && errno != EPERM);
}
