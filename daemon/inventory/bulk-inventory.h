/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/inventory/file-merge.h"

/*
 * The inventory of a whole XFS from its inodes, in the order of which they come (XfsBulkstat): merged
 * with what the store remembers as they come, without any names.
 *
 * Then names are found, of what is new, changed or doubted alone: in directories that changed, and
 * where these do not have them in all directories (NameFinder).
 *
 * Thread: the filesystem's worker.
 */

/* *ret_is_listed is false, and all that was counted is forgotten, if inodes could not be listed. */
bool bulk_inventory_build(Pass *pass, FileOpener *opener, NameBuffer *names, FileMerge *merge,
			  bool *ret_is_listed, GError **error) G_GNUC_WARN_UNUSED_RESULT;
