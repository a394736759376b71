/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "kernel-ioctl/btrfs/btrfs-ref-bound.h"

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * BtrfsRefs - which files show a data extent (BTRFS_IOC_LOGICAL_INO_V2, needs CAP_SYS_ADMIN).
 *
 * NEVER while FIDEDUPERANGE runs on the same filesystem, in whatever process: kernels since 5.4 can
 * hang when both work on one extent.  Whoever calls this holds the lock that sharing holds.
 *
 * It takes the kernel 5 to 10 microseconds, and 1 to 2 for each reference (Linux 6.18); a buffer of
 * 16 MiB costs 2 milliseconds whatever is put into it, so it begins small and grows.  Then the
 * kernel has to find them all again.
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
	BTRFS_REFS_GONE,     /* no data lies at this address any more (a block of a tree may) */
	BTRFS_REFS_TOO_MANY, /* more than are wanted, or allowed: some of them were read, or none */
} BtrfsRefsOutcome;

/* What fits into 16 MiB, the largest buffer that the kernel fills. */
#define BTRFS_REFS_MAX ((((size_t)16 << 20) - 16) / sizeof(BtrfsRef))

BtrfsRefs *btrfs_refs_new(void);
void btrfs_refs_free(BtrfsRefs *refs);

/* Want @most references of an extent, not all up to BTRFS_REFS_MAX.  It spares the kernel finding them twice. */
void btrfs_refs_set_most(BtrfsRefs *refs, size_t most);

/* Have @bound decide which extents are looked up.  It is borrowed; NULL: all are. */
void btrfs_refs_set_bound(BtrfsRefs *refs, BtrfsRefBound *bound);

/*
 * Find all references to the extent that begins at @bytenr, whichever of its bytes they show; the
 * subvolumes may be mounted or not.  They come in no order that is promised, with one element for
 * each EXTENT_DATA item.  Among them are those of deleted files that are still open, and of
 * subvolumes that are being deleted, whose files cannot be looked up any more but still keep the
 * extent.
 *
 * The kernel takes an address in the middle of an extent for that extent, and another extent may
 * have got the address since it was learned: whether a file has it there, its EXTENT_DATA item
 * tells (btrfs_file_extents_next()).
 */
bool btrfs_refs_read(BtrfsRefs *refs, int fd, uint64_t bytenr, BtrfsRefsOutcome *ret,
		     GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * The same, of those references only that show the byte @position of the extent at @bytenr, which is
 * not compressed.  Their offsets are where in the file that byte is.
 */
bool btrfs_refs_read_byte(BtrfsRefs *refs, int fd, uint64_t bytenr, uint64_t position,
			  BtrfsRefsOutcome *ret, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The same as btrfs_refs_read(), of an extent that the bound is known to allow. */
bool btrfs_refs_read_allowed(BtrfsRefs *refs, int fd, uint64_t bytenr, BtrfsRefsOutcome *ret,
			     GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* How many references there are, as far as is known: more than are listed where that are too many. */
uint64_t btrfs_refs_count(const BtrfsRefs *refs);

/* What the last of these found, until the next; none after an error. */
const BtrfsRef *btrfs_refs_list(const BtrfsRefs *refs, size_t *ret_n);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(BtrfsRefs, btrfs_refs_free)
