/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/btrfs/plan/extent-copy.h"
#include "daemon/btrfs/refs/extent-files.h"
#include "daemon/btrfs/refs/extent-step.h"
#include "kernel-ioctl/file/dedupe-range.h"

/*
 * StepRounds - has the kernel share a step of a plan for an extent of btrfs, in rounds whose data is
 * fetched before.
 *
 * Thread: the filesystem's worker.
 */
typedef struct StepRounds StepRounds;

/* How far a step was shared, and why it went no further. */
typedef struct {
	uint64_t done;         /* bytes */
	uint64_t length;       /* of the round behind them, if any */
	ReadOutcome read;      /* of that round */
	DedupeOutcome outcome; /* the same; DEDUPE_SAME: all is shared */
	SkipReason no_source;  /* SKIP_REASONS: that round has one */
} SharedRounds;

/* The files of a step. */
typedef struct {
	FileReader *to;
	FileReader *from; /* NULL: a hole, which is made as long as each round needs it */
} StepFiles;

/* Both are borrowed. */
StepRounds *step_rounds_new(Pass *pass, ExtentFiles *files);
void step_rounds_free(StepRounds *rounds);

/*
 * Open the files of @step, for which @copy is that of its target's rest.  NULL, or the place whose file
 * does not open, with the reason.
 */
const ExtentRef *step_rounds_open(StepRounds *rounds, const ExtentStep *step,
				  const ExtentCopy *copy, StepFiles *ret, SkipReason *ret_reason);

/* Share @step as far as that goes. */
SharedRounds step_rounds_share(StepRounds *rounds, const ExtentStep *step, const StepFiles *files);

/*
 * Whether the files of @step still show, @done bytes from its beginning on, the extents that it is for:
 * the one at @bytenr, and its source.
 */
bool step_rounds_is_current(StepRounds *rounds, const ExtentStep *step, uint64_t bytenr,
			    uint64_t done, bool *ret, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The bytes read to compare @length bytes of a step: a hole has none. */
uint64_t step_compared_bytes(const ExtentStep *step, uint64_t length);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(StepRounds, step_rounds_free)
