/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * SubvolumeNames - which subvolumes of a btrfs somebody means: one by its path, or a range of
 * snapshots, "A..B".
 *
 * A range is from A to B in the order in which they were created.  Either both are snapshots of the
 * same subvolume, and those of it in between belong to the range; or B goes back to A over
 * snapshots of snapshots, as those that 'btrfs receive' made one after another do, and these are
 * the range.
 *
 * Thread: main.
 */

/* Open the directory, which has to be the top of a subvolume of a btrfs; -1 on error. */
int subvolume_open(const char *path, uint64_t *ret_id, GError **error);

/*
 * Split "A..B" where both A and B lead to a directory; B may be a path from the directory that has
 * A, too.  False if the text is a directory itself, or cannot be split so.
 */
bool subvolume_range_split(const char *text, char **ret_first, char **ret_last);

/*
 * The places in @subvolumes (BtrfsSubvolume, by ascending id) of the range, in the order of
 * creation: an array of guint, to be unref'd.  NULL if the two are not related so, or the last one
 * is older than the first.
 */
GArray *subvolume_range_list(const GArray *subvolumes, guint first, guint last, GError **error);
