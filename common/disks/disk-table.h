/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/config/config.h"
#include "common/config/settings.h"
#include "common/disks/throttle.h"
#include "kernel-ioctl/machine/disk.h"

#include <stdbool.h>

/*
 * DiskTable - the disks of passes and their budgets, which filesystems on one disk share.
 *
 * A disk has its configured limits, or those that a caller set since, until the process ends.  A pass also has
 * the limits of its own Settings.
 *
 * Thread: any.
 */
typedef struct DiskTable DiskTable;

DiskTable *disk_table_new(void);

/* Call it after freeing all throttles of the table. */
void disk_table_free(DiskTable *table);

/*
 * Apply @config to all disks from now on, including those in use.  @settings are those of the command line,
 * which win.  @config is borrowed until the next call, or the end.
 */
void disk_table_configure(DiskTable *table, const Config *config, const Settings *settings);

/* Add @disks (Disk) to the table, used by a pass or not. */
void disk_table_add(DiskTable *table, const GPtrArray *disks);

/* The visible properties of a disk. */
typedef struct {
	char *name;
	DiskRules rules;
	uint64_t charged_bytes; /* by all passes */
} DiskView;

/* All known disks (DiskView), in the order of their first use. */
GPtrArray *disk_table_views(const DiskTable *table);

/*
 * Give the disk @name fixed limits instead of the configured ones.  @name is any of its names, with /dev/ or
 * without.  False: no such disk is known.
 */
bool disk_table_set_limits(DiskTable *table, const char *name, const DiskLimits *limits);

/* The configured value, or else the kernel's. */
bool disk_table_is_rotating(DiskTable *table, const Disk *disk);

/*
 * A throttle for a pass over the filesystem of @fd: the budgets of its disks, and the limits of @settings,
 * which apply to this pass alone.
 */
Throttle *disk_table_throttle(DiskTable *table, const Settings *settings, int fd);

/*
 * Charge the I/O of stores in the directory @path to the disks below it, or to those of the filesystem if
 * none is found.
 */
void disk_table_add_store(DiskTable *table, Throttle *throttle, const char *path);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(DiskTable, disk_table_free)
