/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/disks/file-reader.h"
#include "daemon/context/pass.h"
#include "kernel-ioctl/file/dedupe-range.h"

/*
 * DedupeCall - has the kernel share one range without blocking other processes for long.
 *
 * During a call writers of both files wait, on XFS readers, too, and nothing can stop the call.  So a window is cut
 * into calls of 1 MiB in two cases.  Another process had one of the files open at the first long call, or memory is
 * so short that data was evicted.  The data of each is read right before it, and a pause follows, in which others
 * get their turn.
 *
 * In other cases there is one call, which makes fewer items in the trees of btrfs.
 *
 * XFS drops the cached pages of the target: those that others had there are read back.
 *
 * The length of windows is the pass's window_bytes: less once memory did not hold one.
 *
 * Thread: any that owns both files, except dedupe_counts_note(): as Pass.
 */
typedef struct {
	FileReader *target;
	uint64_t target_offset;
	FileReader *source;  /* NULL: a hole */
	bool source_is_ours; /* an unnamed file: nobody else can have it open */
	int source_fd;
	uint64_t source_offset;
	RelayFile *relay; /* XFS: see dedupe_call_needs_relay() */
	uint64_t length;  /* at most DEDUPE_ROUND_BYTES */
} DedupeCall;

/* Whether the call must have a relay: see dedupe_range_needs_relay(). */
bool dedupe_call_needs_relay(const Filesystem *filesystem, const DedupeCall *call);

/* The effects of calls. */
typedef struct {
	uint64_t calls;          /* of the kernel */
	uint64_t short_rounds;   /* windows that were cut for others */
	uint64_t restored_bytes; /* read back into the page cache */
} DedupeCounts;

/* Make the call, and add it to @counts.  DedupeTarget says how it ended. */
DedupeTarget dedupe_call_make(Pass *pass, const DedupeCall *call, DedupeCounts *counts);

void dedupe_counts_note(const DedupeCounts *counts, PassResult *result);
