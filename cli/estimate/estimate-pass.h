/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/estimate/estimate-result.h"

/*
 * EstimatePass - what a first pass would free, as a dry run of dedupd says.
 *
 * The dry run has a state directory of its own, below the directory for temporary files, which is removed afterwards.
 * It takes no lock of the filesystem, so that it keeps no pass from running.
 *
 * Thread: main.
 */

/* Make the dry run, and put what it says into @ret.  One that was stopped leaves it as it is. */
bool estimate_pass_make(const EstimateTask *task, Estimate *ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
