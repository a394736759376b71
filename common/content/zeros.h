/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/config/settings.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Which runs of zero blocks may become holes.
 *
 * Pure.  Thread: any.
 */

/* Shorter runs are data like any other, unless they are all of the file. */
#define ZEROS_RUN_BYTES UINT64_C(65536)

typedef struct {
	uint64_t size_bytes;
	bool has_hole;
	bool has_unwritten; /* blocks set aside by fallocate */
	const char *name;   /* last component */
} ZerosEvidence;

/*
 * Whether the file looks thick-provisioned, that is, its space was set aside on purpose: it has
 * unwritten extents, or is fully allocated and either at least 1 GiB or named as a disk image.
 */
bool zeros_look_provisioned(const ZerosEvidence *evidence);

/* Whether zeros of a file become holes under @policy. */
bool zeros_become_holes(ZerosPolicy policy, bool looks_provisioned);
