/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/content/extent-sums.h"
#include "daemon/btrfs/find/stretch.h"
#include "daemon/context/pass.h"

/*
 * ExtentFingerprinter - puts data extents of btrfs, and stretches of them, into the store with fingerprints from
 * their checksums.
 *
 * Thread: the filesystem's worker.
 */
typedef struct ExtentFingerprinter ExtentFingerprinter;

typedef struct {
	uint64_t bytenr;
	uint64_t length;
	uint64_t generation;
	bool is_shared; /* see ExtentRefcount; only of one that is to be put */
} DataExtent;

/* All arguments are borrowed. */
ExtentFingerprinter *extent_fingerprinter_new(Pass *pass, const BtrfsInfo *info, ExtentSums *sums);
void extent_fingerprinter_free(ExtentFingerprinter *fingerprinter);

/*
 * Put @extent under a new id.  If it is part of @stretch (NULL: it is not), the stretch has the anchors, and the
 * extent has only its digest.
 */
bool extent_fingerprint(ExtentFingerprinter *fingerprinter, const DataExtent *extent,
			const Stretch *stretch, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Put @stretch, whose key is also its id. */
bool stretch_fingerprint(ExtentFingerprinter *fingerprinter, const Stretch *stretch, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Compute the digest of the extent, and the number of blocks with a checksum, without putting anything. */
bool extent_digest(ExtentFingerprinter *fingerprinter, const DataExtent *extent,
		   uint64_t *ret_known, uint64_t *ret_digest, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* The blocks of the extent that have a checksum now. */
bool extent_count_known(ExtentFingerprinter *fingerprinter, const DataExtent *extent, uint64_t *ret,
			GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Count an extent without checksums as skipped, unless it belongs to files without checksums. */
bool extent_leave_unknown(ExtentFingerprinter *fingerprinter, const DataExtent *extent,
			  GError **error) G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(ExtentFingerprinter, extent_fingerprinter_free)
