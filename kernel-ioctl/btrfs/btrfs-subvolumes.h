/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "kernel-ioctl/call/fs-uuid.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * BtrfsSubvolume - one of a btrfs's subvolumes and snapshots, mounted or not.
 *
 * From the root tree (BTRFS_IOC_TREE_SEARCH_V2, needs CAP_SYS_ADMIN), where the kernel writes what
 * it knows of a subvolume when a transaction commits; is_read_only it writes at once.
 *
 * Thread: any.
 */
typedef struct {
	uint64_t id;
	uint64_t parent_id;   /* the subvolume that it lies in; 0: top level, or deleted */
	uint64_t generation;  /* the transaction that last changed something in it */
	uint64_t otransid;    /* the one that created it; 0: not known, or top level */
	uint64_t tree_bytenr; /* of the topmost block of its tree, which @generation wrote */
	int64_t otime_nsec;   /* when it was created; 0: not known, or top level */
	uint8_t tree_level;   /* of that block */
	bool is_read_only;
	bool is_dead; /* deleted, and its space is being given back: its tree cannot be searched */
	uint8_t uuid[FS_UUID_BYTES];        /* zeros: not known (old filesystems' top level) */
	uint8_t parent_uuid[FS_UUID_BYTES]; /* of what it is a snapshot of; zeros: of nothing */
} BtrfsSubvolume;

/* The id of the top level, which is there always. */
#define BTRFS_SUBVOLUME_TOP UINT64_C(5)

/*
 * All subvolumes of the filesystem that @fd lies on, by ascending id; an array of BtrfsSubvolume,
 * to be unref'd.  88 bytes each: 100,000 snapshots, more than anyone keeps, take 9 MiB.
 */
bool btrfs_subvolumes_read(int fd, GArray **ret, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The one of @subvolumes, as they were read, that has @id, deleted or not; NULL: there is none. */
const BtrfsSubvolume *btrfs_subvolumes_find(const GArray *subvolumes, uint64_t id);

/*
 * Whether the subvolume that @fd lies in is read-only (BTRFS_IOC_GET_SUBVOL_INFO, for anyone, since
 * Linux 4.18).
 */
bool btrfs_subvolume_is_read_only(int fd, bool *ret, GError **error) G_GNUC_WARN_UNUSED_RESULT;
