/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "kernel-ioctl/file/fs-identity.h"

#include <stdbool.h>

/*
 * KnownKernels - bugs of released kernels that matter to deduplication, from Linux 5.10 on.
 *
 * Distributions repair kernels without changing the number.  So a kernel is refused only if its stable release is
 * known, or if no stable release of its branch repaired the bug.
 *
 * Thread: any.
 */

/* Set to "1", it allows work on kernels that known_kernels_refusal() names. */
#define ANY_KERNEL_VARIABLE "DEDUPD_ANY_KERNEL"

typedef struct {
	unsigned branch; /* 6018 of "6.18.44"; 0: not a number */
	int stable;      /* 44; -1: not known, as of "6.1.0-40-amd64" */
} KernelRelease;

typedef enum {
	KERNEL_BUG_NOTE,    /* not due to deduplication */
	KERNEL_BUG_WARNING, /* deduplication makes it likelier, or achieves less */
	KERNEL_BUG_HARM,    /* deduplication can destroy data */
} KernelBugLevel;

typedef struct {
	unsigned first, last; /* branches that have it */
	FsKind kind;          /* FS_KIND_OTHER: any */
	KernelBugLevel level;
	const char *
		repaired; /* stable releases with the correction, such as "5.15.65 5.19.6"; NULL: none */
	const char *what;
	const char *advice;
	bool needs_large_pages; /* than 4 KiB */
} KernelBug;

/* Parse the strings of uname(2).  Debian tells the stable release in @version only. */
KernelRelease kernel_release(const char *release, const char *version);

/* The next bug that @kernel may have with a filesystem of @kind, after @after (NULL: the first); NULL: no more. */
const KernelBug *kernel_bug_next(const KernelRelease *kernel, FsKind kind, const KernelBug *after);

/*
 * Whether passes refuse @kernel for @bug, which kernel_bug_next() returned for it: @bug destroys data, and no
 * distribution can have repaired it unnoticed.
 */
bool kernel_bug_is_refused(const KernelBug *bug, const KernelRelease *kernel);

/* Why nothing may be shared on a filesystem of @kind with @kernel, to be freed; NULL: it may. */
char *kernel_release_refusal(const KernelRelease *kernel, FsKind kind);

/* The same of the running kernel.  NULL also if ANY_KERNEL_VARIABLE allows it. */
char *known_kernels_refusal(FsKind kind);
