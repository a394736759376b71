/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/anchors/anchor.h"
#include "hashstore/database/store.h"

/*
 * WholeNotes - the digests over whole objects that a walk over all groups met, noted for equal-list.h: those of
 * new objects that another object has, too.
 *
 * An object is new if its id is not covered by the list of equal groups.  If there are very many, nothing is
 * noted: the list is then made anew.
 *
 * Thread: the filesystem's worker.
 */
typedef struct WholeNotes WholeNotes;

/* A new object whose digest has other anchors. */
typedef struct {
	uint64_t digest;
	uint64_t n_anchors; /* with the digest: an upper bound of the number of equal objects */
	uint32_t object;
} WholeNote;

/* The name of the note (notes.h) with the first id that the list does not cover; 0: there is no list. */
#define WHOLE_NOTES_COVERED_BELOW "equal-groups-below"

/* Begin notes that replace the store's earlier ones.  *ret is NULL if nothing is to be noted. */
bool whole_notes_begin(HashStore *store, WholeNotes **ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Drop the store's notes, if any. */
void whole_notes_clear(HashStore *store);

/* Take one anchor over a whole object.  All anchors of one digest come together; then the digest is ended. */
void whole_notes_add(WholeNotes *notes, const Anchor *anchor);
void whole_notes_end_digest(WholeNotes *notes, uint64_t digest);

/* The walk came to its end. */
void whole_notes_finish(WholeNotes *notes);

/* The notes of the last walk; NULL if it did not come to its end, or noted nothing because of very many. */
const WholeNotes *whole_notes_of(const HashStore *store);

const WholeNote *whole_notes_list(const WholeNotes *notes, size_t *ret_n);

/* The ids from *ret_first to below *ret_end were looked for. */
void whole_notes_range(const WholeNotes *notes, uint32_t *ret_first, uint32_t *ret_end);

/* Whether the object in this range has an anchor over all of it. */
bool whole_notes_has(const WholeNotes *notes, uint32_t object);

/* True if enough objects are new, compared with all, to make the list of equal groups anew. */
bool whole_notes_are_many(const HashStore *store, uint64_t covered_below);
