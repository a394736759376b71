/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdint.h>
#include <sys/ioctl.h>

/*
 * XfsAbi - the structures of XFS ioctls (fs/xfs/libxfs/xfs_fs.h, kernel 5.2 and later).
 *
 * The kernel does not install them, and the headers of xfsprogs are not worth a dependency.  Only the sources of
 * this folder and tests include this header.
 *
 * Thread: any.
 */
typedef struct {
	uint32_t block_bytes;
	uint32_t realtime_extent_blocks;
	uint32_t group_blocks;
	uint32_t n_groups;
	uint32_t log_blocks;
	uint32_t sector_bytes;
	uint32_t inode_bytes;
	uint32_t inode_max_percent;
	uint64_t data_blocks;
	uint64_t realtime_blocks;
	uint64_t realtime_extents;
	uint64_t log_start;
	uint8_t uuid[16];
	uint32_t stripe_unit;
	uint32_t stripe_width;
	int32_t version;
	uint32_t flags;
	uint32_t after_flags[40];
} XfsAbiGeometry;

_Static_assert(sizeof(XfsAbiGeometry) == 256, "as in the kernel");

#define XFS_ABI_FSGEOMETRY _IOR('X', 126, XfsAbiGeometry)

#define XFS_ABI_GEOMETRY_RMAPBT  (1u << 19)
#define XFS_ABI_GEOMETRY_REFLINK (1u << 20)
#define XFS_ABI_GEOMETRY_PARENT  (1u << 25)

typedef struct {
	uint64_t inode;
	uint64_t size_bytes;
	uint64_t blocks; /* of the filesystem, with delayed allocations */
	uint64_t xflags;
	int64_t atime;
	int64_t mtime;
	int64_t ctime;
	int64_t btime;
	uint32_t generation;
	uint32_t uid;
	uint32_t gid;
	uint32_t project;
	uint32_t atime_nsec;
	uint32_t mtime_nsec;
	uint32_t ctime_nsec;
	uint32_t btime_nsec;
	uint32_t io_bytes;
	uint32_t device;
	uint32_t cow_hint_blocks;
	uint32_t extent_hint_blocks;
	uint32_t nlink;
	uint32_t extents;
	uint32_t attribute_extents;
	uint16_t version;
	uint16_t fork_offset;
	uint16_t sick;
	uint16_t checked;
	uint16_t mode;
	uint16_t pad;
	uint64_t extents64; /* with XFS_ABI_BULK_NREXT64, which leaves extents 0 */
	uint64_t reserved[6];
} XfsAbiInode;

_Static_assert(sizeof(XfsAbiInode) == 192, "as in the kernel");

typedef struct {
	uint64_t inode; /* the first inode to list; on return, where to continue */
	uint32_t flags;
	uint32_t n_wanted;
	uint32_t n_given; /* 0: the list is complete */
	uint32_t group;
	uint64_t reserved[5];
	XfsAbiInode inodes[];
} XfsAbiBulkstat;

_Static_assert(sizeof(XfsAbiBulkstat) == 64, "as in the kernel");

#define XFS_ABI_BULKSTAT _IOR('X', 127, XfsAbiBulkstat)

#define XFS_ABI_BULK_AGNO    (1u << 0)
#define XFS_ABI_BULK_NREXT64 (1u << 2) /* kernel 5.19 */

/* Kernel 6.10. */
typedef struct {
	uint64_t filesystem;
	uint16_t id_bytes; /* of the fields after it */
	uint16_t pad;
	uint32_t generation;
	uint64_t inode;
} XfsAbiHandle;

_Static_assert(sizeof(XfsAbiHandle) == 24, "as in the kernel");

/* The kernel sets the last record's record_bytes to the rest of the buffer. */
typedef struct {
	XfsAbiHandle parent;
	uint32_t record_bytes; /* the distance to the next record */
	uint32_t reserved;
	char name[]; /* NUL-terminated */
} XfsAbiParent;

_Static_assert(sizeof(XfsAbiParent) == 32, "as in the kernel");

typedef struct {
	XfsAbiHandle handle;
	uint32_t cursor[4]; /* 0 at first; the caller never changes it */
	uint16_t flags;
	uint16_t flags_given;
	uint32_t buffer_bytes;
	uint64_t reserved;
	uint64_t buffer;
} XfsAbiGetparents;

_Static_assert(sizeof(XfsAbiGetparents) == 64, "as in the kernel");

#define XFS_ABI_GETPARENTS_BY_HANDLE _IOWR('X', 63, XfsAbiGetparents)

#define XFS_ABI_GETPARENTS_ROOT (1u << 0)
#define XFS_ABI_GETPARENTS_DONE (1u << 1)

/* The size of the handle's fields after id_bytes. */
#define XFS_ABI_HANDLE_ID_BYTES 14
