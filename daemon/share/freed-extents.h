/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/share/block-set.h"
#include "daemon/share/open-object.h"
#include "kernel-ioctl/btrfs/btrfs-ref-bound.h"

/*
 * FreedExtents - what btrfs gives back when a file is shared onto: the extents that the file showed
 * before, and that nothing shows afterwards.
 *
 * Needs CAP_SYS_ADMIN.  Memory: 32 bytes for each extent of one file.
 *
 * Thread: the filesystem's worker, never while it shares.
 */
typedef struct FreedExtents FreedExtents;

/* @fd, of the filesystem, and @stop are borrowed. */
FreedExtents *freed_extents_new(int fd, uint32_t block_bytes, BtrfsRefBound *bound,
				const atomic_bool *stop);
void freed_extents_free(FreedExtents *extents);

/* Note which extents the file shows. */
void freed_extents_begin(FreedExtents *extents, const OpenObject *file);

/* Bytes of those that are gone since; of what cannot be found out, or once asked to stop, none. */
uint64_t freed_extents_end(FreedExtents *extents);

/*
 * The same where nothing is shared, for @file if its blocks in @shared would be.  Extents are counted when the last file
 * that shows them is given; memory is 32 bytes more for each that waits for others.
 */
uint64_t freed_extents_estimate(FreedExtents *extents, const OpenObject *file,
				const BlockSet *shared);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(FreedExtents, freed_extents_free)
