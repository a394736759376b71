/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdint.h>

/*
 * FileId - which file of one filesystem, for as long as the file lives.
 *
 * Inode numbers repeat across btrfs subvolumes and are reused on XFS, so neither is an identity
 * without the other two fields.
 */
typedef struct {
	uint64_t subvolume; /* btrfs: id of the subvolume's tree; XFS: 0 */
	uint64_t inode;
	uint32_t generation; /* of FS_IOC_GETVERSION, as in file handles */
} FileId;
