/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/objects/equal-list.h"

#include "hashstore/anchors/segment-cursor.h"
#include "hashstore/anchors/segments.h"
#include "hashstore/anchors/whole-notes.h"
#include "hashstore/database/notes.h"
#include "hashstore/database/store-state.h"
#include "hashstore/database/store-transaction.h"
#include "hashstore/objects/digested.h"

/* The notes with the bound. */
#define NOTE_BOUND "equal-groups-bound"

/* One more than readers take, so that they see that there are more. */
#define SELECT_LOOSE "SELECT id FROM loose_object LIMIT 1 + " G_STRINGIFY(EQUAL_LIST_LOOSE_MOST)

static EqualTop *top_new(uint64_t bound_bytes)
{
	EqualTop *top = g_new0(EqualTop, 1);

	top->rows = g_array_new(false, false, sizeof(EqualRow));
	top->bound_bytes = MAX(bound_bytes, 1);
	return top;
}

static void top_free(EqualTop *top)
{
	if (!top)
		return;

	g_array_unref(top->rows);
	g_free(top);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC(EqualTop, top_free)

uint64_t equal_row_spare_bytes(const EqualRow *row)
{
	return (row->n_objects - 1) * row->size_bytes;
}

static int compare_groups(const EqualRow *one, const EqualRow *other)
{
	if (one->digest != other->digest)
		return one->digest < other->digest ? -1 : 1;
	return (one->size_bytes > other->size_bytes) - (one->size_bytes < other->size_bytes);
}

/* By group, the most objects first. */
static int compare_rows(const void *a, const void *b)
{
	const EqualRow *one = a, *other = b;
	int order = compare_groups(one, other);

	return order ? order
		     : (one->n_objects < other->n_objects) - (one->n_objects > other->n_objects);
}

int equal_row_compare(const void *a, const void *b)
{
	uint64_t one = equal_row_spare_bytes(a), other = equal_row_spare_bytes(b);

	if (one != other)
		return one > other ? -1 : 1;
	return compare_groups(a, b);
}

/* Let each group be there once. */
static void top_unite(EqualTop *top)
{
	EqualRow *rows = (EqualRow *)top->rows->data;
	guint n = 0;

	g_array_sort(top->rows, compare_rows);
	for (guint i = 0; i < top->rows->len; i++)
		if (n == 0 || compare_groups(&rows[n - 1], &rows[i]) != 0)
			rows[n++] = rows[i];
	g_array_set_size(top->rows, n);
}

/* Keep the groups with most, so that there is room. */
static void raise_bound(EqualTop *top)
{
	const EqualRow *first_cut;

	top_unite(top);
	if (top->rows->len <= EQUAL_TOP_KEPT)
		return;

	g_array_sort(top->rows, equal_row_compare);
	first_cut = &g_array_index(top->rows, EqualRow, EQUAL_TOP_KEPT);
	top->bound_bytes = equal_row_spare_bytes(first_cut) + 1;
	g_array_set_size(top->rows, EQUAL_TOP_KEPT);
}

/* Add the group unless it is below the bound.  A group that was added before keeps the larger number of objects. */
static void top_add(EqualTop *top, const EqualRow *row)
{
	if (row->n_objects < 2 || equal_row_spare_bytes(row) < top->bound_bytes)
		return;
	if (top->rows->len == EQUAL_TOP_MOST)
		raise_bound(top);
	if (equal_row_spare_bytes(row) >= top->bound_bytes)
		g_array_append_val(top->rows, *row);
}

void equal_list_clear(EqualList *list)
{
	g_clear_pointer(&list->top, top_free);
	g_clear_pointer(&list->loose, g_array_unref);
}

/* Add the rows of a query to the list; rows that no pass wrote are ignored. */
static bool read_rows(HashStore *store, const char *sql,
		      void (*take)(EqualList *list, sqlite3_stmt *row), EqualList *list,
		      GError **error)
{
	g_autoptr(sqlite3_stmt) rows = database_prepare(store->database, sql, error);
	bool found = true;

	while (rows && found) {
		if (!database_step(store->database, rows, &found, error))
			return false;
		if (found)
			take(list, rows);
	}

	return rows;
}

static void take_group(EqualList *list, sqlite3_stmt *row)
{
	const EqualRow group = { (uint64_t)sqlite3_column_int64(row, 0),
				 (uint64_t)sqlite3_column_int64(row, 1),
				 (uint64_t)sqlite3_column_int64(row, 2) };

	if (group.size_bytes > 0)
		top_add(list->top, &group);
}

static void take_loose(EqualList *list, sqlite3_stmt *row)
{
	uint32_t id = (uint32_t)sqlite3_column_int64(row, 0);

	g_array_append_val(list->loose, id);
}

static bool read_groups(HashStore *store, EqualList *list, GError **error)
{
	uint64_t bound;

	if (!hash_store_get_number(store, NOTE_BOUND, &bound, error))
		return false;
	list->top = top_new(bound);
	return read_rows(store, "SELECT digest, size_bytes, n_objects FROM kept_group", take_group,
			 list, error);
}

bool equal_list_read(HashStore *store, EqualList *ret, bool *ret_usable, GError **error)
{
	uint64_t next = store->counts.next_object, below;

	*ret_usable = false;
	if (!hash_store_get_number(store, WHOLE_NOTES_COVERED_BELOW, &below, error))
		return false;
	if (below == 0 || below > next || next - below > EQUAL_LIST_LOOSE_MOST)
		return true;

	ret->loose = g_array_new(false, false, sizeof(uint32_t));
	if (!read_groups(store, ret, error) ||
	    !read_rows(store, SELECT_LOOSE, take_loose, ret, error))
		return false;
	*ret_usable = ret->loose->len + (next - below) <= EQUAL_LIST_LOOSE_MOST;
	for (uint32_t id = (uint32_t)below; *ret_usable && id < next; id++)
		g_array_append_val(ret->loose, id);
	return true;
}

static bool write_row(HashStore *store, const EqualRow *row, GError **error)
{
	const uint64_t values[] = { row->digest, row->size_bytes, row->n_objects };

	return hash_store_change_rows(store, STATEMENT_PUT_KEPT_GROUP, values, error);
}

static bool write_rows(HashStore *store, const EqualTop *top, GError **error)
{
	for (guint i = 0; i < top->rows->len; i++)
		if (!write_row(store, &g_array_index(top->rows, EqualRow, i), error))
			return false;
	return true;
}

static bool write_loose(HashStore *store, const GArray *loose, GError **error)
{
	for (guint i = 0; i < loose->len; i++)
		if (!hash_store_put_loose_object(store, g_array_index(loose, uint32_t, i), error))
			return false;
	return true;
}

/* Write the bounds of what the list covers now. */
static bool write_bounds(HashStore *store, uint64_t covered_below, uint64_t bound_bytes,
			 GError **error)
{
	return hash_store_set_number(store, WHOLE_NOTES_COVERED_BELOW, covered_below, error) &&
	       hash_store_set_number(store, NOTE_BOUND, bound_bytes, error);
}

static bool clear_table(HashStore *store, const char *sql, GError **error)
{
	if (!hash_store_begin(store, error))
		return false;
	if (database_exec(store->database, sql, error))
		return true;

	store->failed = true;
	return false;
}

/* Mark the objects in @seen, a bit for each id, that anchors of @segment lead to. */
static bool mark_anchored(HashStore *store, SegmentReader *reader, const Segment *segment,
			  uint8_t *seen, GError **error)
{
	g_autoptr(SegmentCursor) cursor = segment_cursor_new(reader, segment, 16);
	uint32_t end = store->counts.next_object;

	while (hash_store_may_continue(store)) {
		if (!segment_cursor_fill(cursor, error))
			return false;
		if (!segment_cursor_at_hand(cursor))
			break;
		for (; segment_cursor_at_hand(cursor); cursor->next++) {
			const Anchor *anchor = &cursor->entries[cursor->next];

			if (anchor->block == ANCHOR_WHOLE_BLOCK && anchor->object < end)
				seen[anchor->object / 8] |= (uint8_t)(1u << anchor->object % 8);
		}
	}

	return true;
}

static bool mark_all_anchored(HashStore *store, uint8_t *seen, GError **error)
{
	g_autoptr(GPtrArray) segments = segment_list(store->database, error);
	g_autoptr(SegmentReader) reader =
		segments ? segment_reader_new(store->database, false, error) : NULL;

	for (guint i = 0; reader && i < segments->len; i++)
		if (!mark_anchored(store, reader, segments->pdata[i], seen, error))
			return false;
	return reader;
}

/* Sort all objects by digest, and list the loose ones. */
static bool add_objects(HashStore *store, const uint8_t *seen, Sorter *sorter, GArray *loose,
			GError **error)
{
	g_autoptr(ObjectCursor) cursor = object_cursor_open(store, error);
	bool has_extents = hash_store_has_extents(store);
	const Object *object;
	Digested one;

	while (cursor && hash_store_may_continue(store)) {
		if (!object_cursor_next(cursor, &object, error))
			return false;
		if (!object)
			return sorter_sort(sorter, error);
		if (!digested_take(object, has_extents, &one) ||
		    one.id >= store->counts.next_object)
			continue;
		if (!sorter_add(sorter, &one, error))
			return false;
		if (!(seen[one.id / 8] & 1u << one.id % 8) && loose->len <= EQUAL_LIST_LOOSE_MOST)
			g_array_append_val(loose, one.id);
	}

	return cursor;
}

/* Add all groups of the sorted objects. */
static bool add_groups(HashStore *store, Sorter *sorter, EqualTop *top, GError **error)
{
	Digested group = { 0 };
	uint64_t n_objects = 0;
	const Digested *one;

	do {
		if (!sorter_next(sorter, (const void **)&one, error))
			return false;
		if (n_objects > 1 && (!one || !digested_are_equal(one, &group))) {
			const EqualRow row = { group.digest, group.size_bytes, n_objects };

			top_add(top, &row);
		}
		n_objects =
			one && n_objects > 0 && digested_are_equal(one, &group) ? n_objects + 1 : 1;
		if (one)
			group = *one;
	} while (one && hash_store_may_continue(store));

	return true;
}

bool hash_store_make_equal_list(HashStore *store, GError **error)
{
	g_autofree char *directory = g_path_get_dirname(store->path);
	g_autoptr(Sorter) sorter = sorter_new(sizeof(Digested), digested_compare,
					      store->memory_bytes, directory, store->stop);
	g_autoptr(GArray) loose = g_array_new(false, false, sizeof(uint32_t));
	g_autoptr(EqualTop) top = top_new(1);
	g_autofree uint8_t *seen = NULL;
	uint32_t below;

	/* Cursors see what is committed. */
	if (!hash_store_commit(store, error))
		return false;
	below = store->counts.next_object;
	seen = g_malloc0(below / 8 + 1);
	if (!mark_all_anchored(store, seen, error) ||
	    !add_objects(store, seen, sorter, loose, error) ||
	    (hash_store_may_continue(store) && !add_groups(store, sorter, top, error)))
		return false;
	if (!hash_store_may_continue(store))
		return true;

	top_unite(top);
	return clear_table(store, "DELETE FROM kept_group; DELETE FROM loose_object;", error) &&
	       write_rows(store, top, error) && write_loose(store, loose, error) &&
	       write_bounds(store, below, top->bound_bytes, error);
}

/* Add the group of the new object. */
static bool add_noted(HashStore *store, const WholeNote *note, EqualTop *top, GError **error)
{
	Object object;
	Digested one;
	bool found;

	if (!hash_store_peek(store, note->object, &object, &found, error))
		return false;
	if (!found || !digested_take(&object, hash_store_has_extents(store), &one) ||
	    anchor_digest(one.digest) != note->digest)
		return true;

	const EqualRow row = { one.digest, one.size_bytes, note->n_anchors };
	top_add(top, &row);
	return true;
}

static bool add_all_noted(HashStore *store, Sorter *notes, EqualTop *top, GError **error)
{
	const WholeNote *note;

	while (hash_store_may_continue(store)) {
		if (!sorter_next(notes, (const void **)&note, error))
			return false;
		if (!note)
			break;
		if (!add_noted(store, note, top, error))
			return false;
	}

	return true;
}

/* Write the groups that were added; all of them, if others gave way to them.  Returns the bound in *ret_bound. */
static bool write_added(HashStore *store, EqualTop *added, uint64_t *ret_bound, GError **error)
{
	g_auto(EqualList) list = { 0 };
	uint64_t bound;

	*ret_bound = added->bound_bytes;
	if (added->rows->len == 0)
		return true;

	top_unite(added);
	if (!read_groups(store, &list, error))
		return false;
	bound = list.top->bound_bytes;
	/* Groups that were added and cut are below the bound from now on. */
	list.top->bound_bytes = added->bound_bytes;
	for (guint i = 0; i < added->rows->len; i++)
		top_add(list.top, &g_array_index(added->rows, EqualRow, i));
	*ret_bound = list.top->bound_bytes;
	if (*ret_bound == bound)
		return write_rows(store, added, error);

	top_unite(list.top);
	return clear_table(store, "DELETE FROM kept_group", error) &&
	       write_rows(store, list.top, error);
}

/* Drop loose objects that are no more, if there are many rows. */
static bool drop_gone_loose(HashStore *store, GError **error)
{
	g_auto(EqualList) list = { .loose = g_array_new(false, false, sizeof(uint32_t)) };

	if (!read_rows(store, SELECT_LOOSE, take_loose, &list, error))
		return false;
	if (list.loose->len < EQUAL_LIST_LOOSE_MOST / 2)
		return true;

	for (guint i = 0; i < list.loose->len; i++) {
		uint64_t id = g_array_index(list.loose, uint32_t, i);
		Object object;
		bool found;

		if (!hash_store_peek(store, (uint32_t)id, &object, &found, error))
			return false;
		if (!found &&
		    !hash_store_change_rows(store, STATEMENT_DROP_LOOSE_OBJECT, &id, error))
			return false;
	}

	return true;
}

/*
 * Objects that were put and settled after an earlier walk were met by none: they are looked at one by one from now
 * on.
 */
static bool add_passed_over(HashStore *store, uint64_t first, GError **error)
{
	for (uint64_t id = first; id < store->counts.settled_below; id++) {
		Object object;
		Digested one;
		bool found;

		if (!hash_store_peek(store, (uint32_t)id, &object, &found, error))
			return false;
		if (found && digested_take(&object, hash_store_has_extents(store), &one) &&
		    !hash_store_put_loose_object(store, (uint32_t)id, error))
			return false;
	}

	return true;
}

/* @below: the first object that the list did not cover so far. */
static bool take_notes(HashStore *store, Sorter *notes, uint64_t below, uint32_t covered_below,
		       GError **error)
{
	g_autoptr(EqualTop) added = NULL;
	uint64_t bound;

	if (!hash_store_get_number(store, NOTE_BOUND, &bound, error) ||
	    !add_passed_over(store, below, error))
		return false;
	added = top_new(bound);
	if (!add_all_noted(store, notes, added, error))
		return false;
	if (!hash_store_may_continue(store))
		return true;

	return write_added(store, added, &bound, error) && drop_gone_loose(store, error) &&
	       write_bounds(store, covered_below, bound, error);
}

bool hash_store_update_equal_list(HashStore *store, GError **error)
{
	uint32_t covered_below;
	Sorter *notes = whole_notes_of(store, &covered_below);
	uint64_t below;
	bool done = true;

	if (!hash_store_get_number(store, WHOLE_NOTES_COVERED_BELOW, &below, error))
		return false;
	if (below == 0 || below + EQUAL_LIST_LOOSE_MOST < store->counts.settled_below)
		done = hash_store_make_equal_list(store, error);
	else if (notes)
		done = take_notes(store, notes, below, covered_below, error);
	whole_notes_clear(store);

	return done;
}

bool hash_store_put_loose_object(HashStore *store, uint32_t id, GError **error)
{
	const uint64_t values[] = { id };

	return hash_store_change_rows(store, STATEMENT_PUT_LOOSE_OBJECT, values, error);
}
