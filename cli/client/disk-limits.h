/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/client/daemon-client.h"
#include "cli/terminal/table.h"
#include "common/config/config.h"
#include "common/mounts/mount-table.h"
#include "kernel-ioctl/machine/disk-topology.h"

/*
 * The disks of a filesystem and their limits, as arrays of DaemonDisk.  The limits come from the service if it
 * works on the disks, else from the configuration.
 *
 * Thread: main.
 */

/* The columns that a table of disks begins with, for TABLE_COLUMNS(). */
#define DISK_COLUMNS(COLUMN)                                                                       \
	COLUMN(DISK_NAME, "DISK", "disk", COLUMN_TEXT)                                             \
	COLUMN(DISK_RATE, "RATE", "rate_bytes", COLUMN_NUMBER)                                     \
	COLUMN(DISK_IOPS, "IOPS", "iops", COLUMN_NUMBER)                                           \
	COLUMN(DISK_FROM, "FROM", "from", COLUMN_TEXT)                                             \
	COLUMN(DISK_PRESSURE, "PRESSURE", "pressure", COLUMN_TEXT)

/* The disk of @all (DaemonDisk; NULL: none) with the kernel's name @name; NULL: none. */
const DaemonDisk *disk_limits_find(const GPtrArray *all, const char *name);

/* The disks with these names.  @known (DaemonDisk) is what the service says; NULL: there is no service. */
GPtrArray *disk_limits_named(const GPtrArray *known, char *const *names);

/* The disks under a mounted filesystem in @topology.  @config is NULL if it cannot be read. */
GPtrArray *disk_limits_below(const GPtrArray *known, const Config *config,
			     const DiskTopology *topology, const MountedFilesystem *mounted);

/* "sda, sdb 50 MiB/s 200/s"; "-": no disk is visible. */
char *disk_limits_text(const GPtrArray *disks, bool in_bytes);

/* Add a row for @disk to a table that begins with the columns of disks, and set these columns. */
void disk_limits_add_row(Table *table, const DaemonDisk *disk);

/* For JSON. */
Table *disk_limits_table(const GPtrArray *disks, const Options *options);
