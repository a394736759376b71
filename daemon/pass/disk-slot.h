/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/disks/disk-table.h"

#include <stdatomic.h>

/*
 * DiskSlot - the right to be the only pass on disks that rotate: a second reader would slow such a disk to a crawl.
 *
 * Each rotating disk has a LockFile, "disk-NAME", so the slot holds across processes.  On other disks passes run
 * side by side.
 *
 * Thread: any.
 */
typedef struct DiskSlot DiskSlot;

/* Take the slots of all of @disks (Disk) at once.  NULL: another pass has one of them. */
DiskSlot *disk_slot_take(DiskTable *table, const GPtrArray *disks);

/*
 * The same for the filesystem that @fd lies on, but wait.  One message says what the pass waits for.  NULL: @stop
 * was raised, or somebody holds the filesystem @uuid (FilesystemHold).
 */
DiskSlot *disk_slot_wait(DiskTable *table, int fd, const char *mount_point, const char *uuid,
			 const atomic_bool *stop);

/* Give the slots back. */
void disk_slot_free(DiskSlot *turn);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(DiskSlot, disk_slot_free)
