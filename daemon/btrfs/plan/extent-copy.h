/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/files/extent-refs.h"
#include "daemon/btrfs/refs/extent-files.h"
#include "daemon/context/pass.h"

/*
 * ExtentCopy - the remainder of a data extent, copied to an unnamed file of the same btrfs filesystem (O_TMPFILE),
 * as a source for FIDEDUPERANGE.  The kernel compares, so data that changed meanwhile is not replaced.  The pass
 * writes no other data.
 *
 * The file is made in the subvolume that simple quotas charge for the extent, so that the same one is charged for
 * the remainder.  If they charge none, or that one is read-only or gone, it is made in a subvolume that refers to
 * the extent.  It is made in the top level only if all of these are read-only and simple quotas are off.
 *
 * A copy that would take more than a 16th of the free space is not made (SKIP_NO_SPACE).
 *
 * The shared part of the copy stays; the remainder goes with the file, also when the process is killed.
 *
 * Thread: the filesystem's worker.
 */
typedef struct ExtentCopy ExtentCopy;

/* A range that is copied from one place in a file, or that repeats copied ones. */
typedef struct {
	ExtentRef place;
	uint64_t place_offset; /* byte in the place's file */
	uint64_t offset;       /* byte in the copy: where the part before ends */
	uint64_t length;
	bool is_repeat; /* the copy has it at @offset for another place */
} CopyPart;

/* The reason that a copy failed. */
typedef struct {
	SkipReason reason;
	const ExtentRef *blamed; /* the reference that could not be read, or NULL */
	uint64_t wasted_bytes;   /* with SKIP_DIFFERS: compared */
} CopyFailure;

/*
 * Copy @parts of @extent (of CopyPart), in rising order of offsets; those that repeat others come last.  Equal sums
 * prove too little for these, so they are compared with the copy here: SKIP_DIFFERS if they differ.  Otherwise the
 * kernel would find that after it shared others, and the copy would be lost space.
 *
 * NULL if this fails.
 */
ExtentCopy *extent_copy_new(Pass *pass, ExtentFiles *files, const Object *extent,
			    const GArray *parts, CopyFailure *ret_failure);
void extent_copy_free(ExtentCopy *copy);

/* Whether the filesystem has room for a copy of @bytes beside what others may write. */
bool extent_copy_has_room(const Pass *pass, uint64_t bytes);

/* The reader of the copy, for comparing. */
FileReader *extent_copy_reader(const ExtentCopy *copy);

/* The space of the copy on the disk. */
uint64_t extent_copy_disk_bytes(const ExtentCopy *copy);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(ExtentCopy, extent_copy_free)
