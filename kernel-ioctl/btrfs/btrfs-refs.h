/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "kernel-ioctl/btrfs/btrfs-ref-bound.h"

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * BtrfsRefs - the files that reference a data extent (BTRFS_IOC_LOGICAL_INO_V2, needs CAP_SYS_ADMIN).
 *
 * NEVER call it while FIDEDUPERANGE runs on the same filesystem, in any process: kernels since 5.4 can hang
 * when both work on one extent.  The caller holds the lock that deduplication holds.
 *
 * The kernel needs 5 to 10 us, and 1 to 2 us for each reference (Linux 6.18).  A buffer of 16 MiB costs 2 ms
 * even if it stays empty.  So the buffer begins small and grows; the kernel then has to find all references
 * again.
 *
 * Thread: any, one at a time.
 */
typedef struct BtrfsRefs BtrfsRefs;

typedef struct {
	uint64_t inode;
	uint64_t offset; /* byte in the file where the EXTENT_DATA item begins */
	uint64_t root;   /* id of the subvolume */
} BtrfsRef;

typedef enum {
	BTRFS_REFS_READ,
	BTRFS_REFS_GONE,     /* the address no longer holds data (maybe a tree block) */
	BTRFS_REFS_TOO_MANY, /* more than wanted or allowed: some were read, or none */
} BtrfsRefsOutcome;

/* The references that fit into 16 MiB, the largest buffer that the kernel fills. */
#define BTRFS_REFS_MAX ((((size_t)16 << 20) - 16) / sizeof(BtrfsRef))

BtrfsRefs *btrfs_refs_new(void);
void btrfs_refs_free(BtrfsRefs *refs);

/*
 * Read at most @most references of an extent, not BTRFS_REFS_MAX.  Then the kernel need not find them twice.
 */
void btrfs_refs_set_most(BtrfsRefs *refs, size_t most);

/* Let @bound decide which extents are looked up.  It is borrowed; NULL: all are. */
void btrfs_refs_set_bound(BtrfsRefs *refs, BtrfsRefBound *bound);

/*
 * Find all references to any byte of the extent that begins at @bytenr, in subvolumes that are mounted or
 * not.  There is one element per EXTENT_DATA item, in no particular order.  Deleted files that are still open
 * count, and so do subvolumes that are being deleted: they still keep the extent, but their files cannot be
 * looked up.
 *
 * For an address in the middle of an extent the kernel returns that extent, and another extent may have
 * reused the address.  Check a file's EXTENT_DATA item (btrfs_file_extents_next()) to see whether the file has
 * it there.
 */
bool btrfs_refs_read(BtrfsRefs *refs, int fd, uint64_t bytenr, BtrfsRefsOutcome *ret,
		     GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * Like btrfs_refs_read(), but only references that map the byte @position of the extent at @bytenr, which is
 * not compressed.  Their offsets are the positions of that byte in the files.
 */
bool btrfs_refs_read_byte(BtrfsRefs *refs, int fd, uint64_t bytenr, uint64_t position,
			  BtrfsRefsOutcome *ret, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Like btrfs_refs_read(), for an extent that the bound is known to allow. */
bool btrfs_refs_read_allowed(BtrfsRefs *refs, int fd, uint64_t bytenr, BtrfsRefsOutcome *ret,
			     GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The number of references as far as known: more than are listed if they were too many. */
uint64_t btrfs_refs_count(const BtrfsRefs *refs);

/* The references of the last read, valid until the next; none after an error. */
const BtrfsRef *btrfs_refs_list(const BtrfsRefs *refs, size_t *ret_n);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(BtrfsRefs, btrfs_refs_free)
