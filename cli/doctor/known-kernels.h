/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/doctor/findings.h"
#include "kernel-ioctl/file/fs-identity.h"

#include <stdbool.h>

/*
 * What is known to be wrong with released kernels that matters to who shares data.
 *
 * Distributions repair older kernels without another number, so this is what to look up, never a
 * reason to refuse work.
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

/* Comparable: of "6.18.44-1-amd64" 6018.  0 if it does not begin with two numbers. */
unsigned kernel_number(const char *release);

/* The next thing known of @number on a filesystem of @kind behind @after (NULL: the first), or NULL. */
const KnownKernel *known_kernels_next(unsigned number, FsKind kind, const KnownKernel *after);
