/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "kernel-ioctl/call/fs-uuid.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * FsIdentity - which filesystem a descriptor lies on, and whether it can share blocks.
 *
 * Facts: statfs(2) magic numbers; BTRFS_IOC_FS_INFO (works for ordinary users) gives UUID and
 * sector size; XFS_IOC_FSGEOMETRY (works for ordinary users) gives UUID, block size and the
 * reflink flag.  st_dev is no identity on btrfs: it differs per subvolume and per boot.
 *
 * It also tells apart filesystems whose superblocks have the same UUID: see CopyUuid.
 *
 * Thread: any.
 */
typedef enum {
	FS_KIND_OTHER,
	FS_KIND_BTRFS,
	FS_KIND_XFS,
} FsKind;

typedef struct {
	FsKind kind;
	uint8_t uuid[FS_UUID_BYTES]; /* names the filesystem, its store and its locks */
	uint32_t block_bytes;        /* the grain of sharing; a power of two, at least 512 */
	bool can_share;              /* false: XFS without reflink=1, or another filesystem */

	/* The two that follow equal @uuid, unless this is a copy. */
	uint8_t superblock_uuid[FS_UUID_BYTES];
	uint8_t fsid[FS_UUID_BYTES]; /* the kernel's, which names a btrfs in sysfs */
} FsIdentity;

/* "btrfs", "XFS" or "other". */
const char *fs_kind_name(FsKind kind);

bool fs_identity_is_copy(const FsIdentity *identity);

/*
 * Fill @ret for the filesystem that @fd (any file or directory) lies on.  A filesystem that is
 * neither btrfs nor XFS is no error: its kind is FS_KIND_OTHER and its other fields are zero.
 */
bool fs_identity_read(int fd, FsIdentity *ret, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * The id of the btrfs subvolume that the directory or file @fd lies in (BTRFS_IOC_INO_LOOKUP with
 * tree 0, which ordinary users may ask of a subvolume they can open); 0 on XFS.
 */
bool fs_subvolume_read(int fd, FsKind kind, uint64_t *ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* The label of the filesystem that @fd lies on, to be freed; NULL: it has none, or the kernel does not say. */
char *fs_label_read(int fd);

/* Size of the filesystem, whatever is in use; 0 where the kernel does not say. */
uint64_t fs_total_bytes(int fd);

/*
 * Bytes in use by the filesystem's own count: on btrfs the bytes used in data block groups
 * (BTRFS_IOC_SPACE_INFO), which move only when a transaction commits; on XFS statfs's total less
 * free, which moves at once and contains metadata.
 */
bool fs_used_bytes(int fd, FsKind kind, uint64_t *ret, GError **error) G_GNUC_WARN_UNUSED_RESULT;
