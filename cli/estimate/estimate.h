/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/estimate/estimate-result.h"
#include "common/disks/throttle.h"

/*
 * Estimate - what could be freed on a filesystem, before anything is changed there.
 *
 * What a pass frees is what a dry run of dedupd says (EstimatePass).  A survey of the files tells what fixed blocks
 * would save.  Where data is read and only a sample is wanted, no dry run is made, and bounds come from the survey.
 * Blocks that several files show already count once.
 *
 * Memory: what the settings allow for sorting; what is many lies in temporary files.
 *
 * Thread: main.
 */
/*
 * Make it, with what is read held to @throttle.  False: an error; one that was stopped has no result, which
 * the flag tells.
 */
bool estimate_make(const EstimateTask *task, Throttle *throttle, Estimate *ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
