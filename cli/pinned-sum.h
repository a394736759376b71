/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/hash-store.h"

/*
 * What the store knows of data extents of a btrfs that equal others and stay, as something shows part of
 * them: space that is lost to how btrfs keeps extents, not to copies.
 *
 * Thread: main.
 */
typedef struct {
	uint64_t extents;
	uint64_t bytes; /* that they take on the disk */
} PinnedSum;

/* Add to *@sum what is pinned in @store. */
bool pinned_sum_add(PinnedSum *sum, HashStore *store, GError **error) G_GNUC_WARN_UNUSED_RESULT;
