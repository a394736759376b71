/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/content/extent-sums.h"
#include "daemon/btrfs/find/stretch.h"
#include "daemon/context/pass.h"

/*
 * ExtentFingerprinter - puts data extents of btrfs, and stretches of them, into the store with the
 * fingerprints that their checksums give.
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
 * Put @extent, under a new id.  If it is part of @stretch (NULL: it is not), that has the anchors,
 * and only the digest of the whole extent is kept beside.
 */
bool extent_fingerprint(ExtentFingerprinter *fingerprinter, const DataExtent *extent,
			const Stretch *stretch, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Put @stretch, whose key is also its id. */
bool stretch_fingerprint(ExtentFingerprinter *fingerprinter, const Stretch *stretch, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/*
 * The digest that the object of the extent would get, and how many blocks have a checksum, without putting
 * anything.
 */
bool extent_digest(ExtentFingerprinter *fingerprinter, const DataExtent *extent,
		   uint64_t *ret_known, uint64_t *ret_digest, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* The blocks of the extent that have a checksum now. */
bool extent_count_known(ExtentFingerprinter *fingerprinter, const DataExtent *extent, uint64_t *ret,
			GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Count an extent that has no checksums as left alone, unless it is of files that are to have none. */
bool extent_leave_unknown(ExtentFingerprinter *fingerprinter, const DataExtent *extent,
			  GError **error) G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(ExtentFingerprinter, extent_fingerprinter_free)
