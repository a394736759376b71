/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/anchors/groups.h"

#include "hashstore/anchors/anchor-sort.h"
#include "hashstore/anchors/merged-cursor.h"
#include "hashstore/anchors/prefetch.h"
#include "hashstore/anchors/segments.h"
#include "hashstore/anchors/whole-notes.h"
#include "hashstore/database/store-connection.h"

/* New anchors are looked up if at least this many times as many anchors are stored. */
#define LOOKUP_SHARE 50

/* The members of one group while it is collected, cut to GROUP_MEMBERS_MAX. */
typedef struct {
	/* Set at creation, never changed. */
	uint32_t settled_below;

	Anchor *members;
	size_t n_members;
	size_t size;
	bool settled_cut; /* only the first settled member is kept, as members[0] */
	bool has_unsettled;
	bool is_unsorted; /* members were added out of order */
	uint64_t n_capped;
} GroupMembers;

struct Groups {
	/* Set at creation, never changed. */
	HashStore *store;   /* not owned */
	Database *database; /* a snapshot */
	SegmentReader *reader;
	size_t memory_bytes;
	bool (*is_live)(uint32_t object, void *data);
	void *data;

	/* Thread: the owner's. */
	GPtrArray *walked;    /* all anchors of these segments are walked */
	GPtrArray *looked_up; /* settled segments in which digests are looked up; may be empty */
	MergedCursor *merge;  /* of the walked ones */
	GPtrArray *lookups;   /* a SegmentCursor for each segment in looked_up */
	Prefetch *ahead;      /* prefetches the lookups; or NULL */
	const Anchor *round;
	size_t n_round;
	size_t next; /* index in the round */
	GroupMembers gathered;
	Group group;
	WholeNotes *notes; /* of the first walk; not owned, or NULL */
};

static void clear_members(GroupMembers *group)
{
	group->n_members = 0;
	group->settled_cut = false;
	group->has_unsettled = false;
	group->is_unsorted = false;
	group->n_capped = 0;
}

static bool is_settled(const GroupMembers *group, const Anchor *member)
{
	return member->object < group->settled_below;
}

static void append_member(GroupMembers *group, const Anchor *member)
{
	if (group->n_members == group->size) {
		group->size = MAX(group->size * 2, 64);
		group->members = g_renew(Anchor, group->members, group->size);
	}
	group->is_unsorted |= group->n_members > 0 &&
			      anchor_compare(member, &group->members[group->n_members - 1]) < 0;
	group->members[group->n_members++] = *member;
}

/* Keep only the first of the settled members, which come before all others. */
static void cut_settled(GroupMembers *group)
{
	size_t n_settled = 0, first = 0, n = 0;

	while (n_settled < group->n_members && is_settled(group, &group->members[n_settled])) {
		if (anchor_compare(&group->members[n_settled], &group->members[first]) < 0)
			first = n_settled;
		n_settled++;
	}
	group->settled_cut = true;
	if (n_settled == 0)
		return;

	group->members[n++] = group->members[first];
	for (size_t i = n_settled; i < group->n_members; i++)
		group->members[n++] = group->members[i];
	group->n_members = n;
}

/* Add a member of any digest but ANCHOR_ZEROS_DIGEST.  Settled members come before others. */
static void add_member(GroupMembers *group, const Anchor *member)
{
	bool settled = is_settled(group, member);

	if (group->n_members == GROUP_MEMBERS_MAX && !group->settled_cut)
		cut_settled(group);

	if (group->settled_cut && settled) {
		if (anchor_compare(member, &group->members[0]) < 0)
			group->members[0] = *member;
		return;
	}

	group->has_unsettled |= !settled;
	if (group->n_members == GROUP_MEMBERS_MAX)
		group->n_capped++;
	else
		append_member(group, member);
}

/* Add a start of zeros, unless it is settled.  False if there is no room. */
static bool add_zeros(GroupMembers *group, const Anchor *member)
{
	if (is_settled(group, member))
		return true;
	if (group->n_members == GROUP_MEMBERS_MAX)
		return false;

	group->has_unsettled = true;
	append_member(group, member);

	return true;
}

/* The group has an unsettled member, and at least two members or zeros. */
static bool matters(const GroupMembers *group)
{
	if (!group->has_unsettled)
		return false;

	return group->n_members >= 2 || group->members[0].digest == ANCHOR_ZEROS_DIGEST;
}

/* Begin the walk. */
static bool begin(Groups *groups, GError **error)
{
	g_clear_pointer(&groups->ahead, prefetch_free);
	g_clear_pointer(&groups->merge, merged_cursor_free);
	g_ptr_array_set_size(groups->lookups, 0);
	clear_members(&groups->gathered);
	groups->n_round = 0;
	groups->next = 0;

	groups->merge = merged_cursor_new(groups->reader, groups->walked, groups->memory_bytes);
	if (groups->looked_up->len == 0)
		return true;

	for (guint i = 0; i < groups->looked_up->len; i++)
		g_ptr_array_add(groups->lookups,
				segment_cursor_new(groups->reader, groups->looked_up->pdata[i], 1));
	groups->ahead = prefetch_new(groups->store, groups->database, groups->walked,
				     groups->looked_up, error);

	return groups->ahead;
}

/*
 * Settled segments can be left to look-ups if no other segment has settled anchors, and new anchors are few.
 */
static bool can_look_up(const GPtrArray *segments, uint32_t settled_below)
{
	uint64_t n_settled = 0, n_unsettled = 0;

	for (guint i = 0; i < segments->len; i++) {
		const Segment *segment = segments->pdata[i];

		if (segment->max_object < settled_below)
			n_settled += segment->anchors;
		else if (segment->min_object < settled_below)
			return false;
		else
			n_unsettled += segment->anchors;
	}

	return n_unsettled <= n_settled / LOOKUP_SHARE;
}

/* Decide which segments are walked and which are looked up. */
static bool choose_segments(Groups *groups, GError **error)
{
	g_autoptr(GPtrArray) all = segment_list(groups->database, error);
	uint32_t settled_below = groups->gathered.settled_below;
	bool any_unsettled = false;
	bool look_up;

	if (!all)
		return false;
	for (guint i = 0; i < all->len; i++)
		any_unsettled |= ((Segment *)all->pdata[i])->max_object >= settled_below;
	if (!any_unsettled)
		return true;

	look_up = can_look_up(all, settled_below);
	while (all->len > 0) {
		Segment *segment = g_ptr_array_steal_index(all, 0);
		bool settled = segment->max_object < settled_below;

		g_ptr_array_add(settled && look_up ? groups->looked_up : groups->walked, segment);
	}

	return true;
}

Groups *groups_open(HashStore *store, bool (*is_live)(uint32_t object, void *data), void *data,
		    GError **error)
{
	g_autoptr(Groups) groups = g_new0(Groups, 1);

	groups->store = store;
	groups->memory_bytes = store->memory_bytes;
	groups->is_live = is_live;
	groups->data = data;
	groups->gathered.settled_below = store->counts.settled_below;
	groups->walked = g_ptr_array_new_with_free_func((GDestroyNotify)segment_free);
	groups->looked_up = g_ptr_array_new_with_free_func((GDestroyNotify)segment_free);
	groups->lookups = g_ptr_array_new_with_free_func((GDestroyNotify)segment_cursor_free);

	groups->database = hash_store_snapshot(store, error);
	if (!groups->database)
		return NULL;
	groups->reader = segment_reader_new(groups->database, false, error);
	if (!groups->reader)
		return NULL;
	if (!choose_segments(groups, error) || !begin(groups, error) ||
	    !whole_notes_begin(store, &groups->notes, error))
		return NULL;

	return g_steal_pointer(&groups);
}

/* Fetch the next round if this one is used up.  No anchors are left at the end, or after a request to stop. */
static inline bool fill_round(Groups *groups, GError **error)
{
	if (groups->next < groups->n_round)
		return true;
	groups->next = 0;
	groups->n_round = 0;
	if (!hash_store_may_continue(groups->store))
		return true;

	return merged_cursor_next(groups->merge, &groups->round, &groups->n_round, error);
}

static inline bool is_live(const Groups *groups, const Anchor *anchor)
{
	return groups->is_live(anchor->object, groups->data);
}

static inline void note_anchor(Groups *groups, const Anchor *anchor, bool live)
{
	if (groups->notes && anchor->block == ANCHOR_WHOLE_BLOCK)
		whole_notes_add(groups->notes, anchor, live);
}

/* Skip digests that have one anchor in the round: they cannot be in a group. */
static void skip_singles(Groups *groups)
{
	const Anchor *round = groups->round;
	size_t next = groups->next;

	while (next + 1 < groups->n_round && round[next].digest != round[next + 1].digest &&
	       round[next].digest != ANCHOR_ZEROS_DIGEST)
		next++;
	groups->next = next;
}

static bool look_up_in(Groups *groups, SegmentCursor *cursor, uint64_t digest, GError **error)
{
	if (!segment_cursor_seek(cursor, digest, error))
		return false;

	while (segment_cursor_at_hand(cursor) && cursor->entries[cursor->next].digest == digest) {
		const Anchor *anchor = &cursor->entries[cursor->next++];
		bool live = is_live(groups, anchor);

		note_anchor(groups, anchor, live);
		if (live)
			add_member(&groups->gathered, anchor);
		if (!segment_cursor_at_hand(cursor) && !hash_store_may_continue(groups->store))
			break;
		if (!segment_cursor_fill(cursor, error))
			return false;
	}

	return true;
}

/* Gather the settled members of @digest by look-up. */
static bool look_up(Groups *groups, uint64_t digest, GError **error)
{
	if (groups->ahead && !prefetch_reach(groups->ahead, digest, error))
		return false;
	for (guint i = 0; i < groups->lookups->len; i++) {
		if (!look_up_in(groups, groups->lookups->pdata[i], digest, error))
			return false;
	}

	return true;
}

/* Gather the walked members of @digest, whose first one is at hand. */
static bool gather(Groups *groups, uint64_t digest, GError **error)
{
	do {
		const Anchor *anchor = &groups->round[groups->next];
		bool live;

		if (anchor->digest != digest)
			return true;
		live = is_live(groups, anchor);
		note_anchor(groups, anchor, live);
		if (live) {
			if (digest != ANCHOR_ZEROS_DIGEST)
				add_member(&groups->gathered, anchor);
			else if (!add_zeros(&groups->gathered, anchor))
				return true;
		}
		groups->next++;
		if (!fill_round(groups, error))
			return false;
	} while (groups->n_round > 0);

	return true;
}

/* There are no more anchors, or the walk was asked to stop. */
static bool end_notes(Groups *groups, GError **error)
{
	WholeNotes *notes = g_steal_pointer(&groups->notes);

	return !notes || !hash_store_may_continue(groups->store) ||
	       whole_notes_finish(notes, error);
}

bool groups_next(Groups *groups, const Group **ret, GError **error)
{
	GroupMembers *gathered = &groups->gathered;

	*ret = NULL;
	for (;;) {
		uint64_t digest;

		if (!fill_round(groups, error))
			return false;
		if (groups->n_round == 0)
			return end_notes(groups, error);
		if (groups->lookups->len == 0)
			skip_singles(groups);

		clear_members(gathered);
		digest = groups->round[groups->next].digest;
		if (digest != ANCHOR_ZEROS_DIGEST && !look_up(groups, digest, error))
			return false;
		if (!gather(groups, digest, error))
			return false;
		/* The group may be incomplete after a request to stop. */
		if (!hash_store_may_continue(groups->store))
			return true;
		if (groups->notes && !whole_notes_end_digest(groups->notes, digest, error))
			return false;
		if (matters(gathered))
			break;
	}

	if (gathered->is_unsorted)
		anchor_sort(gathered->members, gathered->n_members);
	groups->group.members = gathered->members;
	groups->group.n_members = gathered->n_members;
	groups->group.n_capped = gathered->n_capped;
	*ret = &groups->group;

	return true;
}

bool groups_rewind(Groups *groups, GError **error)
{
	groups->notes = NULL;
	return begin(groups, error);
}

void groups_close(Groups *groups)
{
	if (!groups)
		return;

	prefetch_free(groups->ahead);
	merged_cursor_free(groups->merge);
	g_ptr_array_unref(groups->lookups);
	g_ptr_array_unref(groups->walked);
	g_ptr_array_unref(groups->looked_up);
	segment_reader_free(groups->reader);
	hash_store_end_snapshot(groups->store, groups->database);
	g_free(groups->gathered.members);
	g_free(groups);
}
