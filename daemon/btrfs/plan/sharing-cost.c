/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/plan/sharing-cost.h"

#include "kernel-ioctl/call/file-key.h"

/* Limits of the files and leaves that are remembered; beyond them counting starts anew. */
#define FILES_MAX  (1 << 14)
#define LEAVES_MAX (1 << 16)

/*
 * The items that are likely to share a leaf of 16 KiB: those of 47 small files, or of 200 extents.  At first 64
 * targets are assumed per copy of a leaf.
 */
#define LEAF_INODES   32
#define LEAF_BYTES    (UINT64_C(16) << 20)
#define LEAF_EXPECTED 64

/* If data is written, the gain must be so many times the metadata. */
#define MARGIN 2

/* A file that references targets. */
typedef struct {
	FileKey key;
	int64_t items; /* added so far */
	uint64_t freed_bytes;
	/* The end of the last step: a step that continues there adds no item. */
	uint64_t end;
	FileKey source;
	uint64_t source_address;
	uint64_t source_end;
	/* State of the present target. */
	int64_t asked_items;
	bool is_asked;
} CostFile;

typedef struct {
	uint64_t root;
	uint64_t inode_range;
	uint64_t byte_range;
} LeafKey;

struct SharingCost {
	SharingCostLimits limits;
	GHashTable *files;    /* CostFile, by its key */
	GPtrArray *asked;     /* CostFile, borrowed: of the present target */
	GHashTable *leaves;   /* LeafKey */
	uint64_t n_leaves;    /* that snapshots share */
	uint64_t n_in_leaves; /* targets in these */
};

static guint leaf_hash(gconstpointer key)
{
	const LeafKey *leaf = key;
	FileKey file = { leaf->root, leaf->inode_range + (leaf->byte_range << 32) };

	return file_key_hash(&file);
}

static gboolean leaf_equal(gconstpointer one, gconstpointer other)
{
	const LeafKey *a = one, *b = other;

	return a->root == b->root && a->inode_range == b->inode_range &&
	       a->byte_range == b->byte_range;
}

SharingCost *sharing_cost_new(const SharingCostLimits *limits)
{
	SharingCost *cost = g_new0(SharingCost, 1);

	cost->limits = *limits;
	cost->files = g_hash_table_new_full(file_key_hash, file_key_equal, NULL, g_free);
	cost->asked = g_ptr_array_new();
	cost->leaves = g_hash_table_new_full(leaf_hash, leaf_equal, g_free, NULL);
	return cost;
}

void sharing_cost_free(SharingCost *cost)
{
	if (!cost)
		return;

	g_hash_table_unref(cost->files);
	g_ptr_array_unref(cost->asked);
	g_hash_table_unref(cost->leaves);
	g_free(cost);
}

/* The file of @place, a reference to the present target. */
static CostFile *ask_file(SharingCost *cost, const ExtentRef *place)
{
	FileKey key = { place->root, place->inode };
	CostFile *file = g_hash_table_lookup(cost->files, &key);

	if (!file) {
		file = g_new0(CostFile, 1);
		file->key = key;
		g_hash_table_insert(cost->files, &file->key, file);
	}
	if (!file->is_asked) {
		file->is_asked = true;
		file->asked_items = 0;
		g_ptr_array_add(cost->asked, file);
	}
	return file;
}

/* Whether @step continues the last step of its file, in both files and in one extent. */
static bool goes_on(const CostFile *file, const ExtentStep *step)
{
	FileKey source = { step->source.root, step->source.inode };

	return step->target_offset == file->end && file->end > 0 &&
	       step->source_extent.address == file->source_address &&
	       file_key_equal(&source, &file->source) && step->source_offset == file->source_end;
}

static void note_end(CostFile *file, const ExtentStep *step)
{
	file->end = step->target_offset + step->length;
	file->source = (FileKey){ step->source.root, step->source.inode };
	file->source_address = step->source_extent.address;
	file->source_end = step->source_offset + step->length;
}

/* The items that @step adds: none for a hole, and none if it continues another step. */
static int64_t items_of(const CostFile *file, const ExtentStep *step)
{
	return step->from == STEP_FROM_HOLE ||
			       (step->from == STEP_FROM_PLACE && goes_on(file, step))
		       ? 0
		       : 1;
}

/* The references to the present target, and their inodes and offsets in any subvolume. */
typedef struct {
	GHashTable *places;
	GHashTable *spots;
} Seen;

static guint place_hash(gconstpointer key)
{
	const ExtentRef *place = key;
	FileKey file = { place->root, place->inode ^ (place->offset << 8) };

	return file_key_hash(&file);
}

static gboolean place_equal(gconstpointer one, gconstpointer other)
{
	const ExtentRef *a = one, *b = other;

	return a->root == b->root && a->inode == b->inode && a->offset == b->offset;
}

static guint spot_hash(gconstpointer key)
{
	const ExtentRef *place = key;
	FileKey file = { place->offset, place->inode };

	return file_key_hash(&file);
}

static gboolean spot_equal(gconstpointer one, gconstpointer other)
{
	const ExtentRef *a = one, *b = other;

	return a->inode == b->inode && a->offset == b->offset;
}

/* Count a reference to the target; returns whether another subvolume has the same one, like a snapshot. */
static bool ask_place(const Seen *seen, CostFile *file, const ExtentRef *place)
{
	/* Steps from a copy come after the steps of all references. */
	if (!g_hash_table_add(seen->places, (gpointer)place))
		return false;

	/* The present item of the target is removed. */
	file->asked_items--;
	return !g_hash_table_add(seen->spots, (gpointer)place);
}

/* Count the items that the steps add to each file; returns the number of references in leaves that are shared. */
static uint64_t ask(SharingCost *cost, const ExtentGain *gain, const ExtentStep *steps,
		    size_t n_steps)
{
	g_autoptr(GHashTable) places = g_hash_table_new(place_hash, place_equal);
	g_autoptr(GHashTable) spots = g_hash_table_new(spot_hash, spot_equal);
	const Seen seen = { places, spots };
	uint64_t n_shared = 0;

	g_ptr_array_set_size(cost->asked, 0);
	for (size_t i = 0; i < n_steps; i++) {
		CostFile *file = ask_file(cost, &steps[i].target);

		n_shared += ask_place(&seen, file, &steps[i].target);
		file->asked_items += items_of(file, &steps[i]);
		if (steps[i].from == STEP_FROM_PLACE)
			note_end(file, &steps[i]);
	}

	return gain->is_held ? g_hash_table_size(places) : n_shared;
}

static uint64_t net_bytes(const ExtentGain *gain)
{
	return gain->extent_bytes - gain->written_bytes;
}

static bool is_in_too_many_pieces(const SharingCost *cost, uint64_t freed_bytes)
{
	for (guint i = 0; i < cost->asked->len; i++) {
		const CostFile *file = cost->asked->pdata[i];
		int64_t items = file->items + file->asked_items;
		uint64_t paid = file->freed_bytes + freed_bytes;

		if (file->asked_items <= 0 || items <= SHARING_COST_FREE_ITEMS)
			continue;
		if (items > SHARING_COST_ITEMS_MAX ||
		    (uint64_t)(items - SHARING_COST_FREE_ITEMS) * cost->limits.min_run_bytes > paid)
			return true;
	}

	return false;
}

/* The part of a leaf's copies that each target in the leaf pays. */
static uint64_t leaf_bytes_each(SharingCost *cost, const ExtentRef *place)
{
	LeafKey key = { place->root, place->inode / LEAF_INODES, place->offset / LEAF_BYTES };

	if (g_hash_table_size(cost->leaves) >= LEAVES_MAX)
		g_hash_table_remove_all(cost->leaves);
	cost->n_in_leaves++;
	cost->n_leaves += g_hash_table_add(cost->leaves, g_memdup2(&key, sizeof(key)));
	return cost->limits.node_bytes * (cost->n_leaves + 1) / (cost->n_in_leaves + LEAF_EXPECTED);
}

/* Whether @gain is worth so many bytes of metadata. */
static bool pays(const SharingCost *cost, const ExtentGain *gain, uint64_t metadata_bytes)
{
	uint64_t bytes = net_bytes(gain);

	if (gain->written_bytes > 0)
		bytes /= MARGIN;
	return metadata_bytes * cost->limits.metadata_copies <= bytes * cost->limits.data_copies;
}

bool sharing_cost_pays(const SharingCost *cost, const ExtentGain *gain, uint64_t n_items)
{
	return pays(cost, gain, n_items * SHARING_COST_ITEM_BYTES);
}

static bool is_too_dear(SharingCost *cost, const ExtentGain *gain, const ExtentRef *place,
			uint64_t n_shared)
{
	int64_t items = 0;
	uint64_t bytes = 0;

	for (guint i = 0; i < cost->asked->len; i++)
		items += ((const CostFile *)cost->asked->pdata[i])->asked_items;
	if (items > 0)
		bytes = (uint64_t)items * SHARING_COST_ITEM_BYTES;
	if (n_shared > 0)
		bytes += n_shared * leaf_bytes_each(cost, place);

	return !pays(cost, gain, bytes);
}

static void settle(SharingCost *cost, uint64_t freed_bytes, bool is_done)
{
	for (guint i = 0; i < cost->asked->len; i++) {
		CostFile *file = cost->asked->pdata[i];

		file->is_asked = false;
		if (!is_done) {
			/* The next step cannot continue from there. */
			file->end = 0;
			continue;
		}
		file->items += file->asked_items;
		file->freed_bytes += freed_bytes;
	}

	if (g_hash_table_size(cost->files) >= FILES_MAX)
		g_hash_table_remove_all(cost->files);
}

CostVerdict sharing_cost_judge(SharingCost *cost, const ExtentGain *gain, const ExtentStep *steps,
			       size_t n_steps)
{
	CostVerdict verdict = COST_WORTH;
	uint64_t freed_bytes = net_bytes(gain);
	uint64_t n_shared = ask(cost, gain, steps, n_steps);

	if (is_in_too_many_pieces(cost, freed_bytes))
		verdict = COST_PIECES;
	else if (n_steps > 0 && is_too_dear(cost, gain, &steps[0].target, n_shared))
		verdict = COST_METADATA;

	settle(cost, freed_bytes, verdict == COST_WORTH);
	return verdict;
}
