/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/btrfs/plan/extent-plan.h"
#include "daemon/btrfs/refs/extent-files.h"

/*
 * ExtentQueue - targets that are planned and not yet shared, in the order in which they are to be.
 *
 * Planned ahead, what they need is read while another is shared, and where one goes on in a file
 * where another ends both are shared by one call: btrfs makes an extent item of each call.
 *
 * Thread: the filesystem's worker.
 */
typedef struct ExtentQueue ExtentQueue;

/* A target with what is to be done for it. */
typedef struct {
	Object extent;
	GArray *steps;   /* ExtentStep */
	GArray *parts;   /* CopyPart: what is to be copied before */
	GArray *runs;    /* Run: what can be tried if the kernel finds a step different */
	GArray *holders; /* uint64_t, ascending: snapshots that keep the target after all steps */
	RemainderClaim claim;   /* to be given back unless the target goes */
	uint64_t memory_bytes;  /* of these, when it was added */
	FetchedAhead of_target; /* for its first step, and to be released */
	FetchedAhead of_source;
} PlannedTarget;

void planned_target_free(PlannedTarget *planned);

ExtentQueue *extent_queue_new(void);
void extent_queue_free(ExtentQueue *queue);

/* Start reading the first @length bytes that its first step compares, so that the disk has much to do. */
void planned_target_fetch(PlannedTarget *planned, ExtentFiles *files, uint64_t length);

/* It was done, or is left alone. */
void planned_target_release(PlannedTarget *planned, ExtentFiles *files);

/* Add @target as the last one, with copies of what is planned for it (@steps, @parts, @holders) and of its @runs. */
PlannedTarget *extent_queue_push(ExtentQueue *queue, const Object *target, const GArray *steps,
				 const GArray *parts, const GArray *holders, const GArray *runs);

/* Plan something else for it. */
void planned_target_set(PlannedTarget *planned, const GArray *steps, const GArray *parts,
			const GArray *holders);

/* The first one, which there must be. */
const PlannedTarget *extent_queue_first(const ExtentQueue *queue);

/* Take the first one, which there must be. */
PlannedTarget *extent_queue_pop(ExtentQueue *queue);

/* Leave all targets alone, for @reason. */
void extent_queue_leave(ExtentQueue *queue, Pass *pass, ExtentFiles *files, SkipReason reason);

/* How many targets it has. */
guint extent_queue_length(const ExtentQueue *queue);

bool extent_queue_is_empty(const ExtentQueue *queue);

/* Whether any of @objects (uint32_t: ids) is among the targets. */
bool extent_queue_has_any(const ExtentQueue *queue, const GArray *objects);

/* Whether one of the targets claimed room that it may yet give back. */
bool extent_queue_claims_room(const ExtentQueue *queue);

/* Whether as much is planned as is worth the memory. */
bool extent_queue_is_full(const ExtentQueue *queue);

/* Whether what @step needs goes on in both files with what the last target needs. */
bool extent_queue_ends_before(const ExtentQueue *queue, const ExtentStep *step);

/*
 * The first step of the first target that was not done, with all that goes on with it in both files,
 * whichever target it is for.  False if nothing does.
 */
bool extent_queue_join(const ExtentQueue *queue, ExtentStep *ret);

/* The first @bytes of @joined were shared: the steps in them are done.  Returns the bytes of these. */
uint64_t extent_queue_set_done(ExtentQueue *queue, const ExtentStep *joined, uint64_t bytes);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(PlannedTarget, planned_target_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ExtentQueue, extent_queue_free)
