/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/system/name-buffer.h"
#include "daemon/context/file-opener.h"
#include "daemon/inventory/read-list.h"
#include "daemon/inventory/same-sizes.h"

/*
 * Candidates - finds out which files may be identical to others by reading as little as possible.
 *
 * Of files whose size others have the heads are read.  Small ones are fingerprinted with that; of the
 * larger ones those whose head others have, too, are to be read.  The rest is put into the store as
 * OBJECT_SEEN, with its head if that was read, so that a later pass can compare others with it.
 *
 * They are read in the order of inode numbers, in which neither filesystem has far to go from one
 * beginning to the next.
 *
 * Memory: half of the pass's limit.  Thread: the filesystem's worker.
 */

/*
 * Bring the store up to date for the files of @sizes, which are sorted here and whose names are in
 * @names, and add to @to_read what has to be read beyond its head.  What was not come to when the
 * pass was stopped is new to the next one.
 */
bool candidates_choose(Pass *pass, SameSizes *sizes, NameBuffer *names, FileOpener *opener,
		       ReadList *to_read, GError **error) G_GNUC_WARN_UNUSED_RESULT;
