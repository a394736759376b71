/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/doctor/known-kernels.h"

#include <stdio.h>

#define KERNEL(major, minor) ((major)*1000u + (minor))
#define NEWER_KERNEL         "boot a newer kernel, 6.1 or later"

static const KnownKernel known[] = {
	{ KERNEL(0, 0), KERNEL(5, 9), FS_KIND_BTRFS, FINDING_ERROR,
	  "it does not say which checksums a btrfs has, nor its transaction (since 5.10)",
	  NEWER_KERNEL },
	{ KERNEL(0, 0), KERNEL(5, 0), FS_KIND_BTRFS, FINDING_WARNING,
	  "holes punched into compressed data could read as garbage (until 5.0)", NEWER_KERNEL },
	{ KERNEL(0, 0), KERNEL(5, 1), FS_KIND_BTRFS, FINDING_WARNING,
	  "sharing races with 'btrfs send' of the same subvolume (until 5.1)", NEWER_KERNEL },
	{ KERNEL(5, 0), KERNEL(5, 5), FS_KIND_BTRFS, FINDING_NOTE,
	  "the last block of a file cannot be shared (5.0 to 5.5)", NEWER_KERNEL },
	{ KERNEL(5, 1), KERNEL(5, 3), FS_KIND_BTRFS, FINDING_ERROR,
	  "metadata can be corrupted (5.1 to 5.3)",
	  "boot another kernel before anything else is written" },
	{ KERNEL(0, 0), KERNEL(5, 6), FS_KIND_BTRFS, FINDING_NOTE,
	  "finding what shows an extent takes much time (until 5.6)", NEWER_KERNEL },
	{ KERNEL(6, 10), KERNEL(6, 11), FS_KIND_BTRFS, FINDING_WARNING,
	  "delayed references are known to go wrong (6.10, 6.11)", "boot 6.12 or later" },
	{ KERNEL(0, 0), KERNEL(6, 14), FS_KIND_BTRFS, FINDING_NOTE,
	  "direct writes out of memory that changes meanwhile get wrong checksums (until 6.14)",
	  "where virtual machines or databases write directly, boot 6.15 or later" },
	{ KERNEL(0, 0), KERNEL(5, 17), FS_KIND_OTHER, FINDING_NOTE,
	  "data is not shared across mounts of one filesystem (until 5.17)", NEWER_KERNEL },
	{ KERNEL(0, 0), KERNEL(6, 0), FS_KIND_OTHER, FINDING_NOTE,
	  "dedupd is not tried with kernels before 6.1", NEWER_KERNEL },
};

unsigned kernel_number(const char *release)
{
	unsigned major, minor;

	if (sscanf(release, "%u.%u", &major, &minor) != 2 || major > 999 || minor > 999)
		return 0;
	return KERNEL(major, minor);
}

const KnownKernel *known_kernels_next(unsigned number, FsKind kind, const KnownKernel *after)
{
	for (const KnownKernel *next = after ? after + 1 : known;
	     next < known + G_N_ELEMENTS(known); next++)
		if (next->first <= number && number <= next->last &&
		    (next->kind == FS_KIND_OTHER || next->kind == kind))
			return next;
	return NULL;
}
