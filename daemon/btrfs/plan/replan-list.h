/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/btrfs/pinned/extent-pin.h"
#include "hashstore/objects/objects.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * ReplanList - extents to plan once more, by id: sources of pinned extents, and targets that had to stay.  Each has
 * marks of the extents that it may help.
 *
 * A target may be pinned too early: equals that it lacks are pinned later, so they stay and may be its sources.  For
 * such a target the list samples which part of it they have.
 *
 * Memory: about 80 bytes per extent.
 * Thread: the filesystem's worker.
 */
typedef struct ReplanList ReplanList;

typedef struct {
	uint64_t marks;        /* one of 64 bits per extent, so some extents have the same */
	uint64_t equal_blocks; /* at most so many of it do these extents have */
	uint64_t blocks;  /* of a target that was pinned because it lacked equals; 0: it was not */
	uint64_t samples; /* a bit per sampled block that extents pinned later have */
	/* Id of the target that was pinned for lack of equals and has the longest run to this one; 0: none. */
	uint32_t helped;
} ReplanEntry;

/*
 * @certain_blocks: an equal range may go on for fewer blocks than that before and behind a run, since they have no
 * anchor.
 */
ReplanList *replan_list_new(uint32_t block_bytes, uint32_t certain_blocks);
void replan_list_free(ReplanList *list);

/* Plan the extent @id once more because of the one at @address. */
void replan_list_add(ReplanList *list, uint32_t id, uint64_t address);

/*
 * @target is pinned by @pin: plan the sources of its @runs (of Run) once more.  Plan it once more itself if it lacks
 * more than a quarter, too much for a copy, and turns out to be early.
 *
 * @is_new: no earlier pass pinned it.  Otherwise that pass planned its sources with it, so only those are added that
 * lacked equals themselves.
 */
void replan_list_add_pinned(ReplanList *list, const Object *target, const ExtentPin *pin,
			    const GArray *runs, bool is_new);

/* Whether @entry was pinned too early: extents pinned later have at least three quarters of it. */
bool replan_entry_is_early(const ReplanEntry *entry);

/* Whether @entry has data of a target that was pinned too early, so it should stay until that is planned. */
bool replan_list_is_needed(const ReplanList *list, const ReplanEntry *entry);

/* Go through all: GPOINTER_TO_UINT() of a key is an id, and its value points to a ReplanEntry. */
void replan_list_iterate(ReplanList *list, GHashTableIter *iterator);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(ReplanList, replan_list_free)
