/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/files/skip.h"
#include "kernel-ioctl/file/dedupe-range.h"

/*
 * The meaning of an error of the kernel's deduplication.
 *
 * Thread: any.
 */
typedef enum {
	DEDUPE_FAILURE_FOR_GOOD, /* it holds for as long as the target does not change */
	DEDUPE_FAILURE_FOR_NOW,  /* the cause may pass: try again in the next pass */
	DEDUPE_FAILURE_STALE,    /* the store's record of the data is wrong */
} DedupeFailureKind;

SkipReason dedupe_failure_reason(DedupeOutcome outcome);
DedupeFailureKind dedupe_failure_kind(DedupeOutcome outcome);
