/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "kernel-ioctl/file/relay-file.h"

#include <glib.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * dedupe_range - ask the kernel to share a range with equal ranges (FIDEDUPERANGE).
 *
 * The kernel compares the bytes under its locks and shares all of a request or nothing of it; no
 * timestamp changes.  Its bytes_deduped echoes the request (kernel 6.18), so it is never read: what
 * was shared is seen by physical address afterwards.  Writers of both files, and on XFS readers
 * too, wait for one request, hence rounds.
 *
 * Thread: one per filesystem at a time; never beside a resolver of references (a kernel hang is
 * known).
 */

/* The argument must fit one page: 128 answer ENOMEM. */
#define DEDUPE_MAX_TARGETS 127
#define DEDUPE_ROUND_BYTES (UINT64_C(16) << 20)

typedef enum {
	DEDUPE_NOT_DONE, /* not reached: stopped, or the call failed before it */
	DEDUPE_SAME,     /* equal, and shared as far as the kernel could */
	DEDUPE_DIFFERS,
	DEDUPE_INVALID,     /* EINVAL: mixed nodatacow (a swap file too), past an end, overlap */
	DEDUPE_DENIED,      /* EPERM, EACCES: immutable, or another user's */
	DEDUPE_READ_ONLY,   /* EROFS: seen through a read-only mount */
	DEDUPE_BUSY,        /* EAGAIN: being sent, or the like; EINTR */
	DEDUPE_SWAP_FILE,   /* ETXTBSY */
	DEDUPE_NO_SPACE,    /* ENOSPC, EDQUOT: this group is full, or a quota used up */
	DEDUPE_UNSUPPORTED, /* EOPNOTSUPP, EXDEV, ENOTTY, EISDIR */
	DEDUPE_UNREADABLE,  /* EIO, EUCLEAN: the data could not be read */
	DEDUPE_FAILED,      /* any other errno */
} DedupeOutcome;

typedef struct {
	int fd;
	uint64_t offset_bytes; /* a multiple of the block size */
	/*
	 * The block size of XFS, whose CoW extent size hints must not spread (see RelayFile); 0: the
	 * filesystem has no such hints, or all files are the caller's own.
	 */
	uint32_t hint_block_bytes;
	RelayFile *relay; /* NULL: do not deduplicate what needs one */
} DedupeSource;

typedef struct {
	int fd;                /* O_RDONLY is enough for root and for the owner */
	uint64_t offset_bytes; /* a multiple of the block size */
	/* Results. */
	DedupeOutcome outcome;
	int error;           /* errno value behind the outcome; 0 for SAME, DIFFERS, NOT_DONE */
	uint64_t same_bytes; /* bytes of the rounds that were SAME, from the start of the range */
} DedupeTarget;

/*
 * Share @length bytes of @source with every target, in rounds of at most
 * @round_bytes over all targets together (0: DEDUPE_ROUND_BYTES).  Offsets are multiples of the
 * block size; so is @length, unless every range ends at the end of its file.  1 to
 * DEDUPE_MAX_TARGETS targets.  A target that fails in a round is left out of the later ones.
 * Between rounds @stop (may be NULL) is looked at; what was not reached is DEDUPE_NOT_DONE, or
 * DEDUPE_SAME with a shorter same_bytes.  A round is a multiple of 64 KiB per target, so that it
 * suits every block size, and at least that, even where @round_bytes is less.
 *
 * With hint_block_bytes the first block of a file is a round of its own, so that no request can cover
 * a target of more than a block completely.  Only someone who may write to the target can make it
 * shorter meanwhile.  A target of one block is deduplicated from the relay, if it needs that.
 *
 * Returns the number of ioctl calls made, for reports.
 */
unsigned dedupe_range(const DedupeSource *source, uint64_t length, DedupeTarget *targets,
		      size_t n_targets, uint64_t round_bytes, const atomic_bool *stop);

/*
 * Whether the target has to be deduplicated from a relay: it has one block, and the source has a hint or
 * belongs to a user who could give it one at any moment, and is neither root nor the target's owner.
 */
bool dedupe_range_needs_relay(const DedupeSource *source, int target_fd, uint64_t target_offset);
