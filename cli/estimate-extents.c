/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/estimate-extents.h"

#include "cli/estimate-snapshots.h"
#include "cli/extent-coverer.h"
#include "cli/mapped-array.h"
#include "daemon/extent-rest.h"
#include "daemon/place-cost.h"
#include "hashstore/sorter.h"

#include <sys/statvfs.h>

/* Extents from each of these on are of one class for a pass; shorter ones are by powers of two. */
#define LONG_BYTES   (UINT64_C(8) << 20)
#define MIDDLE_BYTES (UINT64_C(1) << 20)
#define SHORT_BYTES  (UINT64_C(128) << 10)

/* A place that shows an extent. */
typedef struct {
	uint64_t bytenr;
	uint64_t bytes;       /* of all of the extent, on the disk */
	uint64_t shown_bytes; /* of the file */
	uint64_t subvolume;
	uint64_t inode;
	uint64_t logical;
	uint64_t generation; /* of the extent */
} ShownExtent;

/* What shows an extent. */
typedef struct {
	Places all;
	Places writable;
	bool is_shared; /* by several files */
} Showing;

/* An extent in the order of addresses. */
typedef struct {
	uint64_t bytenr;
	uint64_t bytes;
	uint64_t rank;
} PlacedExtent;

typedef struct {
	uint64_t standing; /* higher: it rather stays */
	uint64_t place;    /* in the order of addresses */
	CoveredExtent extent;
} RankedExtent;

struct EstimateExtents {
	const EstimateTask *task;
	Sorter *shown; /* ShownExtent; NULL when they are ranked */
	EstimateSnapshots *snapshots;
	MappedArray *placed;         /* PlacedExtent */
	ExtentCoverer *coverer;      /* NULL until they are */
	const SequenceBlock *blocks; /* not owned */
};

static int compare_shown(const void *a, const void *b)
{
	const ShownExtent *one = a, *other = b;

	if (one->bytenr != other->bytenr)
		return one->bytenr < other->bytenr ? -1 : 1;
	if (one->subvolume != other->subvolume)
		return one->subvolume < other->subvolume ? -1 : 1;
	if (one->inode != other->inode)
		return one->inode < other->inode ? -1 : 1;
	return (one->logical > other->logical) - (one->logical < other->logical);
}

static int compare_ranked(const void *a, const void *b)
{
	const RankedExtent *one = a, *other = b;

	if (one->standing != other->standing)
		return one->standing > other->standing ? -1 : 1;
	return (one->place > other->place) - (one->place < other->place);
}

EstimateExtents *estimate_extents_new(const EstimateTask *task, GError **error)
{
	g_autoptr(EstimateExtents) extents = g_new0(EstimateExtents, 1);

	extents->task = task;
	extents->shown = sorter_new(sizeof(ShownExtent), compare_shown,
				    task->settings->memory_bytes / 8, task->directory, task->stop);
	extents->placed = mapped_array_new(task->directory, sizeof(PlacedExtent), error);
	extents->snapshots = extents->placed ? estimate_snapshots_new(task->fd, error) : NULL;
	return extents->snapshots ? g_steal_pointer(&extents) : NULL;
}

void estimate_extents_free(EstimateExtents *extents)
{
	if (!extents)
		return;

	g_clear_pointer(&extents->shown, sorter_free);
	g_clear_pointer(&extents->placed, mapped_array_free);
	g_clear_pointer(&extents->snapshots, estimate_snapshots_free);
	g_clear_pointer(&extents->coverer, extent_coverer_free);
	g_free(extents);
}

bool estimate_extents_show(EstimateExtents *extents, const FilePiece *piece, const NamedFile *file,
			   GError **error)
{
	ShownExtent shown = {
		.bytenr = piece->extent,
		.bytes = piece->extent_bytes,
		.shown_bytes = piece->length,
		.subvolume = file->subvolume,
		.inode = file->stat.inode,
		.logical = piece->logical,
		.generation = piece->generation,
	};

	estimate_snapshots_meet(extents->snapshots, file->subvolume);
	return sorter_add(extents->shown, &shown, error);
}

static uint64_t class_of(uint64_t bytes)
{
	static const uint64_t classes[] = { LONG_BYTES, MIDDLE_BYTES, SHORT_BYTES };

	for (size_t i = 0; i < G_N_ELEMENTS(classes); i++)
		if (bytes >= classes[i])
			return classes[i];
	return UINT64_C(1) << g_bit_storage(bytes) >> 1;
}

/* Whether several files show it counts first, then its length by classes. */
static uint64_t standing_of(uint64_t bytes, bool is_shared)
{
	return class_of(bytes) << 1 | (is_shared ? UINT64_C(1) << 63 : 0);
}

/* What a pass does with the extent: the same rule, though not always with all places. */
static CoveredExtent decide(const EstimateExtents *extents, uint64_t bytes, const Showing *showing)
{
	const Settings *settings = extents->task->settings;
	const Places *all = &showing->all, *writable = &showing->writable;
	SnapshotPolicy policy = settings->read_only_snapshots;
	uint32_t factor = settings->max_compare == SETTINGS_MAX_COMPARE_AUTO
				  ? PLACE_COST_FACTOR
				  : settings->max_compare;
	uint64_t most = place_cost_most(factor, bytes);
	bool is_allowed = policy == SNAPSHOTS_AUTO || policy == SNAPSHOTS_SHARE ||
			  (policy == SNAPSHOTS_WRITABLE ? writable->n > 0 : writable->n == all->n);
	bool is_freed =
		is_allowed &&
		places_are_affordable(all, places_cost_max(policy, all, writable, most, false));
	bool is_deferred = !is_freed && places_may_be_left(policy, all, writable) &&
			   places_are_affordable(writable, most);

	return (CoveredExtent){
		.bytes = bytes,
		.is_fixed = !is_freed && !is_deferred,
		.is_deferred = is_deferred,
		.n_places = (uint32_t)MIN(is_deferred ? writable->n : all->n, UINT32_MAX),
	};
}

/* Add the extent that @last is the last place of. */
static bool place(EstimateExtents *extents, Sorter *ranked, const ShownExtent *last,
		  const Showing *showing, GError **error)
{
	PlacedExtent *placed = mapped_array_add(extents->placed, error);
	RankedExtent rank = {
		.standing = standing_of(last->bytes, showing->is_shared),
		.place = mapped_array_count(extents->placed) - 1,
		.extent = decide(extents, last->bytes, showing),
	};

	if (!placed)
		return false;
	*placed = (PlacedExtent){ last->bytenr, last->bytes, 0 };
	return sorter_add(ranked, &rank, error);
}

/* Count the place, and those of snapshots that were not met. */
static void add_place(EstimateExtents *extents, Showing *showing, const ShownExtent *shown)
{
	uint64_t unmet;

	places_add(&showing->all, shown->shown_bytes, 1);
	if (estimate_snapshots_is_read_only(extents->snapshots, shown->subvolume))
		return;

	unmet = estimate_snapshots_count_unmet(extents->snapshots, shown->subvolume,
					       shown->generation);
	places_add(&showing->writable, shown->shown_bytes, 1);
	places_add(&showing->all, shown->shown_bytes, unmet);
	showing->is_shared |= unmet > 0;
}

/* Join the places of each extent; one that was met by several names of its file is one. */
static bool place_all(EstimateExtents *extents, Sorter *ranked, GError **error)
{
	const ShownExtent *shown;
	ShownExtent last = { 0 };
	Showing showing = { 0 };

	if (!sorter_sort(extents->shown, error))
		return false;
	while (true) {
		if (!sorter_next(extents->shown, (const void **)&shown, error))
			return false;
		if (showing.all.n > 0 && (!shown || shown->bytenr != last.bytenr)) {
			if (!place(extents, ranked, &last, &showing, error))
				return false;
			showing = (Showing){ 0 };
		}
		if (!shown)
			return sorter_sort(ranked, error);

		if (showing.all.n > 0 && compare_shown(shown, &last) == 0)
			continue;
		showing.is_shared |= showing.all.n > 0 && (shown->subvolume != last.subvolume ||
							   shown->inode != last.inode);
		add_place(extents, &showing, shown);
		last = *shown;
	}
}

/* What a pass may write for extents that snapshots hold. */
static uint64_t held_room_bytes(int fd)
{
	struct statvfs state;

	return fstatvfs(fd, &state) == 0
		       ? (uint64_t)state.f_bavail * state.f_frsize / REST_HELD_SHARE
		       : 0;
}

bool estimate_extents_rank(EstimateExtents *extents, GError **error)
{
	const EstimateTask *task = extents->task;
	g_autoptr(Sorter) ranked =
		sorter_new(sizeof(RankedExtent), compare_ranked, task->settings->memory_bytes / 8,
			   task->directory, task->stop);
	const RankedExtent *next;

	extents->coverer = extent_coverer_new(task, error);
	if (extents->coverer)
		extent_coverer_bound_held(extents->coverer, held_room_bytes(task->fd));
	if (!extents->coverer || !place_all(extents, ranked, error))
		return false;
	g_clear_pointer(&extents->shown, sorter_free);

	PlacedExtent *placed = mapped_array_items(extents->placed);
	for (uint64_t rank = 0;; rank++) {
		if (!sorter_next(ranked, (const void **)&next, error))
			return false;
		if (!next)
			return true;
		placed[next->place].rank = rank;
		if (!extent_coverer_add_extent(extents->coverer, &next->extent, error))
			return false;
	}
}

/* The extent that has @address; NULL: it came after they were listed. */
static const PlacedExtent *find(const EstimateExtents *extents, uint64_t address)
{
	const PlacedExtent *placed = mapped_array_items(extents->placed);
	uint64_t low = 0, high = mapped_array_count(extents->placed);

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (placed[middle].bytenr + placed[middle].bytes <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < mapped_array_count(extents->placed) && placed[low].bytenr <= address
		       ? &placed[low]
		       : NULL;
}

/* How many of the @most blocks from @position on lie in @extent; gaps have no address, and lie in none. */
static uint64_t count_within(const EstimateExtents *extents, const PlacedExtent *extent,
			     uint64_t position, uint64_t most)
{
	uint64_t n = 1;

	while (n < most && extents->blocks[position + n].address - extent->bytenr < extent->bytes)
		n++;
	return n;
}

void estimate_extents_begin(EstimateExtents *extents, const EstimateSequence *sequence)
{
	uint64_t n_blocks, n;

	extents->blocks = estimate_sequence_blocks(sequence, &n_blocks);
	for (uint64_t i = 0; i < n_blocks; i += n) {
		const PlacedExtent *extent = extents->blocks[i].address > 0
						     ? find(extents, extents->blocks[i].address)
						     : NULL;

		n = extent ? count_within(extents, extent, i, n_blocks - i) : 1;
		if (extent)
			extent_coverer_show(extents->coverer, extent->rank, n);
	}
}

bool estimate_extents_add(EstimateExtents *extents, const SequenceRun *run, GError **error)
{
	uint64_t n;

	for (uint64_t done = 0; done < run->n_blocks; done += n) {
		uint64_t left = run->n_blocks - done;
		uint64_t at_target = run->target + done, at_source = run->source + done;
		const PlacedExtent *target = find(extents, extents->blocks[at_target].address);
		const PlacedExtent *source =
			run->source == SEQUENCE_HOLE
				? NULL
				: find(extents, extents->blocks[at_source].address);

		n = 1;
		if (!target || (!source && run->source != SEQUENCE_HOLE))
			continue;
		n = count_within(extents, target, at_target, left);
		if (source)
			n = count_within(extents, source, at_source, n);
		EqualPiece piece = {
			.target = target->rank,
			.source = source ? source->rank : EQUAL_HOLE,
			.position = at_target,
			.n_blocks = (uint32_t)n,
			.ways = run->ways,
		};
		EqualPiece back = { piece.source, piece.target, at_source, piece.n_blocks,
				    run->ways };

		if (!extent_coverer_add(extents->coverer, &piece, error) ||
		    (source && !extent_coverer_add(extents->coverer, &back, error)))
			return false;
	}

	return true;
}

bool estimate_extents_count(EstimateExtents *extents, unsigned usual, CoverResult *ret,
			    GError **error)
{
	return extent_coverer_count(extents->coverer, usual, ret, error);
}
