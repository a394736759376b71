/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * BtrfsFamilies - which subvolumes of a btrfs may have leaves in common: snapshots, what they are of, and theirs.
 *
 * A subvolume whose parent was deleted is lost, and may belong to any family.  That was the link to its own, so an
 * ordinary user could take a family apart by deleting snapshots of snapshots.
 *
 * What was found counts until it is looked at again.
 *
 * Thread: any, one at a time.
 */
typedef struct BtrfsFamilies BtrfsFamilies;

/* @fd is any directory of the filesystem, and stays open. */
BtrfsFamilies *btrfs_families_new(int fd);
void btrfs_families_free(BtrfsFamilies *families);

/*
 * Read the subvolumes (btrfs-subvolumes.h), unless they were read within the last second, or within twenty times as
 * long as that took.
 */
bool btrfs_families_look(BtrfsFamilies *families, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* A subvolume in its family. */
typedef struct {
	uint64_t id;
	uint64_t family; /* a number that its members have in common */
	uint64_t size;   /* of the family, with all that are lost */
} BtrfsMember;

/* NULL: there is no such subvolume. */
const BtrfsMember *btrfs_families_find(const BtrfsFamilies *families, uint64_t id);

/* The size of the largest family, with all that are lost. */
uint64_t btrfs_families_largest(const BtrfsFamilies *families);

/* Whether any subvolume that can be written to was made as a snapshot, or may have been. */
bool btrfs_families_have_writable_snapshots(const BtrfsFamilies *families);

/* A snapshot that nobody has written to: its tree is that of what it is a snapshot of, as it was then. */
typedef struct {
	uint64_t id;
	uint64_t otransid; /* the transaction that created it */
} BtrfsUntouched;

/*
 * The other members (BtrfsUntouched) of the family of @id, if these are untouched snapshots of it, or of each other, and
 * no other subvolume may belong to it.  Else NULL.
 */
const GArray *btrfs_families_untouched(BtrfsFamilies *families, uint64_t id);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(BtrfsFamilies, btrfs_families_free)
