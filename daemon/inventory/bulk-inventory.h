/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/inventory/file-merge.h"

/*
 * The inventory of a whole XFS filesystem from its inodes (XfsBulkstat).  They are merged with the store in their
 * order, without names.
 *
 * Then names are found for new, changed or doubted files: in directories that changed, or if these lack some, in
 * all directories (NameFinder).
 *
 * Thread: the filesystem's worker.
 */

/* If inodes cannot be listed, *ret_is_listed is false and the counts are reset. */
bool bulk_inventory_build(Pass *pass, FileOpener *opener, NameBuffer *names, FileMerge *merge,
			  bool *ret_is_listed, GError **error) G_GNUC_WARN_UNUSED_RESULT;
