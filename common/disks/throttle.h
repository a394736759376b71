/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/disks/disk-budget.h"
#include "common/disks/disk-watch.h"
#include "hashstore/database/store-io.h"
#include "kernel-ioctl/machine/thread-io.h"

#include <glib.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Throttle - holds a pass to the budgets of the disks that its filesystem lies on.
 *
 * Data is charged before it is asked for.  What else its threads made disks do, as metadata, the store
 * and what was not in the cache any more, is known from the kernel's accounting of threads: it is
 * charged the next time that the throttle is asked for anything, which then waits until the debt is
 * paid; what was charged and not needed within a second is given back.  Each disk of the filesystem is
 * charged for all that is not the store's, since how much lies on which is not known: so no disk is ever
 * asked for more than its budget.  What the store reads and writes is charged to the disks that it lies
 * on, which may be the same.
 *
 * Several threads may work for a pass: one may take leave for what another one reads.  Those that ask
 * the throttle for nothing themselves have to join it, or what they read counts as not needed.
 *
 * Thread: any.
 */
typedef struct Throttle Throttle;

typedef struct {
	int64_t (*now_usec)(void *data); /* monotonic */
	void (*sleep_usec)(int64_t usec, void *data);
	void *data;
	/* What the thread @id did; false: not known, or it has ended.  NULL: never known. */
	bool (*thread_io)(int id, ThreadIo *ret, void *data);
	/* What of this the calling thread does for stores.  NULL: it is not known. */
	const StoreIo *(*store_io)(void *data);
} ThrottleClock;

/*
 * With a budget of its own of @rate_bytes per second, if that is not 0, which no disk has.  @clock
 * NULL: the real one.
 */
Throttle *throttle_new(uint64_t rate_bytes, const ThrottleClock *clock);
void throttle_free(Throttle *throttle);

/*
 * Hold it to @budget too; @watch, which may be NULL, sees to that budget's pressure and must outlive
 * the throttle.  To be called before the first use.
 */
void throttle_add_disk(Throttle *throttle, DiskBudget *budget, DiskWatch *watch);

/*
 * The same of a disk that the store lies on, which may be one that was added before.  Without any the
 * store is charged to the others.
 */
void throttle_add_store_disk(Throttle *throttle, DiskBudget *budget, DiskWatch *watch);

/* What the calling thread does from here on counts, until it leaves, which it must before it ends. */
void throttle_join(Throttle *throttle);
void throttle_leave(Throttle *throttle);

/* While it is held nobody gets leave for anything: the threads of the pass wait, or for @stop. */
void throttle_hold(Throttle *throttle, bool is_held);

/* Whether there is a limit at all. */
bool throttle_is_limited(const Throttle *throttle);

/* Wait for leave to read or write @bytes of data.  Returns false if @stop was raised meanwhile. */
bool throttle_take(Throttle *throttle, uint64_t bytes, const atomic_bool *stop);

/*
 * Pay for what the threads did without leave, and wait until that is paid off.  Cheap enough for any
 * loop: it looks at the accounts a thousand times a second at most.
 */
void throttle_settle(Throttle *throttle, const atomic_bool *stop);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Throttle, throttle_free)
