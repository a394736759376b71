/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/inventory/read-list.h"
#include "kernel-ioctl/btrfs/btrfs-info.h"

/*
 * InodeInventory - which files of a btrfs have to be read since their data has no checksums: those made
 * with nodatacow or nodatasum.
 *
 * They are found from inode items, without a walk over names, in the leaves of all subvolumes' trees that
 * were written since the last pass looked.  Where no data lacks checksums, nothing is looked at.  What
 * changed is told by the inode's transid, since such a file can be overwritten without any trace in its
 * extents; sharing changes that too, so the file's times decide whether it is read again.
 *
 * With --compressed=read all other files are listed, too: compressed ones to be read, and those with which
 * these may be shared, of which the checksums are enough.
 *
 * Memory: a quarter of the pass's limit.
 * Thread: the filesystem's worker, never while it shares.
 */
typedef struct InodeInventory InodeInventory;

/*
 * Call after extents_find(), which tells whether any data lacks checksums.  @info was read before the
 * filesystem was flushed.
 */
InodeInventory *inode_inventory_build(Pass *pass, const BtrfsInfo *info, FileOpener *opener,
				      GError **error);
void inode_inventory_free(InodeInventory *inventory);

/* The files to read; the inventory owns the list. */
ReadList *inode_inventory_to_read(const InodeInventory *inventory);

/* All of them were read: the next pass goes on from here, unless some have to be looked at again. */
bool inode_inventory_end(InodeInventory *inventory, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Have the next look see what changed since a transaction, if it would begin with a later one. */
bool inode_inventory_begin_since(Pass *pass, uint64_t since, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Have the next look see all files. */
bool inode_inventory_begin_anew(Pass *pass, GError **error) G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(InodeInventory, inode_inventory_free)
