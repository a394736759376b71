/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/find/stretch-finder.h"

#include "hashstore/anchors/sorter.h"
#include "kernel-ioctl/btrfs/btrfs-items.h"
#include "kernel-ioctl/btrfs/btrfs-refs.h"

/* A new small extent, in a cell of the file that references it. */
typedef struct {
	uint64_t root; /* 0: no file is known */
	uint64_t inode;
	uint64_t cell; /* number of the cell in the file */
	DataExtent extent;
	bool begins_file;
	bool is_beyond; /* it is in the next cell, which stretches of this one reach into */
} Found;

struct StretchFinder {
	Pass *pass;
	ExtentFingerprinter *fingerprinter;
	uint32_t block_bytes;
	uint64_t beyond_bytes; /* that a stretch reaches into the next cell */
	bool is_first;
	Sorter *found; /* Found */
	BtrfsRefs *refs;
	BtrfsFileExtents *extents;
	/* The present cell. */
	GArray *cell;       /* Found */
	GArray *parts;      /* StretchPart */
	GHashTable *fresh;  /* addresses of new extents that are not put yet */
	uint32_t first_key; /* the first key of the stretches put for the cell */
	uint64_t read_key;  /* of the stretch whose parts are loaded; 0: those of a cell */
};

static int compare_found(const void *a, const void *b)
{
	const Found *one = a;
	const Found *other = b;

	if (one->root != other->root)
		return one->root < other->root ? -1 : 1;
	if (one->inode != other->inode)
		return one->inode < other->inode ? -1 : 1;
	if (one->cell != other->cell)
		return one->cell < other->cell ? -1 : 1;
	return (one->extent.bytenr > other->extent.bytenr) -
	       (one->extent.bytenr < other->extent.bytenr);
}

StretchFinder *stretch_finder_new(Pass *pass, const BtrfsInfo *info,
				  ExtentFingerprinter *fingerprinter, bool is_first)
{
	const HashStoreAbout *about = hash_store_about(pass->store);
	StretchFinder *finder = g_new0(StretchFinder, 1);

	finder->pass = pass;
	finder->fingerprinter = fingerprinter;
	finder->block_bytes = info->sector_bytes;
	/* One block less than it takes to have an anchor for certain. */
	finder->beyond_bytes =
		(uint64_t)(about->anchor_blocks + about->window_anchors - 2) * finder->block_bytes;
	finder->is_first = is_first;
	finder->found = sorter_new(sizeof(Found), compare_found, pass->settings->memory_bytes / 4,
				   pass->settings->state_directory, pass->stop);
	finder->refs = btrfs_refs_new();
	btrfs_refs_set_most(finder->refs, EXTENT_SCOPE_MOST);
	btrfs_refs_set_bound(finder->refs, pass->btrfs.ref_bound);
	finder->extents = btrfs_file_extents_new();
	finder->cell = g_array_new(false, false, sizeof(Found));
	finder->parts = g_array_new(false, false, sizeof(StretchPart));
	finder->fresh = g_hash_table_new(g_int64_hash, g_int64_equal);
	return finder;
}

void stretch_finder_free(StretchFinder *finder)
{
	if (!finder)
		return;

	sorter_free(finder->found);
	btrfs_refs_free(finder->refs);
	btrfs_file_extents_free(finder->extents);
	g_array_unref(finder->cell);
	g_array_unref(finder->parts);
	g_hash_table_unref(finder->fresh);
	g_free(finder);
}

bool stretch_finder_wants(const StretchFinder *finder, const DataExtent *extent)
{
	return extent->length < (uint64_t)STRETCH_EXTENT_BLOCKS * finder->block_bytes;
}

/* A file's reference to the extent; of several always the same one. */
typedef struct {
	uint64_t root;
	uint64_t inode;
	uint64_t offset;
} Place;

static void choose(Place *place, uint64_t root, uint64_t inode, uint64_t offset)
{
	Place other = { root, inode, offset };

	if (place->root == 0 || root < place->root ||
	    (root == place->root &&
	     (inode < place->inode || (inode == place->inode && offset < place->offset))))
		*place = other;
}

/* References that the item itself names; none if subvolumes share the leaf with the reference. */
static void choose_inline(const BtrfsExtentItem *item, Place *place)
{
	BtrfsExtentRefs refs;
	const BtrfsExtentRef *ref;

	btrfs_extent_refs_start(&refs, item);
	while (btrfs_extent_refs_next(&refs, &ref) && ref)
		if (ref->kind == BTRFS_EXTENT_REF_FILE && (int64_t)ref->offset >= 0)
			choose(place, ref->root, ref->inode, ref->offset);
}

static bool choose_any(StretchFinder *finder, const DataExtent *extent, Place *place,
		       GError **error)
{
	BtrfsRefsOutcome outcome;
	const BtrfsRef *refs;
	size_t n;

	if (!btrfs_refs_read(finder->refs, finder->pass->filesystem->fd, extent->bytenr, &outcome,
			     error))
		return false;

	refs = btrfs_refs_list(finder->refs, &n);
	for (size_t i = 0; i < n; i++)
		choose(place, refs[i].root, refs[i].inode, refs[i].offset);
	return true;
}

bool stretch_finder_add(StretchFinder *finder, const DataExtent *extent,
			const BtrfsExtentItem *item, GError **error)
{
	Place place = { 0 };
	Found found = { .extent = *extent };

	if (item)
		choose_inline(item, &place);
	if (place.root == 0 && !choose_any(finder, extent, &place, error))
		return false;

	found.root = place.root;
	found.inode = place.inode;
	found.cell = place.offset / STRETCH_CELL_BYTES;
	found.begins_file = place.offset == 0;
	if (!sorter_add(finder->found, &found, error))
		return false;
	if (found.cell == 0 || place.offset % STRETCH_CELL_BYTES >= finder->beyond_bytes)
		return true;

	found.cell--;
	found.is_beyond = true;
	return sorter_add(finder->found, &found, error);
}

/* Whether it pays to look at the file's other extents in the cell. */
static bool may_have_stretches(const StretchFinder *finder)
{
	const Found *first = &g_array_index(finder->cell, Found, 0);

	if (first->root == 0)
		return false;
	return finder->cell->len > 1 || (!finder->is_first && !first->begins_file);
}

/* Whether @old belongs to the present cell. */
static bool is_of_cell(const StretchFinder *finder, const Object *old)
{
	const Found *cell = &g_array_index(finder->cell, Found, 0);
	StretchPlace place = stretch_place(old);

	return place.root == cell->root && place.inode == cell->inode &&
	       place.offset / STRETCH_CELL_BYTES == cell->cell;
}

/*
 * Move a known extent into @stretch, from the stretch that the cell had before.  An extent that is part of a
 * stretch elsewhere stays there, because it holds that stretch together.  So does one that the cell references
 * several times: it was put for the first of these.
 */
static bool move_known(StretchFinder *finder, const StretchPart *part, const Stretch *stretch,
		       GError **error)
{
	HashStore *store = finder->pass->store;
	const Object *known, *old = NULL;
	Object row;

	if (!hash_store_find_at(store, OBJECT_EXTENTS, part->bytenr, &known, error))
		return false;
	if (!known || known->state != OBJECT_DONE || known->parent >= finder->first_key)
		return true;

	row = *known;
	if (row.parent != 0 &&
	    !hash_store_find_at(store, OBJECT_STRETCHES, row.parent, &old, error))
		return false;
	if (old && !is_of_cell(finder, old))
		return true;
	if (old && !hash_store_drop(store, OBJECT_STRETCHES, row.parent, error))
		return false;

	row.parent = stretch->key;
	row.generation = stretch->rank_bytes;
	row.name_bytes = 0;
	return hash_store_put(store, &row, error);
}

/* Put the extents of the stretch that lie in the cell before @end. */
static bool put_members(StretchFinder *finder, const Stretch *stretch, uint64_t end, GError **error)
{
	for (size_t i = 0; i < stretch->n_parts && stretch->parts[i].offset < end; i++) {
		const StretchPart *part = &stretch->parts[i];
		const Found *found = g_hash_table_lookup(finder->fresh, &part->bytenr);

		if (!found) {
			if (!finder->is_first && !move_known(finder, part, stretch, error))
				return false;
			continue;
		}
		if (found->is_beyond)
			continue;
		if (!extent_fingerprint(finder->fingerprinter, &found->extent, stretch, error))
			return false;
		g_hash_table_remove(finder->fresh, &part->bytenr);
	}

	return true;
}

static bool has_fresh(const StretchFinder *finder, const StretchPart *parts, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (g_hash_table_contains(finder->fresh, &parts[i].bytenr))
			return true;

	return false;
}

/*
 * The size by which the stretch ranks: of two copies, the one with longer extents stays.  It is a power of two, so
 * that the cells of two similar files come in the same order, by their ids.
 */
static uint32_t rank_bytes(const StretchFinder *finder, const StretchPart *parts, size_t n)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < n; i++) {
		/* A settled extent stays in any case, so the rest of the copy does, too. */
		if (!finder->is_first && !g_hash_table_contains(finder->fresh, &parts[i].bytenr))
			return STRETCH_RANK_KNOWN;
		bytes += parts[i].disk_bytes;
	}
	return UINT32_C(1) << (g_bit_storage(bytes / n) - 1);
}

/* Whether new extents of the stretch have several references. */
static bool is_shared(const StretchFinder *finder, const StretchPart *parts, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const Found *found = g_hash_table_lookup(finder->fresh, &parts[i].bytenr);

		if (found && found->extent.is_shared)
			return true;
	}

	return false;
}

static bool put_stretch(StretchFinder *finder, const StretchPart *parts, size_t n, uint64_t end,
			GError **error)
{
	const Found *cell = &g_array_index(finder->cell, Found, 0);
	Stretch stretch = {
		.root = cell->root,
		.inode = cell->inode,
		.rank_bytes = rank_bytes(finder, parts, n),
		.is_shared = is_shared(finder, parts, n),
		.parts = parts,
		.n_parts = n,
	};

	return hash_store_new_object(finder->pass->store, &stretch.key, error) &&
	       put_members(finder, &stretch, end, error) &&
	       stretch_fingerprint(finder->fingerprinter, &stretch, error);
}

/*
 * Put the stretches of the cell that have a new extent.  If some were known, put all: a new extent may have cut one
 * in two.
 */
static bool put_stretches(StretchFinder *finder, GError **error)
{
	const Found *cell = &g_array_index(finder->cell, Found, 0);
	uint64_t start = cell->cell * STRETCH_CELL_BYTES;
	uint64_t end = start + STRETCH_CELL_BYTES;
	StretchPlace place = { cell->root, cell->inode, start,
			       STRETCH_CELL_BYTES + finder->beyond_bytes };
	const StretchPart *parts;
	bool all;
	size_t n;

	finder->read_key = 0;
	finder->first_key = hash_store_next_object(finder->pass->store);
	if (!stretch_read_parts(finder->extents, finder->pass->filesystem->fd, &place,
				finder->parts, error))
		return false;

	parts = (const StretchPart *)(const void *)finder->parts->data;
	all = !finder->is_first && has_fresh(finder, parts, finder->parts->len);
	for (size_t i = 0; i < finder->parts->len && parts[i].offset < end; i += MAX(n, 1)) {
		n = stretch_count_joined(&parts[i], finder->parts->len - i, finder->block_bytes);
		if (n > 1 && (all || has_fresh(finder, &parts[i], n)) &&
		    !put_stretch(finder, &parts[i], n, end, error))
			return false;
	}

	return true;
}

/* Put all extents of the present cell. */
static bool end_cell(StretchFinder *finder, GError **error)
{
	g_hash_table_remove_all(finder->fresh);
	for (guint i = 0; i < finder->cell->len; i++) {
		Found *found = &g_array_index(finder->cell, Found, i);

		g_hash_table_insert(finder->fresh, &found->extent.bytenr, found);
	}
	if (finder->cell->len > 0 && may_have_stretches(finder) && !put_stretches(finder, error))
		return false;

	for (guint i = 0; i < finder->cell->len; i++) {
		const Found *found = &g_array_index(finder->cell, Found, i);

		if (!found->is_beyond &&
		    g_hash_table_remove(finder->fresh, &found->extent.bytenr) &&
		    !extent_fingerprint(finder->fingerprinter, &found->extent, NULL, error))
			return false;
	}

	g_array_set_size(finder->cell, 0);
	return pass_commit_when_due(finder->pass, error);
}

static bool is_same_cell(const StretchFinder *finder, const Found *found)
{
	const Found *cell = &g_array_index(finder->cell, Found, 0);

	return found->root == cell->root && found->inode == cell->inode &&
	       found->cell == cell->cell && found->root != 0;
}

bool stretch_finder_finish(StretchFinder *finder, GError **error)
{
	const Found *found;

	if (!sorter_sort(finder->found, error))
		return false;

	do {
		if (!sorter_next(finder->found, (const void **)&found, error))
			return false;
		if (finder->cell->len > 0 && !(found && is_same_cell(finder, found)) &&
		    !end_cell(finder, error))
			return false;
		if (found)
			g_array_append_val(finder->cell, *found);
	} while (found && pass_checkpoint(finder->pass));

	return true;
}

/* Whether the part is of an extent that belongs to the stretch @key. */
static bool is_member(StretchFinder *finder, const StretchPart *part, uint64_t key, bool *ret,
		      GError **error)
{
	const Object *extent;

	*ret = false;
	if (!stretch_part_is_small(part, finder->block_bytes))
		return true;
	if (!hash_store_find_at(finder->pass->store, OBJECT_EXTENTS, part->bytenr, &extent, error))
		return false;
	*ret = extent && extent->parent == key;
	return true;
}

/* Read the extents that the file of the stretch @key references there; none if that is not known any more. */
static bool read_stretch(StretchFinder *finder, uint64_t key, GError **error)
{
	const Object *stretch;
	StretchPlace place;

	finder->read_key = key;
	g_array_set_size(finder->parts, 0);
	if (!hash_store_find_at(finder->pass->store, OBJECT_STRETCHES, key, &stretch, error))
		return false;
	if (!stretch)
		return true;

	place = stretch_place(stretch);
	return stretch_read_parts(finder->extents, finder->pass->filesystem->fd, &place,
				  finder->parts, error);
}

bool stretch_finder_shows(StretchFinder *finder, uint64_t key, uint64_t address, bool *ret,
			  GError **error)
{
	*ret = false;
	if (key != finder->read_key && !read_stretch(finder, key, error))
		return false;
	for (guint i = 0; i < finder->parts->len && !*ret; i++)
		*ret = g_array_index(finder->parts, StretchPart, i).bytenr == address;
	return true;
}

bool stretch_finder_check(StretchFinder *finder, const Object *stretch, GError **error)
{
	StretchPlace place = stretch_place(stretch);
	bool found = false;

	finder->read_key = 0;
	if (!stretch_read_parts(finder->extents, finder->pass->filesystem->fd, &place,
				finder->parts, error))
		return false;

	for (guint i = 0; i < finder->parts->len && !found; i++)
		if (!is_member(finder, &g_array_index(finder->parts, StretchPart, i),
			       stretch->inode, &found, error))
			return false;
	return found ||
	       hash_store_drop(finder->pass->store, OBJECT_STRETCHES, stretch->inode, error);
}
