/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <linux/btrfs_tree.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * BtrfsTree - the items of one of btrfs's trees in the order of their keys
 * (BTRFS_IOC_TREE_SEARCH_V2, needs CAP_SYS_ADMIN).
 *
 * One tree serves any number of searches, one after another: it is a buffer and a position.  Ids of
 * trees and types of items are those of <linux/btrfs_tree.h>; what items hold, btrfs-items.h reads.
 *
 * The kernel searches the tree as it is in memory, where data that was not flushed has no items
 * yet (syncfs(2) flushes it; BTRFS_IOC_START_SYNC does not).  Every buffer is another look at a
 * tree that may change between two: what moves to a key that was passed is not seen, what moves
 * ahead is seen twice.
 *
 * Thread: any, one at a time.
 */
typedef struct BtrfsTree BtrfsTree;

/*
 * For a walk.  As fast as any from 64 KiB to 1 MiB (Linux 6.18); with 16 MiB the kernel takes
 * 2 to 5 times as long.
 */
#define BTRFS_TREE_BUFFER_BYTES ((size_t)256 << 10)
/* For a handful of items. */
#define BTRFS_TREE_BUFFER_BYTES_MIN ((size_t)4 << 10)

#define BTRFS_TREE_TYPES_MAX 4

/* Ordered by objectid, then type, then offset. */
typedef struct {
	uint64_t objectid;
	uint8_t type;
	uint64_t offset;
} BtrfsKey;

typedef struct {
	uint64_t tree; /* id; 0: of the subvolume that the descriptor lies in */
	BtrfsKey first;
	BtrfsKey last; /* itself in the range */

	/*
	 * Leave out leaves that were last written by an older transaction; 0 leaves out none.  All
	 * items of a leaf come back, so most of those returned did not change.
	 */
	uint64_t min_transid;

	/*
	 * Return these types only, ended by 0; all if there is none.  The range is one of whole
	 * keys, so the kernel copies all types between first and last, wanted or not.
	 */
	uint8_t types[BTRFS_TREE_TYPES_MAX + 1];
} BtrfsTreeRange;

typedef struct {
	BtrfsKey key;
	uint64_t transid; /* the transaction that last wrote the leaf, not the item */
	uint32_t length;  /* of data, in bytes; may be 0 */
	const uint8_t *data;
} BtrfsTreeItem;

/* @buffer_bytes is at least BTRFS_TREE_BUFFER_BYTES_MIN; it grows for an item that is larger. */
BtrfsTree *btrfs_tree_new(size_t buffer_bytes);
void btrfs_tree_free(BtrfsTree *tree);

/* Have the kernel return so many items at a time, at most: for whoever wants few of a long range. */
void btrfs_tree_set_most_items(BtrfsTree *tree, uint32_t most);

/* Begin with the items in @range, of the filesystem that @fd lies on; @fd is not O_PATH. */
void btrfs_tree_start(BtrfsTree *tree, int fd, const BtrfsTreeRange *range);

/*
 * The next item; NULL at the end.  Valid until the next call.  A tree that does not exist, such as
 * that of a subvolume deleted meanwhile, is G_FILE_ERROR_NOENT; want of privilege is
 * G_FILE_ERROR_PERM.
 * After an error nothing more comes until btrfs_tree_start().
 */
bool btrfs_tree_next(BtrfsTree *tree, const BtrfsTreeItem **ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Whether the next item was returned by the kernel already, so that btrfs_tree_next() asks for none. */
bool btrfs_tree_is_at_hand(const BtrfsTree *tree);

/* The same as btrfs_tree_next(); a tree that does not exist has no items. */
bool btrfs_tree_next_if_any(BtrfsTree *tree, const BtrfsTreeItem **ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Less than, equal to or greater than 0. */
int btrfs_key_compare(const BtrfsKey *a, const BtrfsKey *b);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(BtrfsTree, btrfs_tree_free)
