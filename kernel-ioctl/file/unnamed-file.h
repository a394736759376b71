/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdint.h>

/*
 * Make an empty file without a name (O_TMPFILE), open for reading and writing, in a directory.  -1 with
 * errno.
 *
 * On XFS a file inherits extent size hints and the project of its directory, which may belong to any
 * user.  The file loses these as far as possible: a small write to it allocates no more than it needs.
 *
 * Thread: any.
 */
int unnamed_file_make(int directory_fd);

/*
 * Make an empty file without a name (O_TMPFILE), open for reading and writing, in a subvolume of the
 * btrfs that @mount_fd lies on, whether or not that is mounted: found by handle, which needs
 * CAP_DAC_READ_SEARCH and CAP_SYS_ADMIN.  -1 with errno where that cannot be: EROFS, ENOSPC.
 *
 * Thread: any.
 */
int unnamed_file_make_in_subvolume(int mount_fd, uint64_t subvolume);
