/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/context/pass.h"

/*
 * Do the whole pass.  How it ended is in @result, of which each figure holds whatever the outcome.
 * When @stop is raised it ends within two seconds, with all that was learned kept.  The pass raises it
 * itself when a disk is failing or gone (DeviceWatch).
 */
void pass_run(const Settings *settings, const Filesystem *filesystem, DiskTable *disks,
	      atomic_bool *stop, Progress *progress, PassResult *result);
