/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/system/name-buffer.h"
#include "daemon/context/file-opener.h"
#include "daemon/inventory/read-list.h"
#include "daemon/inventory/same-sizes.h"

/*
 * Candidates - finds files that may be identical to others by reading as little as possible.
 *
 * The heads of files whose size others have are read.  This fingerprints small files.  Larger ones are read only if
 * others have the same head.  All other files are recorded as OBJECT_SEEN, with the head if it was read, so that a
 * later pass can compare others with it.
 *
 * Heads are read in the order of inode numbers: in both filesystems, their data then lies close together.
 *
 * Memory: half of the pass's limit.  Thread: the filesystem's worker.
 */

/*
 * Bring the store up to date for the files of @sizes, which are sorted here and have their names in @names.  Add
 * files to @to_read that have to be read beyond their heads.  Files that a stopped pass did not come to are new to
 * the next one.
 */
bool candidates_choose(Pass *pass, SameSizes *sizes, NameBuffer *names, FileOpener *opener,
		       ReadList *to_read, GError **error) G_GNUC_WARN_UNUSED_RESULT;
