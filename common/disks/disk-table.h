/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/config/config.h"
#include "common/config/settings.h"
#include "common/disks/throttle.h"
#include "kernel-ioctl/machine/disk.h"

#include <stdbool.h>

/*
 * DiskTable - the disks that passes work on, each with its budget: filesystems that lie on one disk
 * share it.
 *
 * What a disk may be asked for is what the configuration says of it, or, until the process ends,
 * what somebody set since.  A pass has the limits of its own Settings besides.
 *
 * Thread: any.
 */
typedef struct DiskTable DiskTable;

DiskTable *disk_table_new(void);

/* After all throttles that came from it. */
void disk_table_free(DiskTable *table);

/*
 * Hold all disks to @config, from now on, also those that passes work on; @settings are those of the
 * command line, which win.  @config is borrowed until the next call, or the end.
 */
void disk_table_configure(DiskTable *table, const Config *config, const Settings *settings);

/* Know @disks (Disk), whether or not a pass works on them yet. */
void disk_table_add(DiskTable *table, const GPtrArray *disks);

/* What there is to see of a disk. */
typedef struct {
	char *name;
	DiskRules rules;
	uint64_t charged_bytes; /* for all that passes did */
} DiskView;

/* Of all disks that are known (DiskView), in the order in which they were met. */
GPtrArray *disk_table_views(const DiskTable *table);

/*
 * Have a disk keep to @limits whatever is configured; @name is any of its names, also with /dev/.
 * False: no such disk is known.
 */
bool disk_table_set_limits(DiskTable *table, const char *name, const DiskLimits *limits);

/* Whether @disk rotates, as is configured or else as the kernel says. */
bool disk_table_is_rotating(DiskTable *table, const Disk *disk);

/*
 * What holds a pass over the filesystem that @fd lies on to the budgets of its disks, and to the
 * limits of @settings, which are the pass's alone.
 */
Throttle *disk_table_throttle(DiskTable *table, const Settings *settings, int fd);

/*
 * Have what stores in the directory @path do charged to the disks that it lies on.  Where no disks can be
 * found it is charged to those of the filesystem.
 */
void disk_table_add_store(DiskTable *table, Throttle *throttle, const char *path);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(DiskTable, disk_table_free)
