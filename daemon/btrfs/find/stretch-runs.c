/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/find/stretch-runs.h"

#include "common/content/extent-cover.h"
#include "common/content/run.h"
#include "daemon/btrfs/find/stretch.h"

/* Objects whose sums are kept; the longest extents have 256 KiB of them. */
#define KEPT_SIDES 16

/* Maps blocks of an object to an extent. */
typedef struct {
	uint64_t first; /* block of the object */
	uint64_t end;
	uint32_t extent;       /* id; 0: not known */
	uint64_t extent_block; /* that lies at @first */
} Piece;

/* An object as one side of a run. */
typedef struct {
	uint32_t object;
	GArray *pieces; /* Piece, by block */
	GArray *sums;   /* uint64_t for each block */
} Side;

typedef struct {
	Pass *pass;
	ExtentSums *sums;
	ObjectTable *table;
	Sorter *to;
	BtrfsFileExtents *extents;
	GArray *parts; /* StretchPart */
	GQueue sides;  /* Side, last used first */
} Resolver;

static void side_free(Side *side)
{
	g_array_unref(side->pieces);
	g_array_unref(side->sums);
	g_free(side);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Side, side_free)

static Side *side_new(uint32_t object)
{
	Side *side = g_new0(Side, 1);

	side->object = object;
	side->pieces = g_array_new(false, false, sizeof(Piece));
	side->sums = g_array_new(false, true, sizeof(uint64_t));
	return side;
}

static bool read_extent(Resolver *resolver, const Object *extent, Side *side, GError **error)
{
	Piece all = { 0, extent->size_bytes / resolver->pass->block_bytes, extent->id, 0 };

	g_array_append_val(side->pieces, all);
	g_array_set_size(side->sums, (guint)all.end);
	return extent_sums_read(resolver->sums, extent->inode, all.end,
				(uint64_t *)(void *)side->sums->data, error);
}

/* Read the extents that the file now references where the stretch was found: they may be others. */
static bool read_stretch(Resolver *resolver, const Object *stretch, Side *side, GError **error)
{
	uint32_t block_bytes = resolver->pass->block_bytes;
	StretchPlace place = stretch_place(stretch);

	if (!stretch_read_parts(resolver->extents, resolver->pass->filesystem->fd, &place,
				resolver->parts, error))
		return false;
	for (guint i = 0; i < resolver->parts->len; i++) {
		const StretchPart *part = &g_array_index(resolver->parts, StretchPart, i);
		const Object *extent;
		Piece piece = {
			.first = (part->offset - place.offset) / block_bytes,
			.extent_block = part->position / block_bytes,
		};

		if (!hash_store_find_at(resolver->pass->store, OBJECT_EXTENTS, part->bytenr,
					&extent, error))
			return false;
		piece.end = piece.first + part->length / block_bytes;
		piece.extent = extent && extent->size_bytes == part->disk_bytes ? extent->id : 0;
		g_array_append_val(side->pieces, piece);
	}

	return stretch_read_sums(resolver->sums, place.offset,
				 (const StretchPart *)(const void *)resolver->parts->data,
				 resolver->parts->len, block_bytes, side->sums, error);
}

/* The side @object, empty if it is gone; valid until KEPT_SIDES - 1 others were asked for. */
static bool find_side(Resolver *resolver, uint32_t object, const Side **ret, GError **error)
{
	g_autoptr(Side) side = NULL;
	const Object *found;
	Object row;

	for (GList *link = resolver->sides.head; link; link = link->next) {
		*ret = link->data;
		if ((*ret)->object != object)
			continue;
		g_queue_unlink(&resolver->sides, link);
		g_queue_push_head_link(&resolver->sides, link);
		return true;
	}

	if (!hash_store_find(resolver->pass->store, object, &found, error))
		return false;
	side = side_new(object);
	if (found) {
		row = *found;
		if (!(row.subvolume == OBJECT_STRETCHES ? read_stretch(resolver, &row, side, error)
							: read_extent(resolver, &row, side, error)))
			return false;
	}

	if (g_queue_get_length(&resolver->sides) >= KEPT_SIDES)
		side_free(g_queue_pop_tail(&resolver->sides));
	*ret = side;
	g_queue_push_head(&resolver->sides, g_steal_pointer(&side));
	return true;
}

static bool is_equal(const Side *target, uint64_t block, const Side *source, uint64_t diagonal)
{
	uint64_t sum = g_array_index(target->sums, uint64_t, block);

	return sum != EXTENT_SUM_NONE &&
	       sum == g_array_index(source->sums, uint64_t, block - diagonal);
}

static int compare_with_block(const void *piece, const void *block)
{
	const Piece *one = piece;
	uint64_t wanted = *(const uint64_t *)block;

	return one->end <= wanted ? -1 : one->first > wanted;
}

/* The piece of the side that contains @block; NULL: none. */
static const Piece *piece_at(const Side *side, uint64_t block)
{
	guint i;

	return g_array_binary_search(side->pieces, &block, compare_with_block, &i)
		       ? &g_array_index(side->pieces, Piece, i)
		       : NULL;
}

static bool may_be_target(const Resolver *resolver, uint32_t extent)
{
	return !(object_table_facts(resolver->table, extent) &
		 (FACTS_SOURCE_ONLY | FACT_MOVED | FACT_AWAY));
}

static bool add_run(Resolver *resolver, uint32_t target, uint64_t target_block, uint32_t source,
		    uint64_t source_block, uint64_t blocks, GError **error)
{
	Run run = {
		.target_rank = object_table_rank(resolver->table, target),
		.target_block = target_block,
		.source_block = source_block,
		.blocks = blocks,
		.source = source,
	};

	if (source != RUN_HOLE)
		run.source_class = object_table_rank_class(resolver->table, source);
	return sorter_add(resolver->to, &run, error);
}

/* Add blocks [@block, @end) of the target, which are equal and in one piece of each side. */
static bool add_pieces(Resolver *resolver, const Piece *target, uint64_t block, uint64_t end,
		       const Piece *source, uint64_t source_block, GError **error)
{
	uint64_t target_at = target->extent_block + (block - target->first);
	uint64_t source_at = source->extent_block + (source_block - source->first);

	if (target->extent == 0 || source->extent == 0 || target->extent == source->extent)
		return true;
	if (may_be_target(resolver, target->extent))
		return add_run(resolver, target->extent, target_at, source->extent, source_at,
			       end - block, error);
	if (may_be_target(resolver, source->extent))
		return add_run(resolver, source->extent, source_at, target->extent, target_at,
			       end - block, error);
	return true;
}

/* Cut the equal blocks [@block, @end) of the target into runs of extents. */
static bool cut(Resolver *resolver, const Side *target, uint64_t block, uint64_t end,
		const Side *source, uint64_t diagonal, GError **error)
{
	while (block < end) {
		const Piece *to = piece_at(target, block);
		const Piece *from = piece_at(source, block - diagonal);
		uint64_t next;

		/* Blocks with sums are in pieces. */
		if (!to || !from)
			return true;
		next = MIN(end, MIN(to->end, from->end + diagonal));
		if (!add_pieces(resolver, to, block, next, from, block - diagonal, error))
			return false;
		block = next;
	}

	return true;
}

/* Follow the run over the sums of both sides, beyond its expected ends. */
static bool follow(Resolver *resolver, const Run *run, const Side *target, const Side *source,
		   GError **error)
{
	uint64_t diagonal = run->target_block - run->source_block;
	uint64_t low = (int64_t)diagonal > 0 ? diagonal : 0;
	/* The present end of the source, which may lie before the target begins. */
	int64_t source_end = (int64_t)(source->sums->len + diagonal);
	uint64_t high = MIN(target->sums->len, (uint64_t)MAX(source_end, 0));
	uint64_t block = MAX(run->target_block, low);
	uint64_t last = MIN(run->target_block + run->blocks, high);

	if (block >= high)
		return true;
	while (block > low && is_equal(target, block - 1, source, diagonal))
		block--;

	while (block < last) {
		uint64_t end = block;

		while (end < high && is_equal(target, end, source, diagonal))
			end++;
		if (end - block >= COVER_LEAST_BLOCKS &&
		    !cut(resolver, target, block, end, source, diagonal, error))
			return false;
		block = MAX(end, block + 1);
	}

	return true;
}

/* Note for each extent with zeros of the stretch that it has some. */
static bool follow_zeros(Resolver *resolver, const Run *run, const Side *target, GError **error)
{
	uint64_t zeros = extent_sums_of_zeros(resolver->sums);
	uint64_t block = run->target_block;

	while (block < target->sums->len && g_array_index(target->sums, uint64_t, block) == zeros) {
		const Piece *piece = piece_at(target, block);

		if (!piece)
			return true;
		if (piece->extent != 0 && may_be_target(resolver, piece->extent) &&
		    !add_run(resolver, piece->extent, piece->extent_block + (block - piece->first),
			     RUN_HOLE, 0, piece->end - block, error))
			return false;
		block = piece->end;
	}

	return true;
}

static bool resolve(Resolver *resolver, const Run *run, GError **error)
{
	const Side *target, *source;
	unsigned facts = object_table_facts(resolver->table, run_target(run)) |
			 object_table_facts(resolver->table, run->source);

	if (!(facts & FACT_STRETCH))
		return sorter_add(resolver->to, run, error);
	if (run->source == RUN_HOLE)
		return find_side(resolver, run_target(run), &target, error) &&
		       follow_zeros(resolver, run, target, error);

	return find_side(resolver, run_target(run), &target, error) &&
	       find_side(resolver, run->source, &source, error) &&
	       follow(resolver, run, target, source, error);
}

static bool resolve_all(Resolver *resolver, Sorter *from, GError **error)
{
	while (pass_checkpoint(resolver->pass)) {
		const Run *run;

		if (!sorter_next(from, (const void **)&run, error))
			return false;
		if (!run)
			break;
		if (!resolve(resolver, run, error))
			return false;
	}

	return sorter_sort(resolver->to, error);
}

bool stretch_runs_resolve(Pass *pass, ExtentSums *sums, ObjectTable *table, Sorter *from,
			  Sorter *to, GError **error)
{
	g_autoptr(BtrfsFileExtents) extents = btrfs_file_extents_new();
	g_autoptr(GArray) parts = g_array_new(false, false, sizeof(StretchPart));
	Resolver resolver = {
		.pass = pass,
		.sums = sums,
		.table = table,
		.to = to,
		.extents = extents,
		.parts = parts,
		.sides = G_QUEUE_INIT,
	};
	bool done = resolve_all(&resolver, from, error);

	g_queue_clear_full(&resolver.sides, (GDestroyNotify)side_free);
	return done;
}
