/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/btrfs/plan/extent-plan.h"
#include "daemon/btrfs/refs/extent-files.h"

/*
 * ExtentQueue - targets that are planned and not yet shared, in their order.
 *
 * Data of later targets is fetched while another one is shared.  If a target continues in a file where another
 * ends, one call shares both: btrfs makes an extent item of each call.
 *
 * Thread: the filesystem's worker.
 */
typedef struct ExtentQueue ExtentQueue;

/* A target and its plan. */
typedef struct {
	Object extent;
	GArray *steps;   /* ExtentStep */
	GArray *parts;   /* CopyPart: ranges to copy before */
	GArray *runs;    /* Run: other sources, if the kernel finds a difference */
	GArray *holders; /* uint64_t, ascending: snapshots that keep the target after all steps */
	RemainderClaim claim;   /* to be given back unless the target is freed */
	uint64_t memory_bytes;  /* of these, when it was added */
	FetchedAhead of_target; /* for its first step, and to be released */
	FetchedAhead of_source;
} PlannedTarget;

void planned_target_free(PlannedTarget *planned);

ExtentQueue *extent_queue_new(void);
void extent_queue_free(ExtentQueue *queue);

/* Start reading the first @length bytes that its first step compares, so that the disk has much to do. */
void planned_target_fetch(PlannedTarget *planned, ExtentFiles *files, uint64_t length);

/* The target was shared, or is skipped. */
void planned_target_release(PlannedTarget *planned, ExtentFiles *files);

/* Add @target at the end, with copies of its plan (@steps, @parts, @holders) and of its @runs. */
PlannedTarget *extent_queue_push(ExtentQueue *queue, const Object *target, const GArray *steps,
				 const GArray *parts, const GArray *holders, const GArray *runs);

/* Replace its plan. */
void planned_target_set(PlannedTarget *planned, const GArray *steps, const GArray *parts,
			const GArray *holders);

/* The first target; there must be one. */
const PlannedTarget *extent_queue_first(const ExtentQueue *queue);

/* Take the first target; there must be one. */
PlannedTarget *extent_queue_pop(ExtentQueue *queue);

/* The number of targets. */
guint extent_queue_length(const ExtentQueue *queue);

bool extent_queue_is_empty(const ExtentQueue *queue);

/* Whether any of @objects, a set of ids, is among the targets. */
bool extent_queue_has_any(const ExtentQueue *queue, GHashTable *objects);

/* Whether a target claimed room that it may still give back. */
bool extent_queue_claims_room(const ExtentQueue *queue);

/* Whether enough is planned for the memory. */
bool extent_queue_is_full(const ExtentQueue *queue);

/* Whether @step continues the last target in both files. */
bool extent_queue_ends_before(const ExtentQueue *queue, const ExtentStep *step);

/* How much to take at a time. */
typedef struct {
	guint targets; /* from the first one on, without those that need a copy */
	guint steps;   /* after joining */
	uint64_t
		bytes; /* that are compared in vain if the targets differ; at most a call of each step */
	uint64_t window_bytes; /* the limit of one call */
} QueueTake;

/* Steps that are shared together. */
typedef struct {
	ExtentStep joined; /* all of them as one */
	ExtentStep *alone; /* the step of the target, borrowed; NULL: they are several */
	guint first;       /* the index of the first steps of the same target */
} TakenSteps;

/*
 * Append steps of the first targets to @ret (TakenSteps), each joined with all steps that continue it in both files,
 * of whatever target; and mark them as taken.  Returns the number of targets of which nothing is left to take; it may
 * be 0.
 */
guint extent_queue_take(ExtentQueue *queue, const QueueTake *limits, GArray *ret);

/*
 * Take the first undone step of the first target, which has its copy, with all that continues it.  False if nothing
 * does.
 */
bool extent_queue_take_joined(ExtentQueue *queue, TakenSteps *ret);

/* The first @bytes of @joined were shared: mark the steps in them as done.  Returns their bytes. */
uint64_t extent_queue_set_done(ExtentQueue *queue, const ExtentStep *joined, uint64_t bytes);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(PlannedTarget, planned_target_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ExtentQueue, extent_queue_free)
