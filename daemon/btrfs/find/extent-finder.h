/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/content/extent-sums.h"
#include "daemon/context/pass.h"

/*
 * Bring the store up to date with the data extents of a btrfs filesystem, each with the fingerprint from its
 * checksums: no data is read.
 *
 * Changes since the last pass are found by the transaction that wrote them, in those leaves of the extent tree and
 * of the checksum tree that are at least as new.  Nothing tells that an extent is gone.  This is noticed when it
 * is to be deduplicated, and by a look at all extents, which is due once a week and whenever the store has no
 * point to start from.
 *
 * In the result extents are counted as files.  Nothing is written when nothing changed.
 *
 * Thread: the filesystem's worker.
 */
bool extents_find(Pass *pass, const BtrfsInfo *info, ExtentSums *sums, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/*
 * Fingerprint the extents without checksums of which files were read since, as ExtentReads has it.  They were
 * counted when they were found.
 */
bool extents_find_read(Pass *pass, const BtrfsInfo *info, ExtentSums *sums, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* The transaction from which the next extents_find() looks on; 0: it looks at everything. */
bool extents_find_next(Pass *pass, uint64_t *ret_since, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Have it look on from an earlier one; from a later one it does not. */
bool extents_find_since(Pass *pass, uint64_t since, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Forget the point to start from, so that the next extents_find() looks at everything. */
bool extents_find_anew(Pass *pass, GError **error) G_GNUC_WARN_UNUSED_RESULT;
