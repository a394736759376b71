/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/files/skip.h"
#include "daemon/share/open-object.h"
#include "kernel-ioctl/file/dedupe-range.h"

/*
 * Why the kernel did not deduplicate a target, and what that means for it.
 *
 * Thread: any.
 */
SkipReason dedupe_failure_reason(DedupeOutcome outcome);

/* An error that holds for as long as the target does not change is for good. */
GiveUp dedupe_failure_give_up(DedupeOutcome outcome);
