/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "kernel-ioctl/btrfs/btrfs-items.h"

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * BtrfsNamedRefs - the references to a data extent that the extent tree names by file
 * (BTRFS_EXTENT_REF_FILE).
 *
 * If snapshots share a leaf, only the subvolume that owns the leaf is named.  References of snapshots alone
 * are named by leaf, so they are not here.  Reading takes one or two searches of the extent tree.  LOGICAL_INO
 * (btrfs-refs.h) climbs to each snapshot, at 4 us each (Linux 6.18).
 *
 * The tree does not contain clones since the last commit yet.  References of a live subvolume may also be
 * named by leaf: after a balance moved the leaf, or if the subvolume was made as a snapshot.
 */
typedef struct {
	GArray *refs;        /* BtrfsExtentRef; to be unref'd */
	uint64_t n_refs;     /* of any kind, in leaves; a leaf may belong to several subvolumes */
	uint64_t generation; /* see BtrfsExtentItem; 0: no such extent */
	bool is_all;         /* refs holds all that are named by file */
	bool has_leaves;     /* others are named by leaf; not known unless is_all */
} BtrfsNamedRefs;

/*
 * Read up to @most references of the extent at @bytenr, which takes @disk_bytes on the disk.
 *
 * Thread: any.
 */
bool btrfs_named_refs_read(int fd, uint64_t bytenr, uint64_t disk_bytes, size_t most,
			   BtrfsNamedRefs *ret, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * Find the subvolume that btrfs's simple quotas (since Linux 6.7) charge for the data extent at
 * @bytenr with @disk_bytes.  It is the one that wrote the extent.  *ret is 0 if none is charged:
 * without these quotas, and for extents that are gone or older than the quotas.
 *
 * The source is the extent tree (BTRFS_IOC_TREE_SEARCH_V2, needs CAP_SYS_ADMIN).
 *
 * Thread: any.
 */
bool btrfs_owner_read(int fd, uint64_t bytenr, uint64_t disk_bytes, uint64_t *ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
