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

G_DEFINE_AUTOPTR_CLEANUP_FUNC(LostStandIns, lost_stand_ins_free)
