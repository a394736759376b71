/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/content/extent-sums.h"
#include "daemon/inventory/read-list.h"

/*
 * Fingerprinting - reads files once and puts what it learns into the store: anchors, the starts of runs of zeros, a
 * digest over the whole object, and its row.
 *
 * Readers read and hash ahead (ReadAhead).
 *
 * It commits twice a minute.  For files over 1 GiB it records the state every GiB and when stopped.
 *
 * Thread: the filesystem's worker.
 */

/*
 * Read all files of the list, to the end or until the pass is stopped.  @checksums are those of btrfs, for files
 * that have some; NULL: none is listed.
 */
bool fingerprint_all(Pass *pass, ReadList *to_read, ExtentSums *checksums, FileOpener *opener,
		     GError **error) G_GNUC_WARN_UNUSED_RESULT;
