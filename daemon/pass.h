/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/compare-account.h"
#include "daemon/disk-table.h"
#include "daemon/extent-places.h"
#include "daemon/extent-rest.h"
#include "daemon/filesystem.h"
#include "daemon/filter.h"
#include "daemon/hot-objects.h"
#include "daemon/kept-pages.h"
#include "daemon/pass-result.h"
#include "daemon/pass-watch.h"
#include "daemon/postponed.h"
#include "daemon/progress.h"
#include "daemon/read-only-subvolumes.h"
#include "daemon/settings.h"
#include "daemon/store-room.h"
#include "daemon/throttle.h"
#include "daemon/witnesses.h"
#include "hashstore/hash-store.h"

#include <stdatomic.h>

/*
 * Pass - one run over one filesystem: inventory, fingerprint, match, plan, share.
 *
 * The steps live in files of their own and take the Pass as their context.
 *
 * Thread: the filesystem's worker.
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
	unsigned n_readers;   /* threads that read data at a time */
	PassWatch *watch;     /* the same */
	KeptPages *kept;
	HotObjects *hot;
	Postponed *postponed;
	ReadOnlySubvolumes *subvolumes;
	BtrfsRefBound *ref_bound;         /* the same */
	ExtentPlaces *places;             /* NULL where files are walked to */
	struct ExtentGuard *guard;        /* the same */
	struct PinnedExtents *pinned;     /* the same */
	struct DeferredExtents *deferred; /* the same */
	struct ZeroSource *zero_source;   /* the same; NULL: zeros are not shared */
	struct ClonePairs *clones;        /* XFS; NULL where blocks are not freed one by one */
	CompareAccount account;           /* of files that were read */
	RestAccount rests;                /* btrfs, by checksums */
	uint64_t compare_factor;          /* the same: bytes that may be compared per byte freed */
	bool snapshots_rotate; /* the same: read-only ones were deleted since an earlier pass */
	uint64_t
		round_bytes; /* how much is read of a file before it is shared: see sharing-call.h */
	bool keeps_left_out;    /* what the limits leave out, and what is gone, is not forgotten */
	int64_t committed_usec; /* monotonic; when the store was committed last, or opened */
	uint64_t n_file_runs;   /* of btrfs: shared in files that were read, beside extents */
	uint64_t n_revived;     /* of btrfs: extents that were deferred, and are shown again */
	WitnessSample shared;   /* of the places that were shared onto */
	uint64_t n_turned;      /* of btrfs: extents that are to be planned for once more */
	PassResult *result;     /* the caller's */
} Pass;

/*
 * Do the whole pass.  How it ended is in @result, of which each figure holds whatever the outcome.
 * When @stop is raised it ends within two seconds, with all that was learned kept.  The pass raises it
 * itself when a disk is failing or gone (PassWatch).
 */
void pass_run(const Settings *settings, const Filesystem *filesystem, DiskTable *disks,
	      atomic_bool *stop, Progress *progress, PassResult *result);

/*
 * Keep what was learned so far; but nothing if the devices are failing, since what could not be read then is
 * no worse for it.
 */
bool pass_commit(Pass *pass, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The same, if that was not done for half a minute. */
bool pass_commit_when_due(Pass *pass, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * Put the patterns of the configuration that matched nothing into the result.  Unless the pass @looked_at_all
 * files, these are only patterns that match no name.
 */
void pass_note_unmatched(const Pass *pass, bool looked_at_all);

/* The day on which it began, counted from 1970. */
uint32_t pass_day(const Pass *pass);

/*
 * Whether it was not asked to stop.  Every long loop asks, so what the loop made disks do beside the
 * data that leave was taken for is paid for here: this may sleep.
 */
bool pass_may_continue(const Pass *pass);
