/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/content/run.h"
#include "daemon/share/block-set.h"
#include "daemon/share/dedupe-window.h"
#include "daemon/share/open-object.h"

/*
 * RunSharer - deduplicates the runs of one target after another.
 *
 * It recognises shared ranges by their place and compares the remainder.  It gives maximal equal ranges to the
 * kernel, then looks at their places again to see what the kernel shared.  A run is extended both ways for as long
 * as the data is equal.
 *
 * It skips ranges shorter than an anchor, unless they continue others: each would be an extent of its own.
 *
 * On XFS, blocks of a target that have other references are put into the pass's ClonePairs instead.
 *
 * Thread: as Pass; each thread has one of its own.  It gives its turn away while it waits for the disk or the kernel.
 */
typedef struct RunSharer RunSharer;

/* Both are borrowed. */
RunSharer *run_sharer_new(Pass *pass, FileOpener *opener);
void run_sharer_free(RunSharer *sharer);

/* End and close the present target, and begin with @target. */
void run_sharer_begin_take(RunSharer *sharer, OpenObject *target);

/*
 * No more is shared onto the target.  In a pass over extents, count what that freed, in whole extents.  In other
 * passes blocks are counted as they are shared.
 */
void run_sharer_end_target(RunSharer *sharer);

/* End and close the present target. */
void run_sharer_close(RunSharer *sharer);

/* The present target; NULL before the first one. */
OpenObject *run_sharer_target(const RunSharer *sharer);

/*
 * Share the part of @run, of the present target, that is not shared yet.  @source is the object that it equals;
 * NULL: a hole.  A target or source that proves unusable is given up: its reader is NULL afterwards.
 */
bool share_run(RunSharer *sharer, const Run *run, OpenObject *source, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* One reference, in the present target, to blocks that are to be freed. */
typedef struct {
	uint64_t target_block;
	uint64_t source_block;
	uint64_t target_place; /* on the disk, in blocks */
	uint64_t source_place; /* the same; CLONE_PLACE_HOLE: a hole */
	uint64_t blocks;
	bool is_source_read; /* another reference was compared with the source just before */
} CloneTarget;

/* Share exactly these blocks with @source, NULL for a hole, if they still lie there. */
bool share_clone(RunSharer *sharer, const CloneTarget *clone, OpenObject *source, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* The blocks of the present target that are shared, or need not be. */
BlockSet *run_sharer_settled(RunSharer *sharer);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(RunSharer, run_sharer_free)
