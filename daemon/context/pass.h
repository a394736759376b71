/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/config/settings.h"
#include "common/content/remainder.h"
#include "common/disks/disk-table.h"
#include "common/disks/io-parallelism.h"
#include "common/disks/page-cache-budget.h"
#include "common/disks/throttle.h"
#include "common/files/filter.h"
#include "daemon/context/compare-account.h"
#include "daemon/context/device-watch.h"
#include "daemon/context/extent-scope.h"
#include "daemon/context/filesystem.h"
#include "daemon/context/pass-result.h"
#include "daemon/context/postponed.h"
#include "daemon/context/progress.h"
#include "daemon/context/read-only-subvolumes.h"
#include "daemon/context/store-room.h"
#include "daemon/context/witnesses.h"
#include "hashstore/hash-store.h"

#include <pthread.h>
#include <stdatomic.h>

/* State of a pass over extents of btrfs only.  Each pointer is NULL in other passes. */
typedef struct {
	BtrfsRefBound *ref_bound;
	ExtentScope *scope;
	struct SharingCost *cost;
	struct PinnedExtents *pinned;
	struct DeferredExtents *deferred;
	struct ZeroSource *zero_source; /* NULL: zeros are not deduplicated */
	RemainderAccount remainders;
	bool snapshots_rotate; /* read-only ones were deleted since an earlier pass */
	uint64_t n_revived;    /* extents that were deferred, and are referenced again */
	uint64_t n_replanned;  /* extents that are to be planned for once more */
	uint64_t n_waited;     /* the same, but they had to wait for a round */
} BtrfsPass;

/* State of a pass over an XFS filesystem only. */
typedef struct {
	struct ClonePairs *clones;    /* NULL before runs are deduplicated */
	struct FullAllocGroups *full; /* the same; of all threads */
} XfsPass;

/*
 * Pass - one run over one filesystem: inventory, fingerprint, match, plan, share.
 *
 * The steps live in files of their own and take the Pass as their context.
 *
 * Thread: the filesystem's worker.  While several threads deduplicate, the one whose turn it is (pass_give_turn()).
 */
typedef struct {
	/* Set at creation, never changed. */
	const Settings *settings;
	const Filesystem *filesystem;
	atomic_bool *stop; /* raised by others, and by the watch */
	Progress *progress;
	uint32_t block_bytes;

	/* Owned by the pass. */
	HashStore *store;
	StoreRoom *room;
	Filter *filter;
	HashStorePayer payer; /* pays for the store with the throttle */
	Throttle *throttle;   /* of the disks; NULL before it is opened */
	IoParallelism parallelism;
	DeviceWatch *watch; /* NULL before it is opened */
	PageCacheBudget *kept;
	GArray *hot; /* ids (uint32_t) of files that were mostly in the page cache when they were read */
	Postponed *postponed;
	ReadOnlySubvolumes *subvolumes;
	bool keeps_left_out;    /* files excluded by limits, and gone ones, stay in the store */
	int64_t committed_usec; /* monotonic; when the store was committed last, or opened */
	CompareAccount account; /* of files that were read; its factor holds for extents, too */
	uint64_t n_file_runs;   /* runs that were deduplicated in files that were read */
	WitnessSample shared;   /* of the targets */
	BtrfsPass btrfs;
	XfsPass xfs;

	/* Held by the thread whose turn it is (pass_give_turn()); NULL: the worker is alone. */
	pthread_mutex_t *turn;

	/* Bytes read of a file before it is deduplicated (dedupe-call.h).  Thread: any. */
	_Atomic uint64_t window_bytes;

	PassResult *result; /* the caller's */
} Pass;

/*
 * While several threads deduplicate files, only the one whose turn it is may use the Pass and what belongs to it.
 * It gives its turn to another one while it opens a file, reads, compares, or waits for the kernel.  Meanwhile it uses its
 * target, which no other thread has, and sources, which nobody changes.
 */
static inline void pass_give_turn(const Pass *pass)
{
	if (pass->turn)
		pthread_mutex_unlock(pass->turn);
}

static inline void pass_take_turn(const Pass *pass)
{
	if (pass->turn)
		pthread_mutex_lock(pass->turn);
}

/*
 * Commit the results so far; but nothing if the devices are failing, since files that could not be read then may
 * be sound.
 */
bool pass_commit(Pass *pass, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The same, if the last commit was half a minute ago. */
bool pass_commit_when_due(Pass *pass, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * Put the patterns of the configuration that matched nothing into the result.  Unless the pass @looked_at_all
 * files, these are only patterns that match no name.
 */
void pass_note_unmatched(const Pass *pass, bool looked_at_all);

/* The day on which the pass began, counted from 1970. */
uint32_t pass_day(const Pass *pass);

/*
 * Pay the throttle for the calling thread's disk I/O that was not paid for before, which may sleep.  Return whether
 * the pass goes on.  Thread: any.
 */
bool pass_pay(const Pass *pass) G_GNUC_WARN_UNUSED_RESULT;

/* The same, and check the devices.  Every long loop of the worker calls this. */
bool pass_checkpoint(const Pass *pass) G_GNUC_WARN_UNUSED_RESULT;

/*
 * Write out what the pass shared, before the store says that it is settled: the store may lie on another disk, and
 * outlive what this filesystem loses.
 */
bool pass_flush_shared(const Pass *pass, GError **error) G_GNUC_WARN_UNUSED_RESULT;
