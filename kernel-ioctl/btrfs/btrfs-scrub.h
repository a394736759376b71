/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>

/*
 * Whether a scrub runs on any device of a btrfs, or a replacement, which scrubs too
 * (BTRFS_IOC_SCRUB_PROGRESS, needs CAP_SYS_ADMIN).
 *
 * @fd is any file or directory of the filesystem.  Where the kernel does not say: false.
 *
 * Thread: any.
 */
bool btrfs_is_being_scrubbed(int fd);
