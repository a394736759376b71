/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/files/pin-cause.h"
#include "common/files/skip.h"
#include "hashstore/objects/history.h"
#include "hashstore/objects/pinned.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * PassResult - what one pass over one filesystem did; docs/report.md says what each figure means.
 *
 * Thread: as Pass until the pass ends, then its reporter's.
 */
typedef struct {
	PassOutcome outcome;
	GError *error;        /* when PASS_FAILED */
	char *stopped_reason; /* when PASS_INTERRUPTED, but by the pass itself; or NULL */
	bool is_disk_failing; /* that is the reason */
	bool is_on_hold;      /* somebody holds the filesystem (FilesystemHold), which is why */
	bool is_dry_run;      /* the figures are expected ones */
	int64_t started_usec; /* since 1970 */
	int64_t ended_usec;
	bool found_by_checksums;
	const char *find_reason;    /* why not; NULL: it was */
	bool listed_inodes;         /* found by reading: instead of walking names */
	const char *walk_reason;    /* why not; NULL: it did, or did not come to that */
	int64_t looked_at_all_usec; /* how long the look at all extents took; 0: it was not due */
	uint64_t sets; /* of equal files that were matched, one of them at least in this pass */
	struct {
		uint64_t seen, unchanged, new, changed, doubted, gone, read;
		uint64_t set_aside; /* newly skipped until they stop changing */
	} files;
	uint64_t finding_bytes;
	uint64_t compare_bytes;
	uint64_t wasted_bytes;   /* of these, by calls that found a difference; extents only */
	uint64_t costly_bytes;   /* compared if SKIP_CLONES were no reason to skip */
	uint64_t restored_bytes; /* read back into the page cache */
	uint64_t disk_bytes;     /* 0 also where the kernel does not count */
	struct {
		uint64_t runs, bytes, already_bytes, calls, short_rounds, differed, capped;
	} shared;
	struct {
		/* Before a pass over extents ends, bytes does not have rewritten.bytes taken off. */
		uint64_t bytes, hole_bytes, used_before_bytes, used_after_bytes;
		/*
		 * Of a dry run: extents with a remainder to copy, or found by chance, which the next round judges
		 * anew.
		 */
		uint64_t unsure_bytes;
		int64_t kept_bytes; /* the part of bytes that stays used: metadata, unused parts */
	} freed;
	struct {
		uint64_t bytes, extents; /* written anew, so that others could be freed */
	} rewritten;
	struct {
		uint64_t bytes, extents; /* shared away where they were writable, by this pass */
		uint64_t written_bytes;  /* rewritten for these */
		uint64_t waiting_bytes,
			waiting_extents; /* by all passes: snapshots still hold them */
		uint64_t snapshots;      /* that hold them */
		uint64_t last_id;        /* of the newest of these; 0: none */
		char *last_snapshot;     /* its path, escaped; NULL: none, or not known */
		uint64_t released_bytes; /* freed since the pass before, by deletion of snapshots */
	} deferred;
	struct {
		PinnedSum pinned[PIN_CAUSES]; /* by all passes */
		int64_t metadata_delta_bytes; /* by the filesystem's count */
		bool is_checked; /* freed bytes were compared with the filesystem's count */
		const char *unchecked_reason; /* why not; NULL: it was, or there was nothing to */
		int64_t drift_bytes;          /* freed beyond that by the filesystem's count */
	} ledger;
	char **unmatched; /* patterns of the configuration that matched nothing; NULL: none, or not known */
	SkipLedger skips;
	uint64_t n_known_unreadable; /* that earlier passes skipped as unreadable, too */
	PinLedger pins;
	struct {
		char *path;
		uint64_t bytes, objects, anchors;
		uint32_t segments, anchor_blocks, window_anchors;
	} store;
} PassResult;

/* Count a file as skipped for a @reason that an earlier pass found. */
void pass_result_add_known(PassResult *result, SkipReason reason);

/* All that is pinned, for any cause. */
uint64_t pass_result_pinned_bytes(const PassResult *result);

/* The bytes freed, less metadata and less what was written for deferred extents. */
int64_t pass_result_net_bytes(const PassResult *result);

/* The error, or the reason that the pass ended by itself, in words; NULL: none. */
const char *pass_result_trouble(const PassResult *result);

/*
 * The bounds of the bytes freed.  They differ for a dry run over extents: it cannot match the copies that it would
 * make.
 */
uint64_t pass_result_freed_low(const PassResult *result);
uint64_t pass_result_freed_high(const PassResult *result);

void pass_result_clear(PassResult *result);
