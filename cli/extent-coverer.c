/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/extent-coverer.h"

#include "cli/mapped-array.h"
#include "daemon/extent-rest.h"
#include "hashstore/sorter.h"

#include <string.h>

/* Pieces that begin together are alternatives: no more than so many are looked at, and one for each way. */
#define TOGETHER_MAX 8

struct ExtentCoverer {
	const EstimateTask *task;
	Sorter *pieces;       /* EqualPiece */
	MappedArray *extents; /* CoveredExtent, by rank */
	GArray *of_target;    /* EqualPiece: those of one extent */
	unsigned n_together;  /* of these, at the last position */
	uint32_t ways_together;
	uint64_t held_most_bytes;
	RestAccount accounts[ESTIMATE_WAYS];
	RestAccount deferred[ESTIMATE_WAYS]; /* of these */
	unsigned usual;
	uint64_t n_runs;
};

static int compare_pieces(const void *a, const void *b)
{
	const EqualPiece *one = a, *other = b;

	if (one->target != other->target)
		return one->target < other->target ? -1 : 1;
	if (one->position != other->position)
		return one->position < other->position ? -1 : 1;
	/* Of pieces that begin together the longest is used, and then the one that rather stays. */
	if (one->n_blocks != other->n_blocks)
		return one->n_blocks > other->n_blocks ? -1 : 1;
	return (one->source > other->source) - (one->source < other->source);
}

ExtentCoverer *extent_coverer_new(const EstimateTask *task, GError **error)
{
	g_autoptr(ExtentCoverer) coverer = g_new0(ExtentCoverer, 1);

	coverer->task = task;
	coverer->held_most_bytes = UINT64_MAX;
	coverer->of_target = g_array_new(false, false, sizeof(EqualPiece));
	coverer->pieces = sorter_new(sizeof(EqualPiece), compare_pieces,
				     task->settings->memory_bytes / 4, task->directory, task->stop);
	coverer->extents = mapped_array_new(task->directory, sizeof(CoveredExtent), error);
	return coverer->extents ? g_steal_pointer(&coverer) : NULL;
}

void extent_coverer_free(ExtentCoverer *coverer)
{
	if (!coverer)
		return;

	g_clear_pointer(&coverer->pieces, sorter_free);
	g_clear_pointer(&coverer->extents, mapped_array_free);
	g_array_unref(coverer->of_target);
	g_free(coverer);
}

bool extent_coverer_add_extent(ExtentCoverer *coverer, const CoveredExtent *extent, GError **error)
{
	CoveredExtent *added = mapped_array_add(coverer->extents, error);

	if (added)
		*added = *extent;
	return added;
}

static CoveredExtent *extent_at(const ExtentCoverer *coverer, uint64_t rank)
{
	return (CoveredExtent *)mapped_array_items(coverer->extents) + rank;
}

void extent_coverer_show(ExtentCoverer *coverer, uint64_t rank, uint64_t n_blocks)
{
	extent_at(coverer, rank)->n_shown += n_blocks;
}

bool extent_coverer_add(ExtentCoverer *coverer, const EqualPiece *piece, GError **error)
{
	return piece->target == piece->source || sorter_add(coverer->pieces, piece, error);
}

/* Whether the source of @piece stays, as far as it is decided; in the first round only what was is asked. */
static bool is_source(const ExtentCoverer *coverer, const EqualPiece *piece, unsigned way,
		      bool is_first)
{
	if (!(piece->ways >> way & 1))
		return false;
	if (piece->source == EQUAL_HOLE)
		return true;
	if (is_first && piece->source > piece->target)
		return false;
	return !(extent_at(coverer, piece->source)->freed >> way & 1);
}

/* How many blocks of the target sources cover; with @use these are used from now on. */
static uint64_t cover(ExtentCoverer *coverer, const CoveredExtent *target, unsigned way,
		      bool is_first, bool use)
{
	uint64_t covered = 0, end = 0;

	for (guint i = 0; i < coverer->of_target->len; i++) {
		const EqualPiece *piece = &g_array_index(coverer->of_target, EqualPiece, i);
		uint64_t piece_end = piece->position + piece->n_blocks;
		uint64_t begin = MAX(end, piece->position);

		if (begin >= piece_end || !is_source(coverer, piece, way, is_first))
			continue;
		covered += piece_end - begin;
		end = piece_end;
		if (use && piece->source != EQUAL_HOLE)
			extent_at(coverer, piece->source)->used |= (uint8_t)(1U << way);
		/* Each place gets an item of its own for the piece. */
		if (use && way == coverer->usual)
			coverer->n_runs += target->n_places;
	}

	return covered;
}

void extent_coverer_bound_held(ExtentCoverer *coverer, uint64_t bytes)
{
	coverer->held_most_bytes = bytes;
}

static bool is_worth(const ExtentCoverer *coverer, const CoveredExtent *extent, unsigned way,
		     uint64_t rest_bytes)
{
	if (rest_bytes == 0)
		return true;
	if (extent->is_deferred &&
	    rest_bytes > coverer->held_most_bytes - coverer->deferred[way].written_bytes)
		return false;
	return coverer->task->settings->rewrite == REWRITE_AUTO &&
	       extent_rest_is_worth(&coverer->accounts[way], rest_bytes, extent->bytes);
}

static void add_gain(RestAccount *account, uint64_t bytes, uint64_t rest_bytes)
{
	account->freed_bytes += bytes;
	account->written_bytes += rest_bytes;
}

/* Free the extent of which all pieces are at hand, by each way that can. */
static void free_extent(ExtentCoverer *coverer, uint64_t rank, bool is_first)
{
	CoveredExtent *extent = extent_at(coverer, rank);

	for (unsigned way = 0; way < ESTIMATE_WAYS && !extent->is_fixed; way++) {
		uint64_t rest_bytes;

		if ((extent->freed | extent->used) >> way & 1)
			continue;
		rest_bytes = (extent->n_shown -
			      MIN(extent->n_shown, cover(coverer, extent, way, is_first, false))) *
			     coverer->task->identity.block_bytes;
		if (!is_worth(coverer, extent, way, rest_bytes))
			continue;

		cover(coverer, extent, way, is_first, true);
		extent->freed |= (uint8_t)(1U << way);
		add_gain(&coverer->accounts[way], extent->bytes, rest_bytes);
		if (extent->is_deferred)
			add_gain(&coverer->deferred[way], extent->bytes, rest_bytes);
	}
}

/* Keep @piece, unless there are enough that begin where it does: so memory is bounded for an extent. */
static void keep_piece(ExtentCoverer *coverer, const EqualPiece *piece)
{
	const GArray *kept = coverer->of_target;
	bool is_first = kept->len == 0 ||
			g_array_index(kept, EqualPiece, kept->len - 1).position != piece->position;

	if (is_first) {
		coverer->n_together = 0;
		coverer->ways_together = 0;
	}
	if (coverer->n_together >= TOGETHER_MAX && (piece->ways & ~coverer->ways_together) == 0)
		return;

	coverer->n_together++;
	coverer->ways_together |= piece->ways;
	g_array_append_val(coverer->of_target, *piece);
}

static bool go_over(ExtentCoverer *coverer, bool is_first, GError **error)
{
	const EqualPiece *piece;
	uint64_t rank = 0;

	if (!sorter_rewind(coverer->pieces, error))
		return false;
	g_array_set_size(coverer->of_target, 0);
	while (!atomic_load(coverer->task->stop)) {
		if (!sorter_next(coverer->pieces, (const void **)&piece, error))
			return false;
		if (coverer->of_target->len > 0 && (!piece || piece->target != rank)) {
			free_extent(coverer, rank, is_first);
			g_array_set_size(coverer->of_target, 0);
		}
		if (!piece)
			return true;
		rank = piece->target;
		keep_piece(coverer, piece);
	}

	return true;
}

static uint64_t gain_of(const RestAccount *account)
{
	return account->freed_bytes - account->written_bytes;
}

bool extent_coverer_count(ExtentCoverer *coverer, unsigned usual, CoverResult *ret, GError **error)
{
	memset(coverer->accounts, 0, sizeof(coverer->accounts));
	memset(coverer->deferred, 0, sizeof(coverer->deferred));
	coverer->usual = usual;
	coverer->n_runs = 0;
	if (!sorter_sort(coverer->pieces, error) || !go_over(coverer, true, error) ||
	    !go_over(coverer, false, error))
		return false;

	for (unsigned way = 0; way < ESTIMATE_WAYS; way++)
		ret->freed_bytes[way] =
			gain_of(&coverer->accounts[way]) - gain_of(&coverer->deferred[way]);
	ret->n_runs = coverer->n_runs;
	ret->deferred_bytes = coverer->deferred[usual].freed_bytes;
	ret->deferred_written_bytes = coverer->deferred[usual].written_bytes;
	return true;
}
