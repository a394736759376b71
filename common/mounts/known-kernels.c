/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/mounts/known-kernels.h"

#include <glib.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define BRANCH(major, minor) ((major)*1000u + (minor))
#define BRANCH_MAX           999
#define SMALL_PAGE_BYTES     4096
#define UPDATE               "install the kernel updates of the distribution"

/* Before each bug is its source: a commit of Linux, a CVE, or a thread. */
static const KernelBug bugs[] = {
	/* 8c99516a8cdd, 5.13; "btrfs: exclude mmaps while doing remap", linux-btrfs, 14 December 2020 */
	{ .last = BRANCH(5, 12),
	  .kind = FS_KIND_BTRFS,
	  .level = KERNEL_BUG_HARM,
	  .what = "a write to mapped memory can get lost while its file is deduplicated (until "
		  "5.12)",
	  .advice = "boot Linux 5.15 or later" },
	/* ced8ecf026fd, 6.0 */
	{ .first = BRANCH(5, 12),
	  .last = BRANCH(5, 19),
	  .kind = FS_KIND_BTRFS,
	  .level = KERNEL_BUG_WARNING,
	  .repaired = "5.15.65 5.19.6",
	  .what = "rarely, space that was freed is allocated twice (5.12 to 5.19)",
	  .advice = UPDATE },
	/* 0cad8f14d70c, 6.4 */
	{ .first = BRANCH(6, 2),
	  .last = BRANCH(6, 3),
	  .kind = FS_KIND_BTRFS,
	  .level = KERNEL_BUG_WARNING,
	  .repaired = "6.2.16 6.3.3",
	  .what = "not all references of an extent are found, so less is freed than reported (6.2, "
		  "6.3)",
	  .advice = UPDATE },
	/* 7d493a5ecc26, 6.12 */
	{ .first = BRANCH(6, 10),
	  .last = BRANCH(6, 11),
	  .kind = FS_KIND_BTRFS,
	  .level = KERNEL_BUG_WARNING,
	  .repaired = "6.11.10",
	  .what = "delayed references go wrong, and the filesystem becomes read-only (6.10, 6.11)",
	  .advice = "boot Linux 6.12 or later" },
	/*
	 * "btrfs: fix read corruption due to race with extent map merging", linux-btrfs, 21 October 2024.  The kernel
	 * compares what it reads.
	 */
	{ .first = BRANCH(6, 11),
	  .last = BRANCH(6, 11),
	  .kind = FS_KIND_BTRFS,
	  .level = KERNEL_BUG_HARM,
	  .repaired = "6.11.6",
	  .what = "wrong data can be read, and compared, of files with several extents (6.11)",
	  .advice = "boot Linux 6.12 or later" },
	/* 968f19c5b1b7, 6.15 */
	{ .last = BRANCH(6, 14),
	  .kind = FS_KIND_BTRFS,
	  .level = KERNEL_BUG_NOTE,
	  .what = "direct writes from memory that changes meanwhile get wrong checksums (until "
		  "6.14)",
	  .advice = "if virtual machines or databases write directly, boot Linux 6.15 or later" },
	/* 9786531399a6, 6.17 */
	{ .last = BRANCH(6, 16),
	  .kind = FS_KIND_BTRFS,
	  .level = KERNEL_BUG_WARNING,
	  .what = "shared compressed data can be read as zeros if pages are larger than blocks "
		  "(until 6.16)",
	  .advice = "boot Linux 6.17 or later",
	  .needs_large_pages = true },
	/* CVE-2026-89772 */
	{ .first = BRANCH(6, 13),
	  .last = BRANCH(7, 2),
	  .kind = FS_KIND_BTRFS,
	  .level = KERNEL_BUG_NOTE,
	  .repaired = "7.2.4",
	  .what = "a write to mapped memory while its file is written out can get lost (6.13 to "
		  "7.2)",
	  .advice = UPDATE },
	/* 9419092fb263, 6.4; "Re: [PATCH] xfs: fix livelock in delayed allocation at ENOSPC", stable, 28 May 2023 */
	{ .first = BRANCH(6, 3),
	  .last = BRANCH(6, 3),
	  .kind = FS_KIND_XFS,
	  .level = KERNEL_BUG_HARM,
	  .repaired = "6.3.5",
	  .what = "metadata can be corrupted (6.3)",
	  .advice = "boot another kernel before anything else is written" },
	/* CVE-2026-64600, 7.2 */
	{ .last = BRANCH(7, 1),
	  .kind = FS_KIND_XFS,
	  .level = KERNEL_BUG_WARNING,
	  .repaired = "5.15.212 6.1.178 6.6.145 6.12.96 6.18.39 7.1.4",
	  .what = "a user that may write to a shared file can change the files that share its data "
		  "(until 7.1)",
	  .advice = UPDATE "; or do not share across owners (AcrossOwners=no)" },
	/* CVE-2026-98975 */
	{ .first = BRANCH(6, 10),
	  .last = BRANCH(7, 2),
	  .kind = FS_KIND_XFS,
	  .level = KERNEL_BUG_NOTE,
	  .what = "programs that exchange ranges of shared files can change other files (6.10 to "
		  "7.2)",
	  .advice = UPDATE },
	/* 9f5710bbfd30, 5.18 */
	{ .last = BRANCH(5, 17),
	  .kind = FS_KIND_OTHER,
	  .level = KERNEL_BUG_NOTE,
	  .what = "data is not shared across mounts of one filesystem (until 5.17)",
	  .advice = "boot Linux 6.1 or later" },
	{ .last = BRANCH(6, 0),
	  .kind = FS_KIND_OTHER,
	  .level = KERNEL_BUG_NOTE,
	  .what = "dedupd is not tested with kernels before 6.1",
	  .advice = "boot Linux 6.1 or later" },
};

KernelRelease kernel_release(const char *release, const char *version)
{
	const char *debian = strstr(version, " Debian ");
	KernelRelease kernel = { .stable = -1 };
	unsigned major, minor, stable;
	int length = 0;
	int n = sscanf(release, "%u.%u.%u%n", &major, &minor, &stable, &length);

	if (n < 2 || major > BRANCH_MAX || minor > BRANCH_MAX)
		return kernel;

	kernel.branch = BRANCH(major, minor);
	if (debian && sscanf(debian, " Debian %*u.%*u.%u", &stable) == 1)
		kernel.stable = (int)stable;
	/* A distribution that names its builds leaves zero there. */
	else if (n == 3 && (stable > 0 || release[length] == '\0'))
		kernel.stable = (int)stable;
	return kernel;
}

/* The first stable release of the branch of @kernel without @bug; -1: there is none. */
static int repaired_in(const KernelBug *bug, const KernelRelease *kernel)
{
	g_auto(GStrv) releases = g_strsplit(bug->repaired ? bug->repaired : "", " ", -1);
	unsigned major, minor;
	int stable;

	for (char **release = releases; *release; release++)
		if (sscanf(*release, "%u.%u.%d", &major, &minor, &stable) == 3 &&
		    BRANCH(major, minor) == kernel->branch)
			return stable;
	return -1;
}

static bool may_have(const KernelRelease *kernel, FsKind kind, const KernelBug *bug)
{
	int repaired;

	if (kernel->branch == 0 || kernel->branch < bug->first || kernel->branch > bug->last ||
	    (bug->kind != FS_KIND_OTHER && bug->kind != kind) ||
	    (bug->needs_large_pages && sysconf(_SC_PAGESIZE) <= SMALL_PAGE_BYTES))
		return false;

	repaired = repaired_in(bug, kernel);
	return repaired < 0 || kernel->stable < repaired;
}

const KernelBug *kernel_bug_next(const KernelRelease *kernel, FsKind kind, const KernelBug *after)
{
	for (const KernelBug *next = after ? after + 1 : bugs; next < bugs + G_N_ELEMENTS(bugs);
	     next++)
		if (may_have(kernel, kind, next))
			return next;
	return NULL;
}

bool kernel_bug_is_refused(const KernelBug *bug, const KernelRelease *kernel)
{
	return bug->level == KERNEL_BUG_HARM &&
	       (kernel->stable >= 0 || repaired_in(bug, kernel) < 0);
}

char *kernel_release_refusal(const KernelRelease *kernel, FsKind kind)
{
	const KernelBug *bug = NULL;

	while ((bug = kernel_bug_next(kernel, kind, bug)))
		if (kernel_bug_is_refused(bug, kernel))
			return g_strdup_printf("dedupd deduplicates nothing with this kernel: %s; "
					       "%s (" ANY_KERNEL_VARIABLE
					       "=1 in the environment overrides this)",
					       bug->what, bug->advice);
	return NULL;
}

char *known_kernels_refusal(FsKind kind)
{
	struct utsname system;
	KernelRelease kernel;

	if (g_strcmp0(g_getenv(ANY_KERNEL_VARIABLE), "1") == 0 || uname(&system) != 0)
		return NULL;

	kernel = kernel_release(system.release, system.version);
	return kernel_release_refusal(&kernel, kind);
}
