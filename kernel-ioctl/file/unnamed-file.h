/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdint.h>

/*
 * Make an empty file without a name (O_TMPFILE) in a directory, open for reading and writing.  -1 with errno.
 *
 * On XFS a file inherits extent size hints and the project from its directory, which may belong to any user.
 * These are removed as far as possible, so that a small write allocates no more than it needs.
 *
 * Thread: any.
 */
int unnamed_file_make(int directory_fd);

/*
 * Make an empty file without a name (O_TMPFILE) in a btrfs subvolume, open for reading and writing.  -1 with
 * errno (EROFS, ENOSPC).
 *
 * The subvolume lies on the filesystem of @mount_fd and need not be mounted: it is opened by handle, which
 * needs CAP_DAC_READ_SEARCH and CAP_SYS_ADMIN.
 *
 * Thread: any.
 */
int unnamed_file_make_in_subvolume(int mount_fd, uint64_t subvolume);
