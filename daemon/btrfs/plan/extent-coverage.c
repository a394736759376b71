/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/plan/extent-coverage.h"

#include "daemon/btrfs/plan/checksum-trust.h"
#include "daemon/btrfs/plan/extent-tails.h"
#include "daemon/btrfs/plan/extent-zeros.h"

/* Files of a source that are looked at for what goes on with a target. */
#define BESIDE_MAX 8

/* A target in so many pieces is not worth a look at more sources, of which no more are looked at. */
#define FEW_PIECES  16
#define SOURCES_MAX 16

/* Gaps of one target that are looked at, each time one becomes smaller counted anew. */
#define GAPS_MAX 1024

/* Comparisons that are remembered: of more, the last ones. */
#define TRIED_MAX 256

/* Blocks of the target that were compared with those of a source which lie @diagonal before. */
typedef struct {
	uint32_t source;
	uint64_t diagonal;
	CoverRange range;
	guint n_places; /* that the source had then: more may show more of it */
} Tried;

struct ExtentCoverage {
	Pass *pass;
	uint32_t block_bytes;
	ExtentSources *sources;
	const ExtentRefs *refs;
	ExtentCover *cover;
	ExtentZeros *zeros;
	const Object *target;
	bool is_target_held;
	GArray *tails;        /* ExtentTail, of the target */
	GArray *source_tails; /* the same of the source in hand */
	GArray *tried;        /* Tried, for the gaps */
	bool spares_zeros; /* extents of nothing but zeros are no sources: they may go themselves */
	bool spared_zeros; /* one would have been */
	CoverageLack lack;
};

ExtentCoverage *extent_coverage_new(Pass *pass, ExtentSums *sums, ExtentSources *sources,
				    const ExtentRefs *refs)
{
	ExtentCoverage *coverage = g_new0(ExtentCoverage, 1);

	coverage->pass = pass;
	coverage->block_bytes = pass->block_bytes;
	coverage->sources = sources;
	coverage->refs = refs;
	coverage->cover = extent_cover_new(sums, pass->block_bytes);
	coverage->zeros = extent_zeros_new(pass);
	coverage->tails = g_array_new(false, false, sizeof(ExtentTail));
	coverage->source_tails = g_array_new(false, false, sizeof(ExtentTail));
	coverage->tried = g_array_new(false, false, sizeof(Tried));
	return coverage;
}

void extent_coverage_free(ExtentCoverage *coverage)
{
	if (!coverage)
		return;

	extent_cover_free(coverage->cover);
	extent_zeros_free(coverage->zeros);
	g_array_unref(coverage->tails);
	g_array_unref(coverage->source_tails);
	g_array_unref(coverage->tried);
	g_free(coverage);
}

ExtentCover *extent_coverage_cover(const ExtentCoverage *coverage)
{
	return coverage->cover;
}

const CoverageLack *extent_coverage_lack(const ExtentCoverage *coverage)
{
	return &coverage->lack;
}

static uint64_t blocks_of(const ExtentCoverage *coverage, const Object *extent)
{
	return extent->size_bytes / coverage->block_bytes;
}

static bool is_whole(const ExtentCoverage *coverage, const Run *run, const ExtentSource *source)
{
	const Object *target = coverage->target;

	return run->target_block == 0 && run->source_block == 0 &&
	       run->blocks == blocks_of(coverage, target) &&
	       source->object.size_bytes == target->size_bytes &&
	       source->object.digest == target->digest &&
	       source->object.mtime_nsec == target->mtime_nsec;
}

static bool is_encoded_alike(const ExtentCoverage *coverage, const ExtentSource *source)
{
	return extent_refs_is_encoded(coverage->refs) == source->is_encoded &&
	       (!source->is_encoded || extent_refs_ram_bytes(coverage->refs) == source->ram_bytes);
}

/* Whether a place of @source shows @bytes from the block on that @block is equal to. */
static bool source_has(const ExtentCoverage *coverage, const ExtentSource *source, uint64_t block,
		       uint64_t diagonal, uint64_t bytes)
{
	uint64_t here;

	return extent_source_place(source, (block - diagonal) * coverage->block_bytes, bytes,
				   coverage->block_bytes, &here) &&
	       here >= bytes;
}

/* Take back that @source, added last, has @block, if no place of it shows the first @bytes of that. */
static void uncover_unfit(ExtentCoverage *coverage, const ExtentSource *source, uint64_t block,
			  uint64_t diagonal, uint64_t bytes)
{
	if (block < blocks_of(coverage, coverage->target) &&
	    extent_cover_added(coverage->cover, block) &&
	    !source_has(coverage, source, block, diagonal, bytes))
		extent_cover_take_back(coverage->cover, block);
}

/*
 * A block that a file ends within, the target's or the source's, is shared only where the other's file
 * ends, too: else it is left to a source that comes later, as the twin of a small file comes behind an
 * image that has the same blocks.
 */
static void uncover_tails(ExtentCoverage *coverage, const ExtentSource *source, uint64_t diagonal)
{
	GArray *tails = coverage->source_tails;

	for (guint i = 0; i < coverage->tails->len; i++) {
		const ExtentTail *tail = &g_array_index(coverage->tails, ExtentTail, i);

		uncover_unfit(coverage, source, tail->block, diagonal, tail->bytes);
	}

	extent_tails_find((const ExtentRef *)(const void *)source->places->data,
			  source->places->len, coverage->block_bytes, tails);
	for (guint i = 0; i < tails->len; i++) {
		uint64_t block = g_array_index(tails, ExtentTail, i).block + diagonal;

		if (!extent_tails_end_in(coverage->tails, block))
			uncover_unfit(coverage, source, block, diagonal, coverage->block_bytes);
	}
}

/* Cover what the source has of the target along @run; *ret_range is what was compared, if anything was. */
static bool cover_by(ExtentCoverage *coverage, const Run *run, const ExtentSource *source,
		     uint64_t least_blocks, CoverRange *ret_range, GError **error)
{
	CoverSource by = {
		.id = source->object.id,
		.bytenr = source->object.inode,
		.blocks = blocks_of(coverage, &source->object),
		.shown = (const CoverRange *)(const void *)source->shown->data,
		.n_shown = source->shown->len,
	};
	bool whole = is_whole(coverage, run, source) && is_encoded_alike(coverage, source);
	ExtentStamp mine = checksum_trust_stamp(coverage->target);
	ExtentStamp other = checksum_trust_stamp(&source->object);
	ChecksumTrust trust;

	/* What was copied for it equals part of it; and if the target stays held, too, nothing is gained. */
	if (source->is_held && (!whole || coverage->is_target_held))
		return true;
	if (source->is_left && coverage->is_target_held) {
		coverage->lack.has_left = true;
		return true;
	}
	coverage->lack.lacks_equals &= !source->is_held;
	if (!whole && (extent_refs_is_encoded(coverage->refs) || source->is_encoded)) {
		coverage->lack.needs_reading |=
			coverage->pass->settings->compressed != COMPRESSED_READ;
		return true;
	}
	if (!checksum_trust_ask(coverage->pass, &mine, &other, whole, &trust, error))
		return false;
	coverage->lack.is_doubtful |= trust == CHECKSUM_TRUST_NOT_NOW;
	if (trust != CHECKSUM_TRUST_YES)
		return true;

	if (whole)
		extent_cover_add_whole(coverage->cover, &by);
	else if (!extent_cover_add(coverage->cover, run, &by, least_blocks, error))
		return false;
	else
		*ret_range = extent_cover_looked_at(coverage->cover);

	if (!source->is_encoded)
		uncover_tails(coverage, source, run->target_block - run->source_block);
	return true;
}

/* Whether @source was compared with @block of the target already, where the source's blocks lie @diagonal before. */
static bool was_tried(const ExtentCoverage *coverage, const ExtentSource *source, uint64_t diagonal,
		      uint64_t block)
{
	guint n = coverage->tried->len;

	for (guint i = n; i-- > n - MIN(n, TRIED_MAX);) {
		const Tried *tried = &g_array_index(coverage->tried, Tried, i);

		if (tried->source == source->object.id && tried->diagonal == diagonal &&
		    tried->range.first <= block && block < tried->range.end &&
		    tried->n_places == source->places->len)
			return true;
	}

	return false;
}

/* Cover @block of the target, and what goes on with it, by what @source has at the byte @position. */
static bool fill_by(ExtentCoverage *coverage, const ExtentSource *source, uint64_t position,
		    uint64_t block, GError **error)
{
	Run run = {
		.source = source->object.id,
		.source_block = position / coverage->block_bytes,
		.target_block = block,
		.blocks = 1,
	};
	Tried tried = {
		.source = run.source,
		.diagonal = block - run.source_block,
		.range = { block, block + 1 },
		.n_places = source->places->len,
	};

	if (coverage->spares_zeros && extent_zeros_are_all(&source->object)) {
		coverage->spared_zeros = true;
		return true;
	}
	if (was_tried(coverage, source, tried.diagonal, block))
		return true;
	if (!cover_by(coverage, &run, source, 1, &tried.range, error))
		return false;

	g_array_append_val(coverage->tried, tried);
	return true;
}

/* The same by whatever lies @beside. */
static bool fill_from(ExtentCoverage *coverage, const SourceBeside *beside, uint64_t block,
		      GError **error)
{
	const ExtentSource *source;
	uint64_t position;

	if (!extent_sources_find_at(coverage->sources, coverage->target, beside, &source, &position,
				    error))
		return false;

	return !source || fill_by(coverage, source, position, block, error);
}

/*
 * Cover what lies at @block of the target by what lies beside @piece in a file of its source: which of
 * them goes on as the target does, only trying tells.
 */
static bool fill_beside(ExtentCoverage *coverage, const CoverPiece *piece, uint64_t block,
			GError **error)
{
	uint64_t position = (block - piece->diagonal) * coverage->block_bytes;
	const ExtentSource *source;
	SourceBeside besides[BESIDE_MAX], successor;
	const ExtentRef *refs;
	size_t n = 0, n_refs;

	if (!extent_sources_find(coverage->sources, piece->source, position, coverage->block_bytes,
				 &source, error))
		return false;
	if (source)
		n = extent_source_besides(source, position, besides, BESIDE_MAX);

	for (size_t i = 0; i < n; i++) {
		if (besides[i].is_source) {
			if (!fill_by(coverage, source, position, block, error))
				return false;
		} else if (!fill_from(coverage, &besides[i], block, error)) {
			return false;
		}
		if (extent_cover_has(coverage->cover, block, block + 1))
			return true;
	}

	refs = extent_refs_list(coverage->refs, &n_refs);
	return n == 0 || !coverage->is_target_held ||
	       !source_beside_succeed(refs, n_refs, besides[0].root, block * coverage->block_bytes,
				      &successor) ||
	       fill_from(coverage, &successor, block, error);
}

/* The piece before @first; where zeros are, the one before that: what is behind may go on with it. */
static bool find_before(const ExtentCoverage *coverage, uint64_t first, CoverPiece *ret)
{
	for (uint64_t block = first; block-- > 0;) {
		if (!extent_cover_has(coverage->cover, block, block + 1))
			return false;
		*ret = extent_cover_piece(coverage->cover, block, block + 1);
		if (!ret->is_zeros)
			return true;
	}

	return false;
}

/* Try to cover the gap from both of its ends. */
static bool fill_gap(ExtentCoverage *coverage, uint64_t first, uint64_t end, GError **error)
{
	CoverPiece piece;

	if (find_before(coverage, first, &piece) && !fill_beside(coverage, &piece, first, error))
		return false;
	if (!extent_cover_has(coverage->cover, end, end + 1) ||
	    extent_cover_has(coverage->cover, end - 1, end))
		return true;

	piece = extent_cover_piece(coverage->cover, end, end + 1);
	return piece.is_zeros || fill_beside(coverage, &piece, end - 1, error);
}

/*
 * Equal files may be cut into extents at other places: where one piece ends, what comes next in the
 * file of its source is likely to go on with the target.
 */
static bool fill_gaps(ExtentCoverage *coverage, GError **error)
{
	uint64_t first, end, from = 0;

	g_array_set_size(coverage->tried, 0);
	for (size_t i = 0; i < GAPS_MAX && extent_cover_gap(coverage->cover, from, &first, &end) &&
			   pass_checkpoint(coverage->pass);
	     i++) {
		uint64_t left_first, left_end;

		if (!fill_gap(coverage, first, end, error))
			return false;
		if (!extent_cover_gap(coverage->cover, first, &left_first, &left_end))
			break;
		/* As long as it becomes smaller it is worth another look. */
		from = left_first == first && left_end == end ? end : left_first;
	}

	return true;
}

static bool is_covered(const ExtentCoverage *coverage, const ExtentRef *ref)
{
	uint64_t first = ref->position / coverage->block_bytes;
	uint64_t end =
		(ref->position + ref->length + coverage->block_bytes - 1) / coverage->block_bytes;

	/* One that is encoded is covered whole or not at all. */
	if (extent_refs_is_encoded(coverage->refs)) {
		first = 0;
		end = blocks_of(coverage, coverage->target);
	}
	return extent_cover_has(coverage->cover, first, end);
}

bool extent_coverage_is_all(const ExtentCoverage *coverage)
{
	const ExtentRef *refs;
	size_t n;

	refs = extent_refs_list(coverage->refs, &n);
	for (size_t i = 0; i < n; i++)
		if (!is_covered(coverage, &refs[i]))
			return false;

	return true;
}

/* Have a hole, or others, take over zeros that are left, if that helps and is wanted. */
static bool cover_zeros(ExtentCoverage *coverage, ZerosVerdict *ret, GError **error)
{
	const ExtentRef *refs;
	size_t n;

	refs = extent_refs_list(coverage->refs, &n);
	if (!extent_zeros_cover(coverage->zeros, coverage->target, coverage->cover, refs, n, ret,
				&coverage->lack.keeper, error))
		return false;

	coverage->lack.is_doubtful |= *ret == ZEROS_DOUBTED;
	coverage->lack.keeps_zeros = *ret == ZEROS_KEPT;
	return true;
}

/*
 * Cover what runs leave.  What lies behind extents of zeros may go on with the target: where a hole does
 * not do for these, they are sources at last.
 */
static bool cover_rest(ExtentCoverage *coverage, GError **error)
{
	ZerosVerdict verdict;

	coverage->spares_zeros = coverage->pass->settings->zeros != ZEROS_KEEP;
	coverage->spared_zeros = false;
	if (!fill_gaps(coverage, error) || !cover_zeros(coverage, &verdict, error))
		return false;
	if (!coverage->spared_zeros || extent_coverage_is_all(coverage))
		return true;
	if (verdict == ZEROS_COVERED)
		return fill_gaps(coverage, error);

	coverage->spares_zeros = false;
	return fill_gaps(coverage, error) && cover_zeros(coverage, &verdict, error);
}

static bool find_source(ExtentCoverage *coverage, const CoverPiece *piece, uint64_t block,
			uint64_t bytes, const ExtentSource **ret, GError **error)
{
	uint64_t position = (block - piece->diagonal) * coverage->block_bytes;

	return extent_sources_find(coverage->sources, piece->source, position, bytes, ret, error);
}

/* The last block of each piece: where the source's file ends within it, all places have to. */
static bool uncover_source_ends(ExtentCoverage *coverage, const ExtentRef *refs, size_t n_refs,
				GError **error)
{
	uint32_t block_bytes = coverage->block_bytes;
	uint64_t blocks = 0;

	for (size_t i = 0; i < n_refs; i++) {
		uint64_t end = refs[i].position + extent_ref_shown_bytes(&refs[i]);

		blocks = MAX(blocks, (end + block_bytes - 1) / block_bytes);
	}

	for (uint64_t block = 0; block < blocks; block++) {
		const ExtentSource *source;
		CoverPiece piece;

		if (!extent_cover_has(coverage->cover, block, block + 1))
			continue;
		piece = extent_cover_piece(coverage->cover, block, blocks);
		block += piece.blocks - 1;
		if (piece.source == RUN_HOLE ||
		    !extent_tails_has_whole(refs, n_refs, block, block_bytes))
			continue;
		if (!pass_checkpoint(coverage->pass))
			return true;
		if (!find_source(coverage, &piece, block, block_bytes, &source, error))
			return false;
		if (source && !source_has(coverage, source, block, piece.diagonal, block_bytes))
			extent_cover_remove(coverage->cover, block);
	}

	return true;
}

/* A block that a place ends within: the source's file has to end there, too. */
static bool uncover_place_end(ExtentCoverage *coverage, const ExtentTail *tail, GError **error)
{
	const ExtentSource *source;
	CoverPiece piece;

	if (!extent_cover_has(coverage->cover, tail->block, tail->block + 1))
		return true;
	piece = extent_cover_piece(coverage->cover, tail->block, tail->block + 1);
	/* A hole ends where it is wanted to. */
	if (piece.source == RUN_HOLE)
		return true;
	if (!find_source(coverage, &piece, tail->block, tail->bytes, &source, error))
		return false;
	if (!source || !source_has(coverage, source, tail->block, piece.diagonal, tail->bytes))
		extent_cover_remove(coverage->cover, tail->block);
	return true;
}

/*
 * Take back what cannot be shared since a file ends there.  Behind the end of a file there are zeros, which others
 * may go on with.
 */
static bool uncover_ends(ExtentCoverage *coverage, GError **error)
{
	const ExtentRef *refs;
	size_t n_refs;

	refs = extent_refs_list(coverage->refs, &n_refs);
	if (!uncover_source_ends(coverage, refs, n_refs, error))
		return false;
	for (guint i = 0; i < coverage->tails->len; i++)
		if (!uncover_place_end(coverage, &g_array_index(coverage->tails, ExtentTail, i),
				       error))
			return false;

	return true;
}

/* Cover what the source of @run has; @is_all: wherever the two extents lie side by side as @run says. */
static bool cover_by_run(ExtentCoverage *coverage, const Run *run, bool is_all, GError **error)
{
	uint64_t diagonal = run->target_block - run->source_block;
	uint64_t least_blocks = is_all ? COVER_LEAST_BLOCKS : MIN(run->blocks, COVER_LEAST_BLOCKS);
	const ExtentSource *source;
	CoverRange ignored;
	Run along = *run;

	if (!extent_sources_find(coverage->sources, run->source,
				 run->source_block * coverage->block_bytes,
				 run->blocks * coverage->block_bytes, &source, error))
		return false;
	if (!source)
		return true;

	if (is_all) {
		along.target_block = (int64_t)diagonal > 0 ? diagonal : 0;
		along.source_block = along.target_block - diagonal;
		along.blocks = MIN(blocks_of(coverage, coverage->target),
				   blocks_of(coverage, &source->object) + diagonal) -
			       along.target_block;
	}
	/* A shorter run is part of a longer one that goes on in other extents. */
	return cover_by(coverage, &along, source, least_blocks, &ignored, error);
}

/*
 * Of copies of one image each lacks other blocks than the rest.  What the first one lacks, taken from the others
 * block by block, would leave the target in many pieces; more of each in few.
 */
static bool join_pieces(ExtentCoverage *coverage, const GArray *runs, GError **error)
{
	Run looked_at[SOURCES_MAX];
	size_t n = 0;

	if (extent_refs_is_encoded(coverage->refs) ||
	    extent_cover_pieces(coverage->cover) <= FEW_PIECES)
		return true;

	extent_cover_begin_join(coverage->cover);
	for (guint i = 0; i < runs->len && n < SOURCES_MAX; i++) {
		const Run *run = &g_array_index(runs, Run, i);
		bool is_known = run->source == RUN_HOLE;

		for (size_t k = 0; k < n && !is_known; k++)
			is_known = run->source == looked_at[k].source &&
				   run->target_block - run->source_block ==
					   looked_at[k].target_block - looked_at[k].source_block;
		if (is_known)
			continue;
		if (!pass_checkpoint(coverage->pass))
			return true;
		looked_at[n++] = *run;
		if (!cover_by_run(coverage, run, true, error))
			return false;
	}

	extent_cover_join(coverage->cover);
	return true;
}

bool extent_coverage_find(ExtentCoverage *coverage, const Object *target, bool is_held,
			  const GArray *runs, GError **error)
{
	bool has_zeros = false;
	const ExtentRef *refs;
	size_t n_refs;

	refs = extent_refs_list(coverage->refs, &n_refs);
	extent_tails_find(refs, n_refs, coverage->block_bytes, coverage->tails);
	coverage->target = target;
	coverage->is_target_held = is_held;
	coverage->lack = (CoverageLack){ .lacks_equals = true };
	if (!extent_cover_begin(coverage->cover, coverage->target->inode,
				blocks_of(coverage, coverage->target), error))
		return false;

	for (guint i = 0; i < runs->len; i++) {
		const Run *run = &g_array_index(runs, Run, i);

		/* That says only that there are zeros: where, the sums tell. */
		has_zeros |= run->source == RUN_HOLE;
		if (run->source == RUN_HOLE || extent_cover_has(coverage->cover, run->target_block,
								run->target_block + run->blocks))
			continue;
		if (!pass_checkpoint(coverage->pass))
			return true;
		if (!cover_by_run(coverage, run, false, error))
			return false;
	}
	if (!join_pieces(coverage, runs, error))
		return false;

	coverage->lack.lacks_equals &= !has_zeros && !extent_sources_any_exists(coverage->sources);
	return extent_refs_is_encoded(coverage->refs) ||
	       (cover_rest(coverage, error) && uncover_ends(coverage, error));
}
