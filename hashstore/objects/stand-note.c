/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/objects/stand-note.h"

#include "hashstore/database/notes.h"

/* 1: some objects rely on others.  2: some of those others may be gone, too. */
#define STANDS_NOTE "clone-stands"

enum { NOTE_EXPECTED = 1, NOTE_LOST = 2 };

/* Raise the note to @least. */
static bool raise_note(HashStore *store, uint64_t least, GError **error)
{
	uint64_t note;

	if (!hash_store_get_number(store, STANDS_NOTE, &note, error))
		return false;

	return note >= least || hash_store_set_number(store, STANDS_NOTE, least, error);
}

bool stand_note_expect(HashStore *store, GError **error)
{
	return raise_note(store, NOTE_EXPECTED, error);
}

bool stand_note_is_expected(HashStore *store, bool *ret, GError **error)
{
	uint64_t note;

	if (!hash_store_get_number(store, STANDS_NOTE, &note, error))
		return false;

	*ret = note >= NOTE_EXPECTED;
	return true;
}

bool stand_note_drop(HashStore *store, const Object *object, GError **error)
{
	return !(object->flags & OBJECT_CLONED) || stand_note_lose(store, error);
}

bool stand_note_lose(HashStore *store, GError **error)
{
	bool are_expected;

	if (!stand_note_is_expected(store, &are_expected, error))
		return false;

	return !are_expected || raise_note(store, NOTE_LOST, error);
}

bool stand_note_is_lost(HashStore *store, bool *ret, GError **error)
{
	uint64_t note;

	if (!hash_store_get_number(store, STANDS_NOTE, &note, error))
		return false;

	*ret = note == NOTE_LOST;
	return true;
}

bool stand_note_clear(HashStore *store, GError **error)
{
	bool are_noted;

	if (!stand_note_is_lost(store, &are_noted, error))
		return false;

	return !are_noted || hash_store_set_number(store, STANDS_NOTE, NOTE_EXPECTED, error);
}
