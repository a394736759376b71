/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/estimate/estimate-result.h"

/*
 * EstimatePass - estimates what a first pass would free, by a dry run of dedupd.
 *
 * The dry run has its own state directory below the directory for temporary files.  It is removed afterwards.
 * The dry run takes no lock of the filesystem, so it does not block passes.
 *
 * Thread: main.
 */

/* Make the dry run and store its result in @ret.  A dry run that was stopped leaves @ret unchanged. */
bool estimate_pass_make(const EstimateTask *task, Estimate *ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
