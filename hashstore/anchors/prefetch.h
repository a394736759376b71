/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/database/store-state.h"

/*
 * Prefetch - brings into the page cache what the next look-ups in settled segments will read.
 *
 * A look-up reads pages at random, so one after the other waits for the disk each time.  Several
 * threads do the next look-ups with connections of their own, at once, and throw the answers away;
 * whoever then does them in earnest finds all pages in memory and meets all errors.
 *
 * Thread: the filesystem's worker.
 */
typedef struct Prefetch Prefetch;

/* @walked have the digests that are looked up in @looked_up.  All arguments must outlive it. */
Prefetch *prefetch_new(HashStore *store, Database *database, const GPtrArray *walked,
		       const GPtrArray *looked_up, GError **error);
void prefetch_free(Prefetch *ahead);

/* @digest, the next one in order, is about to be looked up. */
bool prefetch_reach(Prefetch *ahead, uint64_t digest, GError **error) G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Prefetch, prefetch_free)
