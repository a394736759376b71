/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/hash-store.h"

/*
 * Postponed - targets that a pass defers for a temporary reason, so that the next one tries again.
 * A file is being sent or leased, a source changed, or space is short.
 *
 * They keep their fingerprints.  When all others are settled, only they are not.  So the next pass matches them
 * again and finds their duplicates without reading.
 *
 * Thread: as Pass.
 */
typedef struct Postponed Postponed;

Postponed *postponed_new(void);
void postponed_free(Postponed *postponed);

/* Add the object unless it is settled: then it is no target. */
void postponed_add(Postponed *postponed, const HashStore *store, uint32_t object);

/* Whether the object was added, also under the id that it had before it was renewed. */
bool postponed_has(const Postponed *postponed, uint32_t object);

/* Add all targets that remain, because none can be deduplicated any more. */
void postponed_add_rest(Postponed *postponed);
bool postponed_has_rest(const Postponed *postponed);

/*
 * Whether the store need not be settled, because all unsettled objects are to stay so.  These are all objects
 * (also if more were added than are remembered one by one), or just the @n_unsettled ones.
 */
bool postponed_is_all(const Postponed *postponed, uint64_t n_unsettled);

/* Add the stretches that contain extents among them: matching uses these. */
bool postponed_add_stretches(Postponed *postponed, HashStore *store, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Make them unsettled, under new ids, and forget them. */
bool postponed_renew(Postponed *postponed, HashStore *store, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Postponed, postponed_free)
