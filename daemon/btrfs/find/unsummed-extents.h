/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/context/pass.h"

/*
 * UnsummedExtents - which extents without checksums belong to files without checksums.
 *
 * These files are objects themselves, or are skipped by name (InodeInventory), so their extents are not reported.
 *
 * Thread: the filesystem's worker, never while it shares.
 */
typedef struct UnsummedExtents UnsummedExtents;

/* The pass is borrowed. */
UnsummedExtents *unsummed_extents_new(Pass *pass);
void unsummed_extents_free(UnsummedExtents *extents);

/* Whether such a file references the extent at @bytenr: then all files that do so are such files. */
bool unsummed_extents_are_of_files(UnsummedExtents *extents, uint64_t bytenr, bool *ret,
				   GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * If it does: have files read again that the store knows as read.  This extent is new and has no sums from that, as
 * after a balance.
 */
bool unsummed_extents_read_again(UnsummedExtents *extents, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(UnsummedExtents, unsummed_extents_free)
