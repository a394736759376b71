/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/filesystem.h"
#include "daemon/skip.h"

/*
 * Count what is mounted below the paths of a pass in @skips, as a walk from them would meet it: it is no
 * part of the pass.
 *
 * Thread: any.
 */
void other_mounts_count(const Filesystem *filesystem, SkipLedger *skips);
