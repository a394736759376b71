/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/content/remainder.h"

/*
 * A copy for an extent has at most 1/REST_SHARE of its bytes; or at most 1/MOST_SHARE, while the whole pass
 * writes at most 1/REST_SHARE of its net gain.  The pass waits until each copy is on the disk, so each must gain
 * LEAST_NET_GAIN.
 */
#define REST_SHARE     4
#define MOST_SHARE     2
#define LEAST_NET_GAIN (UINT64_C(16) << 10)

/* The block that contains the end of files, and the part of it that they have. */
typedef struct {
	uint64_t block;
	uint64_t bytes; /* 0: none */
} Tail;

static CoverRange shown_blocks(const ExtentRef *ref, uint32_t block_bytes)
{
	uint64_t end = ref->position + extent_ref_shown_bytes(ref);

	return (CoverRange){ ref->position / block_bytes, (end + block_bytes - 1) / block_bytes };
}

/* The tail of @ref, if no other extent covers it. */
static Tail tail_of(const ExtentCover *cover, const ExtentRef *ref, uint32_t block_bytes)
{
	uint64_t end = ref->position + extent_ref_shown_bytes(ref);
	Tail tail = { end / block_bytes, end % block_bytes };

	if (tail.bytes > 0 && extent_cover_has(cover, tail.block, tail.block + 1))
		tail.bytes = 0;
	return tail;
}

/* Find the only tail.  False if there are several, or another reference shows the rest of the block. */
static bool find_tail(const ExtentCover *cover, const ExtentRef *refs, size_t n_refs,
		      uint32_t block_bytes, Tail *ret)
{
	*ret = (Tail){ 0, 0 };
	for (size_t i = 0; i < n_refs; i++) {
		Tail tail = tail_of(cover, &refs[i], block_bytes);

		if (tail.bytes == 0)
			continue;
		if (ret->bytes > 0 && (ret->block != tail.block || ret->bytes != tail.bytes))
			return false;
		*ret = tail;
	}

	for (size_t i = 0; i < n_refs && ret->bytes > 0; i++) {
		CoverRange shown = shown_blocks(&refs[i], block_bytes);

		if (shown.first <= ret->block && ret->block < shown.end &&
		    tail_of(cover, &refs[i], block_bytes).bytes == 0)
			return false;
	}

	return true;
}

static int compare_ranges(const void *a, const void *b)
{
	const CoverRange *one = a;
	const CoverRange *other = b;

	return (one->first > other->first) - (one->first < other->first);
}

/* The ranges (CoverRange) that files show and no source covers, in order and joined. */
static GArray *find_ranges(const ExtentCover *cover, const ExtentRef *refs, size_t n_refs,
			   uint32_t block_bytes)
{
	g_autoptr(GArray) found = g_array_new(false, false, sizeof(CoverRange));
	GArray *joined = g_array_new(false, false, sizeof(CoverRange));

	for (size_t i = 0; i < n_refs; i++) {
		CoverRange shown = shown_blocks(&refs[i], block_bytes);
		uint64_t from = shown.first;
		CoverRange gap;

		while (from < shown.end && extent_cover_gap(cover, from, &gap.first, &gap.end) &&
		       gap.first < shown.end) {
			gap.end = MIN(gap.end, shown.end);
			g_array_append_val(found, gap);
			from = gap.end;
		}
	}

	g_array_sort(found, compare_ranges);
	for (guint i = 0; i < found->len; i++) {
		CoverRange *next = &g_array_index(found, CoverRange, i);
		CoverRange *last =
			joined->len ? &g_array_index(joined, CoverRange, joined->len - 1) : NULL;

		if (last && next->first <= last->end)
			last->end = MAX(last->end, next->end);
		else
			g_array_append_val(joined, *next);
	}

	return joined;
}

static void add_piece(GArray *pieces, uint64_t first, uint64_t end, uint32_t block_bytes)
{
	RemainderPiece piece = { first * block_bytes, (end - first) * block_bytes, 0 };

	if (first < end)
		g_array_append_val(pieces, piece);
}

/* Add the pieces; the one that ends with the tail comes last. */
static void add_pieces(GArray *pieces, const GArray *ranges, const Tail *tail, uint32_t block_bytes)
{
	CoverRange last = { 0, 0 };

	for (guint i = 0; i < ranges->len; i++) {
		CoverRange range = g_array_index(ranges, CoverRange, i);

		if (tail->bytes > 0 && range.first <= tail->block && tail->block < range.end) {
			last = (CoverRange){ range.first, tail->block + 1 };
			range.first = tail->block + 1;
		}
		add_piece(pieces, range.first, range.end, block_bytes);
	}

	add_piece(pieces, last.first, last.end, block_bytes);
	if (last.end > 0)
		g_array_index(pieces, RemainderPiece, pieces->len - 1).length -=
			block_bytes - tail->bytes;
}

bool remainder_lay(const ExtentCover *cover, const ExtentRef *refs, size_t n_refs,
		   uint32_t block_bytes, GArray *ret)
{
	g_autoptr(GArray) ranges = NULL;
	/* The start of a file may be stored inline in metadata, which cannot be shared. */
	uint64_t offset = block_bytes;
	Tail tail;

	g_array_set_size(ret, 0);
	if (!find_tail(cover, refs, n_refs, block_bytes, &tail))
		return false;

	ranges = find_ranges(cover, refs, n_refs, block_bytes);
	add_pieces(ret, ranges, &tail, block_bytes);
	for (guint i = 0; i < ret->len; i++) {
		RemainderPiece *piece = &g_array_index(ret, RemainderPiece, i);

		piece->offset = offset;
		offset += piece->length;
	}

	return true;
}

static bool has(const RemainderPiece *piece, uint64_t position)
{
	return position >= piece->position && position - piece->position < piece->length;
}

const RemainderPiece *remainder_find(const GArray *pieces, uint64_t position)
{
	const RemainderPiece *all = (const RemainderPiece *)(const void *)pieces->data;
	guint low = 0;
	guint end;

	if (pieces->len == 0)
		return NULL;

	/* All pieces but the last are also in the order of the extent. */
	end = pieces->len - 1;
	if (has(&all[end], position))
		return &all[end];
	while (low < end) {
		guint middle = low + (end - low) / 2;

		if (has(&all[middle], position))
			return &all[middle];
		if (all[middle].position < position)
			low = middle + 1;
		else
			end = middle;
	}

	return NULL;
}

uint64_t remainder_bytes(const GArray *pieces)
{
	uint64_t bytes = 0;

	for (guint i = 0; i < pieces->len; i++)
		bytes += g_array_index(pieces, RemainderPiece, i).length;
	return bytes;
}

bool remainder_is_worth(const RemainderAccount *pass, uint64_t rest_bytes, uint64_t freed_bytes)
{
	uint64_t written = pass->written_bytes + rest_bytes;
	uint64_t freed = pass->freed_bytes + freed_bytes;

	if (freed_bytes < rest_bytes + LEAST_NET_GAIN)
		return false;
	return rest_bytes <= freed_bytes / REST_SHARE ||
	       (rest_bytes <= freed_bytes / MOST_SHARE && written <= freed / (REST_SHARE + 1));
}

RemainderClaim remainder_account_claim(RemainderAccount *pass, uint64_t freed_bytes,
				       uint64_t written_bytes, bool is_held)
{
	RemainderClaim claim = {
		.freed_bytes = freed_bytes,
		.written_bytes = written_bytes,
		.held_room_bytes = is_held ? MIN(written_bytes, pass->held_room_bytes) : 0,
	};

	pass->freed_bytes += claim.freed_bytes;
	pass->written_bytes += claim.written_bytes;
	pass->held_room_bytes -= claim.held_room_bytes;
	return claim;
}

void remainder_account_give_back(RemainderAccount *pass, RemainderClaim *claim)
{
	pass->freed_bytes -= claim->freed_bytes;
	pass->written_bytes -= claim->written_bytes;
	pass->held_room_bytes += claim->held_room_bytes;
	*claim = (RemainderClaim){ 0 };
}
