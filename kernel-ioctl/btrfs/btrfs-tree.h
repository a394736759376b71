/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <linux/btrfs_tree.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * BtrfsTree - the items of one of btrfs's trees in the order of their keys (BTRFS_IOC_TREE_SEARCH_V2, needs
 * CAP_SYS_ADMIN).
 *
 * One BtrfsTree serves any number of searches, one after another: it is a buffer and a position.  Ids of trees
 * and types of items are those of <linux/btrfs_tree.h>; btrfs-items.h parses items.
 *
 * The kernel searches the tree in memory.  Data that was not flushed has no items yet: syncfs(2) flushes it,
 * BTRFS_IOC_START_SYNC does not.  The tree may change between two buffers: an item that moves back is missed,
 * one that moves ahead is seen twice.
 *
 * Thread: any, one at a time.
 */
typedef struct BtrfsTree BtrfsTree;

/*
 * For a walk.  All sizes from 64 KiB to 1 MiB are equally fast (Linux 6.18); with 16 MiB the kernel takes 2 to
 * 5 times as long.
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
	BtrfsKey last; /* in the range */

	/*
	 * Skip leaves that an older transaction wrote last; 0: skip none.  All items of a leaf are returned,
	 * so most of them did not change.
	 */
	uint64_t min_transid;

	/*
	 * Return only these types, ended by 0; all types if empty.  The kernel copies all types between first
	 * and last, since a range consists of whole keys.
	 */
	uint8_t types[BTRFS_TREE_TYPES_MAX + 1];
} BtrfsTreeRange;

typedef struct {
	BtrfsKey key;
	uint64_t transid; /* the transaction that last wrote the leaf, not the item */
	uint32_t length;  /* of data, in bytes; may be 0 */
	const uint8_t *data;
} BtrfsTreeItem;

/* @buffer_bytes is at least BTRFS_TREE_BUFFER_BYTES_MIN.  The buffer grows for a larger item. */
BtrfsTree *btrfs_tree_new(size_t buffer_bytes);
void btrfs_tree_free(BtrfsTree *tree);

/* Let the kernel return at most @most items at a time: for a caller that wants few items of a long range. */
void btrfs_tree_set_most_items(BtrfsTree *tree, uint32_t most);

/* Begin with the items in @range on the filesystem of @fd, which is not O_PATH. */
void btrfs_tree_start(BtrfsTree *tree, int fd, const BtrfsTreeRange *range);

/*
 * The next item, valid until the next call; NULL at the end.  A tree that does not exist, such as that of a
 * deleted subvolume, is G_FILE_ERROR_NOENT.  A lack of privilege is G_FILE_ERROR_PERM.  After an error nothing
 * more comes until btrfs_tree_start().
 */
bool btrfs_tree_next(BtrfsTree *tree, const BtrfsTreeItem **ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* The kernel already returned the next item, so btrfs_tree_next() makes no call. */
bool btrfs_tree_is_at_hand(const BtrfsTree *tree);

/* Like btrfs_tree_next(), but a tree that does not exist has no items. */
bool btrfs_tree_next_if_any(BtrfsTree *tree, const BtrfsTreeItem **ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Less than, equal to or greater than 0. */
int btrfs_key_compare(const BtrfsKey *a, const BtrfsKey *b);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(BtrfsTree, btrfs_tree_free)
