/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/files/extent-refs.h"
#include "daemon/context/pass.h"

/*
 * ExtentChoice - which references to an extent are redirected to free it: all, those in writable subvolumes, or
 * none.
 *
 * Each reference costs a comparison of its range.  An image that was overwritten in thousands of pieces has
 * thousands of references, which show each byte once.  A hundred snapshots show each byte a hundred times.  So the
 * bytes of all references together are weighed against the bytes freed (MaxCompare=).
 *
 * If that is too much because of read-only snapshots, only the writable references are chosen.  New snapshots then
 * refer to the replacement, and the extent is freed when the old ones are deleted.  The subvolumes that keep it
 * until then are its holders.
 *
 * The extent's item mostly names files of one subvolume only.  If that has no snapshots, it has all references.
 * If nobody wrote to its snapshots, those made since the extent was allocated have the same references.  So the
 * cost of all references and the holders are known without LOGICAL_INO, which takes longer with each snapshot.
 *
 * Otherwise all references are found.  A snapshot mostly has the same reference as its origin, at the same offset
 * of the same inode.  So one reference of each such group is looked up, and the others only if they are chosen.
 *
 * Thread: the filesystem's worker, never while it deduplicates.
 */
typedef struct ExtentChoice ExtentChoice;

/* @refs is borrowed: what was chosen is what it lists. */
ExtentChoice *extent_choice_new(Pass *pass, ExtentRefs *refs);
void extent_choice_free(ExtentChoice *choice);

/*
 * Choose places of @extent, of those in read-only snapshots none if @defers.  *ret is EXTENT_REFS_PARTIAL if it cannot
 * be freed, or costs too much: then EXTENT_UNSEEN_MORE is the reason.
 */
bool extent_choice_make(ExtentChoice *choice, const Object *extent, bool defers,
			ExtentRefsOutcome *ret, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Whether all places were chosen, and the read-only ones may as well be left to the deletion of their snapshots. */
bool extent_choice_may_defer(const ExtentChoice *choice);

/* Whether no place was chosen, as all are in read-only subvolumes and cost too much: they are listed nevertheless. */
bool extent_choice_is_left(const ExtentChoice *choice);

/* The subvolumes (uint64_t, ascending) that keep the extent after all; empty if all places were chosen. */
const GArray *extent_choice_holders(const ExtentChoice *choice);

/* Bytes that would be compared, on both sides, to share all places; less than that if it was given up before. */
uint64_t extent_choice_compare_bytes(const ExtentChoice *choice);

/* How many places of these it would be worth to share, if all cost the same. */
uint64_t extent_choice_affordable(const ExtentChoice *choice);

typedef enum {
	EXTENT_IS_GONE,
	EXTENT_IS_HELD,  /* nothing but read-only subvolumes shows it: extent_choice_holders() */
	EXTENT_IS_SHOWN, /* something writable does, or that is not known */
} ExtentShown;

/* The present references to @extent. */
bool extent_choice_look(ExtentChoice *choice, const Object *extent, ExtentShown *ret,
			GError **error) G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(ExtentChoice, extent_choice_free)
