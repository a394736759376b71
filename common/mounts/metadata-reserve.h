/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "kernel-ioctl/btrfs/btrfs-space.h"

#include <stdbool.h>

/*
 * Metadata reserve - room that a pass leaves to the trees of a btrfs.
 *
 * Sharing changes leaves, which takes metadata space before it frees any data, and data that is freed
 * does not make room for metadata.  A btrfs without such room becomes read-only.
 *
 * Pure.  Thread: any.
 */

/* How much that is: a 256th of its devices, from 8 to 256 MiB. */
uint64_t metadata_reserve_bytes(const BtrfsSpace *space);

/* Whether the trees cannot grow without touching it. */
bool metadata_reserve_is_touched(const BtrfsSpace *space);
