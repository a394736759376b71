/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * The subvolume that btrfs's simple quotas (since Linux 6.7) charge for the data extent at @bytenr with
 * @disk_bytes: the one that wrote it.  *ret is 0 if none is charged: without these quotas, and for extents
 * that are gone or older than the quotas.
 *
 * The source is the extent tree (BTRFS_IOC_TREE_SEARCH_V2, needs CAP_SYS_ADMIN).
 *
 * Thread: any.
 */
bool btrfs_owner_read(int fd, uint64_t bytenr, uint64_t disk_bytes, uint64_t *ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
