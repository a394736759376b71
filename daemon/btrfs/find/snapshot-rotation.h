/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/context/pass.h"

/*
 * Find out whether read-only snapshots of the filesystem are deleted from time to time, for
 * pass->btrfs.snapshots_rotate: one that an earlier pass saw is gone, at most 60 days ago.
 *
 * Comparing with a snapshot that is deleted soon is in vain.  Ids of subvolumes are never used again, so two
 * numbers in the store suffice: the number of snapshots, and the id up to which they were counted.
 *
 * Thread: the filesystem's worker.
 */
bool snapshot_rotation_look(Pass *pass, GError **error) G_GNUC_WARN_UNUSED_RESULT;
