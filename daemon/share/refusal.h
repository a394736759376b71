/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/files/skip.h"
#include "kernel-ioctl/file/dedupe-range.h"

/*
 * What it means that the kernel would not share.
 *
 * Thread: any.
 */
typedef enum {
	REFUSAL_FOR_GOOD, /* it stays like this for as long as the target does not change */
	REFUSAL_FOR_NOW,  /* the cause may pass: try again in the next pass */
	REFUSAL_STALE,    /* what is known of the data is not true any more */
} RefusalKind;

SkipReason refusal_reason(DedupeOutcome outcome);
RefusalKind refusal_kind(DedupeOutcome outcome);
