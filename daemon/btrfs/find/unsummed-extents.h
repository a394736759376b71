/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/context/pass.h"

/*
 * UnsummedExtents - which extents without checksums belong to files that are to have none.
 *
 * These files are objects themselves, or left alone by name (InodeInventory), so that nothing is to be
 * said of their extents.
 *
 * Thread: the filesystem's worker, never while it shares.
 */
typedef struct UnsummedExtents UnsummedExtents;

/* The pass is borrowed. */
UnsummedExtents *unsummed_extents_new(Pass *pass);
void unsummed_extents_free(UnsummedExtents *extents);

/* Whether the extent at @bytenr is shown by such a file: then all that show it are. */
bool unsummed_extents_are_of_files(UnsummedExtents *extents, uint64_t bytenr, bool *ret,
				   GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * After it was: have the files be read again that the store knows as read, since this extent is new and has no sums
 * from that, as after a balance.
 */
bool unsummed_extents_read_again(UnsummedExtents *extents, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(UnsummedExtents, unsummed_extents_free)
