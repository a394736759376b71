/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/snapshots/root-sets.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * SubvolumeUsage - what the subvolumes of a btrfs filesystem hold, alone and together, and so what deleting any
 * of them would free.
 *
 * It measures once, from back references, without quota groups.  After that, sums answer each question: how
 * many bytes each set of subvolumes holds.
 *
 * Bytes are bytes on the disk after compression, counted once however many copies the profile keeps.  Metadata
 * are the blocks of the subvolumes' own trees.  Items in the extent tree and the csum tree are not included:
 * about 0.1 % of data, and up to 3 % for extents of 4 KiB.
 *
 * Subvolumes that are being deleted hold nothing, since their exclusive data is already being freed.
 *
 * Thread: any, one at a time.
 */
typedef struct SubvolumeUsage SubvolumeUsage;

typedef struct {
	uint64_t data_bytes;
	uint64_t metadata_bytes;
} UsageBytes;

/*
 * Measure the filesystem of @fd, one of its directories.  Dirty data is written out first.  A measurement that
 * was disturbed by changes is repeated a few times.  Needs CAP_SYS_ADMIN: else G_FILE_ERROR_PERM.
 */
SubvolumeUsage *subvolume_usage_measure(int fd, GError **error);
void subvolume_usage_free(SubvolumeUsage *usage);

/* Make it from measured data.  Consumes the arrays and @sets.  The sums are UsageBytes by set. */
SubvolumeUsage *subvolume_usage_new(GArray *subvolumes, RootSets *sets, GArray *sums);

/* The subvolumes, by ascending id (BtrfsSubvolume); places in it name them below. */
const GArray *subvolume_usage_subvolumes(const SubvolumeUsage *usage);

/* Whether the filesystem changed during the measurement, so that figures are approximate. */
bool subvolume_usage_is_approximate(const SubvolumeUsage *usage);

/* All that the subvolume at @place refers to. */
UsageBytes subvolume_usage_referenced(const SubvolumeUsage *usage, guint place);

/*
 * The bytes that only the @n subvolumes at @places hold.  Deleting all of them frees these.  None
 * of them may be deleted already.
 */
UsageBytes subvolume_usage_exclusive(const SubvolumeUsage *usage, const guint *places, guint n);

/* The bytes that deleted subvolumes still hold, and that the kernel is freeing. */
UsageBytes subvolume_usage_being_freed(const SubvolumeUsage *usage);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SubvolumeUsage, subvolume_usage_free)
