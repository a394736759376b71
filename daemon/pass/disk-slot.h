/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/disks/disk-table.h"

#include <stdatomic.h>

/*
 * DiskSlot - the right to be the only pass on disks that rotate, since any second reader brings such
 * a disk to a crawl.
 *
 * Each that rotates has a LockFile, "disk-NAME", so that it holds across processes; on others
 * passes work side by side.
 *
 * Thread: any.
 */
typedef struct DiskSlot DiskSlot;

/* The turn on all of @disks (Disk) at once.  NULL: another pass has one of them. */
DiskSlot *disk_slot_take(DiskTable *table, const GPtrArray *disks);

/*
 * The same for the filesystem that @fd lies on, but wait for it; what is waited for is said once.
 * NULL: @stop was raised, or somebody holds the filesystem @uuid (FilesystemHold).
 */
DiskSlot *disk_slot_wait(DiskTable *table, int fd, const char *mount_point, const char *uuid,
			 const atomic_bool *stop);

/* Give it back. */
void disk_slot_free(DiskSlot *turn);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(DiskSlot, disk_slot_free)
