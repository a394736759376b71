/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/extent-files.h"
#include "daemon/extent-refs.h"
#include "daemon/pass.h"

/*
 * ExtentCopy - the rest of a data extent, copied to an unnamed file of the same btrfs (O_TMPFILE in the top
 * level, as what shows the extent may be read-only), to be shared with by FIDEDUPERANGE: the
 * kernel compares, so what changed meanwhile is not replaced.  Nothing else is ever written.
 *
 * What of it is shared stays; the rest goes with the file, also when the process is killed.
 *
 * Thread: the filesystem's worker.
 */
typedef struct ExtentCopy ExtentCopy;

/* What is copied from one place in a file. */
typedef struct {
	ExtentRef place;
	uint64_t place_offset; /* byte in the place's file */
	uint64_t offset;       /* byte in the copy: where the part before ends */
	uint64_t length;
} CopyPart;

/*
 * Copy @parts (of CopyPart), that of the highest offset last.  NULL, with the reason, where it cannot be
 * done; *ret_blamed is then the place that could not be read, or NULL.
 */
ExtentCopy *extent_copy_new(Pass *pass, ExtentFiles *files, const GArray *parts,
			    SkipReason *ret_reason, const ExtentRef **ret_blamed);
void extent_copy_free(ExtentCopy *copy);

/* To compare with. */
FileReader *extent_copy_reader(const ExtentCopy *copy);

/* What it takes on the disk. */
uint64_t extent_copy_disk_bytes(const ExtentCopy *copy);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(ExtentCopy, extent_copy_free)
