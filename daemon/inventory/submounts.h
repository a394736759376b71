/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/files/skip.h"
#include "daemon/context/filesystem.h"

#include <stdbool.h>
#include <stdint.h>

/* Whether something is mounted on that mount, or may be.  Thread: any. */
bool submounts_are_on(uint64_t mount_id);

/*
 * Count the mounts below the roots of a pass in @skips, as a walk would meet them: they are no part of the pass.
 *
 * Thread: any.
 */
void submounts_count(const Filesystem *filesystem, SkipLedger *skips);
