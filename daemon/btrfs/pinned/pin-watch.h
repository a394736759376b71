/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/btrfs/pinned/extent-pin.h"
#include "daemon/context/pass.h"
#include "hashstore/objects/pinned.h"

/*
 * PinWatch - whether the cause that pins an extent still holds, as far as one look tells.
 *
 * If the pin names a reference, that one decides: while it is unchanged the extent stays, whatever else changed.
 * The watch reads only items of btrfs's trees.
 *
 * Thread: the filesystem's worker, never while it deduplicates.
 */
typedef struct PinWatch PinWatch;

PinWatch *pin_watch_new(Pass *pass);
void pin_watch_free(PinWatch *watch);

/* Whether the number of references matters, not what any of them is. */
bool pin_watch_counts_places(uint32_t cause);

/* The row to store for @extent; @pin comes from its last plan. */
PinnedExtent pin_watch_row(const Object *extent, const ExtentPin *pin);

/* Whether the cause has ended, or may have. */
bool pin_watch_is_over(PinWatch *watch, const PinnedExtent *pinned, bool *ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* All subvolumes (BtrfsSubvolume, by ascending id) as they are in this pass. */
bool pin_watch_subvolumes(PinWatch *watch, const GArray **ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(PinWatch, pin_watch_free)
