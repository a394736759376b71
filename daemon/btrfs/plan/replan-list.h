/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdint.h>

/*
 * ReplanList - extents to plan once more, by id: sources of pinned extents, and targets that had to stay.  Each has
 * marks of the extents that it may help.
 *
 * A mark is one of 64 bits, so some extents have the same.
 *
 * Thread: the filesystem's worker.
 */
typedef struct ReplanList ReplanList;

ReplanList *replan_list_new(void);
void replan_list_free(ReplanList *list);

/* Plan the extent @id once more because of the one at @address. */
void replan_list_add(ReplanList *list, uint32_t id, uint64_t address);

/* Go through all: GPOINTER_TO_UINT() of a key is an id, and its value points to the marks (uint64_t). */
void replan_list_iterate(ReplanList *list, GHashTableIter *iterator);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(ReplanList, replan_list_free)
