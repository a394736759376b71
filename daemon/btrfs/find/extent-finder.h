/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/content/extent-sums.h"
#include "daemon/context/pass.h"

/*
 * Bring the store up to date with the data extents of a btrfs filesystem, each with the fingerprint from its
 * checksums.  It reads no data.
 *
 * It finds changes since the last pass by transaction: in the leaves of the extent tree and of the checksum tree
 * that are at least as new.  Nothing tells that an extent is gone.  This is noticed when it is deduplicated, or by
 * a look at all extents.  Such a look is due once a week, and whenever the store has no transaction to start from.
 *
 * The result counts extents as files.  Without changes nothing is written.
 *
 * Thread: the filesystem's worker.
 */
bool extents_find(Pass *pass, const BtrfsInfo *info, ExtentSums *sums, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/*
 * Fingerprint extents without checksums whose files were read meanwhile (ExtentReads).  They were counted when they
 * were found.
 */
bool extents_find_read(Pass *pass, const BtrfsInfo *info, ExtentSums *sums, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* The transaction from which the next extents_find() looks; 0: it looks at all extents. */
bool extents_find_next(Pass *pass, uint64_t *ret_since, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Let it look from an earlier transaction; a later one changes nothing. */
bool extents_find_since(Pass *pass, uint64_t since, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Let the next extents_find() look at all extents. */
bool extents_find_anew(Pass *pass, GError **error) G_GNUC_WARN_UNUSED_RESULT;
