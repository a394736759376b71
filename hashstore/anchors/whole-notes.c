/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/anchors/whole-notes.h"

#include "hashstore/database/notes.h"
#include "hashstore/database/store-state.h"

/* The part of the store's memory that notes take. */
#define MEMORY_PART 16

struct WholeNotes {
	/* Set at creation, never changed. */
	uint32_t first;
	uint32_t end;

	Sorter *sorter; /* WholeNote */
	bool is_finished;
	/* Of the present digest. */
	uint64_t n_anchors;
	uint32_t live; /* a new object; 0: none is live */
	GArray *dead;  /* new objects (uint32_t) that are not live */
};

static int compare_notes(const void *a, const void *b)
{
	const WholeNote *one = a, *other = b;

	return (one->object > other->object) - (one->object < other->object);
}

void whole_notes_clear(HashStore *store)
{
	WholeNotes *notes = g_steal_pointer(&store->whole_notes);

	if (!notes)
		return;

	sorter_free(notes->sorter);
	g_array_unref(notes->dead);
	g_free(notes);
}

bool whole_notes_begin(HashStore *store, WholeNotes **ret, GError **error)
{
	g_autofree char *directory = g_path_get_dirname(store->path);
	WholeNotes *notes;
	uint64_t below;

	*ret = NULL;
	whole_notes_clear(store);
	if (!hash_store_get_number(store, WHOLE_NOTES_COVERED_BELOW, &below, error))
		return false;
	if (below == 0 || below >= store->counts.next_object)
		return true;

	notes = g_new0(WholeNotes, 1);
	notes->first = (uint32_t)below;
	notes->end = store->counts.next_object;
	notes->sorter = sorter_new(sizeof(WholeNote), compare_notes,
				   store->memory_bytes / MEMORY_PART, directory, store->stop);
	notes->dead = g_array_new(false, false, sizeof(uint32_t));
	store->whole_notes = notes;
	*ret = notes;
	return true;
}

void whole_notes_add(WholeNotes *notes, const Anchor *anchor, bool is_live)
{
	notes->n_anchors++;
	if (anchor->object < notes->first || anchor->object >= notes->end)
		return;
	if (is_live)
		notes->live = anchor->object;
	else if (notes->live == 0)
		g_array_append_val(notes->dead, anchor->object);
}

static bool add_note(WholeNotes *notes, uint64_t digest, uint32_t object, GError **error)
{
	const WholeNote note = { digest, notes->n_anchors, object };

	return sorter_add(notes->sorter, &note, error);
}

static bool add_notes(WholeNotes *notes, uint64_t digest, GError **error)
{
	if (notes->n_anchors < 2)
		return true;
	if (notes->live > 0)
		return add_note(notes, digest, notes->live, error);

	for (guint i = 0; i < notes->dead->len; i++)
		if (!add_note(notes, digest, g_array_index(notes->dead, uint32_t, i), error))
			return false;
	return true;
}

bool whole_notes_end_digest(WholeNotes *notes, uint64_t digest, GError **error)
{
	if (notes->n_anchors == 0)
		return true;
	if (!add_notes(notes, digest, error))
		return false;

	g_array_set_size(notes->dead, 0);
	notes->n_anchors = 0;
	notes->live = 0;
	return true;
}

bool whole_notes_finish(WholeNotes *notes, GError **error)
{
	notes->is_finished = true;
	return sorter_sort(notes->sorter, error);
}

Sorter *whole_notes_of(const HashStore *store, uint32_t *ret_covered_below)
{
	const WholeNotes *notes = store->whole_notes;

	if (!notes || !notes->is_finished)
		return NULL;

	*ret_covered_below = notes->end;
	return notes->sorter;
}
