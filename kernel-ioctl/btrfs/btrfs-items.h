/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "kernel-ioctl/call/fs-uuid.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * BtrfsItems - parses items of btrfs's trees into the machine's byte order.
 *
 * Pure functions over the payload that BtrfsTree returns, which need not be aligned.  They return false for a
 * payload that is too short or contradicts itself, and leave *ret undefined then.  A longer payload is
 * accepted, since formats grow at their end.
 *
 * Facts: struct definitions of <linux/btrfs_tree.h>; fs/btrfs/tree-checker.c for what the kernel itself
 * refuses.
 *
 * Thread: any.
 */

/*
 * EXTENT_ITEM: key (bytenr, type, length in bytes).  Tree blocks also have it, or METADATA_ITEM, whose offset
 * is a level.
 */
typedef struct {
	uint64_t refs;       /* references in trees, which is not the number of files */
	uint64_t generation; /* the transaction that allocated it; later writes do not change it */
	bool is_data;        /* false: a tree block */
	const uint8_t *inline_refs; /* for btrfs_extent_refs_start(); data only */
	uint32_t inline_refs_bytes;
} BtrfsExtentItem;

bool btrfs_extent_item_read(const uint8_t *data, uint32_t length, BtrfsExtentItem *ret)
	G_GNUC_WARN_UNUSED_RESULT;

typedef enum {
	/* A leaf of the subvolume @root references it: file @inode, @offset. */
	BTRFS_EXTENT_REF_FILE,
	/*
	 * The leaf at @parent references it.  Several subvolumes may share the leaf: LOGICAL_INO tells which.
	 */
	BTRFS_EXTENT_REF_LEAF,
} BtrfsExtentRefKind;

typedef struct {
	BtrfsExtentRefKind kind;
	uint32_t count; /* EXTENT_DATA items that this reference counts */
	uint64_t root;
	uint64_t inode;
	/*
	 * The position in the file of the extent's first byte, modulo 2^64: it lies before the file if the
	 * file begins with the middle of the extent.
	 */
	uint64_t offset;
	uint64_t parent; /* bytenr */
} BtrfsExtentRef;

/* Iterates over the references in an extent item. */
typedef struct {
	const uint8_t *next;
	uint32_t n_left; /* bytes */
	uint64_t owner;  /* the subvolume that simple quotas charge; 0: not found yet */
	BtrfsExtentRef current;
} BtrfsExtentRefs;

void btrfs_extent_refs_start(BtrfsExtentRefs *refs, const BtrfsExtentItem *item);

/*
 * The next inline reference; NULL at the end.  The owner record of simple quotas comes first, and sets
 * @refs->owner.  False if a type, and so its length, is unknown.  An extent may have more references than fit
 * inline (33 in a leaf of 16 KiB): see btrfs_extent_ref_item_read().
 */
bool btrfs_extent_refs_next(BtrfsExtentRefs *refs, const BtrfsExtentRef **ret)
	G_GNUC_WARN_UNUSED_RESULT;

/*
 * Read a reference that is an item of its own: EXTENT_DATA_REF (bytenr, type, hash) or SHARED_DATA_REF
 * (bytenr, type, parent).  False for other types, such as the BLOCK_GROUP_ITEM of a block group at the same
 * address.
 */
bool btrfs_extent_ref_item_read(uint8_t type, uint64_t key_offset, const uint8_t *data,
				uint32_t length, BtrfsExtentRef *ret) G_GNUC_WARN_UNUSED_RESULT;

/*
 * EXTENT_CSUM: key (-10, type, bytenr of the first block).  An array of sums, one per sector on the disk: a
 * compressed extent has sums of its compressed bytes.
 */
typedef struct {
	const uint8_t *sums; /* n_sums times sum_bytes, not aligned */
	uint32_t n_sums;     /* at least 1 */
} BtrfsCsumItem;

/* @sum_bytes is that of BtrfsInfo. */
bool btrfs_csum_item_read(const uint8_t *data, uint32_t length, uint32_t sum_bytes,
			  BtrfsCsumItem *ret) G_GNUC_WARN_UNUSED_RESULT;

typedef enum {
	BTRFS_FILE_EXTENT_IS_INLINE,   /* the data is in the item */
	BTRFS_FILE_EXTENT_IS_REGULAR,  /* written data, or a hole if bytenr is 0 */
	BTRFS_FILE_EXTENT_IS_PREALLOC, /* allocated, reads as zeros */
} BtrfsFileExtentKind;

/* EXTENT_DATA: key (inode, type, byte in the file). */
typedef struct {
	/*
	 * The transaction that allocated the extent, or that wrote into a preallocated one.  Clones keep it.
	 */
	uint64_t generation;
	BtrfsFileExtentKind kind;
	bool is_encoded;     /* compressed, encrypted or otherwise transformed */
	uint8_t compression; /* 0: none, 1: zlib, 2: lzo, 3: zstd */
	uint64_t bytenr;     /* of the whole extent; 0: a hole, or inline */
	uint64_t disk_bytes; /* of the whole extent, compressed; 0: a hole, or inline */
	uint64_t ram_bytes;  /* of the whole extent, uncompressed */
	uint64_t offset;     /* position of the item in the uncompressed extent */
	uint64_t length;     /* bytes of the file that the item maps; inline: ram_bytes */
} BtrfsFileExtentItem;

bool btrfs_file_extent_item_read(const uint8_t *data, uint32_t length, BtrfsFileExtentItem *ret)
	G_GNUC_WARN_UNUSED_RESULT;

/* INODE_ITEM: key (inode, type, 0).  Times in nanoseconds, see timestamp.h. */
typedef struct {
	uint64_t generation; /* file handles carry its lower 32 bits */
	uint64_t transid;    /* the transaction that last changed it; sharing changes it, too */
	uint64_t size_bytes;
	uint64_t allocated_bytes; /* shared blocks count in each file */
	uint32_t nlink;
	uint32_t uid;
	uint32_t mode;
	bool is_no_sum; /* data without checksums, for any reason */
	bool is_no_cow; /* data overwritten in place, and without checksums */
	bool is_immutable;
	int64_t mtime_nsec;
	int64_t ctime_nsec;
	int64_t otime_nsec; /* birth */
} BtrfsInodeItem;

bool btrfs_inode_item_read(const uint8_t *data, uint32_t length, BtrfsInodeItem *ret)
	G_GNUC_WARN_UNUSED_RESULT;

/* ROOT_ITEM: key (id of the tree, type, 0 or the transaction that made the snapshot). */
typedef struct {
	uint64_t generation; /* the transaction that last wrote the tree */
	uint64_t otransid;   /* the one that created it; 0: not known (before Linux 3.6) */
	uint64_t bytenr;     /* of the tree's root block, which @generation wrote, too */
	uint8_t level;       /* of that block; 0: the tree has no other */
	int64_t otime_nsec;  /* when it was created; 0: not known */
	uint32_t refs;       /* 0: being deleted */
	bool is_read_only;
	bool is_dead;                       /* being deleted */
	uint8_t uuid[FS_UUID_BYTES];        /* zeros: not known, or no subvolume */
	uint8_t parent_uuid[FS_UUID_BYTES]; /* of its source, if it is a snapshot; else zeros */
} BtrfsRootItem;

bool btrfs_root_item_read(const uint8_t *data, uint32_t length, BtrfsRootItem *ret)
	G_GNUC_WARN_UNUSED_RESULT;

/*
 * ROOT_REF: key (id of the outer subvolume, type, id of the inner one).  ROOT_BACKREF has the same payload and
 * the ids exchanged.
 */
typedef struct {
	uint64_t directory;  /* inode in the outer subvolume */
	const uint8_t *name; /* of the inner subvolume; not terminated, any bytes but / and NUL */
	uint16_t name_bytes;
} BtrfsRootRef;

bool btrfs_root_ref_read(const uint8_t *data, uint32_t length, BtrfsRootRef *ret)
	G_GNUC_WARN_UNUSED_RESULT;

/*
 * INODE_REF: key (inode, type, directory), and INODE_EXTREF: key (inode, type, hash).  They hold all names of
 * an inode, several in one item.
 */
typedef struct {
	uint64_t directory;  /* inode, in the same subvolume */
	const uint8_t *name; /* not terminated, any bytes but / and NUL */
	uint16_t name_bytes; /* at least 1 */
} BtrfsInodeName;

/* Iterates over the names in an item. */
typedef struct {
	uint8_t type;
	uint64_t key_offset;
	const uint8_t *next;
	uint32_t n_left; /* bytes */
	BtrfsInodeName current;
} BtrfsInodeNames;

void btrfs_inode_names_start(BtrfsInodeNames *refs, uint8_t type, uint64_t key_offset,
			     const uint8_t *data, uint32_t length);

/* The next name; NULL at the end, and for another type of item. */
bool btrfs_inode_names_next(BtrfsInodeNames *refs, const BtrfsInodeName **ret)
	G_GNUC_WARN_UNUSED_RESULT;
