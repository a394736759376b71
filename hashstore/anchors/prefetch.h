/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/database/store-state.h"

/*
 * Prefetch - reads the pages that the next look-ups in settled segments need into the page cache.
 *
 * A look-up reads pages at random, so one after another each waits for the disk.  Several threads make the
 * next look-ups at once, with connections of their own, and ignore results and errors.  The real look-ups then
 * find all pages in memory, and report all errors.
 *
 * Thread: the filesystem's worker.
 */
typedef struct Prefetch Prefetch;

/* The digests of @walked are looked up in @looked_up.  All arguments must outlive the Prefetch. */
Prefetch *prefetch_new(HashStore *store, Database *database, const GPtrArray *walked,
		       const GPtrArray *looked_up, GError **error);
void prefetch_free(Prefetch *ahead);

/* @digest, the next one in order, is about to be looked up. */
bool prefetch_reach(Prefetch *ahead, uint64_t digest, GError **error) G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Prefetch, prefetch_free)
