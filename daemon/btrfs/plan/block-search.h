/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/content/extent-sums.h"
#include "daemon/btrfs/pinned/extent-pin.h"
#include "daemon/context/object-table.h"
#include "daemon/context/pass.h"
#include "hashstore/anchors/sorter.h"

/*
 * BlockSearch - finds other copies of each block of some extents, anywhere on the btrfs filesystem.
 *
 * Anchors find common data of two extents from some 19 blocks on.  An image of a filesystem is equal to very many
 * small files, each of which is shorter.  So nearly all of its data has copies elsewhere, but anchors find too few
 * of them.  For such extents all checksums are searched once more.
 *
 * That costs a read of the checksum tree, 1/1024 of the data if checksums have 4 bytes.  So it is done only if the
 * extents concerned come to four times as much.  If they do not fit into memory, the search is repeated as often
 * as they fill it, beginning with those of which most is known.
 *
 * Memory: a quarter of the pass's limit for blocks, and a sixteenth for the list of extents; more are left out.
 * Thread: the filesystem's worker, never while it deduplicates.
 */
typedef struct BlockSearch BlockSearch;

/* All is borrowed. */
BlockSearch *block_search_new(Pass *pass, ExtentSums *sums, ObjectTable *table);
void block_search_free(BlockSearch *search);

/*
 * @extent is pinned by @pin, and @runs are what it has in common with others.  *ret is true if it is taken, and neither
 * to be counted nor kept yet: little enough is not covered.
 *
 * So is the extent that it has most in common with, which may be the one that can go: an older image lacks what a newer
 * one has besides, and which of them is planned for first depends on where they lie.
 */
bool block_search_add(BlockSearch *search, const Object *extent, const ExtentPin *pin,
		      const GArray *runs, bool *ret, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * Look for all that were added, if it is worth it: what they have in common with extents that stay is added to
 * @runs, and they may be targets once more.
 */
bool block_search_run(BlockSearch *search, Sorter *runs, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The ids of those that were looked for only since they are the main source of others; the search's own. */
GHashTable *block_search_sources(const BlockSearch *search);

/* No more are tried: those that were not tried once more are kept and counted as pinned. */
bool block_search_end(BlockSearch *search, GError **error) G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(BlockSearch, block_search_free)
