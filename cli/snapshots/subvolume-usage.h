/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/snapshots/root-sets.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * SubvolumeUsage - what the subvolumes of a btrfs hold, alone and together, and so what deleting any
 * of them would free.
 *
 * Measured once, from back references, without quota groups.  After that each question is answered
 * from sums: how many bytes each set of subvolumes holds.
 *
 * Bytes are those on the disk, compressed ones as compressed, each counted once however many copies
 * the profile keeps.  Metadata are the blocks of the subvolumes' own trees.  What an extent costs in
 * the extent tree and in the checksum tree is not in it: about 0.1 % of data, and of extents of
 * 4 KiB up to 3 %.
 *
 * Subvolumes that are being deleted hold nothing: what only they have is being freed already.
 *
 * Thread: any, one at a time.
 */
typedef struct SubvolumeUsage SubvolumeUsage;

typedef struct {
	uint64_t data_bytes;
	uint64_t metadata_bytes;
} UsageBytes;

/*
 * Measure the filesystem that @fd, a directory of it, lies on.  What is dirty is written out first,
 * and a look that others' changes spoilt is repeated a few times.  Needs CAP_SYS_ADMIN: else G_FILE_ERROR_PERM.
 */
SubvolumeUsage *subvolume_usage_measure(int fd, GError **error);
void subvolume_usage_free(SubvolumeUsage *usage);

/* From what was measured; consumes the arrays and @sets.  The sums are UsageBytes by set. */
SubvolumeUsage *subvolume_usage_new(GArray *subvolumes, RootSets *sets, GArray *sums);

/* The subvolumes, by ascending id (BtrfsSubvolume); places in it name them below. */
const GArray *subvolume_usage_subvolumes(const SubvolumeUsage *usage);

/* Whether the filesystem changed while it was looked at, so that figures are near the truth only. */
bool subvolume_usage_is_approximate(const SubvolumeUsage *usage);

/* All that the subvolume at @place refers to. */
UsageBytes subvolume_usage_referenced(const SubvolumeUsage *usage, guint place);

/* What only the @n subvolumes at @places hold, none of them deleted before, so what is free when they all are deleted. */
UsageBytes subvolume_usage_exclusive(const SubvolumeUsage *usage, const guint *places, guint n);

/* What subvolumes that were deleted before still hold, and are giving back. */
UsageBytes subvolume_usage_being_freed(const SubvolumeUsage *usage);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SubvolumeUsage, subvolume_usage_free)
