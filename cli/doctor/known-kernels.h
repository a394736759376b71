/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/doctor/findings.h"
#include "kernel-ioctl/file/fs-identity.h"

#include <stdbool.h>

/*
 * Known bugs of released kernels that matter to deduplication.
 *
 * Distributions repair older kernels without changing the number.  So this is advice, never a reason to refuse
 * work.
 *
 * Pure.  Thread: any.
 */
typedef struct {
	unsigned first,
		last; /* kernel_number() of the first release that has it, and of the last */
	FsKind kind;  /* FS_KIND_OTHER: any */
	FindingLevel level;
	const char *what;
	const char *advice;
} KnownKernel;

/* A comparable number: 6018 for "6.18.44-1-amd64". 0 if @release does not begin with two numbers. */
unsigned kernel_number(const char *release);

/* The next known bug of @number on a filesystem of @kind after @after (NULL: the first); NULL: no more. */
const KnownKernel *known_kernels_next(unsigned number, FsKind kind, const KnownKernel *after);
