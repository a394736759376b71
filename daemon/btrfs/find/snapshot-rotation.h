/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/context/pass.h"

/*
 * Find out whether read-only snapshots of the pass's btrfs are deleted from time to time, for
 * pass->btrfs.snapshots_rotate: one that an earlier pass saw is gone, be it that this is up to 60 days ago.
 *
 * What is shared with a snapshot that is deleted soon was compared in vain.  Ids of subvolumes are never used again,
 * so that two numbers in the store tell: how many there were, and up to which.
 *
 * Thread: the filesystem's worker.
 */
bool snapshot_rotation_look(Pass *pass, GError **error) G_GNUC_WARN_UNUSED_RESULT;
