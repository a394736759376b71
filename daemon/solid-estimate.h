/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/block-set.h"
#include "daemon/pass.h"
#include "daemon/run.h"

/*
 * SolidEstimate - what a dry run says of a run whose target and source are solid (SolidObjects): that is
 * known without a look at either.
 *
 * Thread: the filesystem's worker.
 */

/*
 * Count what sharing the part of @run that is not in @settled would free, and put it in.  The objects have
 * so many blocks.
 */
void solid_estimate_add(Pass *pass, const Run *run, uint64_t target_blocks, uint64_t source_blocks,
			BlockSet *settled);
