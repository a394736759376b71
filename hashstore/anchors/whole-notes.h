/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/anchors/anchor.h"
#include "hashstore/anchors/sorter.h"
#include "hashstore/database/store.h"

/*
 * WholeNotes - the digests over whole objects that a walk over all groups met, noted for equal-list.h: those of
 * new objects that another object has, too.
 *
 * An object is new if its id is not covered by the list of equal groups.
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

/*
 * Take one anchor over a whole object.  All anchors of one digest come together; then the digest is ended.  One of
 * its new objects is noted, which @is_live; or all, if none is.
 */
void whole_notes_add(WholeNotes *notes, const Anchor *anchor, bool is_live);
bool whole_notes_end_digest(WholeNotes *notes, uint64_t digest, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* The walk came to its end. */
bool whole_notes_finish(WholeNotes *notes, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * The notes (WholeNote) of the last walk, in order of the objects; NULL if it did not come to its end.  They cover
 * all objects below *ret_covered_below.
 */
Sorter *whole_notes_of(const HashStore *store, uint32_t *ret_covered_below);
