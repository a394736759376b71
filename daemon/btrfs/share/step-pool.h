/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/btrfs/share/step-sharer.h"

/*
 * StepPool - shares steps of several targets at a time, on threads.
 *
 * The kernel locks both files of a call.  So two steps that have a file in common are never shared at the same time:
 * their threads would only wait for each other.  All references to an extent have one source.  But each of them that
 * was shared is a source, too, whose data is in memory: a spare source.  So several threads share the references of 40
 * snapshots.
 *
 * The owner waits for all steps before it goes on.  So no back references are looked up beside a call, which may hang
 * the kernel (dedupe-range.h), and what a plan sees does not depend on the number of threads.
 *
 * Thread: the filesystem's worker.
 */
typedef struct StepPool StepPool;

typedef struct SpareSource SpareSource;

/* One step.  The owner keeps it until step_pool_wait() has returned. */
typedef struct {
	/* Set by the owner before it is put. */
	ExtentStep step;
	StepFiles files;      /* open until then */
	uint64_t ahead_bytes; /* held in both; the target's are fetched before its turn */
	bool *differs;        /* of steps that differ only together: one of them did; or NULL */

	/* The result. */
	SharedStep shared;
	bool is_left; /* it is to be tried alone: another one differed, or a spare source did not serve */

	/* Of the pool. */
	bool is_fetched;
	const SpareSource *spare; /* NULL: the source of the step itself */
} StepJob;

/*
 * The threads of @pass (IoParallelism).  All is borrowed.  If there is to be one, or none can be started, the owner
 * shares the steps itself, with @own.
 */
StepPool *step_pool_new(Pass *pass, ExtentFiles *files, StepSharer *own);

/* Ends the threads, and adds the bytes that they read to the result of the pass.  Accepts NULL. */
void step_pool_free(StepPool *pool);

/* Have @job done by a thread. */
void step_pool_put(StepPool *pool, StepJob *job);

/* Wait until all jobs are done. */
void step_pool_wait(StepPool *pool);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(StepPool, step_pool_free)
