/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * dedupe_range - ask the kernel to share a range with equal ranges (FIDEDUPERANGE).
 *
 * The kernel compares the bytes under its locks, and changes no timestamp.  XFS may share only the
 * first extents of a request if it then fails, and still says that all is the same
 * (xfs_file_remap_range(), Linux 6.18).  The field bytes_deduped only echoes the request.  Physical
 * addresses show afterwards what was shared.  Writers of both files, and on XFS readers too, wait
 * for the request; so requests are short (rounds).
 *
 * Thread: any that owns the files.  On btrfs, never beside a lookup of back references (known kernel hang).
 */

/* The argument must fit one page: the kernel answers ENOMEM to 128. */
#define DEDUPE_MAX_TARGETS 127
#define DEDUPE_ROUND_BYTES (UINT64_C(16) << 20)

typedef enum {
	DEDUPE_NOT_DONE, /* not reached: stopped, or an earlier call failed */
	DEDUPE_SAME,     /* equal, and shared as far as the kernel could */
	DEDUPE_DIFFERS,
	DEDUPE_INVALID, /* EINVAL: only one of two is nodatacow (swap files too), past an end, overlap */
	DEDUPE_DENIED,      /* EPERM, EACCES: immutable, or another user's */
	DEDUPE_READ_ONLY,   /* EROFS: opened through a read-only mount */
	DEDUPE_BUSY,        /* EAGAIN (for example btrfs send), EINTR */
	DEDUPE_SWAP_FILE,   /* ETXTBSY */
	DEDUPE_NO_SPACE,    /* ENOSPC, EDQUOT: no space in this group, or over quota */
	DEDUPE_UNSUPPORTED, /* EOPNOTSUPP, EXDEV, ENOTTY, EISDIR */
	DEDUPE_UNREADABLE,  /* EIO, EUCLEAN, EBADMSG: the data could not be read */
	DEDUPE_FAILED,      /* any other errno */
} DedupeOutcome;

/*
 * RelayFile - an unnamed file of XFS through which the first block of a file is deduplicated.
 *
 * XFS copies the CoW extent size hint of the source to the target if one request covers both files completely
 * (xfs_file_remap_range(), Linux 6.18).  A file with the hint allocates up to the hint for a write of one byte
 * to a shared block.  Users can set the hint on their own files, and change the size of these, at any moment.
 * So a check of the source before the request is a race.
 *
 * The relay holds the cloned block behind its offset 0; XFS copies no hint from there.  Nobody else can open
 * the relay.
 *
 * Thread: one at a time.
 */
typedef struct RelayFile RelayFile;

/* @fd is an empty unnamed file, open for writing; @block_bytes is the filesystem's block size. */
RelayFile *relay_file_new_take(int fd, uint32_t block_bytes);
void relay_file_free(RelayFile *relay);

typedef struct {
	int fd;
	uint64_t offset_bytes; /* a multiple of the block size */
	/*
	 * The block size of XFS, whose CoW extent size hints must not spread (see RelayFile).  0: the
	 * filesystem has no such hints, or all files belong to the caller.
	 */
	uint32_t hint_block_bytes;
	RelayFile *relay; /* NULL: do not deduplicate targets that need one */
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
 * Share @length bytes of @source with 1 to DEDUPE_MAX_TARGETS targets.  Offsets are multiples of the block
 * size.  So is @length, unless every range ends at the end of its file.
 *
 * A round is one request of at most @round_bytes over all targets together (0: DEDUPE_ROUND_BYTES).  It is a
 * multiple of 64 KiB per target, at least 64 KiB, so that it suits every block size.  A target that fails in a
 * round takes no part in later ones.  @stop (may be NULL) is checked between rounds.  Targets that were not
 * reached are DEDUPE_NOT_DONE, or DEDUPE_SAME with a shorter same_bytes.
 *
 * With hint_block_bytes the first block of a file is a round of its own.  So no request can cover a target of
 * several blocks completely.  Only somebody who may write to the target can shorten it meanwhile.  A
 * target of one block is deduplicated from the relay, if it needs that.
 *
 * Returns the number of ioctl calls made.
 */
unsigned dedupe_range(const DedupeSource *source, uint64_t length, DedupeTarget *targets,
		      size_t n_targets, uint64_t round_bytes, const atomic_bool *stop);

/*
 * True if the target must be deduplicated from a relay.  It has one block, and the source has a hint, or could
 * get one at any moment: its owner is neither root nor the target's owner.
 */
bool dedupe_range_needs_relay(const DedupeSource *source, int target_fd, uint64_t target_offset);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(RelayFile, relay_file_free)
