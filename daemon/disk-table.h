/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/settings.h"
#include "daemon/throttle.h"

/*
 * DiskTable - the disks that passes work on, each with its budget: filesystems that lie on one disk
 * share it.
 *
 * Thread: any.
 */
typedef struct DiskTable DiskTable;

DiskTable *disk_table_new(void);

/* After all throttles that came from it. */
void disk_table_free(DiskTable *table);

/*
 * What holds a pass over the filesystem that @fd lies on to the budgets of its disks, whose limits
 * become those of @settings.  Where no disks can be found the pass has the limits to itself.
 */
Throttle *disk_table_throttle(DiskTable *table, const Settings *settings, int fd);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(DiskTable, disk_table_free)
