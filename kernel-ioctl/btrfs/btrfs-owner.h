/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Which subvolume btrfs's simple quotas (since Linux 6.7) charge for the data extent at @bytenr with
 * @disk_bytes: the one that it was written in, whatever shows it now.  *ret is 0 where none is charged,
 * as without these quotas, and for extents that are older than they are or gone.
 *
 * From the extent tree (BTRFS_IOC_TREE_SEARCH_V2, needs CAP_SYS_ADMIN).
 *
 * Thread: any.
 */
bool btrfs_owner_read(int fd, uint64_t bytenr, uint64_t disk_bytes, uint64_t *ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
