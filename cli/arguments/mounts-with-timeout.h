/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/mounts/mount-table.h"

/*
 * Read the mount table as mount_table_read() does, even if a filesystem hangs.  A filesystem that does not
 * answer within 2 seconds is refused for that reason.
 *
 * A separate process examines each filesystem, since a process cannot end before all of its threads do.  A
 * process that hangs is left behind, and ends when the kernel lets it.
 *
 * Thread: main, of a process that has no other.
 */
MountTable *mounts_with_timeout_read(GError **error);
