/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/btrfs/find/extent-fingerprint.h"

/*
 * StretchFinder - puts small data extents into the store, those that lie side by side in a file as
 * parts of a stretch.
 *
 * Which file shows an extent its item tells; the items of a file are read only where more than one of
 * its small extents is new, or a new one does not begin it.  So a filesystem full of small files is
 * found without looking at any of them.
 *
 * Thread: the filesystem's worker, never while it shares.
 */
typedef struct StretchFinder StretchFinder;

/* @is_first: the store knows no extents yet.  The other arguments are borrowed. */
StretchFinder *stretch_finder_new(Pass *pass, const BtrfsInfo *info,
				  ExtentFingerprinter *fingerprinter, bool is_first);
void stretch_finder_free(StretchFinder *finder);

/* Whether the extent is one for stretch_finder_add(). */
bool stretch_finder_wants(const StretchFinder *finder, const DataExtent *extent);

/*
 * Add a new extent.  @item is its EXTENT_ITEM, NULL if that is not at hand.  It is put by
 * stretch_finder_finish(): until then the store does not know it.
 */
bool stretch_finder_add(StretchFinder *finder, const DataExtent *extent,
			const BtrfsExtentItem *item, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Put all that were added.  Those that remain when the pass is asked to stop stay new. */
bool stretch_finder_finish(StretchFinder *finder, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Whether the stretch @key, where its file has it, still shows the extent at @address. */
bool stretch_finder_shows(StretchFinder *finder, uint64_t key, uint64_t address, bool *ret,
			  GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Forget @stretch if its file no longer shows any extent there that is part of it. */
bool stretch_finder_check(StretchFinder *finder, const Object *stretch, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(StretchFinder, stretch_finder_free)
