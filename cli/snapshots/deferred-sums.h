/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdint.h>

/*
 * DeferredSums - bytes that passes deferred to the deletion of each snapshot of a btrfs filesystem, from its
 * store.  The snapshot holds their extents, alone or with others, and no writable file references them.
 *
 * Thread: main.
 */
typedef struct DeferredSums DeferredSums;

/*
 * Read them from the store of the filesystem @uuid in @directory.  NULL: there is no store, or it cannot be
 * read.
 */
DeferredSums *deferred_sums_read(const char *directory, const char *uuid);
void deferred_sums_free(DeferredSums *sums);

uint64_t deferred_sums_of(const DeferredSums *sums, uint64_t subvolume);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(DeferredSums, deferred_sums_free)
