/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>

/*
 * True if a scrub runs on any device of a btrfs filesystem, or a replacement, which scrubs too
 * (BTRFS_IOC_SCRUB_PROGRESS, needs CAP_SYS_ADMIN).
 *
 * @fd is any file or directory of the filesystem.  False if the kernel does not tell.
 *
 * Thread: any.
 */
bool btrfs_is_being_scrubbed(int fd);
