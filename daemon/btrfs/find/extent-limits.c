/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/find/extent-limits.h"

#include "common/system/look-day.h"
#include "daemon/btrfs/find/stretch.h"
#include "hashstore/anchors/groups.h"
#include "hashstore/objects/objects.h"

/* The day and the limits with which extents were settled that others may share; empty: none. */
#define LIMITS_NOTE "btrfs-limits"
#define LIMITS_DAYS 7

/* Limit of the extents that every pass matches again.  Each costs some 50 microseconds. */
#define TAKEN_UP_MAX 4096

typedef struct {
	Pass *pass;
	ObjectTable *table;
	ExtentRefs *refs;
	ExtentRef file; /* the present one */
	BtrfsFileExtents *file_extents;
	GArray *parts;   /* StretchPart */
	GArray *extents; /* uint32_t: ids of those that are parts of a stretch */
} Limiter;

bool extent_limits_begin(Pass *pass, GError **error)
{
	g_autofree char *limits = extent_scope_limits(pass->btrfs.scope);
	g_autofree char *note = NULL;
	char *noted = NULL;
	uint64_t day;

	if (!hash_store_get_note(pass->store, LIMITS_NOTE, &note, error))
		return false;
	if (!note || !*note)
		return true;

	day = g_ascii_strtoull(note, &noted, 10);
	if (!look_day_is_due(day, pass_day(pass), LIMITS_DAYS) &&
	    g_str_equal(g_strchug(noted), limits))
		return true;

	return hash_store_unsettle(pass->store, error) &&
	       hash_store_set_note(pass->store, LIMITS_NOTE, "", error);
}

static bool note_limits(Pass *pass, GError **error)
{
	g_autofree char *limits = extent_scope_limits(pass->btrfs.scope);
	g_autofree char *note = g_strdup_printf("%u %s", pass_day(pass), limits);
	g_autofree char *known = NULL;

	if (!hash_store_get_note(pass->store, LIMITS_NOTE, &known, error))
		return false;
	/* The day is that of the first one. */
	return (known && *known) || hash_store_set_note(pass->store, LIMITS_NOTE, note, error);
}

/* Whether references to an extent are part of the pass. */
typedef struct {
	bool has_inside;
	const ExtentRef *beyond; /* one that is not part of the pass, for @reason; NULL: none */
	SkipReason reason;
} Verdict;

/* The references to an extent.  A file without checksums is its own only reference. */
static bool list_places(Limiter *limiter, const Object *object, const ExtentRef **ret,
			size_t *ret_n, GError **error)
{
	ExtentRefsOutcome outcome;

	if (object->subvolume != OBJECT_EXTENTS) {
		limiter->file = (ExtentRef){
			.root = object->subvolume,
			.inode = object->inode,
			.size_bytes = object->size_bytes,
		};
		*ret = &limiter->file;
		*ret_n = 1;
		return true;
	}

	if (!extent_refs_read(limiter->refs, object, EXTENT_SCOPE_MOST, &outcome, error))
		return false;
	*ret = extent_refs_list(limiter->refs, ret_n);
	return true;
}

static bool judge(Limiter *limiter, const Object *object, Verdict *ret, GError **error)
{
	const ExtentRef *refs;
	size_t n;

	*ret = (Verdict){ 0 };
	if (!list_places(limiter, object, &refs, &n, error))
		return false;

	for (size_t i = 0; i < n && !(ret->has_inside && ret->beyond); i++) {
		SkipReason reason;
		bool is_in;

		if (!extent_scope_has(limiter->pass->btrfs.scope, &refs[i], &is_in, &reason, error))
			return false;
		ret->has_inside |= is_in;
		if (!is_in && !ret->beyond) {
			ret->beyond = &refs[i];
			ret->reason = reason;
		}
	}

	return true;
}

/* Find out once whether the extent is part of the pass. */
static bool place_extent(Limiter *limiter, const Object *extent, GError **error)
{
	Verdict verdict;

	if (object_table_facts(limiter->table, extent->id) & FACT_PLACED)
		return true;

	object_table_add_fact(limiter->table, extent->id, FACT_PLACED);
	if (!judge(limiter, extent, &verdict, error))
		return false;
	if (verdict.beyond)
		object_table_add_fact(limiter->table, extent->id,
				      verdict.has_inside ? FACT_OUTSIDE : FACT_AWAY);
	return true;
}

/* Place all extents that the file references at @place, and list them. */
static bool place_parts(Limiter *limiter, const StretchPlace *place, GError **error)
{
	g_array_set_size(limiter->extents, 0);
	if (!stretch_read_parts(limiter->file_extents, limiter->pass->filesystem->fd, place,
				limiter->parts, error))
		return false;

	for (guint i = 0; i < limiter->parts->len && pass_checkpoint(limiter->pass); i++) {
		const StretchPart *part = &g_array_index(limiter->parts, StretchPart, i);
		const Object *found;
		Object extent;

		if (!hash_store_find_at(limiter->pass->store, OBJECT_EXTENTS, part->bytenr, &found,
					error))
			return false;
		if (!found)
			continue;
		extent = *found;
		g_array_append_val(limiter->extents, extent.id);
		if (!place_extent(limiter, &extent, error))
			return false;
	}

	return true;
}

static unsigned facts_of_extents(const Limiter *limiter)
{
	unsigned facts = 0;

	for (guint i = 0; i < limiter->extents->len; i++)
		facts |= object_table_facts(limiter->table,
					    g_array_index(limiter->extents, uint32_t, i));

	return facts;
}

/* A stretch is outside if all of it is.  Parts of it may have other references. */
static bool place_stretch(Limiter *limiter, const Object *stretch, GError **error)
{
	const StretchPlace place = stretch_place(stretch);
	bool is_away;

	object_table_add_fact(limiter->table, stretch->id, FACT_PLACED);
	if (!place_parts(limiter, &place, error))
		return false;

	is_away = limiter->extents->len > 0;
	for (guint i = 0; i < limiter->extents->len; i++)
		is_away &= (object_table_facts(limiter->table,
					       g_array_index(limiter->extents, uint32_t, i)) &
			    FACT_AWAY) != 0;
	if (is_away)
		object_table_add_fact(limiter->table, stretch->id, FACT_AWAY);
	return true;
}

static bool place(Limiter *limiter, uint32_t object, GError **error)
{
	const Object *found;
	Object row;

	if (object_table_facts(limiter->table, object) & FACT_PLACED)
		return true;
	if (!hash_store_find(limiter->pass->store, object, &found, error))
		return false;
	if (!found)
		return true;

	row = *found;
	return row.subvolume == OBJECT_STRETCHES ? place_stretch(limiter, &row, error)
						 : place_extent(limiter, &row, error);
}

static bool is_stretch(const Limiter *limiter, uint32_t object)
{
	return object_table_facts(limiter->table, object) & FACT_STRETCH;
}

/* List the extents of the object: it alone, or those of the stretch in @blocks blocks from @block on. */
static bool list_extents(Limiter *limiter, uint32_t object, uint64_t block, uint64_t blocks,
			 GError **error)
{
	uint64_t block_bytes = limiter->pass->block_bytes;
	const Object *found;
	StretchPlace place;

	g_array_set_size(limiter->extents, 0);
	if (!is_stretch(limiter, object)) {
		g_array_append_val(limiter->extents, object);
		return true;
	}

	if (!hash_store_find(limiter->pass->store, object, &found, error))
		return false;
	if (!found || found->size_bytes <= block * block_bytes)
		return true;
	place = stretch_place(found);
	place.offset += block * block_bytes;
	place.length = MIN(place.length - block * block_bytes, blocks * block_bytes);
	return place_parts(limiter, &place, error);
}

/* List all extents: equal data may reach beyond the anchor. */
static bool list_all(Limiter *limiter, uint32_t object, GError **error)
{
	return list_extents(limiter, object, 0, UINT32_MAX, error);
}

/* The extents that the anchor lies in. */
static bool list_at(Limiter *limiter, const Anchor *anchor, GError **error)
{
	if (anchor->block == ANCHOR_WHOLE_BLOCK)
		return list_all(limiter, anchor->object, error);
	return list_extents(limiter, anchor->object, anchor->block,
			    hash_store_about(limiter->pass->store)->anchor_blocks, error);
}

/* Whether the list has a new extent that can be a source, but no target. */
static bool has_new_source(const Limiter *limiter)
{
	for (guint i = 0; i < limiter->extents->len; i++) {
		unsigned facts = object_table_facts(limiter->table,
						    g_array_index(limiter->extents, uint32_t, i));

		if ((facts & (FACT_OUTSIDE | FACT_SETTLED)) == FACT_OUTSIDE)
			return true;
	}

	return false;
}

/* Take FACT_SETTLED from an object that may be a target. */
static void unsettle(Limiter *limiter, uint32_t object)
{
	if (!(object_table_facts(limiter->table, object) & (FACT_OUTSIDE | FACT_AWAY)))
		object_table_remove_fact(limiter->table, object, FACT_SETTLED);
}

/* Settled extents would be sources of later ones.  Here they have to be targets. */
static bool unsettle_group(Limiter *limiter, const Group *group, GError **error)
{
	for (size_t i = 0; i < group->n_members && pass_checkpoint(limiter->pass); i++) {
		uint32_t object = group->members[i].object;

		/* Once is enough, and an extent outside the pass stays settled. */
		if ((object_table_facts(limiter->table, object) & (FACT_SETTLED | FACT_AWAY)) !=
		    FACT_SETTLED)
			continue;
		if (!list_all(limiter, object, error))
			return false;
		unsettle(limiter, object);
		for (guint j = 0; j < limiter->extents->len; j++)
			unsettle(limiter, g_array_index(limiter->extents, uint32_t, j));
	}

	return true;
}

static bool place_group(Limiter *limiter, const Group *group, GError **error)
{
	bool found = false;

	for (size_t i = 0; i < group->n_members && pass_checkpoint(limiter->pass); i++) {
		if (!place(limiter, group->members[i].object, error) ||
		    !list_at(limiter, &group->members[i], error))
			return false;
		found |= has_new_source(limiter);
	}

	return !found || unsettle_group(limiter, group, error);
}

/* Count an extent that is no target because some references are not part of the pass. */
static bool count(Limiter *limiter, uint32_t object, GError **error)
{
	SkipLedger *skips = &limiter->pass->result->skips;
	g_autofree char *path = NULL;
	const Object *found;
	Verdict verdict;
	Object extent;

	if (!hash_store_find(limiter->pass->store, object, &found, error))
		return false;
	if (!found)
		return true;

	extent = *found;
	if (!judge(limiter, &extent, &verdict, error))
		return false;
	if (!verdict.beyond)
		return true;

	if (skip_ledger_wants_example(skips, verdict.reason))
		path = extent_scope_path(limiter->pass->btrfs.scope, verdict.beyond);
	skip_ledger_add(skips, verdict.reason, extent.size_bytes, path);
	return true;
}

/* Mark an extent that another pass may share. */
static bool mark(Limiter *limiter, uint32_t object, GError **error)
{
	unsigned facts = object_table_facts(limiter->table, object);

	object_table_add_fact(limiter->table, object, FACT_LIMITED);
	if (facts & (FACT_LIMITED | FACT_SETTLED) || !(facts & FACT_LIVE) ||
	    !(facts & (FACT_AWAY | FACT_OUTSIDE)))
		return true;
	return count(limiter, object, error);
}

/* Mark the object with all its extents, once. */
static bool mark_object(Limiter *limiter, uint32_t object, GError **error)
{
	if (object_table_facts(limiter->table, object) & FACT_LIMITED)
		return true;
	if (!is_stretch(limiter, object))
		return mark(limiter, object, error);

	object_table_add_fact(limiter->table, object, FACT_LIMITED);
	if (!list_all(limiter, object, error))
		return false;
	for (guint i = 0; i < limiter->extents->len; i++)
		if (!mark(limiter, g_array_index(limiter->extents, uint32_t, i), error))
			return false;
	return true;
}

/* If the limits prevent sharing one extent of the group, mark all. */
static bool mark_group(Limiter *limiter, const Group *group, GError **error)
{
	unsigned facts = 0;

	for (size_t i = 0; i < group->n_members && pass_checkpoint(limiter->pass); i++) {
		if (!list_at(limiter, &group->members[i], error))
			return false;
		facts |= facts_of_extents(limiter);
	}
	if (!(facts & (FACT_AWAY | FACT_OUTSIDE)))
		return true;

	for (size_t i = 0; i < group->n_members && pass_checkpoint(limiter->pass); i++)
		if (!mark_object(limiter, group->members[i].object, error))
			return false;
	return true;
}

/* Extents with zeros need no other one: mark those that the limits keep from becoming holes. */
static bool mark_zeros(Limiter *limiter, const Group *group, GError **error)
{
	for (size_t i = 0; i < group->n_members && pass_checkpoint(limiter->pass); i++) {
		if (!list_all(limiter, group->members[i].object, error))
			return false;
		for (guint j = 0; j < limiter->extents->len; j++) {
			uint32_t extent = g_array_index(limiter->extents, uint32_t, j);

			if (object_table_facts(limiter->table, extent) &
				    (FACT_AWAY | FACT_OUTSIDE) &&
			    !mark(limiter, extent, error))
				return false;
		}
	}

	return true;
}

/* If the limits prevent sharing one extent of the group, mark those that this concerns. */
static bool mark_any(Limiter *limiter, const Group *group, GError **error)
{
	return group->members[0].digest == ANCHOR_ZEROS_DIGEST ? mark_zeros(limiter, group, error)
							       : mark_group(limiter, group, error);
}

/* Whether the group's members may be shared: a single one cannot, unless it is of zeros. */
static bool may_be_shared(const Limiter *limiter, const Group *group)
{
	if (group->members[0].digest == ANCHOR_ZEROS_DIGEST)
		return limiter->pass->settings->zeros != ZEROS_KEEP;

	for (size_t i = 1; i < group->n_members; i++)
		if (group->members[i].object != group->members[0].object)
			return true;

	return false;
}

typedef bool (*GroupStep)(Limiter *limiter, const Group *group, GError **error);

static bool for_each_group(Pass *pass, ObjectTable *table, GroupStep step, GError **error)
{
	g_autoptr(ExtentRefs) refs = extent_refs_new(pass->filesystem->fd, pass->btrfs.ref_bound);
	g_autoptr(BtrfsFileExtents) file_extents = btrfs_file_extents_new();
	g_autoptr(GArray) parts = g_array_new(false, false, sizeof(StretchPart));
	g_autoptr(GArray) extents = g_array_new(false, false, sizeof(uint32_t));
	g_autoptr(Groups) groups = NULL;
	Limiter limiter = {
		.pass = pass,
		.table = table,
		.refs = refs,
		.file_extents = file_extents,
		.parts = parts,
		.extents = extents,
	};

	/* Extents outside the pass have equals, too. */
	groups = groups_open(pass->store, object_table_is_kept, table, error);
	if (!groups)
		return false;
	while (pass_checkpoint(pass)) {
		const Group *group;

		if (!groups_next(groups, &group, error))
			return false;
		if (!group)
			break;
		if (may_be_shared(&limiter, group) && !step(&limiter, group, error))
			return false;
	}

	return true;
}

bool extent_limits_apply(Pass *pass, ObjectTable *table, GError **error)
{
	return !extent_scope_is_limited(pass->btrfs.scope) ||
	       for_each_group(pass, table, place_group, error);
}

bool extent_limits_mark(Pass *pass, ObjectTable *table, GError **error)
{
	return !extent_scope_is_limited(pass->btrfs.scope) ||
	       for_each_group(pass, table, mark_any, error);
}

/* Whether the object has to be matched again.  Stretches follow their extents. */
static bool is_left_over(ObjectTable *table, uint32_t object)
{
	return (object_table_facts(table, object) & (FACT_LIMITED | FACT_LIVE | FACT_STRETCH)) ==
	       (FACT_LIMITED | FACT_LIVE);
}

bool extent_limits_keep(Pass *pass, ObjectTable *table, GError **error)
{
	uint32_t first = hash_store_settled_below(pass->store);
	uint32_t end = hash_store_next_object(pass->store);
	uint32_t n = 0;

	for (uint32_t object = first; object < end; object++)
		n += is_left_over(table, object);
	if (n > TAKEN_UP_MAX)
		return note_limits(pass, error);

	for (uint32_t object = first; object < end; object++)
		if (is_left_over(table, object))
			postponed_add(pass->postponed, pass->store, object);
	return true;
}

void extent_limits_warn(const Pass *pass)
{
	uint64_t files = extent_scope_files(pass->btrfs.scope);
	g_autofree const char **globs = filter_unmatched(pass->filter);

	for (size_t i = 0; globs[i] && files > 0; i++)
		g_warning("--exclude %s matched none of the %" G_GUINT64_FORMAT
			  " files with equal data on %s",
			  globs[i], files, pass->filesystem->mount_point);
	pass_note_unmatched(pass, false);
}
