/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/content/extent-sums.h"
#include "daemon/btrfs/pinned/extent-pin.h"
#include "daemon/context/object-table.h"
#include "daemon/context/pass.h"
#include "hashstore/anchors/sorter.h"

/*
 * BlockSearch - finds copies of each block of some extents, anywhere on the btrfs filesystem.
 *
 * Anchors find equal ranges of about 19 blocks or more.  An image of a filesystem equals very many small files,
 * each of which is shorter.  So nearly all of its data has copies, but anchors find too few of them.  For such
 * extents all checksums are searched once more.
 *
 * This reads the checksum tree, 1/1024 of the data if checksums have 4 bytes.  So the extents searched for must
 * have four times as many bytes.  If they do not fit into memory, the search runs several times, beginning with
 * those of which most is covered.
 *
 * Memory: a quarter of the pass's limit for blocks, and a sixteenth for the list of extents; more are left out.
 * Thread: the filesystem's worker, never while it deduplicates.
 */
typedef struct BlockSearch BlockSearch;

/* All is borrowed. */
BlockSearch *block_search_new(Pass *pass, ExtentSums *sums, ObjectTable *table);
void block_search_free(BlockSearch *search);

/*
 * @extent is pinned by @pin, and @runs are its equal ranges.  *ret: it was added, because little enough is not
 * covered.  Then it is neither counted nor stored as pinned yet.
 *
 * The extent that it has most in common with is added, too: that one may be freed instead.  For instance, an older
 * image lacks data of a newer one, and their addresses decide which is planned first.
 */
bool block_search_add(BlockSearch *search, const Object *extent, const ExtentPin *pin,
		      const GArray *runs, bool *ret, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * If it is worth it, search for all that were added: add ranges that they have in common with extents that stay to
 * @runs.  They may be targets once more.
 */
bool block_search_run(BlockSearch *search, Sorter *runs, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The ids of extents that were added only as the main source of others; owned by the search. */
GHashTable *block_search_sources(const BlockSearch *search);

/* End the search: extents that were not tried once more are stored and counted as pinned. */
bool block_search_end(BlockSearch *search, GError **error) G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(BlockSearch, block_search_free)
