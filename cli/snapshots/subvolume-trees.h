/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/snapshots/block-holders.h"
#include "cli/snapshots/root-sets.h"
#include "kernel-ioctl/btrfs/btrfs-node.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * SubvolumeTrees - the blocks of the trees of a btrfs filesystem's subvolumes, and the holders of each block.
 *
 * Snapshots share blocks.  Nodes are read once each, level by level from the top, so that all holders of a node
 * are known before its children inherit them.  Leaves, which are most of the blocks, are never read: their
 * parents have their addresses.
 *
 * It also stores where the leaves begin that a subvolume holds as their owner.  An extent's reference by
 * subvolume, inode and offset comes from such a leaf, but does not say from which one.
 *
 * Facts: btrfs_copy_root() and update_ref_for_cow() in fs/btrfs/ctree.c (Linux 6.18) for the kinds of
 * references.  While a block's owner holds it, it refers to others by its owner's number.  When the owner lets
 * go of it, and when relocation makes it, it refers by its own address instead.
 *
 * Thread: any, one at a time.
 */
typedef struct SubvolumeTrees SubvolumeTrees;

/* Reads a node, like btrfs_blocks_read().  Tests have their own. */
typedef bool (*NodeReader)(void *data, uint64_t bytenr, uint64_t generation, uint8_t level,
			   BtrfsNode *ret, GError **error);

/* The maximum number of nodes read again to find replacements of reused nodes. */
#define TREE_SEARCHES_MAX 16384

/* The source of the trees. */
typedef struct {
	NodeReader read_node;
	/* The current subvolumes, like btrfs_subvolumes_read().  Called again some time later. */
	bool (*read_subvolumes)(void *data, GArray **ret, GError **error);
	void *data;
} TreeSource;

/*
 * Read the trees of @subvolumes (BtrfsSubvolume, by ascending id).  Their places in the array are the members
 * of @sets; both are borrowed.  Blocks that only deleted subvolumes hold are left out if they cannot be read:
 * the kernel frees them one after another.
 *
 * If a node was reused meanwhile (G_FILE_ERROR_AGAIN), its replacement is searched from the current tops of its
 * holders' trees.  This is done a few times, and for at most TREE_SEARCHES_MAX nodes; then it is an error.
 */
SubvolumeTrees *subvolume_trees_read(const GArray *subvolumes, RootSets *sets,
				     const TreeSource *source, GError **error);
void subvolume_trees_free(SubvolumeTrees *trees);

const BlockHolders *subvolume_trees_blocks(const SubvolumeTrees *trees);

/* The place of the subvolume @id in the array; false if it is not in the array. */
bool subvolume_trees_find(const SubvolumeTrees *trees, uint64_t id, guint *ret);

/* An iterator over leaves. */
typedef struct {
	const SubvolumeTrees *trees;
	guint member;
	BtrfsKey last;
	guint list;
	guint leaf; /* in the list */
} OwnLeaves;

/*
 * Iterate over the leaves that may hold keys from @first to @last, by ascending keys.  The subvolume at the
 * place @member holds these leaves as their owner.  Leaves of other owners may be among them.
 */
void own_leaves_start(OwnLeaves *leaves, const SubvolumeTrees *trees, guint member,
		      const BtrfsKey *first, const BtrfsKey *last);

/* The address of the next leaf; false at the end. */
bool own_leaves_next(OwnLeaves *leaves, uint64_t *ret);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SubvolumeTrees, subvolume_trees_free)
