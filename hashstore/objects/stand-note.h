/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/objects/objects.h"

/*
 * A note of the store: whether objects rely on the anchors of others (stand in Object).  If some of those others may be
 * gone or changed, it says so.  Then all objects that rely on any have to be read again.
 *
 * Thread: the one that writes the store.
 */

/* From here on objects in the store rely on others. */
bool stand_note_expect(HashStore *store, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Whether objects in the store may rely on others. */
bool stand_note_is_expected(HashStore *store, bool *ret, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The caller drops @object.  A pass that begins before the note is cleared treats all stand-ins as lost. */
bool stand_note_drop(HashStore *store, const Object *object, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* All stand-ins may be lost. */
bool stand_note_lose(HashStore *store, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Whether a loss is noted. */
bool stand_note_is_lost(HashStore *store, bool *ret, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* All files that relied on a lost stand-in have been read again. */
bool stand_note_clear(HashStore *store, GError **error) G_GNUC_WARN_UNUSED_RESULT;
