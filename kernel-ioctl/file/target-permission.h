/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "kernel-ioctl/file/file-stat.h"

#include <stdbool.h>
#include <sys/types.h>

/*
 * TargetPermission - into whose files the kernel lets this process share.
 *
 * Any readable file may be a source of FIDEDUPERANGE.  A target may be open only for reading if the caller owns
 * the file, may write to its inode, or has CAP_SYS_ADMIN (allow_file_dedupe() in fs/remap_range.c).
 *
 * Thread: any.
 */
typedef struct {
	bool is_privileged;
	uid_t uid;
} TargetPermission;

/* The permission of this process now.  It is out of date after a change of user or capabilities. */
TargetPermission target_permission_get(void);

/*
 * @name in the directory @dir_fd, whose stat is @stat, may be a target.  Asks the kernel only about files of
 * other users whose mode lets others write.
 */
bool target_permission_covers(const TargetPermission *permission, int dir_fd, const char *name,
			      const FileStat *stat);
