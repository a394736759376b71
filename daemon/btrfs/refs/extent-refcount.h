/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "kernel-ioctl/btrfs/btrfs-items.h"

#include <glib.h>
#include <stdbool.h>

/*
 * ExtentRefcount - which data extents of btrfs have references from several files or subvolumes, as far as their
 * items tell.  Of two equal extents, such a one should stay, since all references to the other have to be
 * redirected.
 *
 * Overwriting parts of an extent within one file leaves several pieces of it, which do not count as sharing.  An
 * item counts references from leaves, and several snapshots may have a leaf in common.  So an extent that is older
 * than a snapshot of its subvolume counts, too, though files may have changed since.
 *
 * Thread: the filesystem's worker.
 */
typedef struct ExtentRefcount ExtentRefcount;

/* @fd is any descriptor of the filesystem, borrowed.  Subvolumes are looked at when first asked for. */
ExtentRefcount *extent_refcount_new(int fd);
void extent_refcount_free(ExtentRefcount *refcount);

bool extent_refcount_is_shared(ExtentRefcount *refcount, const BtrfsExtentItem *item, bool *ret,
			       GError **error) G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(ExtentRefcount, extent_refcount_free)
