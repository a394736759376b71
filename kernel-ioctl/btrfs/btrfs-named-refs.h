/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "kernel-ioctl/btrfs/btrfs-items.h"

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * BtrfsNamedRefs - the references to a data extent that its item, and the items behind it, name by file
 * (BTRFS_EXTENT_REF_FILE).
 *
 * If snapshots share a leaf, only the subvolume that owns it is named.  What only snapshots have is named by leaf, so
 * it is not here.  Reading costs one or two searches of the extent tree, where LOGICAL_INO (btrfs-refs.h)
 * climbs to each snapshot, which takes 4 microseconds for each (Linux 6.18).
 *
 * What was cloned since the last commit of the filesystem is not in the tree yet.  What a live subvolume has
 * may be named by leaf, too: where a balance moved the leaf, or where the subvolume was made as a snapshot.
 */
typedef struct {
	GArray *refs;        /* BtrfsExtentRef; to be unref'd */
	uint64_t n_refs;     /* of any kind, in leaves; a leaf may belong to several subvolumes */
	uint64_t generation; /* see BtrfsExtentItem; 0: the extent is not there */
	bool is_all;         /* there are no others of the kind */
	bool has_leaves;     /* there are others, named by leaf; not known unless is_all */
} BtrfsNamedRefs;

/*
 * Read up to @most of the extent at @bytenr, which takes @disk_bytes on the disk.
 *
 * Thread: any.
 */
bool btrfs_named_refs_read(int fd, uint64_t bytenr, uint64_t disk_bytes, size_t most,
			   BtrfsNamedRefs *ret, GError **error) G_GNUC_WARN_UNUSED_RESULT;
