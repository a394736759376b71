/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "kernel-ioctl/btrfs/btrfs-items.h"

#include <glib.h>
#include <stdbool.h>

/*
 * ExtentSharing - which data extents of btrfs several files or subvolumes show, as far as their items
 * tell: of two equal ones that one rather stays, since all places of the other have to be shared.
 *
 * What was overwritten within one file left several pieces of it, which are no sharing.  An item counts
 * references from leaves, and a leaf may be that of several snapshots: so an extent that is older than a
 * snapshot of its subvolume counts, too, though files may have changed since.
 *
 * Thread: the filesystem's worker.
 */
typedef struct ExtentSharing ExtentSharing;

/* @fd is any descriptor of the filesystem, borrowed.  Subvolumes are looked at when first asked for. */
ExtentSharing *extent_sharing_new(int fd);
void extent_sharing_free(ExtentSharing *sharing);

bool extent_sharing_ask(ExtentSharing *sharing, const BtrfsExtentItem *item, bool *ret,
			GError **error) G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(ExtentSharing, extent_sharing_free)
