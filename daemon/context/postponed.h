/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/hash-store.h"

/*
 * Postponed - targets that a pass leaves alone for a reason that may pass, so that the next one tries
 * again: a file that is being sent or leased, a source that changed, want of space.
 *
 * They keep their fingerprints.  When all others are settled they alone are not, so the next pass
 * matches them again and reads nothing to find what they share.
 *
 * Thread: the filesystem's worker.
 */
typedef struct Postponed Postponed;

Postponed *postponed_new(void);
void postponed_free(Postponed *postponed);

/* Unless the object is settled: then it is no target. */
void postponed_add(Postponed *postponed, const HashStore *store, uint32_t object);

/* Whether the object was added, be it under the id that it had before it was renewed. */
bool postponed_has(const Postponed *postponed, uint32_t object);

/* All that is still to be shared, since nothing can be any more. */
void postponed_add_rest(Postponed *postponed);
bool postponed_has_rest(const Postponed *postponed);

/*
 * Whether the store need not be settled, as what is unsettled is to stay so: all of it (also when
 * more was added than is remembered one by one), or just the @n_unsettled objects that there are.
 */
bool postponed_is_all(const Postponed *postponed, uint64_t n_unsettled);

/* Add the stretches that extents among them are part of: by these they are matched. */
bool postponed_add_stretches(Postponed *postponed, HashStore *store, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Take them out of what was settled, and forget them: they have other ids by then. */
bool postponed_renew(Postponed *postponed, HashStore *store, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Postponed, postponed_free)
