/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/btrfs/find/extent-fingerprint.h"

/*
 * StretchFinder - puts small data extents into the store.  Extents that lie side by side in a file become parts of
 * a stretch.
 *
 * The item of an extent names the file.  The items of a file are read only if several of its small extents are new,
 * or if a new one does not begin it.  So no file of a filesystem full of small files is looked at.
 *
 * Thread: the filesystem's worker, never while it shares.
 */
typedef struct StretchFinder StretchFinder;

/* @is_first: the store knows no extents yet.  The other arguments are borrowed. */
StretchFinder *stretch_finder_new(Pass *pass, const BtrfsInfo *info,
				  ExtentFingerprinter *fingerprinter, bool is_first);
void stretch_finder_free(StretchFinder *finder);

/* Whether the extent is small enough for stretch_finder_add(). */
bool stretch_finder_wants(const StretchFinder *finder, const DataExtent *extent);

/*
 * Add a new extent.  @item is its EXTENT_ITEM; NULL: it is not known.  stretch_finder_finish() puts it; until then the
 * store does not know it.
 */
bool stretch_finder_add(StretchFinder *finder, const DataExtent *extent,
			const BtrfsExtentItem *item, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Put all that were added.  If the pass is asked to stop, the remaining ones stay new. */
bool stretch_finder_finish(StretchFinder *finder, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Whether the file of the stretch @key still references the extent at @address there. */
bool stretch_finder_shows(StretchFinder *finder, uint64_t key, uint64_t address, bool *ret,
			  GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Forget @stretch if its file no longer references any of its extents there. */
bool stretch_finder_check(StretchFinder *finder, const Object *stretch, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(StretchFinder, stretch_finder_free)
