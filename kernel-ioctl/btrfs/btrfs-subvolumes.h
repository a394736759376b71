/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "kernel-ioctl/call/fs-uuid.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * BtrfsSubvolume - a subvolume or snapshot of a btrfs filesystem, mounted or not.
 *
 * The source is the root tree (BTRFS_IOC_TREE_SEARCH_V2, needs CAP_SYS_ADMIN).  The kernel writes it when a
 * transaction commits, but is_read_only at once.
 *
 * Thread: any.
 */
typedef struct {
	uint64_t id;
	uint64_t parent_id;   /* the subvolume that contains it; 0: top level, or deleted */
	uint64_t generation;  /* the transaction that last changed it */
	uint64_t otransid;    /* the transaction that created it; 0: not known, or top level */
	uint64_t tree_bytenr; /* of the root block of its tree, which @generation wrote */
	int64_t otime_nsec;   /* when it was created; 0: not known, or top level */
	uint8_t tree_level;   /* of that block */
	bool is_read_only;
	bool is_dead; /* deleted, and its space is being freed: its tree cannot be searched */
	uint8_t uuid[FS_UUID_BYTES];        /* zeros: not known (old filesystems' top level) */
	uint8_t parent_uuid[FS_UUID_BYTES]; /* of its source, if it is a snapshot; else zeros */
} BtrfsSubvolume;

/* The id of the top level, which always exists. */
#define BTRFS_SUBVOLUME_TOP UINT64_C(5)

/*
 * Read all subvolumes of the filesystem of @fd, by ascending id: an array of BtrfsSubvolume, to be
 * unref'd.  An element has 88 bytes: 100,000 snapshots, more than anyone keeps, take 9 MiB.
 */
bool btrfs_subvolumes_read(int fd, GArray **ret, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Find @id, deleted or not, in the array of btrfs_subvolumes_read(); NULL: none. */
const BtrfsSubvolume *btrfs_subvolumes_find(const GArray *subvolumes, uint64_t id);

/*
 * Read whether the subvolume of @fd is read-only (BTRFS_IOC_GET_SUBVOL_INFO, for ordinary users, since Linux
 * 4.18).
 */
bool btrfs_subvolume_is_read_only(int fd, bool *ret, GError **error) G_GNUC_WARN_UNUSED_RESULT;
