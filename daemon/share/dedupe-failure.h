/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/files/skip.h"
#include "kernel-ioctl/file/dedupe-range.h"

/*
 * The reason why the kernel did not deduplicate a target.
 *
 * Thread: any.
 */
SkipReason dedupe_failure_reason(DedupeOutcome outcome);
