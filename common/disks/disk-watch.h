/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/disks/disk-budget.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * DiskWatch - looks at a disk ten times a second, more often at first, and limits its budget to what other
 * work leaves (DiskPressure).
 *
 * It has no thread: the users of the disk look, also while they wait.  So nobody looks when nobody works.
 *
 * Thread: any.
 */
typedef struct DiskWatch DiskWatch;

/* @stat_path is the file of the disk's counters (DiskStat). */
DiskWatch *disk_watch_new(const char *stat_path, DiskBudget *budget);
void disk_watch_free(DiskWatch *watch);

/* True if the time for a look has come.  It matters only if the budget makes way. */
bool disk_watch_is_due(const DiskWatch *watch, int64_t now_usec);

/* Look, if it is due and the budget makes way. */
void disk_watch_look(DiskWatch *watch, int64_t now_usec);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(DiskWatch, disk_watch_free)
