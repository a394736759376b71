/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * BtrfsFamilies - groups the subvolumes that may have leaves in common: snapshots, their sources, and their snapshots.
 *
 * A subvolume whose parent was deleted is lost, and may belong to any family.  The parent was the link to its
 * family, so an ordinary user could take a family apart by deleting snapshots of snapshots.
 *
 * Results are valid until the subvolumes are read again.
 *
 * Thread: any, one at a time.
 */
typedef struct BtrfsFamilies BtrfsFamilies;

/* @fd is any directory of the filesystem, and stays open. */
BtrfsFamilies *btrfs_families_new(int fd);
void btrfs_families_free(BtrfsFamilies *families);

/*
 * Read the subvolumes (btrfs-subvolumes.h), unless the last read was less than 1 s ago, or less than 20 times its
 * duration ago.
 */
bool btrfs_families_look(BtrfsFamilies *families, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* A subvolume and its family. */
typedef struct {
	uint64_t id;
	uint64_t family; /* a number that its members have in common */
	uint64_t size;   /* of the family, including all lost subvolumes */
} BtrfsMember;

/* NULL: there is no such subvolume. */
const BtrfsMember *btrfs_families_find(const BtrfsFamilies *families, uint64_t id);

/* The size of the largest family, including all lost subvolumes. */
uint64_t btrfs_families_largest(const BtrfsFamilies *families);

/* A writable subvolume exists that was created as a snapshot, or may have been. */
bool btrfs_families_have_writable_snapshots(const BtrfsFamilies *families);

/* A snapshot that was never written to: its tree equals that of its source at the time of the snapshot. */
typedef struct {
	uint64_t id;
	uint64_t otransid; /* the transaction that created it */
} BtrfsUntouched;

/*
 * The other members (BtrfsUntouched, by ascending id) of the family of @id.  NULL unless all are untouched
 * snapshots of it or of each other, and no other subvolume may belong to the family.
 */
const GArray *btrfs_families_untouched(BtrfsFamilies *families, uint64_t id);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(BtrfsFamilies, btrfs_families_free)
