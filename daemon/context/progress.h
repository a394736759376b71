/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/threads/message-queue.h"

#include <stdatomic.h>
#include <stdint.h>

/*
 * Progress - how far a pass is, written by its worker and read by any display.
 *
 * Thread: any; each field by itself.
 */
typedef enum {
	STAGE_WALK,
	STAGE_COMPARE, /* merges the walk with the store */
	STAGE_READ,
	STAGE_MATCH,
	STAGE_SHARE,
	STAGE_SETTLE,
} Stage;

typedef struct {
	_Atomic int stage;
	_Atomic int64_t stage_started_usec; /* monotonic */
	_Atomic uint64_t files;             /* met by the walk */
	_Atomic uint64_t done_bytes;        /* of this stage */
	_Atomic uint64_t total_bytes;       /* of this stage; 0: not known */
	_Atomic uint64_t freed_bytes;
	Receiver *stage_began; /* set before the worker starts; NULL: nobody wants to know */
} Progress;

/* The work of the stage as a word for people: "walking". */
const char *stage_name(Stage stage);

/* Begin @stage with nothing of @total_bytes done. */
void progress_begin(Progress *progress, Stage stage, uint64_t total_bytes);
