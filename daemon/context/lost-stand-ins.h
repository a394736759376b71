/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/objects/objects.h"

/*
 * LostStandIns - files that are gone or changed, and may have stood in for others (StandIns).
 *
 * Files that relied on them must be read again, or their data would never be found.
 *
 * Memory: 8 bytes per file, up to 2 MiB.  If there are more, all files that rely on any are read again.
 *
 * Thread: as Pass.
 */
typedef struct LostStandIns LostStandIns;

LostStandIns *lost_stand_ins_new(void);
void lost_stand_ins_free(LostStandIns *lost);

/* The store's record of @object is not true any more. */
void lost_stand_ins_add(LostStandIns *lost, const Object *object);

/* All stand-ins may be lost. */
void lost_stand_ins_add_all(LostStandIns *lost);

/* No more come.  Returns whether any stand-in is lost. */
bool lost_stand_ins_end(LostStandIns *lost);

/* Whether @object has to be read again.  It must not be one that was added itself. */
bool lost_stand_ins_concern(const LostStandIns *lost, const Object *object);

/* From here on objects in the store rely on others. */
bool lost_stand_ins_expect(HashStore *store, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Whether objects in the store may rely on others. */
bool lost_stand_ins_are_expected(HashStore *store, bool *ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* The store drops @object.  A pass that begins before the note is cleared treats all stand-ins as lost. */
bool lost_stand_ins_note_drop(HashStore *store, const Object *object, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Note that all stand-ins may be lost. */
bool lost_stand_ins_note_all(HashStore *store, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Whether a loss is noted. */
bool lost_stand_ins_are_noted(HashStore *store, bool *ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* All files that relied on a lost stand-in have been read again. */
bool lost_stand_ins_clear_note(HashStore *store, GError **error) G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(LostStandIns, lost_stand_ins_free)
