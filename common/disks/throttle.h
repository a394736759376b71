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
 * Throttle - limits a pass to the budgets of the disks of its filesystem.
 *
 * Data is charged before it is read.  The kernel's accounting of threads tells their other I/O: metadata, the
 * store, and data no longer cached.  The next call charges that, and waits until the debt is paid.  Permitted
 * bytes that are not needed within a second are refunded.  Each disk of the filesystem is charged for all I/O
 * except the store's, since the kernel does not tell which disk it went to.  So no disk exceeds its
 * budget.  The store's I/O is charged to the disks of the store.
 *
 * Several threads may work for a pass, and one may take permission for another one's reads.  A thread that
 * never takes permission must join the Throttle; otherwise its reads count as not needed.
 *
 * Thread: any.
 */
typedef struct Throttle Throttle;

typedef struct {
	int64_t (*now_usec)(void *data); /* monotonic */
	void (*sleep_usec)(int64_t usec, void *data);
	void *data;
	/* The I/O of the thread @id; false: not known, or it has ended.  NULL: never known. */
	bool (*thread_io)(int id, ThreadIo *ret, void *data);
	/* The part of it that the calling thread does for stores.  NULL: not known. */
	const StoreIo *(*store_io)(void *data);
} ThrottleClock;

/*
 * With @rate_bytes above 0, it has a budget of that rate of its own, for no disk.  @clock NULL: the real
 * clock.
 */
Throttle *throttle_new(uint64_t rate_bytes, const ThrottleClock *clock);
void throttle_free(Throttle *throttle);

/*
 * Add @budget.  @watch, which may be NULL, adapts the budget to other work on the disk, and must outlive the
 * throttle.  Call it before the first use.
 */
void throttle_add_disk(Throttle *throttle, DiskBudget *budget, DiskWatch *watch);

/*
 * Add a disk of the store, which may be one of the filesystem.  Without one, the store is charged to the
 * others.
 */
void throttle_add_store_disk(Throttle *throttle, DiskBudget *budget, DiskWatch *watch);

/* Count the calling thread from here on.  It must leave before it ends. */
void throttle_join(Throttle *throttle);
void throttle_leave(Throttle *throttle);

/* While held, no thread of the pass gets permission; they wait, or for @stop. */
void throttle_hold(Throttle *throttle, bool is_held);

/* False if there is no limit at all. */
bool throttle_is_limited(const Throttle *throttle);

/* Wait for permission to read or write @bytes of data.  False if @stop was raised meanwhile. */
bool throttle_take(Throttle *throttle, uint64_t bytes, const atomic_bool *stop);

/*
 * Charge the threads' I/O without permission, and wait until the debt is paid.  Cheap enough for any loop: it
 * reads the counters at most a thousand times a second.
 */
void throttle_settle(Throttle *throttle, const atomic_bool *stop);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Throttle, throttle_free)
