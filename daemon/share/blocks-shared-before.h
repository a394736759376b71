/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/share/block-set.h"
#include "daemon/share/dedupe-window.h"

/*
 * The blocks of a target that others used, too, before anything was shared onto it.
 *
 * btrfs calls an extent shared as soon as one file references it twice, which a replaced part brings about.  So the
 * state before counts.
 *
 * Thread: the filesystem's worker.
 */

/*
 * Add the blocks of @target, which is open, that were shared before to @others; all blocks if this cannot be found
 * out.
 */
void blocks_shared_before_note(BlockSet *others, const OpenObject *target, uint32_t block_bytes);

/* Tell the window about them. */
void blocks_shared_before_recall(const BlockSet *others, DedupeWindow *window);
