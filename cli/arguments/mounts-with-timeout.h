/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/mounts/mount-table.h"

/*
 * What is mounted, as mount_table_read() has it, though a filesystem among it hangs: one that does not answer
 * within two seconds is refused for that.
 *
 * Each is looked at by a process of its own, since one cannot end before all of its threads do.  What hangs is
 * left behind, and ends when the kernel lets it.
 *
 * Thread: main, of a process that has no other.
 */
MountTable *mounts_with_timeout_read(GError **error);
