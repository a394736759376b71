/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "kernel-ioctl/btrfs/btrfs-families.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * BtrfsRefBound - limits the time for looking up an extent's references (BtrfsRefs).
 *
 * The kernel finds all references in one call, which no signal ends, at 0.3 to 1 us each.  An ordinary user
 * can make 20,000 references to a block in a second, and each snapshot adds as many again.  So an upper bound
 * is computed first, from the extent's item (one tree search) and the families of subvolumes.
 *
 * Up to BTRFS_REF_BOUND_FREE references are always looked up, more than BTRFS_REF_BOUND_MOST never.  A number
 * in between is looked up while a reserve lasts that all look-ups share.
 *
 * Thread: any, one at a time.
 */
typedef struct BtrfsRefBound BtrfsRefBound;

/* These take some 20 ms, 0.7 s, and 30 s in all. */
#define BTRFS_REF_BOUND_FREE    UINT64_C(65536)
#define BTRFS_REF_BOUND_MOST    UINT64_C(2000000)
#define BTRFS_REF_BOUND_RESERVE UINT64_C(64000000)

/* @fd is any directory of the filesystem, and stays open. */
BtrfsRefBound *btrfs_ref_bound_new(int fd);
void btrfs_ref_bound_free(BtrfsRefBound *bound);

/*
 * True if the references to the extent at @bytenr may be looked up.  *ret_most is the upper bound of their
 * number.
 */
bool btrfs_ref_bound_allows(BtrfsRefBound *bound, uint64_t bytenr, bool *ret, uint64_t *ret_most,
			    GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * True if references to an extent whose item counts @n_refs may be looked up, by the families as last
 * read.  False: call btrfs_ref_bound_allows().
 */
bool btrfs_ref_bound_is_free(const BtrfsRefBound *bound, uint64_t n_refs);

/* The families of subvolumes that it uses, for other users, too. */
BtrfsFamilies *btrfs_ref_bound_families(BtrfsRefBound *bound);

/* Charge the number of references found to the reserve: it may be far below the bound. */
void btrfs_ref_bound_charge(BtrfsRefBound *bound, uint64_t found);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(BtrfsRefBound, btrfs_ref_bound_free)
