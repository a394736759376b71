/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/objects/equals.h"

#include "hashstore/anchors/segment-cursor.h"
#include "hashstore/database/store-connection.h"
#include "hashstore/database/store-state.h"

struct Equals {
	HashStore *store;   /* not owned */
	Database *database; /* a snapshot */
	SegmentReader *reader;
	GPtrArray *segments;
	GArray *found;
	/* For equals_list_anchored(): one in each segment, all at the same digest; or NULL. */
	GPtrArray *cursors;
	uint64_t reached;
};

Equals *equals_open(HashStore *store, GError **error)
{
	g_autoptr(Equals) equals = g_new0(Equals, 1);

	equals->store = store;
	equals->found = g_array_new(false, false, sizeof(uint32_t));
	equals->database = hash_store_snapshot(store, error);
	if (!equals->database)
		return NULL;
	equals->reader = segment_reader_new(equals->database, false, error);
	if (!equals->reader)
		return NULL;
	equals->segments = segment_list(equals->database, error);

	return equals->segments ? g_steal_pointer(&equals) : NULL;
}

void equals_close(Equals *equals)
{
	if (!equals)
		return;

	if (equals->cursors)
		g_ptr_array_unref(equals->cursors);
	if (equals->segments)
		g_ptr_array_unref(equals->segments);
	segment_reader_free(equals->reader);
	hash_store_end_snapshot(equals->store, equals->database);
	g_array_unref(equals->found);
	g_free(equals);
}

static bool has(const GArray *ids, uint32_t id)
{
	for (guint i = 0; i < ids->len; i++)
		if (g_array_index(ids, uint32_t, i) == id)
			return true;
	return false;
}

/* The anchor belongs to an existing object that equals @object. */
static bool is_equal(Equals *equals, const Anchor *anchor, const Object *object, bool *ret,
		     GError **error)
{
	Object other;
	bool found;

	*ret = false;
	if (anchor->block != ANCHOR_WHOLE_BLOCK || anchor->object == object->id ||
	    has(equals->found, anchor->object))
		return true;
	if (!hash_store_peek(equals->store, anchor->object, &other, &found, error))
		return false;

	*ret = found && other.state == OBJECT_DONE && other.digest == object->digest &&
	       other.size_bytes == object->size_bytes;
	return true;
}

static bool find_in(Equals *equals, const Segment *segment, const Object *object, size_t most,
		    bool *ret_has_more, GError **error)
{
	g_autoptr(SegmentCursor) cursor = segment_cursor_new(equals->reader, segment, 1);
	uint64_t digest = anchor_digest(object->digest);

	if (!segment_cursor_seek(cursor, digest, error))
		return false;

	while (segment_cursor_at_hand(cursor) && !*ret_has_more) {
		const Anchor *anchor = &cursor->entries[cursor->next++];
		bool is_one;

		if (anchor->digest != digest)
			return true;
		if (!is_equal(equals, anchor, object, &is_one, error))
			return false;
		if (is_one && equals->found->len >= most)
			*ret_has_more = true;
		else if (is_one)
			g_array_append_val(equals->found, anchor->object);
		if (!segment_cursor_fill(cursor, error))
			return false;
	}

	return true;
}

bool equals_find(Equals *equals, const Object *object, size_t most, const GArray **ret,
		 bool *ret_has_more, GError **error)
{
	g_array_set_size(equals->found, 0);
	*ret_has_more = false;
	for (guint i = 0; i < equals->segments->len && !*ret_has_more; i++)
		if (!find_in(equals, equals->segments->pdata[i], object, most, ret_has_more, error))
			return false;

	*ret = equals->found;
	return true;
}

static bool list_in(SegmentCursor *cursor, uint64_t digest, GArray *ids, GError **error)
{
	if (!segment_cursor_seek(cursor, digest, error))
		return false;

	while (segment_cursor_at_hand(cursor) && cursor->entries[cursor->next].digest == digest) {
		const Anchor *anchor = &cursor->entries[cursor->next++];

		if (anchor->block == ANCHOR_WHOLE_BLOCK)
			g_array_append_val(ids, anchor->object);
		if (!segment_cursor_fill(cursor, error))
			return false;
	}

	return true;
}

/* Have cursors before @digest.  They move forward only. */
static void have_cursors(Equals *equals, uint64_t digest)
{
	bool are_before = equals->cursors && equals->reached < digest;

	equals->reached = digest;
	if (are_before)
		return;
	if (equals->cursors)
		g_ptr_array_unref(equals->cursors);
	equals->cursors = g_ptr_array_new_with_free_func((GDestroyNotify)segment_cursor_free);
	for (guint i = 0; i < equals->segments->len; i++)
		g_ptr_array_add(equals->cursors,
				segment_cursor_new(equals->reader, equals->segments->pdata[i], 1));
}

bool equals_list_anchored(Equals *equals, uint64_t digest, GArray *ids, GError **error)
{
	digest = anchor_digest(digest);
	have_cursors(equals, digest);
	for (guint i = 0; i < equals->cursors->len; i++)
		if (!list_in(equals->cursors->pdata[i], digest, ids, error))
			return false;
	return true;
}
