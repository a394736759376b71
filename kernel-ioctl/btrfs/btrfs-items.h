/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "kernel-ioctl/call/fs-uuid.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * What the items of btrfs's trees hold, in the machine's byte order.
 *
 * Pure functions over the payload that BtrfsTree returns, which need not be aligned.  They return
 * false for a payload that is too short or contradicts itself, and leave *ret undefined then; what
 * is longer than they know is accepted, as formats grow at their end.
 *
 * Facts: struct definitions of <linux/btrfs_tree.h>; fs/btrfs/tree-checker.c for what the kernel
 * itself refuses.
 *
 * Thread: any.
 */

/*
 * EXTENT_ITEM: key (bytenr, type, length in bytes).  Tree blocks have it too, or METADATA_ITEM,
 * where the key's offset is a level.
 */
typedef struct {
	uint64_t refs;       /* places in trees that refer to it; not how many files show it */
	uint64_t generation; /* the transaction that allocated it, written into later or not */
	bool is_data;        /* else it is a block of a tree */
	const uint8_t *inline_refs; /* for btrfs_extent_refs_start(); data only */
	uint32_t inline_refs_bytes;
} BtrfsExtentItem;

bool btrfs_extent_item_read(const uint8_t *data, uint32_t length, BtrfsExtentItem *ret)
	G_GNUC_WARN_UNUSED_RESULT;

typedef enum {
	/* A leaf of the subvolume @root has it: file @inode, @offset. */
	BTRFS_EXTENT_REF_FILE,
	/* The leaf at @parent has it, which subvolumes may share: who, LOGICAL_INO tells. */
	BTRFS_EXTENT_REF_LEAF,
} BtrfsExtentRefKind;

typedef struct {
	BtrfsExtentRefKind kind;
	uint32_t count; /* EXTENT_DATA items that this stands for */
	uint64_t root;
	uint64_t inode;
	/*
	 * The file's byte at which the extent's first would show.  Modulo 2^64: where a file begins
	 * with the middle of an extent, that is before the file.
	 */
	uint64_t offset;
	uint64_t parent; /* bytenr */
} BtrfsExtentRef;

/* The references in an extent item, one after another. */
typedef struct {
	const uint8_t *next;
	uint32_t n_left; /* bytes */
	uint64_t owner;  /* the subvolume that simple quotas charge; 0: none was met yet */
	BtrfsExtentRef current;
} BtrfsExtentRefs;

void btrfs_extent_refs_start(BtrfsExtentRefs *refs, const BtrfsExtentItem *item);

/*
 * The next inline reference; NULL at the end.  The owner that simple quotas note comes first, and sets @refs->owner.
 * False where a type is unknown, whose length is too.  There may be more references than are
 * inline (33 fit a leaf of 16 KiB): see btrfs_extent_ref_item_read().
 */
bool btrfs_extent_refs_next(BtrfsExtentRefs *refs, const BtrfsExtentRef **ret)
	G_GNUC_WARN_UNUSED_RESULT;

/*
 * A reference that is an item of its own, behind its extent's: EXTENT_DATA_REF (bytenr, type,
 * hash) or SHARED_DATA_REF (bytenr, type, parent).  False for other types, such as the
 * BLOCK_GROUP_ITEM of a block group that begins at the same address.
 */
bool btrfs_extent_ref_item_read(uint8_t type, uint64_t key_offset, const uint8_t *data,
				uint32_t length, BtrfsExtentRef *ret) G_GNUC_WARN_UNUSED_RESULT;

/*
 * EXTENT_CSUM: key (-10, type, bytenr of the first block).  One sum after another, each of one
 * sector as it lies on the disk, so of compressed bytes where the extent is compressed.
 */
typedef struct {
	const uint8_t *sums; /* n_sums times sum_bytes, not aligned */
	uint32_t n_sums;     /* at least 1 */
} BtrfsCsumItem;

/* @sum_bytes is BtrfsInfo's. */
bool btrfs_csum_item_read(const uint8_t *data, uint32_t length, uint32_t sum_bytes,
			  BtrfsCsumItem *ret) G_GNUC_WARN_UNUSED_RESULT;

typedef enum {
	BTRFS_FILE_EXTENT_IS_INLINE,   /* the data is in the item */
	BTRFS_FILE_EXTENT_IS_REGULAR,  /* written data, or a hole where bytenr is 0 */
	BTRFS_FILE_EXTENT_IS_PREALLOC, /* allocated, reads as zeros */
} BtrfsFileExtentKind;

/* EXTENT_DATA: key (inode, type, byte in the file). */
typedef struct {
	/*
	 * The transaction that allocated the extent, or later wrote into one that was only
	 * reserved; clones keep it.
	 */
	uint64_t generation;
	BtrfsFileExtentKind kind;
	bool is_encoded;     /* compressed, encrypted or otherwise not as the file shows it */
	uint8_t compression; /* 0: none, 1: zlib, 2: lzo, 3: zstd */
	uint64_t bytenr;     /* of the whole extent; 0: a hole, or inline */
	uint64_t disk_bytes; /* of the whole extent, as compressed; 0 as above */
	uint64_t ram_bytes;  /* of the whole extent, uncompressed */
	uint64_t offset;     /* where in the uncompressed extent the item begins */
	uint64_t length;     /* bytes of the file that the item shows; inline: ram_bytes */
} BtrfsFileExtentItem;

bool btrfs_file_extent_item_read(const uint8_t *data, uint32_t length, BtrfsFileExtentItem *ret)
	G_GNUC_WARN_UNUSED_RESULT;

/* INODE_ITEM: key (inode, type, 0).  Times in nanoseconds, see timestamp.h. */
typedef struct {
	uint64_t generation; /* of file handles, which carry the lower 32 bits */
	uint64_t transid;    /* the transaction that last changed it: also sharing does */
	uint64_t size_bytes;
	uint64_t allocated_bytes; /* shared ones count in each file */
	uint32_t nlink;
	uint32_t uid;
	uint32_t mode;
	bool is_no_sum; /* data without checksums, whatever the reason */
	bool is_no_cow; /* data overwritten in place; has no checksums either */
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
	uint64_t bytenr;     /* of the tree's topmost block, which that transaction wrote, too */
	uint8_t level;       /* of that block; 0: it is the only one */
	int64_t otime_nsec;  /* when it was created; 0: not known */
	uint32_t refs;       /* 0: being deleted */
	bool is_read_only;
	bool is_dead;                       /* being deleted */
	uint8_t uuid[FS_UUID_BYTES];        /* zeros: not known, or no subvolume */
	uint8_t parent_uuid[FS_UUID_BYTES]; /* of what it is a snapshot of; zeros: of nothing */
} BtrfsRootItem;

bool btrfs_root_item_read(const uint8_t *data, uint32_t length, BtrfsRootItem *ret)
	G_GNUC_WARN_UNUSED_RESULT;

/*
 * ROOT_REF: key (id of the outer subvolume, type, id of the inner one), and ROOT_BACKREF with the
 * same payload and the ids exchanged.
 */
typedef struct {
	uint64_t directory;  /* inode in the outer subvolume */
	const uint8_t *name; /* of the inner one there; not terminated, any bytes but / and NUL */
	uint16_t name_bytes;
} BtrfsRootRef;

bool btrfs_root_ref_read(const uint8_t *data, uint32_t length, BtrfsRootRef *ret)
	G_GNUC_WARN_UNUSED_RESULT;

/*
 * INODE_REF again, and INODE_EXTREF: key (inode, type, hash).  All names that an inode has, several
 * in one item.
 */
typedef struct {
	uint64_t directory;  /* inode, in the same subvolume */
	const uint8_t *name; /* not terminated, any bytes but / and NUL */
	uint16_t name_bytes; /* at least 1 */
} BtrfsInodeName;

/* The names in an item, one after another. */
typedef struct {
	uint8_t type;
	uint64_t key_offset;
	const uint8_t *next;
	uint32_t n_left; /* bytes */
	BtrfsInodeName current;
} BtrfsInodeNames;

void btrfs_inode_names_start(BtrfsInodeNames *refs, uint8_t type, uint64_t key_offset,
			     const uint8_t *data, uint32_t length);

/* The next name; NULL at the end, and at once for another type of item. */
bool btrfs_inode_names_next(BtrfsInodeNames *refs, const BtrfsInodeName **ret)
	G_GNUC_WARN_UNUSED_RESULT;
