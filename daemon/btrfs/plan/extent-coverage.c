/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/plan/extent-coverage.h"

#include "daemon/btrfs/plan/checksum-trust.h"
#include "daemon/btrfs/plan/extent-tails.h"
#include "daemon/btrfs/plan/extent-zeros.h"

/* Limit of the files of a source that are looked at for data that continues a target. */
#define BESIDE_MAX 8

/* If a target has more pieces than this, more sources are looked at, up to SOURCES_MAX. */
#define FEW_PIECES  16
#define SOURCES_MAX 16

/* Limit of the gaps of one target that are looked at.  A gap that becomes smaller counts again. */
#define GAPS_MAX 1024

/* Comparisons that are remembered: the last ones. */
#define TRIED_MAX 256

/* Blocks of the target that were compared with those of a source, @diagonal before. */
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
	GArray *source_tails; /* the same of the present source */
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
	       object_extent_summed_blocks(&source->object) == object_extent_summed_blocks(target);
}

static bool is_encoded_alike(const ExtentCoverage *coverage, const ExtentSource *source)
{
	return extent_refs_is_encoded(coverage->refs) == source->is_encoded &&
	       (!source->is_encoded || extent_refs_ram_bytes(coverage->refs) == source->ram_bytes);
}

/* Whether a reference of @source contains the first @bytes of the block that @block equals. */
static bool source_has(const ExtentCoverage *coverage, const ExtentSource *source, uint64_t block,
		       uint64_t diagonal, uint64_t bytes)
{
	uint64_t here;

	return extent_source_place(source, (block - diagonal) * coverage->block_bytes, bytes,
				   coverage->block_bytes, &here) &&
	       here >= bytes;
}

/*
 * Remove @block from the cover by @source, which was added last, if no reference of the source contains its first
 * @bytes.
 */
static void uncover_unfit(ExtentCoverage *coverage, const ExtentSource *source, uint64_t block,
			  uint64_t diagonal, uint64_t bytes)
{
	if (block < blocks_of(coverage, coverage->target) &&
	    extent_cover_added(coverage->cover, block) &&
	    !source_has(coverage, source, block, diagonal, bytes))
		extent_cover_take_back(coverage->cover, block);
}

/*
 * If a file ends within a block of the target or the source, the block is shared only if the other's file ends
 * there.  Otherwise it is left to a later source: for instance, the twin of a small file comes after an image with
 * the same blocks.
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

/* Add the blocks that the source covers along @run; *ret_range: the range that was compared, if any. */
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

	/* The copy that was made for it equals part of it.  If the target stays held, too, nothing is gained. */
	if (source->is_held && (!whole || coverage->is_target_held))
		return true;
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

/* Whether @block of the target was compared with @source at this @diagonal already. */
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

/* Cover @block of the target and the blocks after it from the byte @position of @source. */
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

/* The same from the extent that lies @beside. */
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
 * Cover @block of the target from the extents that lie beside @piece in the files of its source.  Only trying tells
 * which of these continues like the target.
 */
static bool fill_beside(ExtentCoverage *coverage, const CoverPiece *piece, uint64_t block,
			GError **error)
{
	uint64_t position = (block - piece->diagonal) * coverage->block_bytes;
	const ExtentSource *source;
	SourceBeside besides[BESIDE_MAX];
	size_t n = 0;

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
			break;
	}

	return true;
}

/* The piece before @first.  If it is of zeros, the piece before it: the data behind may continue that one. */
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
 * Equal files may be cut into extents at other places.  So after the end of a piece, the next extent in the file of
 * its source is likely to continue the target.
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
		/* A gap that became smaller is looked at again. */
		from = left_first == first && left_end == end ? end : left_first;
	}

	return true;
}

static bool is_covered(const ExtentCoverage *coverage, const ExtentRef *ref)
{
	uint64_t first = ref->position / coverage->block_bytes;
	uint64_t end =
		(ref->position + ref->length + coverage->block_bytes - 1) / coverage->block_bytes;

	/* A compressed extent is covered as a whole or not at all. */
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

/* Cover remaining zeros with a hole or with other zeros, if that is of use and wanted. */
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
 * Cover what the runs leave.  Data after extents of zeros may continue the target.  If a hole does not cover the
 * zeros, these extents are sources after all.
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

/* Check the last block of each piece: if the source's file ends within it, all references must end there. */
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

/* Check a block within which a reference ends: the source's file must end there, too. */
static bool uncover_place_end(ExtentCoverage *coverage, const ExtentTail *tail, GError **error)
{
	const ExtentSource *source;
	CoverPiece piece;

	if (!extent_cover_has(coverage->cover, tail->block, tail->block + 1))
		return true;
	piece = extent_cover_piece(coverage->cover, tail->block, tail->block + 1);
	/* A hole can end anywhere. */
	if (piece.source == RUN_HOLE)
		return true;
	if (!find_source(coverage, &piece, tail->block, tail->bytes, &source, error))
		return false;
	if (!source || !source_has(coverage, source, tail->block, piece.diagonal, tail->bytes))
		extent_cover_remove(coverage->cover, tail->block);
	return true;
}

/*
 * Remove blocks that cannot be shared because a file ends within them.  After the end of a file its block has zeros,
 * which other files may have as data.
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

/* Cover from the source of @run.  @is_all: wherever the two extents overlap on the diagonal of @run. */
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
	/* A shorter run is part of a longer one that continues in other extents. */
	return cover_by(coverage, &along, source, least_blocks, &ignored, error);
}

/*
 * Copies of one image lack different blocks.  If the gaps of the first copy were filled block by block from others,
 * the target would have many pieces.  Taking more from each copy leaves few.
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

		/* The run tells only that there are zeros; the sums tell where. */
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
