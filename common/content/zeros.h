/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/config/settings.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Zeros - which runs of zero blocks may become holes.
 *
 * Pure.  Thread: any.
 */

/* A shorter run counts as data, unless the whole file is zeros. */
#define ZEROS_RUN_BYTES UINT64_C(65536)

typedef struct {
	uint64_t size_bytes;
	bool has_hole;
	bool has_unwritten; /* preallocated blocks */
	const char *name;   /* last component */
} ZerosEvidence;

/*
 * True if the file looks thick-provisioned: it has unwritten extents, or it is fully allocated and either at
 * least 1 GiB or named like a disk image.
 */
bool zeros_look_provisioned(const ZerosEvidence *evidence);

/* True if zeros of a file become holes under @policy. */
bool zeros_become_holes(ZerosPolicy policy, bool looks_provisioned);
