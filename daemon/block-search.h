/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/extent-pin.h"
#include "daemon/extent-sums.h"
#include "daemon/object-table.h"
#include "daemon/pass.h"
#include "hashstore/sorter.h"

/*
 * BlockSearch - finds each block of some extents of btrfs wherever else on the filesystem it is.
 *
 * Anchors find what two extents have in common from some 19 blocks on.  An image of a filesystem is equal to very many
 * small files, each of which is shorter; so nearly all of it is elsewhere, and too little of that is known.
 * For such extents all checksums are looked through once more.
 *
 * That costs a read of the checksum tree, 1/1024 of the data.  So it is done only where the extents that it is for come to
 * four times as much.
 *
 * Memory: a quarter of the pass's limit; extents that do not fit are left out, those of which least is known first.
 * Thread: the filesystem's worker, never while it shares.
 */
typedef struct BlockSearch BlockSearch;

/* All is borrowed. */
BlockSearch *block_search_new(Pass *pass, ExtentSums *sums, ObjectTable *table);
void block_search_free(BlockSearch *search);

/* @extent is pinned by @pin.  True if it is taken, and not to be counted yet: little enough of it is not covered. */
bool block_search_add(BlockSearch *search, const Object *extent, const ExtentPin *pin);

/*
 * Look for all that were added, if it is worth it: what they have in common with extents that stay is added to
 * @runs, and they may be targets once more.
 */
bool block_search_run(BlockSearch *search, Sorter *runs, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* No more are tried: those that were not tried once more are counted as pinned. */
bool block_search_end(BlockSearch *search, GError **error) G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(BlockSearch, block_search_free)
