/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/objects/equal-groups.h"

#include "hashstore/anchors/sorter.h"
#include "hashstore/database/store-transaction.h"
#include "hashstore/objects/digested.h"
#include "hashstore/objects/kept-groups.h"

/* A member of a group. */
typedef struct {
	EqualRow group;
	uint32_t id;
} Member;

struct EqualGroups {
	/* Set at creation, never changed. */
	HashStore *store; /* not owned */
	EqualKind kind;
	uint64_t min_bytes;
	size_t memory_bytes;

	KeptGroups *kept; /* NULL once all of them were returned */
	bool has_last;
	EqualRow last; /* of these */
	bool is_read;  /* all others were read: @members has them */
	Sorter *members;
	const Member *next; /* the first of the next group; NULL at the end */
	GArray *ids;
	EqualGroup group;
};

static int compare_members(const void *a, const void *b)
{
	const Member *one = a, *other = b;
	int order = equal_row_compare(&one->group, &other->group);

	return order ? order : (one->id > other->id) - (one->id < other->id);
}

static bool are_files(const EqualGroups *groups)
{
	return groups->kind == EQUAL_FILES;
}

static bool add_objects(EqualGroups *groups, Sorter *digested, GError **error)
{
	bool has_extents = hash_store_has_extents(groups->store);
	uint64_t first = are_files(groups) && has_extents ? OBJECT_STRETCHES + 1 : 0;
	g_autoptr(ObjectCursor) cursor = object_cursor_open_from(groups->store, first, error);
	const Object *object;
	Digested one;

	if (!cursor)
		return false;
	while (true) {
		if (!object_cursor_next(cursor, &object, error))
			return false;
		if (!object || (!are_files(groups) && object->subvolume != OBJECT_EXTENTS))
			return true;
		if (!digested_take(object, has_extents, &one) || one.size_bytes < groups->min_bytes)
			continue;

		one.is_shared |= groups->kind == EQUAL_OR_ALONE_EXTENTS;
		if (!sorter_add(digested, &one, error))
			return false;
	}
}

/*
 * Add the members of one group, unless it was returned before; the ids are all of them, or the first ones of very
 * many.
 */
static bool add_group(EqualGroups *groups, const Digested *one, uint64_t n_objects, GError **error)
{
	Member member = { .group = { one->digest, one->size_bytes, n_objects } };

	if (groups->has_last && equal_row_compare(&member.group, &groups->last) <= 0)
		return true;
	for (guint i = 0; (n_objects > 1 || one->is_shared) && i < groups->ids->len; i++) {
		member.id = g_array_index(groups->ids, uint32_t, i);
		if (!sorter_add(groups->members, &member, error))
			return false;
	}

	return true;
}

/* Find the groups in the objects sorted by digest. */
static bool add_groups(EqualGroups *groups, Sorter *digested, GError **error)
{
	Digested group = { 0 };
	uint64_t n_objects = 0;
	const Digested *one;

	g_array_set_size(groups->ids, 0);
	do {
		if (!sorter_next(digested, (const void **)&one, error))
			return false;
		if (n_objects > 0 && (!one || !digested_are_equal(one, &group))) {
			if (!add_group(groups, &group, n_objects, error))
				return false;
			g_array_set_size(groups->ids, 0);
			n_objects = 0;
		}
		if (one) {
			group = *one;
			n_objects++;
			if (groups->ids->len < EQUAL_GROUP_MEMBERS_MAX)
				g_array_append_val(groups->ids, one->id);
		}
	} while (one);

	return sorter_sort(groups->members, error);
}

/* Read all objects for the groups that were not returned yet. */
static bool read_all(EqualGroups *groups, GError **error)
{
	g_autoptr(Sorter) digested = NULL;

	groups->is_read = true;
	groups->members = sorter_new(sizeof(Member), compare_members, groups->memory_bytes / 2,
				     g_get_tmp_dir(), NULL);
	if (!are_files(groups) && !hash_store_has_extents(groups->store))
		return true;

	hash_store_end_reads(groups->store);
	digested = sorter_new(sizeof(Digested), digested_compare, groups->memory_bytes / 2,
			      g_get_tmp_dir(), NULL);
	return add_objects(groups, digested, error) && sorter_sort(digested, error) &&
	       add_groups(groups, digested, error) &&
	       sorter_next(groups->members, (const void **)&groups->next, error);
}

EqualGroups *equal_groups_open(HashStore *store, EqualKind kind, uint64_t min_bytes,
			       size_t memory_bytes, GError **error)
{
	g_autoptr(EqualGroups) groups = g_new0(EqualGroups, 1);

	groups->store = store;
	groups->kind = kind;
	groups->min_bytes = min_bytes;
	groups->memory_bytes = memory_bytes;
	groups->ids = g_array_new(false, false, sizeof(uint32_t));
	if (!kept_groups_open(store, are_files(groups), min_bytes, &groups->kept, error))
		return NULL;

	return g_steal_pointer(&groups);
}

/* Let the caller have the group, whose objects are in @ids. */
static void give(EqualGroups *groups, const EqualRow *row)
{
	groups->group = (EqualGroup){ row->size_bytes, row->n_objects,
				      (const uint32_t *)groups->ids->data, groups->ids->len };
}

/* The next group of the list; *ret_found is false at its end. */
static bool next_kept(EqualGroups *groups, bool *ret_found, GError **error)
{
	EqualRow row;

	if (!kept_groups_next(groups->kept, &row, groups->ids, ret_found, error))
		return false;
	if (!*ret_found)
		return true;

	groups->last = row;
	groups->has_last = true;
	give(groups, &row);
	return true;
}

static bool take_members(EqualGroups *groups, GError **error)
{
	Member first = *groups->next;

	g_array_set_size(groups->ids, 0);
	do {
		g_array_append_val(groups->ids, groups->next->id);
		if (!sorter_next(groups->members, (const void **)&groups->next, error))
			return false;
	} while (groups->next && equal_row_compare(&groups->next->group, &first.group) == 0);

	give(groups, &first.group);
	return true;
}

bool equal_groups_next(EqualGroups *groups, const EqualGroup **ret, GError **error)
{
	bool found = false;

	*ret = NULL;
	if (groups->kept && !next_kept(groups, &found, error))
		return false;
	if (found) {
		*ret = &groups->group;
		return true;
	}

	groups->is_read |= groups->kept && kept_groups_are_all(groups->kept);
	g_clear_pointer(&groups->kept, kept_groups_close);
	if (!groups->is_read && !read_all(groups, error))
		return false;
	if (!groups->next)
		return true;

	if (!take_members(groups, error))
		return false;
	*ret = &groups->group;
	return true;
}

void equal_groups_close(EqualGroups *groups)
{
	if (!groups)
		return;

	kept_groups_close(groups->kept);
	sorter_free(groups->members);
	g_array_unref(groups->ids);
	g_free(groups);
}

uint64_t equal_group_spare_bytes(const EqualGroup *group)
{
	return (group->n_objects - 1) * group->size_bytes;
}
