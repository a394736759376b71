/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/context/pass.h"

/*
 * Do the whole pass.  @result says how it ended; its figures hold whatever the outcome is.  When @stop is raised,
 * the pass ends within two seconds and keeps all that it learned.  The pass raises it itself if a disk is failing
 * or gone (DeviceWatch).
 */
void pass_run(const Settings *settings, const Filesystem *filesystem, DiskTable *disks,
	      atomic_bool *stop, Progress *progress, PassResult *result);
