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
 * Thread: the filesystem's worker until the pass ends, then whoever reports it.
 */
typedef struct {
	PassOutcome outcome;
	GError *error;        /* when PASS_FAILED */
	char *stopped_reason; /* when PASS_INTERRUPTED, but by the pass itself; or NULL */
	bool is_disk_failing; /* it is why */
	bool is_on_hold;      /* somebody holds the filesystem (FilesystemHold), which is why */
	bool is_dry_run;      /* what was shared and freed would be */
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
		uint64_t set_aside; /* newly left alone for as long as they do not change */
	} files;
	uint64_t finding_bytes;
	uint64_t compare_bytes;
	uint64_t
		wasted_bytes; /* of them, by calls that found a difference; found by checksums only */
	uint64_t costly_bytes;   /* that would be compared for what is skipped as SKIP_CLONES */
	uint64_t restored_bytes; /* read back into the page cache */
	uint64_t disk_bytes;     /* 0 also where the kernel does not count */
	struct {
		uint64_t runs, bytes, already_bytes, calls, short_rounds, differed, capped;
	} shared;
	struct {
		/* Until a pass by checksums ends, the bytes are those of before what was rewritten. */
		uint64_t bytes, hole_bytes, used_before_bytes, used_after_bytes;
		/* Of a dry run: of extents with a rest to copy, which the next round judges anew. */
		uint64_t unsure_bytes;
		int64_t kept_bytes; /* what the filesystem keeps of bytes: metadata, unused parts */
	} freed;
	struct {
		uint64_t bytes, extents; /* written anew, so that others could be freed */
	} rewritten;
	struct {
		uint64_t bytes, extents; /* shared away where they were writable, by this pass */
		uint64_t written_bytes;  /* of what was rewritten, for these */
		uint64_t waiting_bytes,
			waiting_extents; /* by all passes: snapshots still hold them */
		uint64_t snapshots;      /* that do */
		uint64_t last_id;        /* of the newest of these; 0: none */
		char *last_snapshot;     /* its path, escaped; NULL: none, or not known */
		uint64_t released_bytes; /* freed since the pass before, by deletion of snapshots */
	} deferred;
	struct {
		PinnedSum pinned[PIN_CAUSES]; /* by all passes */
		int64_t metadata_delta_bytes; /* by the filesystem's count */
		bool is_checked;              /* what was freed, against the filesystem's count */
		const char *unchecked_reason; /* why not; NULL: it was, or there was nothing to */
		int64_t drift_bytes;          /* what the filesystem gave back beyond that */
	} ledger;
	char **unmatched; /* patterns of the configuration that matched nothing; NULL: none, or not known */
	SkipLedger skips;
	uint64_t
		n_known_unreadable; /* of those skipped as unreadable, found so by earlier passes */
	PinLedger pins;
	struct {
		char *path;
		uint64_t bytes, objects, anchors;
		uint32_t segments, anchor_blocks, window_anchors;
	} store;
} PassResult;

/* Count what is left alone for a @reason that an earlier pass found. */
void pass_result_add_known(PassResult *result, SkipReason reason);

/* All that is pinned. */
PinnedSum pass_result_pinned(const PassResult *result);

/* What was freed, net of metadata and of what was written for what is deferred. */
int64_t pass_result_net_bytes(const PassResult *result);

/* What went wrong, or why it ended by itself, in words; NULL: nothing did. */
const char *pass_result_trouble(const PassResult *result);

/* The bounds of what is freed, which differ for a dry run by checksums alone: it cannot match what would be copied. */
uint64_t pass_result_freed_low(const PassResult *result);
uint64_t pass_result_freed_high(const PassResult *result);

void pass_result_clear(PassResult *result);
