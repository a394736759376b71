/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/estimate/estimate-result.h"

/*
 * Estimate - estimates what could be freed on a filesystem, before anything is changed there.
 *
 * A dry run of dedupd tells what a pass would free (EstimatePass).  A survey of the files tells what fixed
 * blocks would save.  If data is read and only a sample is wanted, there is no dry run, and bounds come from
 * the survey.  Blocks that several files already share count once.
 *
 * Memory: what the settings allow for sorting; bulk data lies in temporary files.
 *
 * Thread: main.
 */
/*
 * Make the estimate.  Returns false on error.  An estimate that was stopped has no result; the caller must check
 * the stop flag.
 */
bool estimate_make(const EstimateTask *task, Estimate *ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
