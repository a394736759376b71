/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/snapshots/block-holders.h"
#include "cli/snapshots/root-sets.h"
#include "kernel-ioctl/btrfs/btrfs-node.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * SubvolumeTrees - which blocks the trees of a btrfs's subvolumes consist of, and who holds each.
 *
 * Snapshots share blocks.  Nodes are read once each, level by level from the top, so that all who
 * hold a node are known before its children inherit them.  Leaves, which are most of the blocks,
 * are never read: their parents say where they are.
 *
 * It also keeps where the leaves begin that a subvolume holds as their owner: an extent's reference
 * by subvolume, inode and offset comes from such a leaf, and says not from which one.
 *
 * Facts: btrfs_copy_root() and update_ref_for_cow() in fs/btrfs/ctree.c (Linux 6.18) for who refers
 * to what.  A block refers to others by its owner's number while its owner holds it.  When the
 * owner lets go of it, and when relocation makes it, it refers by its own address instead.
 *
 * Thread: any, one at a time.
 */
typedef struct SubvolumeTrees SubvolumeTrees;

/* How a node is read, as btrfs_blocks_read() has it; tests have their own. */
typedef bool (*NodeReader)(void *data, uint64_t bytenr, uint64_t generation, uint8_t level,
			   BtrfsNode *ret, GError **error);

/* Nodes that are read again, on the way to what came in the stead of others. */
#define TREE_SEARCHES_MAX 16384

/* Where trees are read from. */
typedef struct {
	NodeReader read_node;
	/* The subvolumes as they are by now, as btrfs_subvolumes_read() has them; asked again, some time later. */
	bool (*read_subvolumes)(void *data, GArray **ret, GError **error);
	void *data;
} TreeSource;

/*
 * Read the trees of @subvolumes (BtrfsSubvolume, by ascending id), whose places in the array are
 * the members of @sets; both are borrowed.  Of what only deleted subvolumes hold, blocks that cannot
 * be read are left out: the kernel gives them back one after another.
 *
 * A node that was reused meanwhile (G_FILE_ERROR_AGAIN) is looked for anew, from the tops that the trees of its
 * holders have by then: what they show in its stead is taken for it.  That is done a few times, and for some
 * thousand nodes; then it is an error.
 */
SubvolumeTrees *subvolume_trees_read(const GArray *subvolumes, RootSets *sets,
				     const TreeSource *source, GError **error);
void subvolume_trees_free(SubvolumeTrees *trees);

const BlockHolders *subvolume_trees_blocks(const SubvolumeTrees *trees);

/* The place of the subvolume @id in the array; false if it is none of them. */
bool subvolume_trees_find(const SubvolumeTrees *trees, uint64_t id, guint *ret);

/* A step through leaves. */
typedef struct {
	const SubvolumeTrees *trees;
	guint member;
	BtrfsKey last;
	guint list;
	guint leaf; /* in the list */
} OwnLeaves;

/*
 * Go through the leaves that may hold keys from @first to @last, by ascending keys, of those that
 * the subvolume at the place @member holds as their owner.  Leaves of others may be among them.
 */
void own_leaves_start(OwnLeaves *leaves, const SubvolumeTrees *trees, guint member,
		      const BtrfsKey *first, const BtrfsKey *last);

/* The address of the next leaf; false at the end. */
bool own_leaves_next(OwnLeaves *leaves, uint64_t *ret);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SubvolumeTrees, subvolume_trees_free)
