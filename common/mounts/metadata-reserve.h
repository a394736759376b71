/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "kernel-ioctl/btrfs/btrfs-space.h"

#include <stdbool.h>

/*
 * MetadataReserve - the space that a pass leaves for the trees of a btrfs filesystem.
 *
 * Deduplication changes leaves, which takes metadata space before it frees any data.  Freed data gives no
 * space to metadata.  A btrfs filesystem without metadata space becomes read-only.
 *
 * Pure.  Thread: any.
 */

/* The reserve: a 256th of the devices, at least 8 and at most 256 MiB. */
uint64_t metadata_reserve_bytes(const BtrfsSpace *space);

/* True if the trees cannot grow without using it. */
bool metadata_reserve_is_touched(const BtrfsSpace *space);
