/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/content/extent-cover.h"
#include "common/files/extent-refs.h"

/*
 * The rest of a data extent of btrfs: what files show of it and no other extent equals.
 *
 * btrfs frees an extent when nothing shows any byte of it, so a small rest keeps a large extent.  Copied
 * to an unnamed file, in which its pieces follow each other, the rest has a place to be shared with.
 *
 * Pure.  Thread: any.
 */
typedef struct {
	uint64_t position; /* byte in the extent */
	uint64_t length; /* no multiple of a block only of the last one, whose end is the copy's */
	uint64_t offset; /* byte in the copy */
} RemainderPiece;

/*
 * Lay out what @cover leaves of what @refs show: *ret is filled with RemainderPiece, in the order of the
 * copy.  False where no copy would do: the kernel shares part of a block only at the ends of both
 * files, and a copy has one end.
 */
bool remainder_lay(const ExtentCover *cover, const ExtentRef *refs, size_t n_refs,
		   uint32_t block_bytes, GArray *ret);

/* The piece that has byte @position of the extent; NULL: none has it, as where places of the extent changed meanwhile. */
const RemainderPiece *remainder_find(const GArray *pieces, uint64_t position);

/* Bytes of all pieces. */
uint64_t remainder_bytes(const GArray *pieces);

/* A pass writes no more than this part of what is free for extents that snapshots hold, since it gains nothing yet. */
#define REST_HELD_SHARE 16

/* What a pass did so far, and what it has planned. */
typedef struct {
	uint64_t freed_bytes; /* of all extents that are to be freed */
	uint64_t written_bytes;
	uint64_t held_most_bytes; /* that a pass may write for extents which snapshots hold */
	uint64_t held_room_bytes; /* the same, less what it wrote */
	uint64_t generation;      /* extents of this transaction, or a later one, may be copies */
} RemainderAccount;

/*
 * Whether writing so many bytes anew is worth it, if that frees an extent of @freed_bytes.  Large extents
 * come first in a pass, so that small ones, of which a last block is much, may use what these saved.
 */
bool remainder_is_worth(const RemainderAccount *pass, uint64_t rest_bytes, uint64_t freed_bytes);

/* What one extent takes of the account while it is planned. */
typedef struct {
	uint64_t freed_bytes;
	uint64_t written_bytes;
	uint64_t held_room_bytes; /* at most what there was */
} RemainderClaim;

/* Take what freeing an extent of @freed_bytes needs; @is_held: snapshots hold it. */
RemainderClaim remainder_account_claim(RemainderAccount *pass, uint64_t freed_bytes,
				       uint64_t written_bytes, bool is_held);

/* The extent stays.  Give back what it claimed; *claim is zero afterwards. */
void remainder_account_give_back(RemainderAccount *pass, RemainderClaim *claim);
