/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/estimate-sequence.h"
#include "cli/extent-coverer.h"
#include "cli/file-pieces.h"

/*
 * EstimateExtents - what runs free on a btrfs, which gives an extent back when nothing shows any byte of it.
 *
 * Extents are gone over as a pass does, but without asking who shows them: those first that rather stay,
 * as several files show them, or they are longer, or lie at a lower address.  One is freed if all that is
 * shown of it has its equal in extents that stay, or is zeros that become a hole, or all but a rest that
 * is small enough to be copied.  Those that are not may serve as sources of others in a second round.
 *
 * Where all places cost too much, and read-only snapshots are the reason, the extent is deferred, by the rule of a
 * pass (place-cost).  All of it has to be covered here, though a pass covers only what writable files show.
 *
 * Thread: one at a time.
 */
typedef struct EstimateExtents EstimateExtents;

EstimateExtents *estimate_extents_new(const EstimateTask *task, GError **error);
void estimate_extents_free(EstimateExtents *extents);

/* @file shows @piece. */
bool estimate_extents_show(EstimateExtents *extents, const FilePiece *piece, const NamedFile *file,
			   GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* All was shown: put the extents in the order in which they rather stay. */
bool estimate_extents_rank(EstimateExtents *extents, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The blocks in which the runs are, to be given before the first of these; borrowed. */
void estimate_extents_begin(EstimateExtents *extents, const EstimateSequence *sequence);
bool estimate_extents_add(EstimateExtents *extents, const SequenceRun *run, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

bool estimate_extents_count(EstimateExtents *extents, unsigned usual, CoverResult *ret,
			    GError **error) G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(EstimateExtents, estimate_extents_free)
