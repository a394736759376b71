/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/pass.h"
#include "kernel-ioctl/btrfs-space.h"

/*
 * Metadata reserve - room that a pass leaves to the trees of a btrfs.
 *
 * Sharing changes leaves, which takes metadata space before it frees any data, and data that is freed
 * does not make room for metadata.  A btrfs without such room becomes read-only.
 *
 * Thread: the filesystem's worker.
 */

/* How much that is: a 256th of its devices, from 8 to 256 MiB. */
uint64_t metadata_reserve_bytes(const BtrfsSpace *space);

/* Whether the trees cannot grow without touching it. */
bool metadata_reserve_is_touched(const BtrfsSpace *space);

/*
 * Have the pass stop sharing if it is touched: its result says so from then on.  Looks a second after
 * @looked_usec (monotonic; kept here) at the earliest.
 */
bool metadata_reserve_look_when_due(const Pass *pass, int64_t *looked_usec, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
