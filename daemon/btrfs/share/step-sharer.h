/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/btrfs/plan/extent-copy.h"
#include "daemon/btrfs/refs/extent-files.h"
#include "daemon/btrfs/refs/extent-step.h"
#include "daemon/share/dedupe-call.h"
#include "kernel-ioctl/file/dedupe-range.h"

/*
 * StepSharer - has the kernel share a step of a plan for an extent of btrfs, in windows whose data is fetched
 * first.
 *
 * Thread: the filesystem's worker, except step_sharer_share(): any.
 */
typedef struct StepSharer StepSharer;

/* How far a step was shared, and why not further. */
typedef struct SharedStep {
	uint64_t done;         /* bytes */
	uint64_t length;       /* of the window, or what is left of it, behind them */
	ReadOutcome read;      /* of that window */
	DedupeOutcome outcome; /* the same; DEDUPE_SAME: all is shared */
	SkipReason no_source;  /* SKIP_REASONS: the window has a source */
	uint64_t compared_bytes;
	DedupeCounts counts;
} SharedStep;

/* The files of a step. */
typedef struct {
	FileReader *to;
	FileReader *from; /* NULL: a hole, as long as each window needs */
} StepFiles;

/* Both are borrowed. */
StepSharer *step_sharer_new(Pass *pass, ExtentFiles *files);
void step_sharer_free(StepSharer *sharer);

/*
 * Open the files of @step; @copy is the copy of its target's remainder.  Returns NULL, or the reference whose file
 * does not open, with the reason.
 */
const ExtentRef *step_sharer_open(StepSharer *sharer, const ExtentStep *step,
				  const ExtentCopy *copy, StepFiles *ret, SkipReason *ret_reason);

/*
 * Share @step as far as possible.  Thread: any, if nobody else uses the sharer, its files, or the result of the pass
 * meanwhile.
 */
SharedStep step_sharer_share(StepSharer *sharer, const ExtentStep *step, const StepFiles *files);

/* Add to the result of the pass what sharing @step did. */
void step_sharer_note(StepSharer *sharer, const ExtentStep *step, const SharedStep *shared);

/*
 * Whether the files of @step still reference, @done bytes after its beginning, the extent at @bytenr and its
 * source.
 */
bool step_sharer_is_current(StepSharer *sharer, const ExtentStep *step, uint64_t bytenr,
			    uint64_t done, bool *ret, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The bytes to read to compare @length bytes of a step: a hole is not read. */
uint64_t step_compared_bytes(const ExtentStep *step, uint64_t length);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(StepSharer, step_sharer_free)
