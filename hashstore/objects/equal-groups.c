/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/objects/equal-groups.h"

#include "hashstore/anchors/sorter.h"

/* An object with its digest, before groups are known. */
typedef struct {
	uint64_t digest;
	uint64_t size_bytes;
	uint32_t id;
	bool is_shared; /* an extent that has several references, or may have: a group by itself */
} Digested;

/* A member of a group. */
typedef struct {
	uint64_t spare_bytes;
	uint64_t digest;
	uint64_t size_bytes;
	uint64_t n_objects;
	uint32_t id;
} Member;

struct EqualGroups {
	Sorter *members;
	const Member *next; /* the first of the next group; NULL at the end */
	GArray *ids;
	EqualGroup group;
};

static int compare_digested(const void *a, const void *b)
{
	const Digested *one = a, *other = b;

	if (one->digest != other->digest)
		return one->digest < other->digest ? -1 : 1;
	if (one->size_bytes != other->size_bytes)
		return one->size_bytes < other->size_bytes ? -1 : 1;
	return (one->id > other->id) - (one->id < other->id);
}

static bool is_one_group(const Member *one, const Member *other)
{
	return one->digest == other->digest && one->size_bytes == other->size_bytes;
}

static int compare_members(const void *a, const void *b)
{
	const Member *one = a, *other = b;

	if (one->spare_bytes != other->spare_bytes)
		return one->spare_bytes > other->spare_bytes ? -1 : 1;
	if (one->digest != other->digest)
		return one->digest < other->digest ? -1 : 1;
	if (one->size_bytes != other->size_bytes)
		return one->size_bytes < other->size_bytes ? -1 : 1;
	return (one->id > other->id) - (one->id < other->id);
}

static bool add_objects(Sorter *digested, HashStore *store, EqualKind kind, uint64_t min_bytes,
			GError **error)
{
	uint64_t first =
		kind == EQUAL_FILES && hash_store_has_extents(store) ? OBJECT_STRETCHES + 1 : 0;
	g_autoptr(ObjectCursor) cursor = object_cursor_open_from(store, first, error);
	const Object *object;

	if (!cursor)
		return false;
	while (true) {
		if (!object_cursor_next(cursor, &object, error))
			return false;
		if (!object || (kind != EQUAL_FILES && object->subvolume != OBJECT_EXTENTS))
			return true;
		if (object->state != OBJECT_DONE || object->size_bytes < MAX(min_bytes, 1))
			continue;
		/* The extents of such a file are objects themselves. */
		if (kind == EQUAL_FILES && object->flags & OBJECT_READ_SUMS)
			continue;

		const Digested one = { object->digest, object->size_bytes, object->id,
				       kind == EQUAL_OR_ALONE_EXTENTS ||
					       (kind == EQUAL_EXTENTS &&
						object->flags & OBJECT_SHARED) };
		if (!sorter_add(digested, &one, error))
			return false;
	}
}

/* Add the members of one group; @ids are all of them, or the first ones of very many. */
static bool add_group(EqualGroups *groups, const Digested *one, uint64_t n_objects, GError **error)
{
	Member member = { .digest = one->digest,
			  .size_bytes = one->size_bytes,
			  .n_objects = n_objects,
			  .spare_bytes = (n_objects - 1) * one->size_bytes };

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

	do {
		if (!sorter_next(digested, (const void **)&one, error))
			return false;
		if (n_objects > 0 &&
		    (!one || one->digest != group.digest || one->size_bytes != group.size_bytes)) {
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

EqualGroups *equal_groups_open(HashStore *store, EqualKind kind, uint64_t min_bytes,
			       size_t memory_bytes, GError **error)
{
	g_autoptr(EqualGroups) groups = g_new0(EqualGroups, 1);
	g_autoptr(Sorter) digested = sorter_new(sizeof(Digested), compare_digested,
						memory_bytes / 2, g_get_tmp_dir(), NULL);

	groups->members = sorter_new(sizeof(Member), compare_members, memory_bytes / 2,
				     g_get_tmp_dir(), NULL);
	groups->ids = g_array_new(false, false, sizeof(uint32_t));
	if (kind != EQUAL_FILES && !hash_store_has_extents(store))
		return g_steal_pointer(&groups);
	if (!add_objects(digested, store, kind, min_bytes, error) ||
	    !sorter_sort(digested, error) || !add_groups(groups, digested, error) ||
	    !sorter_next(groups->members, (const void **)&groups->next, error))
		return NULL;

	return g_steal_pointer(&groups);
}

bool equal_groups_next(EqualGroups *groups, const EqualGroup **ret, GError **error)
{
	Member first;

	*ret = NULL;
	if (!groups->next)
		return true;

	first = *groups->next;
	g_array_set_size(groups->ids, 0);
	do {
		g_array_append_val(groups->ids, groups->next->id);
		if (!sorter_next(groups->members, (const void **)&groups->next, error))
			return false;
	} while (groups->next && is_one_group(groups->next, &first));

	groups->group = (EqualGroup){ first.size_bytes, first.n_objects,
				      (const uint32_t *)groups->ids->data, groups->ids->len };
	*ret = &groups->group;
	return true;
}

void equal_groups_close(EqualGroups *groups)
{
	if (!groups)
		return;

	sorter_free(groups->members);
	g_array_unref(groups->ids);
	g_free(groups);
}

uint64_t equal_group_spare_bytes(const EqualGroup *group)
{
	return (group->n_objects - 1) * group->size_bytes;
}
