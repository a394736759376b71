/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/plan/extent-sources.h"

#include "daemon/btrfs/pinned/deferred-extents.h"
#include "daemon/btrfs/refs/ref-groups.h"
#include "hashstore/objects/open-extents.h"
#include "kernel-ioctl/btrfs/btrfs-file-extent.h"

/*
 * PLACES_MAX: groups of references of a source that are looked at, and as many more that contain a byte which the
 * first ones lack.  LOOK_UPS_MAX is the limit of such look-ups for one target.
 */
#define PLACES_MAX   8
#define LOOK_UPS_MAX 16

/*
 * Finding the references to an extent with very many takes the kernel a tenth of a second.  Such an extent is
 * likely to be the source of many targets.  So this many are kept, each with up to POPULAR_PLACES_MAX references.
 */
#define POPULAR_MAX        64
#define POPULAR_PLACES_MAX 1024

struct ExtentSources {
	Pass *pass;
	ObjectTable *table;
	const ExtentFiles *files;
	ExtentRefs *refs;
	BtrfsFileExtents *file_extents;
	GHashTable *found; /* ExtentSource by id */
	GHashTable *moved; /* ids */
	GArray *groups;    /* GroupedRef, of the present source */
	bool any_exists;   /* one of those asked for since the last clear still exists */
	uint32_t owner;    /* of the target; used if sharing stays within owners */
};

static void source_free(ExtentSource *source)
{
	g_array_unref(source->places);
	g_array_unref(source->shown);
	g_free(source);
}

ExtentSources *extent_sources_new(Pass *pass, ObjectTable *table, const ExtentFiles *files)
{
	ExtentSources *sources = g_new0(ExtentSources, 1);

	sources->pass = pass;
	sources->table = table;
	sources->files = files;
	sources->refs = extent_refs_new(pass->filesystem->fd, pass->btrfs.ref_bound);
	extent_refs_use_windows(sources->refs);
	sources->file_extents = btrfs_file_extents_new();
	sources->moved = g_hash_table_new(NULL, NULL);
	sources->groups = g_array_new(false, false, sizeof(GroupedRef));
	sources->found = g_hash_table_new_full(NULL, NULL, NULL, (GDestroyNotify)source_free);
	return sources;
}

void extent_sources_free(ExtentSources *sources)
{
	if (!sources)
		return;

	extent_refs_free(sources->refs);
	btrfs_file_extents_free(sources->file_extents);
	g_hash_table_unref(sources->found);
	g_hash_table_unref(sources->moved);
	g_array_unref(sources->groups);
	g_free(sources);
}

static gboolean is_not_popular(gpointer key, gpointer value, gpointer data)
{
	const ExtentSource *source = value;

	return !source->has_more || source->is_named || source->places->len == 0 ||
	       source->places->len > POPULAR_PLACES_MAX;
}

void extent_sources_clear(ExtentSources *sources)
{
	g_hash_table_remove_all(sources->moved);
	sources->any_exists = false;
	g_hash_table_foreach_remove(sources->found, is_not_popular, NULL);
	if (g_hash_table_size(sources->found) > POPULAR_MAX)
		g_hash_table_remove_all(sources->found);
}

void extent_sources_note_sharing(ExtentSources *sources)
{
	extent_refs_clear_windows(sources->refs);
}

static bool stays_within_owners(const ExtentSources *sources)
{
	return sources->pass->settings->across_owners == WITHIN_OWNERS;
}

void extent_sources_set_owner(ExtentSources *sources, uint32_t owner)
{
	if (!stays_within_owners(sources) || owner == sources->owner)
		return;

	sources->owner = owner;
	g_hash_table_remove_all(sources->found);
}

GHashTable *extent_sources_moved(const ExtentSources *sources)
{
	return sources->moved;
}

bool extent_sources_any_exists(const ExtentSources *sources)
{
	return sources->any_exists;
}

/* Add the blocks that @place references and earlier ones do not; a compressed extent is referenced as a whole. */
static void add_shown(ExtentSource *source, const ExtentRef *place, uint32_t block_bytes)
{
	CoverRange range = { 0, source->object.size_bytes / block_bytes };

	if (!source->is_encoded) {
		range.first = place->position / block_bytes;
		range.end = (place->position + place->length) / block_bytes;
	}
	for (guint i = 0; i < source->shown->len; i++) {
		const CoverRange *known = &g_array_index(source->shown, CoverRange, i);

		if (known->first <= range.first && known->end >= range.end)
			return;
	}
	g_array_append_val(source->shown, range);
}

/* A limited pass may be able to use only a few of very many references. */
static bool wants_all_places(const ExtentSources *sources)
{
	return extent_scope_is_limited(sources->pass->btrfs.scope) || stays_within_owners(sources);
}

static bool add_places(const ExtentSources *sources, ExtentSource *source, GError **error)
{
	const ExtentRef *places;
	size_t n;

	places = extent_refs_list(sources->refs, &n);
	for (size_t i = 0; i < n; i++) {
		SkipReason reason;
		bool is_in;

		if (!extent_scope_has(sources->pass->btrfs.scope, &places[i], &is_in, &reason,
				      error))
			return false;
		if (!is_in || !extent_files_is_source(sources->files, &places[i]) ||
		    (stays_within_owners(sources) && places[i].owner != sources->owner)) {
			source->has_unfit = true;
			continue;
		}
		g_array_append_val(source->places, places[i]);
		add_shown(source, &places[i], sources->pass->block_bytes);
	}

	return true;
}

/*
 * Look at the references that the kernel found: one of each of the first groups, since snapshots mostly have the
 * same; in a limited pass all.
 */
static bool look_at_found(ExtentSources *sources, const Object *extent, GError **error)
{
	bool wants_all = wants_all_places(sources);
	unsigned most = wants_all ? EXTENT_SCOPE_MOST : PLACES_MAX, n = 0;

	ref_groups_fill(sources->groups, sources->refs, sources->pass->subvolumes);
	for (guint i = 0; i < sources->groups->len && n < most; n++) {
		uint64_t ignored;

		if (!extent_refs_add(sources->refs, &ref_groups_at(sources->groups, i)->ref, extent,
				     &ignored, error))
			return false;
		i = wants_all ? i + 1 : ref_groups_end(sources->groups, i);
	}

	if (n < sources->groups->len)
		extent_refs_leave(sources->refs, &ref_groups_at(sources->groups, n)->ref);
	return true;
}

/* Add the references that the kernel finds, all or up to the limit. */
static bool read_places(ExtentSources *sources, ExtentSource *source, GError **error)
{
	ExtentRefsOutcome outcome;

	source->is_named = false;
	if (!extent_refs_find(sources->refs, &source->object, &outcome, error) ||
	    !look_at_found(sources, &source->object, error))
		return false;

	outcome = extent_refs_outcome(sources->refs);
	source->is_gone = outcome == EXTENT_REFS_GONE;
	source->has_more = outcome == EXTENT_REFS_PARTIAL;
	source->is_encoded = extent_refs_is_encoded(sources->refs);
	source->ram_bytes = extent_refs_ram_bytes(sources->refs);
	return add_places(sources, source, error);
}

/* A compressed extent is shared as a whole. */
static bool is_shown_whole(const ExtentSource *source)
{
	for (guint i = 0; i < source->places->len; i++) {
		const ExtentRef *place = &g_array_index(source->places, ExtentRef, i);

		if (place->position == 0 && place->length == source->ram_bytes)
			return true;
	}

	return false;
}

/* Find the references that the extent's item names; if none is usable, all. */
static bool read_named_places(ExtentSources *sources, ExtentSource *source, GError **error)
{
	ExtentNamed named;
	size_t most = PLACES_MAX;

	if (wants_all_places(sources))
		return read_places(sources, source, error);
	if (!extent_refs_read_names(sources->refs, &source->object, PLACES_MAX, &named, error))
		return false;
	/* End the search when all are listed. */
	if (named.root != 0)
		most = MIN(most, named.n_items);
	if (!extent_refs_list_named(sources->refs, &source->object, most, error))
		return false;

	source->is_named = source->has_more = true;
	source->is_encoded = extent_refs_is_encoded(sources->refs);
	source->ram_bytes = extent_refs_ram_bytes(sources->refs);
	if (!add_places(sources, source, error))
		return false;
	return (source->places->len > 0 && (!source->is_encoded || is_shown_whole(source))) ||
	       read_places(sources, source, error);
}

/* The first block at or after @block that no known reference contains. */
static uint64_t shown_end(const ExtentSource *source, uint64_t block)
{
	for (guint i = 0; i < source->shown->len; i++) {
		const CoverRange *range = &g_array_index(source->shown, CoverRange, i);

		if (range->first > block || block >= range->end)
			continue;
		block = range->end;
		/* An earlier one may continue from there. */
		i = UINT_MAX;
	}

	return block;
}

/*
 * If there are very many references, the first ones may lack bytes of [@position, @position + @length).  Then
 * search for others.  *ret_is_known: for each of these blocks it is known whether a file references it.
 */
static bool read_places_of(ExtentSources *sources, ExtentSource *source, uint64_t position,
			   uint64_t length, bool *ret_is_known, GError **error)
{
	uint32_t block_bytes = sources->pass->block_bytes;
	uint64_t end = (position + length + block_bytes - 1) / block_bytes;
	uint64_t block = shown_end(source, position / block_bytes);

	if (block < end && source->is_named) {
		if (!read_places(sources, source, error))
			return false;
		block = source->has_more ? shown_end(source, position / block_bytes) : end;
	}
	for (unsigned i = 0; block < end && i < LOOK_UPS_MAX; i++) {
		ExtentRefsOutcome outcome;
		uint64_t next;

		if (!extent_refs_find_byte(sources->refs, &source->object, block * block_bytes,
					   &outcome, error) ||
		    !look_at_found(sources, &source->object, error) ||
		    !add_places(sources, source, error))
			return false;
		next = shown_end(source, block);
		/* No file references it. */
		block = next == block ? block + 1 : next;
	}

	*ret_is_known = block >= end;
	return true;
}

/*
 * btrfs freed the extent, or moved its data to another address, and no pass has noticed yet: a balance does this
 * with all extents of a block group.
 */
static bool forget(ExtentSources *sources, const ExtentSource *source, GError **error)
{
	if (sources->pass->settings->dry_run)
		return true;

	sources->pass->result->files.gone++;
	object_table_remove_fact(sources->table, source->object.id, FACT_LIVE);
	return deferred_extents_lose(sources->pass->btrfs.deferred, source->object.inode, error) &&
	       hash_store_drop_extent(sources->pass->store, source->object.inode, error);
}

/* Read the source @id from the store, and its references from btrfs; *ret is NULL if the store lacks it. */
static bool look_up(ExtentSources *sources, uint32_t id, ExtentSource **ret, GError **error)
{
	ExtentSource *source;
	const Object *object;

	*ret = NULL;
	if (!hash_store_find(sources->pass->store, id, &object, error))
		return false;
	if (!object || object->state != OBJECT_DONE)
		return true;

	source = g_new0(ExtentSource, 1);
	source->object = *object;
	source->places = g_array_new(false, false, sizeof(ExtentRef));
	source->shown = g_array_new(false, false, sizeof(CoverRange));
	g_hash_table_insert(sources->found, GUINT_TO_POINTER(id), source);
	*ret = source;
	return read_named_places(sources, source, error) &&
	       (!source->is_gone || forget(sources, source, error));
}

/* Whether a known reference contains a block of [@position, @position + @length). */
static bool shows_any(const ExtentSource *source, uint64_t position, uint64_t length,
		      uint32_t block_bytes)
{
	uint64_t first = position / block_bytes;
	uint64_t end = (position + length + block_bytes - 1) / block_bytes;

	for (guint i = 0; i < source->shown->len; i++) {
		const CoverRange *range = &g_array_index(source->shown, CoverRange, i);

		if (range->first < end && range->end > first)
			return true;
	}

	return source->has_unfit;
}

bool extent_sources_find(ExtentSources *sources, uint32_t id, uint64_t position, uint64_t length,
			 const ExtentSource **ret, GError **error)
{
	ExtentSource *source = g_hash_table_lookup(sources->found, GUINT_TO_POINTER(id));
	unsigned facts = object_table_facts(sources->table, id);
	bool is_known;

	*ret = NULL;
	/* It was freed in this pass. */
	if (!(facts & FACT_LIVE))
		return true;
	sources->any_exists |= facts & (FACT_MOVED | FACT_AWAY);
	if (facts & FACT_MOVED) {
		g_hash_table_add(sources->moved, GUINT_TO_POINTER(id));
		return true;
	}
	if (facts & FACT_AWAY)
		return true;
	if (!source && !look_up(sources, id, &source, error))
		return false;
	if (!source || source->is_gone)
		return true;

	is_known = !source->has_more;
	if (source->has_more && !source->is_encoded &&
	    !read_places_of(sources, source, position, length, &is_known, error))
		return false;

	sources->any_exists |=
		!(facts & FACT_HELD) &&
		(!is_known || shows_any(source, position, length, sources->pass->block_bytes));
	source->is_held = facts & FACT_HELD;
	if (source->places->len > 0)
		*ret = source;
	return true;
}

/* Whether the extent may stay as the source of @target, although its own turn as a target comes later. */
static bool may_stay(ExtentSources *sources, const Object *object, const Object *target)
{
	return object_table_rank(sources->table, object->id) <
		       object_table_rank(sources->table, target->id) ||
	       (object->id != target->id && object->size_bytes < target->size_bytes);
}

bool extent_sources_find_at(ExtentSources *sources, const Object *target,
			    const SourceBeside *beside, const ExtentSource **ret,
			    uint64_t *ret_position, GError **error)
{
	uint64_t offset = beside->offset;
	const BtrfsFileExtent *item;
	const Object *object;

	*ret = NULL;
	btrfs_file_extents_start(sources->file_extents, sources->pass->filesystem->fd, beside->root,
				 beside->inode, offset, 1);
	/* The subvolume may be deleted by now. */
	if (!btrfs_file_extents_next_if_any(sources->file_extents, &item, error))
		return false;
	if (!item || item->kind != BTRFS_FILE_EXTENT_IS_REGULAR || item->bytenr == 0 ||
	    item->is_encoded)
		return true;

	*ret_position = item->offset + (offset - item->logical);
	if (!hash_store_find_at(sources->pass->store, OBJECT_EXTENTS, item->bytenr, &object, error))
		return false;
	if (!object || !may_stay(sources, object, target))
		return true;

	return extent_sources_find(sources, object->id, *ret_position, sources->pass->block_bytes,
				   ret, error);
}

size_t extent_source_besides(const ExtentSource *source, uint64_t position, SourceBeside *ret,
			     size_t most)
{
	size_t n = 0;

	for (guint i = 0; i < source->places->len; i++) {
		const ExtentRef *place = &g_array_index(source->places, ExtentRef, i);
		SourceBeside beside = {
			.root = place->root,
			.inode = place->inode,
			.offset = place->offset + (position - place->position),
			.is_source = !source->is_encoded && position >= place->position &&
				     position - place->position < place->length,
		};
		size_t known = 0;

		if (place->offset + position < place->position)
			continue;
		while (known < n &&
		       (ret[known].offset != beside.offset || ret[known].inode != beside.inode ||
			ret[known].root != beside.root))
			known++;
		if (known < n)
			ret[known].is_source |= beside.is_source;
		else if (n < most)
			ret[n++] = beside;
	}

	return n;
}

/* Of references with equally many bytes, always the same one; and one file for neighbouring ranges. */
static bool is_before(const ExtentRef *place, const ExtentRef *other)
{
	if (place->root != other->root)
		return place->root < other->root;
	if (place->inode != other->inode)
		return place->inode < other->inode;
	return place->offset < other->offset;
}

const ExtentRef *extent_source_place(const ExtentSource *source, uint64_t position, uint64_t length,
				     uint32_t block_bytes, uint64_t *ret_length)
{
	const ExtentRef *best = NULL;

	*ret_length = 0;
	for (guint i = 0; i < source->places->len; i++) {
		const ExtentRef *place = &g_array_index(source->places, ExtentRef, i);
		uint64_t offset = place->offset + (position - place->position);
		uint64_t end = MIN(place->position + place->length, position + length);

		if (place->position > position || offset >= place->size_bytes)
			continue;
		/* The source has nothing after the end of its file. */
		end = MIN(end, position + place->size_bytes - offset);
		if (end == position + length && offset + length != place->size_bytes)
			end -= length % block_bytes;
		if (end <= position || end - position < *ret_length ||
		    (end - position == *ret_length && !is_before(place, best)))
			continue;

		best = place;
		*ret_length = end - position;
	}

	return best;
}
