/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/inventory/read-list.h"
#include "kernel-ioctl/btrfs/btrfs-info.h"

/*
 * InodeInventory - which files of a btrfs filesystem have to be read because their data has no checksums (nodatacow
 * or nodatasum).
 *
 * It finds them in inode items, without a walk over names: in the leaves of all subvolumes' trees that were written
 * since the last pass.  If all data has checksums, it looks at nothing.  The inode's transid tells of a change,
 * since such a file can be overwritten without a trace in its extents.  Deduplication changes the transid, too, so
 * the file's times decide whether it is read again.
 *
 * With --compressed=read it lists all other files, too.  Compressed ones are read.  For the others, which may be
 * shared with these, the checksums are enough.
 *
 * Memory: a quarter of the pass's limit.  Thread: the filesystem's worker, never while it deduplicates.
 */
typedef struct InodeInventory InodeInventory;

/*
 * Call it after extents_find(), which finds out whether any data lacks checksums.  @info was read before the
 * filesystem was flushed.
 */
InodeInventory *inode_inventory_build(Pass *pass, const BtrfsInfo *info, FileOpener *opener,
				      GError **error);
void inode_inventory_free(InodeInventory *inventory);

/* The files to read; the inventory owns the list. */
ReadList *inode_inventory_to_read(const InodeInventory *inventory);

/* All listed files were read: the next pass begins after them, unless some have to be looked at again. */
bool inode_inventory_end(InodeInventory *inventory, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Let the next look begin at transaction @since, if it would begin later. */
bool inode_inventory_begin_since(Pass *pass, uint64_t since, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Let the next look see all files. */
bool inode_inventory_begin_anew(Pass *pass, GError **error) G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(InodeInventory, inode_inventory_free)
