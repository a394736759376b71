/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/context/pass.h"
#include "hashstore/objects/differed.h"
#include "hashstore/objects/objects.h"

/*
 * ChecksumTrust - how far a pass trusts equal checksums of btrfs.
 *
 * Anyone can make a block with the CRC-32C of another one, so equal checksums nominate and prove nothing.  If the
 * kernel finds two extents different, no pass tries the pair again while both stay as they are.  After
 * CHECKSUM_TRUST_DIFFERED_MAX such pairs an extent is trusted only as a whole: with another one of its length and
 * equal checksums.
 *
 * If a pass compared more in vain than it may waste, this holds for all extents until it ends.  From an eighth of
 * that on, it compares block by block at first.
 *
 * Thread: the filesystem's worker.
 */
#define CHECKSUM_TRUST_DIFFERED_MAX 3

/*
 * The waste that a pass may make: a twentieth of what it compares, and always one full call on both sides.  So a
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

/* Whether to try @target with @source, or CHECKSUM_TRUST_HOLE; @is_whole: all their checksums are equal. */
bool checksum_trust_ask(Pass *pass, const ExtentStamp *target, const ExtentStamp *source,
			bool is_whole, ChecksumTrust *ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/*
 * The least blocks of a range in which @extent may be taken to repeat itself.  They are as many as
 * an additional item of its files must free.  0: its sums are not trusted with that.
 */
bool checksum_trust_repeats(Pass *pass, const Object *extent, size_t *ret_least_blocks,
			    GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * The kernel compared @bytes of these two and found them different.  *ret_kept is false if that cannot be
 * remembered.  Then nothing else may be tried for the target, because it could be the same again.
 */
bool checksum_trust_add(Pass *pass, const ExtentStamp *target, const ExtentStamp *source,
			uint64_t bytes, bool *ret_kept, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Whether much was compared, and no data with equal checksums differed. */
bool checksum_trust_is_full(const Pass *pass);

/* The part of a range of @length bytes, of which @done were equal, that is compared next. */
uint64_t checksum_trust_next_bytes(const Pass *pass, uint64_t length, uint64_t done);

/* The part of a range that is worth reading ahead. */
uint64_t checksum_trust_ahead_bytes(const Pass *pass, uint64_t length);

/* The part of many ranges that may be compared before it is looked whether one of them differs. */
uint64_t checksum_trust_batch_bytes(const Pass *pass);

ExtentStamp checksum_trust_stamp(const Object *extent);
