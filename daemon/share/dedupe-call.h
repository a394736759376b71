/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/disks/file-reader.h"
#include "daemon/context/pass.h"
#include "kernel-ioctl/file/dedupe-range.h"

/*
 * DedupeCall - has the kernel share one range, without others having to wait for long.
 *
 * During a call writers of both files wait, and on XFS readers too; and nothing can stop it.  So where
 * somebody else had one of them open when the first long call was made, or memory is so short that the data is not in the page cache any
 * more, a window is cut into calls of 1 MiB, the data of each being read right before it, with a pause
 * behind it in which the others get their turn.  Else it is one call, which makes fewer items in the
 * trees of btrfs.
 *
 * XFS throws what is cached of the target out: what others had there is read back.
 *
 * How long windows are to be, which are read before they are shared, is in the pass's window_bytes: less
 * once memory did not hold one.
 *
 * Thread: the filesystem's worker.
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

/* Whether the call has to have a relay: see dedupe_range_needs_relay(). */
bool dedupe_call_needs_relay(const Filesystem *filesystem, const DedupeCall *call);

/* Calls, and windows that were cut, are counted in the pass's result; DedupeTarget says how it ended. */
DedupeTarget dedupe_call_make(Pass *pass, const DedupeCall *call);
