/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/content/extent-cover.h"
#include "common/files/extent-refs.h"

/*
 * Remainder - the blocks of a btrfs data extent that files show and no other extent has.
 *
 * btrfs frees an extent when no reference shows any byte of it, so a small remainder keeps a large extent.  A
 * copy of the remainder in an unnamed file, its pieces one after another, can be shared with.  A range that repeats
 * another one of the remainder is not copied again.
 *
 * Pure.  Thread: any.
 */
typedef struct {
	uint64_t position; /* byte in the extent */
	uint64_t length; /* a multiple of a block, except for the last piece, which ends the copy */
	uint64_t offset; /* byte in the copy */
	bool is_repeat;  /* another piece has these bytes copied */
} RemainderPiece;

/*
 * Lay out the part of @refs that @cover leaves.  Fills *ret with RemainderPiece in the order of the
 * extent.  A piece that ends with a partial block comes last.  False if no copy can serve: the
 * kernel shares a partial block only at the ends of both files, and a copy has one end.
 *
 * A range that repeats an earlier one, by its sums, has a piece of its own with the offset of that.
 * It has at least @repeat_blocks blocks; 0: there are no such pieces.  Zeros are not repeated.
 */
bool remainder_lay(const ExtentCover *cover, const ExtentRef *refs, size_t n_refs,
		   uint32_t block_bytes, size_t repeat_blocks, GArray *ret);

/* The piece with byte @position of the extent; NULL: none, for example after the references changed. */
const RemainderPiece *remainder_find(const GArray *pieces, uint64_t position);

/* The bytes of the copy: all pieces but repeats. */
uint64_t remainder_bytes(const GArray *pieces);

/*
 * For extents that snapshots hold, a pass writes at most this part of the free space, since it gains nothing
 * yet.
 */
#define REST_HELD_SHARE 16

/* The totals of a pass so far, with its plans. */
typedef struct {
	uint64_t freed_bytes; /* of all extents to be freed */
	uint64_t written_bytes;
	uint64_t held_most_bytes; /* limit of the pass for extents that snapshots hold */
	uint64_t held_room_bytes; /* that limit less the bytes written */
	uint64_t generation;      /* extents of this transaction or a later one may be copies */
	bool writes_more;         /* larger remainders, too: REWRITE_MORE, in the first rounds */
} RemainderAccount;

/*
 * True if writing @rest_bytes is worth freeing an extent of @freed_bytes.  Large extents come first in a pass,
 * so that small ones, of which a last block is a large part, may use what these saved.
 */
bool remainder_is_worth(const RemainderAccount *pass, uint64_t rest_bytes, uint64_t freed_bytes);

/* Whether that is true whatever @pass has written. */
bool remainder_may_be_worth(const RemainderAccount *pass, uint64_t rest_bytes,
			    uint64_t freed_bytes);

/* The share of one extent in the account while it is planned. */
typedef struct {
	uint64_t freed_bytes;
	uint64_t written_bytes;
	uint64_t held_room_bytes; /* at most what was left */
} RemainderClaim;

/* Claim what freeing an extent of @freed_bytes needs; @is_held: snapshots hold it. */
RemainderClaim remainder_account_claim(RemainderAccount *pass, uint64_t freed_bytes,
				       uint64_t written_bytes, bool is_held);

/* Give back the claim of an extent that stays; *claim is zero afterwards. */
void remainder_account_give_back(RemainderAccount *pass, RemainderClaim *claim);
