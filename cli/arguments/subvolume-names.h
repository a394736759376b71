/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * SubvolumeNames - finds the btrfs subvolumes that an argument means: one by its path, or a range of snapshots,
 * "A..B".
 *
 * A range is from A to B in the order of creation.  Either both are snapshots of the same subvolume, and the
 * range has its snapshots in between.  Or B goes back to A over snapshots of snapshots, as 'btrfs receive'
 * makes them one after another, and these are the range.
 *
 * Thread: main.
 */

/* Open a directory, which must be the top of a btrfs subvolume; -1 on error. */
int subvolume_open(const char *path, uint64_t *ret_id, GError **error);

/*
 * Split "A..B", where A and B are paths of directories.  B may also be relative to the directory that contains
 * A.  Returns false if the text is itself a directory, or cannot be split this way.
 */
bool subvolume_range_split(const char *text, char **ret_first, char **ret_last);

/*
 * List the range by the subvolumes' places in @subvolumes (BtrfsSubvolume, by ascending id), in the order of
 * creation.  Returns an array of guint, to be unref'd.  NULL if the two are not related in this way, or the
 * last is older than the first.
 */
GArray *subvolume_range_list(const GArray *subvolumes, guint first, guint last, GError **error);
