/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/anchors/whole-notes.h"

#include "hashstore/database/notes.h"
#include "hashstore/database/store-state.h"

/* Notes take 24 bytes each. */
#define NOTES_MOST (1u << 17)

/* The list is made anew if at least one in this many objects is new: that costs less than noting them. */
#define NEW_SHARE 8

struct WholeNotes {
	/* Set at creation, never changed. */
	uint32_t first;
	uint32_t end;

	uint8_t *seen;      /* a bit for each id of the range */
	GArray *list;       /* WholeNote */
	GArray *new;        /* new objects (uint32_t) of the present digest */
	uint64_t n_anchors; /* of the present digest */
	bool is_overfull;
	bool is_finished;
};

void whole_notes_clear(HashStore *store)
{
	WholeNotes *notes = g_steal_pointer(&store->whole_notes);

	if (!notes)
		return;

	g_array_unref(notes->list);
	g_array_unref(notes->new);
	g_free(notes->seen);
	g_free(notes);
}

bool whole_notes_are_many(const HashStore *store, uint64_t covered_below)
{
	uint64_t next = store->counts.next_object;

	return next > covered_below && (next - covered_below) * NEW_SHARE >= store->counts.objects;
}

bool whole_notes_begin(HashStore *store, WholeNotes **ret, GError **error)
{
	uint32_t next = store->counts.next_object;
	WholeNotes *notes;
	uint64_t below;

	*ret = NULL;
	whole_notes_clear(store);
	if (!hash_store_get_number(store, WHOLE_NOTES_COVERED_BELOW, &below, error))
		return false;
	if (below == 0 || below >= next || whole_notes_are_many(store, below))
		return true;

	notes = g_new0(WholeNotes, 1);
	notes->first = (uint32_t)below;
	notes->end = next;
	notes->seen = g_malloc0((next - below) / 8 + 1);
	notes->list = g_array_new(false, false, sizeof(WholeNote));
	notes->new = g_array_new(false, false, sizeof(uint32_t));
	store->whole_notes = notes;
	*ret = notes;
	return true;
}

void whole_notes_add(WholeNotes *notes, const Anchor *anchor)
{
	uint32_t at = anchor->object - notes->first;

	notes->n_anchors++;
	if (anchor->object < notes->first || anchor->object >= notes->end)
		return;

	notes->seen[at / 8] |= (uint8_t)(1u << at % 8);
	g_array_append_val(notes->new, anchor->object);
}

void whole_notes_end_digest(WholeNotes *notes, uint64_t digest)
{
	if (notes->list->len + notes->new->len > NOTES_MOST)
		notes->is_overfull = true;
	for (guint i = 0; notes->n_anchors > 1 && i < notes->new->len && !notes->is_overfull; i++) {
		const WholeNote note = { digest, notes->n_anchors,
					 g_array_index(notes->new, uint32_t, i) };

		g_array_append_val(notes->list, note);
	}

	g_array_set_size(notes->new, 0);
	notes->n_anchors = 0;
}

void whole_notes_finish(WholeNotes *notes)
{
	notes->is_finished = true;
}

const WholeNotes *whole_notes_of(const HashStore *store)
{
	const WholeNotes *notes = store->whole_notes;

	return notes && notes->is_finished && !notes->is_overfull ? notes : NULL;
}

const WholeNote *whole_notes_list(const WholeNotes *notes, size_t *ret_n)
{
	*ret_n = notes->list->len;
	return (const WholeNote *)notes->list->data;
}

void whole_notes_range(const WholeNotes *notes, uint32_t *ret_first, uint32_t *ret_end)
{
	*ret_first = notes->first;
	*ret_end = notes->end;
}

bool whole_notes_has(const WholeNotes *notes, uint32_t object)
{
	uint32_t at = object - notes->first;

	return notes->seen[at / 8] & 1u << at % 8;
}
