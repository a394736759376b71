/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/files/extent-refs.h"
#include "daemon/context/pass.h"

/*
 * RefChoice - which references to an extent are redirected to free it: all, those in writable subvolumes, or
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
typedef struct RefChoice RefChoice;

/* @refs is borrowed: it lists the chosen references. */
RefChoice *ref_choice_new(Pass *pass, ExtentRefs *refs);
void ref_choice_free(RefChoice *choice);

/*
 * Choose references to @extent; with @defers none in read-only snapshots.  *ret is
 * EXTENT_REFS_PARTIAL if the extent cannot be freed, or costs too much.  In the latter case the
 * reason is EXTENT_UNSEEN_MORE.
 */
bool ref_choice_make(RefChoice *choice, const Object *extent, bool defers, ExtentRefsOutcome *ret,
		     GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * Whether all references were chosen, and the read-only ones could be left to the deletion of their snapshots
 * instead.
 */
bool ref_choice_may_defer(const RefChoice *choice);

/* The subvolumes (uint64_t, ascending) that keep the extent; empty if all references were chosen. */
const GArray *ref_choice_holders(const RefChoice *choice);

/* The bytes to compare, on both sides, to share all references; less if the choice was given up before. */
uint64_t ref_choice_compare_bytes(const RefChoice *choice);

/* How many references would be affordable, if all cost the same. */
uint64_t ref_choice_affordable(const RefChoice *choice);

typedef enum {
	EXTENT_IS_GONE,
	EXTENT_IS_HELD,  /* only read-only subvolumes reference it: ref_choice_holders() */
	EXTENT_IS_SHOWN, /* a writable subvolume does, or that is not known */
} ExtentShown;

/* The present references to @extent. */
bool ref_choice_look(RefChoice *choice, const Object *extent, ExtentShown *ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(RefChoice, ref_choice_free)
