/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "kernel-ioctl/call/fs-uuid.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * FsIdentity - the filesystem of a descriptor, and whether it can share blocks.
 *
 * Facts: statfs(2) has magic numbers.  BTRFS_IOC_FS_INFO gives UUID and sector size,
 * XFS_IOC_FSGEOMETRY gives UUID, block size and the reflink flag.  Both work for ordinary users.
 * On btrfs, st_dev is no identity: it differs per subvolume and per boot.
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
	uint32_t block_bytes;        /* the unit of sharing; a power of two, at least 512 */
	bool can_share;              /* false: XFS without reflink=1, or another filesystem */

	/* The two that follow equal @uuid, unless this is a copy. */
	uint8_t superblock_uuid[FS_UUID_BYTES];
	uint8_t fsid[FS_UUID_BYTES]; /* the kernel's, which sysfs shows */
} FsIdentity;

/* "btrfs", "XFS" or "other". */
const char *fs_kind_name(FsKind kind);

bool fs_identity_is_copy(const FsIdentity *identity);

/*
 * Read the identity of the filesystem of @fd (any file or directory).  Another filesystem than btrfs and XFS
 * is no error: its kind is FS_KIND_OTHER and its other fields are zero.
 */
bool fs_identity_read(int fd, FsIdentity *ret, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * The values that a caller has read in mountinfo: the device of a filesystem, and its own options.
 */
typedef struct {
	dev_t device;
	const char *options;
} FsMount;

/* The same.  It does not read mountinfo again for the XFS filesystem on the device of @mount. */
bool fs_identity_read_mounted(int fd, const FsMount *mount, FsIdentity *ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/*
 * The id of the btrfs subvolume that contains the directory or file @fd; 0 on XFS.  Source:
 * BTRFS_IOC_INO_LOOKUP with tree 0, which ordinary users may ask of a subvolume that they can open.
 */
bool fs_subvolume_read(int fd, FsKind kind, uint64_t *ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* The label of the filesystem that @fd lies on, to be freed; NULL: it has none, or the kernel does not say. */
char *fs_label_read(int fd);

/* The total size of the filesystem; 0: the kernel does not tell. */
uint64_t fs_total_bytes(int fd);

/* The space that is free for users of the filesystem of @fd; 0 if that is not known. */
uint64_t fs_free_bytes(int fd);

/*
 * The filesystem's own count of used bytes.  btrfs: bytes used in data block groups (BTRFS_IOC_SPACE_INFO),
 * which change only when a transaction commits.  XFS: statfs's total less free, which changes at once and
 * includes metadata.
 */
bool fs_used_bytes(int fd, FsKind kind, uint64_t *ret, GError **error) G_GNUC_WARN_UNUSED_RESULT;
