/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/content/remainder.h"

#include "common/content/repeats.h"

#include <stdlib.h>

/*
 * A copy for an extent has at most 1/REST_SHARE of its bytes; or at most 1/MOST_SHARE, while the whole pass
 * writes at most 1/REST_SHARE of its net gain.  A pass that writes more frees at least 1/FREED_SHARE of each.  The
 * pass waits until each copy is on the disk, so each must gain LEAST_NET_GAIN.
 */
#define REST_SHARE     4
#define MOST_SHARE     2
#define FREED_SHARE    8
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

/* A remainder that is being laid out. */
typedef struct {
	const ExtentCover *cover;
	uint32_t block_bytes;
	size_t repeat_blocks;
	Repeats *repeats; /* of the blocks to be copied; NULL: none are looked for */
	uint64_t end;     /* of the copy: bytes */
	GArray *pieces;
} Layout;

/* Add @blocks blocks of the extent from @first on, which the copy has at @offset. */
static void add_piece(Layout *layout, uint64_t first, uint64_t blocks, uint64_t offset,
		      bool is_repeat)
{
	GArray *pieces = layout->pieces;
	RemainderPiece piece = { first * layout->block_bytes, blocks * layout->block_bytes, offset,
				 is_repeat };
	RemainderPiece *last =
		pieces->len > 0 ? &g_array_index(pieces, RemainderPiece, pieces->len - 1) : NULL;

	if (last && last->is_repeat == is_repeat &&
	    last->position + last->length == piece.position &&
	    last->offset + last->length == piece.offset)
		last->length += piece.length;
	else
		g_array_append_val(pieces, piece);
}

/* Add blocks that are to be copied. */
static void add_copied(Layout *layout, uint64_t first, uint64_t blocks)
{
	const uint64_t *sums = extent_cover_sums(layout->cover);

	add_piece(layout, first, blocks, layout->end, false);
	layout->end += blocks * layout->block_bytes;
	for (uint64_t i = 0; layout->repeats && i < blocks; i++)
		repeats_add(layout->repeats, sums[first + i]);
}

/* How many blocks from @first on repeat copied ones, which begin at block *ret_at of these. */
static size_t repeated_blocks(const Layout *layout, uint64_t first, uint64_t end, size_t *ret_at)
{
	const uint64_t *sums = extent_cover_sums(layout->cover) + first;
	size_t n, blocks = 0;

	if (!layout->repeats || !extent_cover_is_data(layout->cover, sums[0]))
		return 0;
	n = repeats_find(layout->repeats, sums, end - first, ret_at);
	while (blocks < n && extent_cover_is_data(layout->cover, sums[blocks]))
		blocks++;
	return blocks < layout->repeat_blocks ? 0 : blocks;
}

static void add_range(Layout *layout, uint64_t first, uint64_t end)
{
	while (first < end) {
		size_t at, blocks = repeated_blocks(layout, first, end, &at);

		if (blocks > 0)
			/* Before the first block, the copy has an empty one. */
			add_piece(layout, first, blocks, (1 + at) * layout->block_bytes, true);
		else
			add_copied(layout, first, blocks = layout->repeats ? 1 : end - first);
		first += blocks;
	}
}

static int compare_pieces(const void *a, const void *b)
{
	const RemainderPiece *one = a;
	const RemainderPiece *other = b;

	return (one->position > other->position) - (one->position < other->position);
}

/* Add all ranges.  The one with the tail comes last, and its last piece ends with that. */
static void add_ranges(Layout *layout, const GArray *ranges, const Tail *tail)
{
	GArray *pieces = layout->pieces;
	CoverRange last = { 0, 0 };

	for (guint i = 0; i < ranges->len; i++) {
		CoverRange range = g_array_index(ranges, CoverRange, i);

		if (tail->bytes > 0 && range.first <= tail->block && tail->block < range.end) {
			last = (CoverRange){ range.first, tail->block };
			range.first = tail->block + 1;
		}
		add_range(layout, range.first, range.end);
	}
	if (tail->bytes == 0)
		return;

	add_range(layout, last.first, last.end);
	add_copied(layout, tail->block, 1);
	g_array_index(pieces, RemainderPiece, pieces->len - 1).length -=
		layout->block_bytes - tail->bytes;
	qsort(pieces->data, pieces->len - 1, sizeof(RemainderPiece), compare_pieces);
}

bool remainder_lay(const ExtentCover *cover, const ExtentRef *refs, size_t n_refs,
		   uint32_t block_bytes, size_t repeat_blocks, GArray *ret)
{
	g_autoptr(Repeats) repeats = repeat_blocks > 0 ? repeats_new(repeat_blocks) : NULL;
	g_autoptr(GArray) ranges = NULL;
	/* The start of a file may be stored inline in metadata, which cannot be shared. */
	Layout layout = { cover, block_bytes, repeat_blocks, repeats, block_bytes, ret };
	Tail tail;

	g_array_set_size(ret, 0);
	if (!find_tail(cover, refs, n_refs, block_bytes, &tail))
		return false;

	ranges = find_ranges(cover, refs, n_refs, block_bytes);
	add_ranges(&layout, ranges, &tail);
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
		if (!g_array_index(pieces, RemainderPiece, i).is_repeat)
			bytes += g_array_index(pieces, RemainderPiece, i).length;
	return bytes;
}

bool remainder_is_worth(const RemainderAccount *pass, uint64_t rest_bytes, uint64_t freed_bytes)
{
	uint64_t written = pass->written_bytes + rest_bytes;
	uint64_t freed = pass->freed_bytes + freed_bytes;

	return remainder_may_be_worth(pass, rest_bytes, freed_bytes) &&
	       (pass->writes_more || rest_bytes <= freed_bytes / REST_SHARE ||
		written <= freed / (REST_SHARE + 1));
}

bool remainder_may_be_worth(const RemainderAccount *pass, uint64_t rest_bytes, uint64_t freed_bytes)
{
	uint64_t most = pass->writes_more ? freed_bytes - freed_bytes / FREED_SHARE
					  : freed_bytes / MOST_SHARE;

	return freed_bytes >= rest_bytes + LEAST_NET_GAIN && rest_bytes <= most;
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
