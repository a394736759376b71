/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "kernel-ioctl/file/file-stat.h"

#include <stdbool.h>
#include <sys/types.h>

/*
 * TargetPermission - whose files the kernel lets this process share onto.
 *
 * FIDEDUPERANGE takes as a target what is open for reading only if the caller has CAP_SYS_ADMIN,
 * owns the file, or has write permission to its inode (allow_file_dedupe() in fs/remap_range.c);
 * anything readable may be a source.
 *
 * Thread: any.
 */
typedef struct {
	bool is_privileged;
	uid_t uid;
} TargetPermission;

/* What this process may do now; to be asked again after it changed its user or capabilities. */
TargetPermission target_permission_get(void);

/*
 * Whether @name in the directory @dir_fd, of which @stat was told, may be a target.  Asks the
 * kernel about files of others only whose mode lets some others write.
 */
bool target_permission_covers(const TargetPermission *permission, int dir_fd, const char *name,
			      const FileStat *stat);
