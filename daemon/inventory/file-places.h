/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/context/pass.h"

/*
 * FilePlaces - where the files of XFS begin on the disk, from its reverse map (XfsFsmap).  If many files are to be
 * read, this is faster than opening each.
 *
 * Memory: a sixteenth of the pass's limit.  Thread: the filesystem's worker.
 */
typedef struct FilePlaces FilePlaces;

/*
 * Read the map, after dirty data was written out.  NULL without an error: the filesystem has no useful map, or it
 * cannot be read.
 */
FilePlaces *file_places_read(Pass *pass, GError **error);
void file_places_free(FilePlaces *places);

/* The address at which the file begins; 0: not known.  Ask for inodes in rising order. */
bool file_places_find(FilePlaces *places, uint64_t inode, uint64_t *ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(FilePlaces, file_places_free)
