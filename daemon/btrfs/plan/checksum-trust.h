/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/context/pass.h"
#include "hashstore/objects/differed.h"
#include "hashstore/objects/objects.h"

/*
 * ChecksumTrust - how far a pass believes equal checksums of btrfs.
 *
 * Anyone can make a block with the CRC-32C of another one, so equal checksums nominate and prove nothing.  If the
 * kernel finds a pair of extents different:
 * - no pass tries the pair again while both extents stay as they are;
 * - after CHECKSUM_TRUST_DIFFERED_MAX such pairs an extent is trusted as a whole only: with another one of its
 *   length if all of their checksums are equal;
 * - once more was compared in vain than a pass may waste, that holds for all extents until it ends;
 * - from an eighth of that on, ranges are tried block by block at first.
 *
 * Thread: the filesystem's worker.
 */
#define CHECKSUM_TRUST_DIFFERED_MAX 3

/*
 * The waste that a pass may make: a twentieth of what it compares, and always one full round of both sides.  So a
 * single difference late in a long extent does not stop a small pass.
 */
#define CHECKSUM_TRUST_WASTE_SHARE 20
#define CHECKSUM_TRUST_WASTE_BYTES (2 * DEDUPE_ROUND_BYTES)

typedef enum {
	CHECKSUM_TRUST_YES,
	CHECKSUM_TRUST_NO,
	CHECKSUM_TRUST_NOT_NOW, /* a later pass may try */
} ChecksumTrust;

/* The source of zeros, which nobody can forge. */
#define CHECKSUM_TRUST_HOLE ((ExtentStamp){ 0, 0 })

/* Whether @target may be tried with @source, or CHECKSUM_TRUST_HOLE; @is_whole: as one of all whose sums are equal. */
bool checksum_trust_ask(Pass *pass, const ExtentStamp *target, const ExtentStamp *source,
			bool is_whole, ChecksumTrust *ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/*
 * The kernel compared @bytes of these two and found them different.  *ret_kept is false if that cannot be
 * remembered.  Then nothing else may be tried for the target, because it could be the same again.
 */
bool checksum_trust_add(Pass *pass, const ExtentStamp *target, const ExtentStamp *source,
			uint64_t bytes, bool *ret_kept, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* How much of a stretch of @length bytes, of which @done were equal, is compared next. */
uint64_t checksum_trust_next_bytes(const Pass *pass, uint64_t length, uint64_t done);

/* How much of a stretch is worth reading before it is its turn. */
uint64_t checksum_trust_ahead_bytes(const Pass *pass, uint64_t length);

ExtentStamp checksum_trust_stamp(const Object *extent);
