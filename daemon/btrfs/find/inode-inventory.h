/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/inventory/read-list.h"
#include "kernel-ioctl/btrfs/btrfs-info.h"

/*
 * InodeInventory - which files of a btrfs filesystem have to be read because their data has no checksums: those
 * made with nodatacow or nodatasum.
 *
 * It finds them from inode items, without a walk over names, in the leaves of all subvolumes' trees that were
 * written since the last pass.  If all data has checksums, it examines nothing.  The inode's transid tells of a
 * change, since such a file can be overwritten without any trace in its extents.  Deduplication changes the
 * transid, too, so the file's times decide whether it is read again.
 *
 * With --compressed=read all other files are listed, too.  Compressed ones are read; for the others, which these
 * may be shared with, the checksums are enough.
 *
 * Memory: a quarter of the pass's limit.
 * Thread: the filesystem's worker, never while it deduplicates.
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
