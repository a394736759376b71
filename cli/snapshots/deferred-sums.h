/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdint.h>

/*
 * DeferredSums - what passes deferred to the deletion of each snapshot of a btrfs, as its store remembers it: bytes of
 * extents that the snapshot holds, alone or with others, and nothing writable shows.
 *
 * Thread: main.
 */
typedef struct DeferredSums DeferredSums;

/* From the store of the filesystem @uuid in @directory; NULL: there is none, or it cannot be read. */
DeferredSums *deferred_sums_read(const char *directory, const char *uuid);
void deferred_sums_free(DeferredSums *sums);

uint64_t deferred_sums_of(const DeferredSums *sums, uint64_t subvolume);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(DeferredSums, deferred_sums_free)
