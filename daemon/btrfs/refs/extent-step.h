/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/files/extent-refs.h"
#include "hashstore/objects/differed.h"

/* The source of a step. */
typedef enum {
	STEP_FROM_PLACE, /* a reference to another extent */
	STEP_FROM_HOLE,  /* an empty file: the target's bytes are zeros */
	STEP_FROM_COPY,  /* a copy of the target's remainder, which is made first */
} StepFrom;

/* ExtentStep - one range to deduplicate: bytes of a target's file and of a source.  A plan consists of steps. */
typedef struct {
	StepFrom from;
	ExtentRef target;
	uint64_t target_offset;
	uint64_t length;
	uint64_t source_offset; /* 0 in a hole */
	/* Set with STEP_FROM_PLACE; else zero. */
	ExtentRef source;
	ExtentStamp source_extent;
	bool is_whole; /* all checksums of source and target are equal */
	bool is_taken; /* it was tried ahead, perhaps together with others */
	bool is_done;  /* and was shared */
	bool is_used;  /* the target shows at least a part of the source by now */
	/* Its result, borrowed, if it was tried alone and was not shared; else NULL. */
	const struct SharedStep *result;
} ExtentStep;
