/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/files/btrfs-paths.h"
#include "cli/snapshots/deferred-sums.h"
#include "cli/snapshots/subvolume-usage.h"
#include "cli/terminal/table.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * SubvolumeTable - the subvolumes of btrfs filesystems as rows: what each holds, and what its deletion would
 * free.
 *
 * Thread: main.
 */
extern const TableKind table_of_snapshots;

/* The columns are those of --output in @options.  To be freed with table_free(). */
Table *subvolume_table_new(const Options *options);

/*
 * Add rows for the @n subvolumes at @places, by descending bytes that their deletion would free.  If @places is
 * NULL, add all that are not being deleted.  @uuid is the filesystem's.  @deferred is NULL if nothing is known.
 */
void subvolume_table_add(Table *table, const SubvolumeUsage *usage, BtrfsPaths *paths,
			 const DeferredSums *deferred, const char *uuid, const guint *places,
			 guint n);
