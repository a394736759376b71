/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "kernel-ioctl/btrfs/btrfs-families.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * BtrfsRefBound - keeps look-ups of an extent's references (BtrfsRefs) short.
 *
 * The kernel finds all references in one call, which no signal ends: 0.3 to 1 microsecond for each.  An
 * ordinary user can make 20,000 references to a block in a second, and each snapshot adds
 * as many again.  So before the call an upper bound is taken from the
 * extent's item (one tree search) and the subvolumes that are snapshots of each other.
 *
 * Up to BTRFS_REF_BOUND_FREE references are always looked up.  Up to BTRFS_REF_BOUND_MOST are as long as
 * a reserve lasts that all look-ups share; more never are.
 *
 * Thread: any, one at a time.
 */
typedef struct BtrfsRefBound BtrfsRefBound;

/* Some 20 ms, 0.7 s, and 30 s in all. */
#define BTRFS_REF_BOUND_FREE    UINT64_C(65536)
#define BTRFS_REF_BOUND_MOST    UINT64_C(2000000)
#define BTRFS_REF_BOUND_RESERVE UINT64_C(64000000)

/* @fd is any directory of the filesystem, and stays open. */
BtrfsRefBound *btrfs_ref_bound_new(int fd);
void btrfs_ref_bound_free(BtrfsRefBound *bound);

/*
 * Whether the references to the extent at @bytenr may be looked up.  *ret_most is how many there are at
 * most.
 */
bool btrfs_ref_bound_allows(BtrfsRefBound *bound, uint64_t bytenr, bool *ret, uint64_t *ret_most,
			    GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * Whether the references to an extent whose item counts @n_refs may be looked up, by the families as they were looked at
 * last; false: ask btrfs_ref_bound_allows().
 */
bool btrfs_ref_bound_is_free(const BtrfsRefBound *bound, uint64_t n_refs);

/* The families of subvolumes that it goes by, for others to use. */
BtrfsFamilies *btrfs_ref_bound_families(BtrfsRefBound *bound);

/* Take what a look-up found from the reserve: there may be far fewer references than the bound. */
void btrfs_ref_bound_charge(BtrfsRefBound *bound, uint64_t found);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(BtrfsRefBound, btrfs_ref_bound_free)
